/* Fetch programs of native functions: the values of their fields are those of the call and of memory, and
 * what cannot be read is a fault, whatever the address. */
#include <errno.h>
#include <float.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/core/task.h"
#include "engine/fetch/native_run.h"
#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

/* A user that runs a program at each entry and return. */
static struct {
    struct probe probe;
    struct fg_native_program *program;
    uint8_t image[FG_EVENT_MAX_BYTES], entry_data[FPROBE_MAX_DATA_BYTES];
    uint32_t bytes, runs;
} user;

static void run(const struct ftrace_regs *regs, uint32_t func, const uint8_t *entry_data)
{
    user.bytes = fg_fetch_native(user.program, regs, func, entry_data, user.image);
    user.runs++;
}

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)ops;
    if (!user.program->layout.is_return)
        run(regs, trace->func->id, NULL);
    else
        fg_fetch_native_entry(user.program, regs, user.entry_data);
    return 1;
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)ops;
    if (user.program->layout.is_return)
        run(regs, trace->func->id, user.entry_data);
}

struct request {
    enum fg_field_type type;
    uint8_t count;
    struct fg_native_field field;
};

static void watch(enum fg_fetch_place place, uint32_t n, const struct request *requests)
{
    struct fg_fetch_too_long too_long;

    memset(&user, 0, sizeof(user));
    CHECK_EQ(fg_native_program_new(n, place, &user.program, &too_long), 0);
    for (uint32_t i = 0; i < n; i++)
        CHECK_EQ(fg_native_program_set(user.program, i, "field", requests[i].type, requests[i].count,
                                       &requests[i].field),
                 0);
    CHECK_EQ(fg_native_program_finish(user.program, &too_long), 0);
    memset(user.image, 0xee, sizeof(user.image));
    probe_init(&user.probe, "fetch", "*:mod:target", 0);
    fg_user_of(&user.probe.ops)->sees_native = true;
    user.probe.ops.entryfunc = on_entry;
    user.probe.ops.retfunc = on_return;
    probe_register(&user.probe);
}

static void unwatch(void)
{
    probe_unregister(&user.probe);
    probe_done(&user.probe);
    fg_native_program_free(user.program);
}

static struct fg_loaded value(uint32_t i, uint32_t element)
{
    return fg_field_load(user.image, user.bytes, &user.program->layout.fields[i], element);
}

static bool is_fault(uint32_t i, uint32_t element)
{
    const struct fg_field *field = &user.program->layout.fields[i];

    if (field->type == FG_FIELD_STRING) {
        struct fg_loaded text = value(i, element);

        return text.bytes == 7 && memcmp(text.text, "(fault)", 7) == 0;
    }
    return fg_field_is_fault(user.image, user.bytes, field, element);
}

static void check_text(uint32_t i, uint32_t element, const char *expected)
{
    struct fg_loaded text = value(i, element);

    CHECK_EQ(text.kind, FG_LOADED_TEXT);
    CHECK_EQ(text.bytes, strlen(expected));
    CHECK(memcmp(text.text, expected, text.bytes) == 0);
}

#define ARGUMENT(n) .source = FG_NATIVE_ARG, .operand = (n)
#define WORD(address) .source = FG_NATIVE_IMM, .operand = (uint64_t)(uintptr_t)(address)

static void test_arguments_in_registers_and_on_the_stack(void)
{
    struct request requests[12];

    for (uint64_t i = 0; i < 12; i++)
        requests[i] = (struct request){i % 2 ? FG_FIELD_S16 : FG_FIELD_U64, 0, {ARGUMENT(i + 1)}};
    watch(FG_FETCH_AT_ENTRY, 12, requests);
    target_twelve(1, -2, 3, 4, 5, 6, 1L << 40, -8, 9, 10, 11, 12);
    for (uint32_t i = 0; i < 12; i++)
        CHECK_EQ(value(i, 0).number, i == 1 || i == 7 ? (uint64_t) - (int64_t)(i + 1)
                                     : i == 6         ? 1ull << 40
                                                      : i + 1);
    CHECK_EQ(fg_fetch_faults(&user.program->layout), 0);
    unwatch();
}

static void test_results_with_arguments_of_the_entry(void)
{
    const struct request requests[] = {
        {FG_FIELD_U64, 0, {.source = FG_NATIVE_RETVAL}},
        {FG_FIELD_U64, 0, {ARGUMENT(12)}},
        {FG_FIELD_U64, 0, {ARGUMENT(2)}},
        {FG_FIELD_U64, 0, {ARGUMENT(12)}},
    };

    watch(FG_FETCH_AT_RETURN, 4, requests);
    CHECK_EQ(fg_native_entry_bytes(user.program), 3 * sizeof(uint64_t)); /* each argument once */
    target_twelve(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12);
    CHECK_EQ(value(0, 0).number, 650);
    CHECK_EQ(value(1, 0).number, 12);
    CHECK_EQ(value(2, 0).number, 2);
    CHECK_EQ(value(3, 0).number, 12);
    unwatch();
}

