/* Plays a script of calls through the simulated arch into a ring file. The script gives the times in
 * nanoseconds, so that funcgraph's tracer records the same calls as a kernel's trace.
 *
 *     replay DIRECTORY [OPTION | depth=N | thresh_us=N | name=COMM | tid=N]... < SCRIPT
 *
 * Lines of a script:
 *
 *     function NAME MODULE BYTES ARGUMENTS    defines the next function; "-": no module, no arguments
 *     call NS FUNCTION [@ FUNCTION OFFSET] [VALUE]...    the place of the call; its arguments
 *     irq NS FUNCTION ...                     the same for a call that an interrupt makes
 *     return NS DURATION [VALUE]              ends the latest call
 *
 * VALUE is i123, an int, or w8:ff, a machine word: the size of its type in bytes, and its value in base
 * 16. */
#include <inttypes.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/core/regs.h"
#include "engine/graph/call.h"
#include "engine/ring/record.h"
#include "engine/tracer/instance_start.h"
#include "engine/users/meet.h"
#include "support/check.h"
#include "support/sim_arch.h"

enum { MAX_FUNCTIONS = 4096, MAX_DEPTH = 512, MAX_LINE = 4096, VALUES_BYTES = 512 };

static struct fg_func *functions[MAX_FUNCTIONS];
static uint32_t nr_functions;

/* ---- what the arch sees at a boundary */

static struct {
    struct fg_caller caller;
    uint8_t values[VALUES_BYTES];
    size_t bytes;
} seen;

static size_t encode_seen(const struct ftrace_regs *regs, const struct fg_value_style *style, uint8_t *out,
                          size_t room)
{
    (void)regs, (void)style;
    CHECK(seen.bytes <= room);
    memcpy(out, seen.values, seen.bytes);
    return seen.bytes;
}

static size_t callers_seen(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n)
{
    (void)regs;
    CHECK(n > 0);
    *callers = seen.caller;
    return 1;
}

static const struct ftrace_regs_ops regs_ops = {.encode_arguments = encode_seen,
                                                .encode_value = encode_seen,
                                                .encode_exception = encode_seen,
                                                .callers = callers_seen};

static void see_value(const char *word)
{
    unsigned size, used = 0;
    uint64_t bits;
    int64_t integer;
    uint8_t *at = seen.values + seen.bytes;

    if (sscanf(word, "w%u:%" SCNx64, &size, &bits) == 2) {
        at[used++] = FG_VALUE_WORD;
        at[used++] = (uint8_t)size;
    } else {
        CHECK_EQ(sscanf(word, "i%" SCNd64, &integer), 1);
        bits = (uint64_t)integer;
        at[used++] = FG_VALUE_INT64;
    }
    memcpy(at + used, &bits, sizeof(bits));
    seen.bytes += used + sizeof(bits);
    CHECK(seen.bytes + 16 < VALUES_BYTES);
}

/* ---- the script's times, passed to the tracer's own functions */

static uint64_t now, duration;
static trace_func_graph_ent_t tracer_entry;
static trace_func_graph_ret_t tracer_return;

static int timed_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    trace->calltime = trace->start = now;
    return tracer_entry(trace, ops, regs);
}

static void timed_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    trace->rettime = now;
    trace->calltime = trace->start = now - duration;
    tracer_return(trace, ops, regs);
}

static void init(struct fg_instance *instance)
{
    fg_tracer_function_graph.init(instance);
    tracer_entry = instance->ops.entryfunc;
    tracer_return = instance->ops.retfunc;
    instance->ops.entryfunc = timed_entry;
    instance->ops.retfunc = timed_return;
}

static const struct fg_tracer timed_function_graph = {
    .name = "function_graph", .init = init, .reports_irqs = true, .sees_native = true};

/* ---- the script */

static const char *none_if_dash(const char *word)
{
    return strcmp(word, "-") == 0 ? "" : word;
}

static const char *next_word(void)
{
    const char *word = strtok(NULL, " \n");

    CHECK(word != NULL);
    return word;
}

static struct fg_func *next_function(void)
{
    unsigned long index = strtoul(next_word(), NULL, 10);

    CHECK(index < nr_functions);
    return functions[index];
}

