/* Hooked calls that do not return: exceptions, longjmp(), pthread_exit() and cancellation pass them.
 * Unwinders see through them, at any of their instructions. */
#define _GNU_SOURCE
#include <execinfo.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

static struct probe probe;

static void begin(void)
{
    native_probe(&probe, "*:mod:target");
}

/* ---- exceptions */

static void throw_through(void *arg)
{
    target_throw_through(*(int *)arg);
}

static void rethrow(void *arg)
{
    target_rethrow(*(int *)arg);
}

static void throw_deeply(void *arg)
{
    int *left = arg;

    if (--*left)
        target_call(throw_deeply, left);
    else
        target_throw(17);
}

static void catch_and_go_on(void *arg)
{
    int value = 3;

    CHECK_EQ(target_catch(throw_through, &value), 3);
    CHECK_EQ(target_add(1, 1), 2);
    target_throw(*(int *)arg);
}

static void test_exceptions_pass(void)
{
    int value = 42, depth = 1000, before = target_count_destroyed();

    begin();
    CHECK_EQ(target_catch(throw_through, &value), 42); /* catch, throw_through, throw */
    CHECK_EQ(target_count_destroyed(), before + 1);
    CHECK_EQ(probe.ends[FG_END_RAISE], 2);
    CHECK_EQ(probe.ends[FG_END_RETURN], 1);
    CHECK_EQ(target_catch(rethrow, &value), 42); /* and rethrow */
    CHECK_EQ(probe.ends[FG_END_RAISE], 5);
    CHECK_EQ(target_catch(throw_deeply, &depth), 17);
    CHECK_EQ(probe.ends[FG_END_RAISE], 5 + 1000);
    CHECK_EQ(target_catch(catch_and_go_on, &value), 42);
    CHECK_EQ(probe.ends[FG_END_RAISE], 1005 + 3);
    CHECK_EQ(probe.depth, 0);
    CHECK_EQ(probe.ends[FG_END_CLOSE], 0);
    probe_finish(&probe);
}

static void test_exceptions_pass_on_the_fast_path(void)
{
    struct native_records records;
    int value = 7;

    native_record("*:mod:target");
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(target_catch(throw_through, &value), 7);
    records = native_recorded();
    CHECK_EQ(records.entries, 3000);
    CHECK_EQ(records.returns, 1000);
    CHECK_EQ(records.raises, 2000);
}

/* ---- longjmp */

static void test_longjmp_ends_the_calls_that_it_leaves(void)
{
    volatile int times = 0;
    jmp_buf buffer;

    begin();
    for (times = 0; times < 100; times++) {
        if (setjmp(buffer) == 0)
            target_call((void (*)(void *))target_longjmp, &buffer);
        else
            CHECK_EQ(target_add(times, 1), times + 1);
        CHECK_EQ(probe.depth, 0); /* of the return of target_add(): nothing else is in progress */
    }
    CHECK_EQ(probe.entries, 300);
    CHECK_EQ(probe.ends[FG_END_CLOSE], 200);
    CHECK_EQ(probe.ends[FG_END_RETURN], 100);
    probe_finish(&probe);
}

/* ---- the end of a thread */

static void end_thread(void *arg)
{
    pthread_exit(arg);
}

static void *call_and_end(void *arg)
{
    target_call(end_thread, arg);
    return NULL;
}

static _Atomic int waiting;

static void wait_forever(void *arg)
{
    (void)arg;
    waiting = 1;
    for (;;)
        pause();
}

static void *call_and_wait(void *arg)
{
    target_call(wait_forever, arg);
    return NULL;
}

