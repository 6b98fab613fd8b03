/* What a recorded call of a native function costs: two stamps and two records, beside two reads of the
 * same clock with two stores of 16 bytes, which is the least that any recording needs. Prints CPU time
 * in ns a call, the least of several rounds, as JSON. With the argument `plain`, only what a call takes
 * without hooks; with `memory`, the bytes that a hook needs.
 *
 *     python3 -c "from tools import native; native.build_tests('plain')"; build/c-plain/bench_native_calls */
#define _GNU_SOURCE
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "arch/native/machine.h"
#include "engine/base/clock.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/general.h"
#include "support/native.h"
#include "target/target.h"

#define ROUNDS 9
#define CALLS 2000000
#define SLOW_CALLS 200000

static double best(double (*measure)(void))
{
    double least = measure();

    for (int i = 1; i < ROUNDS; i++) {
        double now = measure();

        if (now < least)
            least = now;
    }
    return least;
}

static uint64_t buffer[4096];

static double two_clock_reads(void)
{
    uint64_t begin = fg_clock_work_ns();

    for (uint64_t i = 0; i < CALLS; i++) {
        volatile uint64_t *record = buffer + (i & 1023) * 4;

        record[0] = fg_clock_counter();
        record[1] = i;
        record[2] = fg_clock_counter();
        record[3] = i;
    }
    return (double)(fg_clock_work_ns() - begin) / CALLS;
}

static double call(int n)
{
    uint64_t begin = fg_clock_work_ns();

    for (int i = 0; i < n; i++)
        target_add(i, 1);
    return (double)(fg_clock_work_ns() - begin) / n;
}

static double calls(void)
{
    return call(CALLS);
}

static double slow_calls(void)
{
    return call(SLOW_CALLS);
}

static double recorded(void)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_function_graph,
                                        .ring = {.buffer_bytes = 4u << 20, .mode = FG_RING_OVERWRITE}};
    const char *const patterns[] = {"target_add:mod:target"};
    struct fg_pattern_error error;
    double ns;
    int handle;

    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_FILTER, patterns, 1, &error), 0);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    ns = best(calls);
    CHECK_EQ(fg_instance_stop(handle), 0);
    return ns;
}

static int on_entry(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *entry_data)
{
    (void)fp, (void)entry_ip, (void)ret_ip, (void)regs, (void)entry_data;
    return 0;
}

static void on_exit_of(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                       struct ftrace_regs *regs, void *entry_data)
{
    (void)fp, (void)entry_ip, (void)ret_ip, (void)regs, (void)entry_data;
}

static double with_probe(struct fprobe *fp)
{
    double ns;

    native_probe_place(fp, "target_add:mod:target");
    ns = best(slow_calls);
    CHECK_EQ(fg_fprobe_unregister(fp), 0);
    return ns;
}

static double with_fprobe(void)
{
    struct fprobe fp = {.entry_handler = on_entry, .exit_handler = on_exit_of};

    return with_probe(&fp);
}

static double with_general_fprobe(void)
{
    struct fprobe fp;

    general_probe_nothing(&fp);
    return with_probe(&fp);
}

static double with_callbacks(void)
{
    struct probe probe;
    double ns;

    native_probe(&probe, "target_add:mod:target");
    ns = best(slow_calls);
    probe_unregister(&probe);
    probe_done(&probe);
    return ns;
}

/* The C library's memory that is in use, in bytes. */
static double heap(void)
{
    return (double)mallinfo2().uordblks;
}

/* Prints what each of many hooks needs: the function's record, and all that it has while it is hooked. A
 * trampoline stays. */
static int print_memory(void)
{
    struct fg_native_object *object = native_begin_with_many();
    double nothing = heap(), known;
    struct probe probe;
    long n = native_meet(object, "many_*:mod:target");

    known = heap();
    native_probe(&probe, "many_*:mod:target");
    printf("{\"hooks\": %u, \"record\": %.1f, \"hook\": %.1f}\n", native_hooked(NULL),
           (known - nothing) / (double)n, (heap() - known) / (double)n + (double)fg_machine_trampoline_bytes);
    probe_unregister(&probe);
    probe_done(&probe);
    return 0;
}

/* For another tracer of the same program. */
static int print_plain(void)
{
    printf("{\"plain\": %.2f}\n", best(slow_calls));
    return 0;
}

int main(int argc, char *argv[])
{
    struct fg_native_object *object;
    double floor, plain, with_records;

    if (argc > 1 && strcmp(argv[1], "plain") == 0)
        return print_plain();
    if (argc > 1 && strcmp(argv[1], "memory") == 0)
        return print_memory();
    object = native_begin();
    native_meet(object, "*:mod:target");
    floor = best(two_clock_reads);
    plain = best(calls);
    with_records = recorded();
    printf(
        "{\"floor\": %.2f, \"plain\": %.2f, \"recorded\": %.2f, \"general_fprobe\": %.2f, \"fprobe\": %.2f, "
        "\"callbacks\": %.2f}\n",
        floor, plain, with_records - plain, with_general_fprobe() - plain, with_fprobe() - plain,
        with_callbacks() - plain);
    return 0;
}