static void read_function(void)
{
    const char *name = next_word(), *module = none_if_dash(next_word());
    struct fg_func_desc desc = {.qualname = name, .module = module, .file = "", .domain = &sim_domains[0]};

    desc.line = (uint32_t)strtoul(next_word(), NULL, 10);
    desc.args = none_if_dash(next_word());
    desc.flags = FG_FUNC_NATIVE;
    CHECK(nr_functions < MAX_FUNCTIONS);
    functions[nr_functions] = fg_func_meet(&desc);
    CHECK(functions[nr_functions++] != NULL);
}

static void see_values(const char *word)
{
    for (seen.bytes = 0; word; word = strtok(NULL, " \n"))
        see_value(word);
}

static void read_call(uintptr_t call, bool is_irq)
{
    struct ftrace_regs regs = {.ops = &regs_ops};
    struct fg_func *func;
    const char *word;

    now = strtoull(next_word(), NULL, 10);
    func = next_function();
    word = strtok(NULL, " \n");
    seen.caller = (struct fg_caller){0, 0};
    if (word && *word == '@') {
        seen.caller.func = next_function()->id;
        seen.caller.place = (uint32_t)strtoul(next_word(), NULL, 10);
        word = strtok(NULL, " \n");
    }
    see_values(word);
    CHECK(!is_irq || fg_func_set_irq(func));
    sim_irq(is_irq);
    CHECK(fg_enter(fg_task_current(), func, call, &regs));
    sim_irq(false);
}

static void read_return(uintptr_t call)
{
    struct ftrace_regs regs = {.ops = &regs_ops};

    now = strtoull(next_word(), NULL, 10);
    duration = strtoull(next_word(), NULL, 10);
    see_values(strtok(NULL, " \n"));
    regs.value = seen.bytes ? &seen : NULL;
    fg_return(fg_task_current(), call, &regs, FG_END_RETURN);
}

static void play(void)
{
    char line[MAX_LINE];
    uintptr_t depth = 0;

    while (fgets(line, sizeof(line), stdin)) {
        const char *what = strtok(line, " \n");

        if (strcmp(what, "function") == 0) {
            read_function();
        } else if (strcmp(what, "call") == 0 || strcmp(what, "irq") == 0) {
            CHECK(depth < MAX_DEPTH);
            read_call(16 * ++depth, *what == 'i');
        } else {
            CHECK_TEXT(what, "return");
            CHECK(depth > 0);
            read_return(16 * depth--);
        }
    }
}

/* ---- the instance */

static void read_option(struct fg_instance_settings *settings, const char *option)
{
    struct {
        const char *name;
        bool *flag;
    } flags[] = {{"args", &settings->args}, {"retval", &settings->retval}, {"retaddr", &settings->retaddr}};
    unsigned number;
    char text[64];

    for (size_t i = 0; i < NR_OF(flags); i++) {
        if (strcmp(option, flags[i].name) == 0) {
            *flags[i].flag = true;
            return;
        }
    }
    if (sscanf(option, "depth=%u", &number) == 1) {
        settings->max_graph_depth = number;
    } else if (sscanf(option, "thresh_us=%u", &number) == 1) {
        settings->thresh_us = number;
    } else if (sscanf(option, "tid=%u", &number) == 1) {
        fg_task_current()->tid = (int)number;
    } else {
        CHECK_EQ(sscanf(option, "name=%63s", text), 1);
        sim_name_thread(text);
    }
}

static void count_nanoseconds(void)
{
    fg_clock.kind = FG_CLOCK_MONOTONIC;
    fg_clock.start = fg_clock_read_pair();
}

int main(int argc, char **argv)
{
    static const char *const all_native[] = {"*:mod:*"};
    struct fg_pattern_error invalid;
    struct fg_instance_config config = {
        .tracer = &timed_function_graph,
        .ring = {.buffer_bytes = 1u << 20, .mode = FG_RING_DROP},
    };
    int handle;

    CHECK(argc >= 2);
    config.ring.directory = argv[1];
    sim_begin();
    count_nanoseconds();
    for (int i = 2; i < argc; i++)
        read_option(&config.settings, argv[i]);
    /* The kernel's functions are native ones, which patterns with :mod: alone select. */
    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_FILTER, all_native, 1, &invalid), 0);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    play();
    CHECK_EQ(fg_instance_stop(handle), 0);
    return 0;
}