static void test_a_thread_may_end_inside(void)
{
    pthread_t thread;
    void *result = NULL;

    begin();
    CHECK_EQ(pthread_create(&thread, NULL, call_and_end, (void *)5), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK_EQ((long)result, 5);
    CHECK_EQ(probe.ends[FG_END_CLOSE], 1);
    CHECK_EQ(pthread_create(&thread, NULL, call_and_wait, NULL), 0);
    while (!waiting)
        sched_yield();
    CHECK_EQ(pthread_cancel(thread), 0);
    CHECK_EQ(pthread_join(thread, &result), 0);
    CHECK(result == PTHREAD_CANCELED);
    CHECK_EQ(probe.ends[FG_END_CLOSE], 2);
    native_finish(&probe, 2);
}

/* ---- unwinding */

/* Where this program's own frames are. */
struct walk {
    uintptr_t begin, end; /* of the function to be found */
    bool is_found;
    int frames;
};

static _Unwind_Reason_Code visit(struct _Unwind_Context *context, void *arg)
{
    struct walk *walk = arg;
    uintptr_t ip = _Unwind_GetIP(context);

    walk->is_found |= ip >= walk->begin && ip < walk->end;
    return ++walk->frames < 200 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

extern const char caller_end[];
long step_caller(long value);

static bool sees_caller(void)
{
    struct walk walk = {.begin = (uintptr_t)step_caller, .end = (uintptr_t)caller_end};

    _Unwind_Backtrace(visit, &walk);
    return walk.is_found && walk.frames < 200;
}

static void look_at_callers(void *arg)
{
    void *addresses[64];
    int n = backtrace(addresses, 64), found = 0;

    for (int i = 0; i < n; i++)
        found += (uintptr_t)addresses[i] >= (uintptr_t)step_caller &&
                 (uintptr_t)addresses[i] < (uintptr_t)caller_end;
    CHECK_EQ(found, 1);
    CHECK(n < 64);
    CHECK(sees_caller());
    *(int *)arg = n;
}

/* Calls a hooked function; its code ends where caller_end is. */
__asm__(".text\n"
        ".globl step_caller\n"
        ".type step_caller, @function\n"
        "step_caller:\n"
        ".cfi_startproc\n"
        "pushq %rbx\n"
        ".cfi_adjust_cfa_offset 8\n"
        ".cfi_rel_offset rbx, 0\n"
        "call *step_function(%rip)\n"
        "popq %rbx\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".globl caller_end\n"
        "caller_end:\n"
        ".size step_caller, . - step_caller\n");

long (*step_function)(long value);
static int frames_seen;

static void call_on(void *arg)
{
    long *left = arg;

    if ((*left)--)
        target_call(call_on, left);
    else
        look_at_callers(&frames_seen);
}

static long call_deeply(long value)
{
    target_call(call_on, &value);
    return 0;
}

static void test_backtraces_see_through(void)
{
    begin();
    step_function = call_deeply;
    step_caller(5);
    CHECK(frames_seen > 6);
    native_finish(&probe, 6);
}

/* ---- at any instruction */

/* Calls step_caller() with the trap flag: a signal after each instruction. */
long step_run(long value);
extern const char step_run_end[];
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
        "call step_caller\n"
        "pushfq\n"
        ".cfi_adjust_cfa_offset 8\n"
        "andq $~0x100, (%rsp)\n"
        "popfq\n"
        ".cfi_adjust_cfa_offset -8\n"
        "addq $8, %rsp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        "step_run_end:\n");

static volatile sig_atomic_t steps, blind_steps;
static uintptr_t blind_at;

static void on_step(int number, siginfo_t *info, void *context)
{
    const ucontext_t *state = context;
    uintptr_t pc = (uintptr_t)state->uc_mcontext.gregs[REG_RIP];

    (void)number, (void)info;
    steps++;
    if (pc - (uintptr_t)step_run < (uintptr_t)step_run_end - (uintptr_t)step_run)
        return; /* not inside yet, or not any longer */
    if (!sees_caller()) {
        blind_steps++;
        blind_at = pc;
    }
}

/* Steps through a call, and looks for step_caller() from each instruction. */
static void step_through(long (*function)(long value), long expected)
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};
    long result;

    step_function = function;
    step_caller(4);      /* what happens at a first call is not stepped through */
    (void)sees_caller(); /* nor an unwinder's first look at new frames: it allocates */
    steps = blind_steps = 0;
    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    result = step_run(4);
    CHECK_EQ(result, expected);
    if (blind_steps)
        fprintf(stderr, "blind at %#lx\n", (unsigned long)blind_at);
    CHECK_EQ(blind_steps, 0);
    CHECK(steps > 40);
}

static void test_unwinding_from_any_instruction(void)
{
    begin();
    step_through(target_leaf, 5);
    step_through(target_branch, 20);
    probe_finish(&probe);
    native_record("*:mod:target");
    step_through(target_leaf, 5);
    step_through(target_branch, 20);
    CHECK_EQ(native_recorded().entries, 4);
}

static int see_place(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                     void *entry_data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs, (void)entry_data;
    return 1;
}

/* At a place: through the trampoline, which steps over the red zone. */
static void test_unwinding_from_any_instruction_at_a_place(void)
{
    struct fprobe fp = {.entry_handler = see_place};

    native_place("target_place", 14, 8, 2);
    native_probe_place(&fp, "target_place+14:mod:target");
    CHECK_EQ(native_hooked(NULL), 1);
    step_through(target_place, 19);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    native_meet(object, "*:mod:target");
    test_exceptions_pass();
    test_exceptions_pass_on_the_fast_path();
    test_longjmp_ends_the_calls_that_it_leaves();
    test_a_thread_may_end_inside();
    test_backtraces_see_through();
    if (NATIVE_STEPS) {
        test_unwinding_from_any_instruction();
        test_unwinding_from_any_instruction_at_a_place();
    }
    return 0;
}