static void test_doubles_are_in_their_own_registers(void)
{
    const struct request requests[] = {
        {FG_FIELD_F64, 0, {.source = FG_NATIVE_REGISTER, .operand = 8}},
        {FG_FIELD_F64, 0, {.source = FG_NATIVE_REGISTER, .operand = 9}},
        {FG_FIELD_U64, 0, {ARGUMENT(1)}},
    };
    struct fg_loaded first;

    watch(FG_FETCH_AT_ENTRY, 3, requests);
    CHECK(target_sum_doubles(2, 1.5, DBL_MAX) == 1.5 + DBL_MAX);
    first = value(0, 0);
    CHECK(first.kind == FG_LOADED_FLOAT && first.real == 1.5);
    CHECK(value(1, 0).real == DBL_MAX);
    CHECK_EQ(value(2, 0).number, 2);
    unwatch();
}

/* Two pages, and none behind them. */
static char *pages(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *at = mmap(NULL, 3 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    CHECK(at != MAP_FAILED);
    CHECK_EQ(munmap(at + 2 * page, page), 0);
    return at;
}

static void test_memory_up_to_the_end_of_a_page(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *memory = pages(), *end = memory + 2 * page;
    const struct request requests[] = {
        {FG_FIELD_STRING, 0, {ARGUMENT(1), .nr_derefs = 1}},                /* ends with the page */
        {FG_FIELD_STRING, 0, {ARGUMENT(1), .nr_derefs = 1, .derefs = {5}}}, /* has no NUL there */
        {FG_FIELD_STRING, 0, {WORD(memory + page - 2), .nr_derefs = 1}},    /* crosses one */
        {FG_FIELD_U8, 4, {WORD(end - 2), .nr_derefs = 1}},
        {FG_FIELD_X64, 0, {WORD(end - 4), .nr_derefs = 1}},
        {FG_FIELD_S32, 0, {WORD(end - 8), .nr_derefs = 1, .derefs = {4}}},
    };
    long argument = (long)(uintptr_t)(end - 5);

    memcpy(end - 5, "last", 5);
    memcpy(memory + page - 2, "across", 7);
    watch(FG_FETCH_AT_ENTRY, 6, requests);
    target_add(argument, 0);
    check_text(0, 0, "last");
    CHECK(is_fault(1, 0));
    check_text(2, 0, "across");
    CHECK(value(3, 0).number == 't' && value(3, 1).number == 0 && !is_fault(3, 1));
    CHECK(is_fault(3, 2) && is_fault(3, 3));
    CHECK(is_fault(4, 0));
    CHECK_EQ(value(5, 0).number, 0x00747361); /* "ast" and its NUL */
    CHECK_EQ(fg_fetch_faults(&user.program->layout), 3);
    unwatch();
    munmap(memory, 2 * page);
}

static void test_chains_of_pointers_and_arrays(void)
{
    struct node {
        long value;
        struct node *next;
        const char *names[3];
    } last = {-7, NULL, {"x", NULL, "z"}}, first = {1, &last, {"", "", ""}};
    const struct request requests[] = {
        {FG_FIELD_S64, 0, {ARGUMENT(1), .nr_derefs = 2, .derefs = {8, 0}}},
        {FG_FIELD_STRING, 3, {ARGUMENT(1), .nr_derefs = 2, .derefs = {8, 16}}},
        {FG_FIELD_S64, 0, {ARGUMENT(1), .nr_derefs = 3, .derefs = {8, 8, 0}}}, /* through NULL */
        {FG_FIELD_U16, 0, {ARGUMENT(2), .first_bit = 4, .nr_bits = 8}},
        {FG_FIELD_BOOL, 0, {ARGUMENT(2)}},
        {FG_FIELD_CHAR, 0, {ARGUMENT(1), .nr_derefs = 2, .derefs = {8, 16}}},
    };

    watch(FG_FETCH_AT_ENTRY, 6, requests);
    target_add((long)(uintptr_t)&first, 0xabc);
    CHECK_EQ(value(0, 0).number, (uint64_t)-7);
    check_text(1, 0, "x");
    CHECK(is_fault(1, 1));
    check_text(1, 2, "z");
    CHECK(is_fault(2, 0));
    CHECK_EQ(value(3, 0).number, 0xab);
    CHECK_EQ(value(4, 0).number, 1);
    CHECK_EQ(value(5, 0).number, (uint8_t)(uintptr_t)last.names[0]);
    unwatch();
}

/* Addresses that nothing is at, or that no program can have. */
static void test_bad_addresses(void)
{
    static const uint64_t addresses[] = {
        0, 1, 4095, 0x8000000000000000, 0xffffffffffffffff, 0xfffffffffffffff0};
    struct request requests[6 * 2];

    for (uint32_t i = 0; i < 6; i++) {
        requests[2 * i] = (struct request){FG_FIELD_U64, 4, {WORD(addresses[i]), .nr_derefs = 1}};
        requests[2 * i + 1] = (struct request){FG_FIELD_STRING, 0, {WORD(addresses[i]), .nr_derefs = 2}};
    }
    watch(FG_FETCH_AT_ENTRY, 12, requests);
    errno = 4711;
    target_add(1, 2);
    CHECK_EQ(errno, 4711);
    for (uint32_t i = 0; i < 12; i++)
        CHECK(is_fault(i, 0));
    CHECK_EQ(fg_fetch_faults(&user.program->layout), 12);
    unwatch();
}

static void test_long_texts_are_cut(void)
{
    static char text[5000];
    const struct request requests[] = {
        {FG_FIELD_STRING, 0, {ARGUMENT(1), .nr_derefs = 1}},
        {FG_FIELD_STRING, 0, {.source = FG_NATIVE_IMM, .text = (char *)(uintptr_t) "kept"}},
    };
    struct fg_loaded cut;

    memset(text, 'x', sizeof(text) - 1);
    watch(FG_FETCH_AT_ENTRY, 2, requests);
    target_add((long)(uintptr_t)text, 0);
    cut = value(0, 0);
    CHECK(cut.bytes > 800 && cut.bytes < FG_EVENT_MAX_BYTES);
    CHECK(memcmp(cut.text + cut.bytes - 4, "x...", 4) == 0);
    check_text(1, 0, "kept");
    unwatch();
}

static void handle(int signal)
{
    (void)signal;
    target_add(7, 8);
}

static void *run_in_thread(void *arg)
{
    (void)arg;
    target_add(5, 6);
    return NULL;
}

static void test_any_thread_and_handlers_of_signals(void)
{
    const struct request requests[] = {{FG_FIELD_U64, 0, {ARGUMENT(1)}},
                                       {FG_FIELD_STRING, 0, {WORD("text"), .nr_derefs = 1}}};
    struct sigaction action = {.sa_handler = handle};
    pthread_t thread;

    watch(FG_FETCH_AT_ENTRY, 2, requests);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    raise(SIGUSR1);
    CHECK_EQ(value(0, 0).number, 7);
    CHECK_EQ(pthread_create(&thread, NULL, run_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(value(0, 0).number, 5);
    check_text(1, 0, "text");
    CHECK_EQ(user.runs, 2);
    unwatch();
}

static void test_what_cannot_be_read_is_refused(void)
{
    static const struct request bad[] = {
        {FG_FIELD_STRING, 0, {ARGUMENT(1)}},
        {FG_FIELD_U64, 2, {ARGUMENT(1)}},
        {FG_FIELD_OBJECT, 0, {ARGUMENT(1)}},
        {FG_FIELD_SYMBOL, 0, {ARGUMENT(1)}},
        {FG_FIELD_U8, 0, {ARGUMENT(1), .first_bit = 4, .nr_bits = 5}},
        {FG_FIELD_STRING, 0, {.source = FG_NATIVE_COMM, .nr_derefs = 1}},
        {FG_FIELD_U64, 0, {.source = FG_NATIVE_COMM}},
    };
    struct fg_native_program *program;
    struct fg_fetch_too_long too_long;

    CHECK_EQ(fg_native_program_new(1, FG_FETCH_AT_ENTRY, &program, &too_long), 0);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK_EQ(fg_native_program_set(program, 0, "x", bad[i].type, bad[i].count, &bad[i].field), -EINVAL);
    fg_native_program_free(program);
}

static void test_limits(void)
{
    struct fg_native_field field = {ARGUMENT(1), .nr_derefs = 1};
    struct fg_native_program *program;
    struct fg_fetch_too_long too_long;

    CHECK_EQ(fg_native_program_new(FG_EVENT_MAX_FIELDS + 1, FG_FETCH_AT_ENTRY, &program, &too_long), -E2BIG);
    CHECK_EQ(fg_native_program_new(2, FG_FETCH_AT_ENTRY, &program, &too_long), 0);
    for (uint32_t i = 0; i < 2; i++)
        CHECK_EQ(fg_native_program_set(program, i, "x", FG_FIELD_U64, 64, &field), 0);
    CHECK_EQ(fg_native_program_finish(program, &too_long), -E2BIG);
    fg_native_program_free(program);
    CHECK_EQ(fg_native_program_new(15, FG_FETCH_AT_RETURN, &program, &too_long), 0);
    for (uint32_t i = 0; i < 15; i++) {
        field.operand = i + 1;
        CHECK_EQ(fg_native_program_set(program, i, "x", FG_FIELD_U8, 0, &field), 0);
    }
    CHECK_EQ(fg_native_program_finish(program, &too_long), -E2BIG);
    fg_native_program_free(program);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    CHECK(native_meet(object, "*:mod:target") > 10);
    test_arguments_in_registers_and_on_the_stack();
    test_results_with_arguments_of_the_entry();
    test_doubles_are_in_their_own_registers();
    test_memory_up_to_the_end_of_a_page();
    test_chains_of_pointers_and_arrays();
    test_bad_addresses();
    test_long_texts_are_cut();
    if (NATIVE_STOPS)
        test_any_thread_and_handlers_of_signals();
    test_what_cannot_be_read_is_refused();
    test_limits();
    return 0;
}
