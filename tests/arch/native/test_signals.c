/* Handlers of signals that make hooked calls, at any instruction of a hooked call: on both paths, also
 * on a stack of their own. Both calls do what they do without hooks. What the handler calls in the
 * middle of the engine's own work is missed. */
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

static volatile sig_atomic_t steps;
static volatile long bad;

static void on_step(int number)
{
    (void)number;
    steps++;
    errno = EDOM;
    bad += target_leaf(steps) != steps + 1;
    bad += target_branch(steps) != 20;
    bad += target_recurse(2) != 2;
    bad += errno != EDOM;
    errno = 0;
}
#define CALLS_OF_HANDLER 5

/* Calls the function with the trap flag: a signal after each instruction. */
long step_run(long value, long (*function)(long value));
__asm__(".text\n"
        "step_run:\n"
        ".cfi_startproc\n"
        "subq $8, %rsp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "pushfq\n"
        ".cfi_adjust_cfa_offset 8\n"
        "orq $0x100, (%rsp)\n"
        "popfq\n"
        ".cfi_adjust_cfa_offset -8\n"
        "call *%rsi\n"
        "pushfq\n"
        ".cfi_adjust_cfa_offset 8\n"
        "andq $~0x100, (%rsp)\n"
        "popfq\n"
        ".cfi_adjust_cfa_offset -8\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n");

static void handle_steps(int flags)
{
    struct sigaction action = {.sa_handler = on_step, .sa_flags = flags};

    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
}

/* Returns how often the handler ran. */
static long step_through(int flags)
{
    handle_steps(flags);
    steps = bad = 0;
    CHECK_EQ(step_run(4, target_leaf), 5);
    CHECK_EQ(step_run(4, target_recurse), 4);
    CHECK_EQ(bad, 0);
    CHECK(steps > 200);
    return steps;
}
#define CALLS_STEPPED 6

static void check_slow(int flags)
{
    struct probe probe;
    long n;

    native_probe(&probe, "*:mod:target");
    n = step_through(flags);
    /* In the middle of a callback, the handler's calls are missed. */
    CHECK_EQ(probe_ends(&probe), probe.entries);
    CHECK(probe.entries >= CALLS_STEPPED);
    CHECK(probe.entries < (uint64_t)n * CALLS_OF_HANDLER);
    CHECK_EQ(probe.ends[FG_END_RAISE], 0);
    native_finish(&probe, probe.entries);
}

static void check_fast(int flags)
{
    struct native_records records;

    native_record("*:mod:target");
    target_leaf(1);
    step_through(flags);
    records = native_recorded();
    CHECK(records.entries > 1000);
    CHECK_EQ(records.returns + records.closes, records.entries);
}

int main(void)
{
    stack_t stack = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20};
    struct fg_native_object *object = native_begin();

    native_meet(object, "*:mod:target");
    check_slow(0);
    check_fast(0);
    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    check_slow(SA_ONSTACK);
    check_fast(SA_ONSTACK);
    free(stack.ss_sp);
    return 0;
}
