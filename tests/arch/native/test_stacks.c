/* Calls on several stacks of a thread, which return in any order, in another thread, or on a stack that
 * was copied away and back meanwhile, as greenlet does. Each returns to where it was called. */
#define _GNU_SOURCE
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

#define STACK_BYTES (256u << 10)

static struct probe probe;

static ucontext_t home;

struct fiber {
    ucontext_t context;
    char *stack;
    int number, rounds;
    long sum;
};

static void switch_home(void *arg)
{
    struct fiber *fiber = arg;

    CHECK_EQ(swapcontext(&fiber->context, &home), 0);
}

static void run_fiber(int low, int high)
{
    struct fiber *fiber = (struct fiber *)((uintptr_t)(unsigned)low | (uintptr_t)(unsigned)high << 32);

    for (int i = 0; i < fiber->rounds; i++) {
        target_call(switch_home, fiber);
        fiber->sum += target_add(fiber->number, i);
    }
    fiber->rounds = 0;
}

static void fiber_begin(struct fiber *fiber, int number, int rounds)
{
    *fiber = (struct fiber){.number = number, .rounds = rounds, .stack = malloc(STACK_BYTES)};
    CHECK_EQ(getcontext(&fiber->context), 0);
    fiber->context.uc_stack = (stack_t){.ss_sp = fiber->stack, .ss_size = STACK_BYTES};
    fiber->context.uc_link = &home;
    makecontext(&fiber->context, (void (*)(void))run_fiber, 2, (int)(uintptr_t)fiber,
                (int)((uintptr_t)fiber >> 32));
}

static void fiber_run(struct fiber *fiber)
{
    CHECK_EQ(swapcontext(&home, &fiber->context), 0);
}

static void fiber_end(struct fiber *fiber, long sum)
{
    CHECK_EQ(fiber->rounds, 0);
    CHECK_EQ(fiber->sum, sum);
    free(fiber->stack);
}

/* Fibers take turns in an order that no stack of calls has. */
static void test_stacks_take_turns(void)
{
    struct fiber fibers[5];

    native_probe(&probe, "*:mod:target");
    for (int i = 0; i < 5; i++)
        fiber_begin(&fibers[i], i, 100);
    for (unsigned i = 0, left = 5 * 101; left; i += 3 + i % 2) {
        struct fiber *fiber = &fibers[i % 5];

        for (int k = 0; !fiber->rounds && k < 5; k++)
            fiber = &fibers[k];
        target_call((void (*)(void *))fiber_run, fiber);
        left--;
    }
    for (int i = 0; i < 5; i++)
        fiber_end(&fibers[i], 100 * i + 99 * 50);
    CHECK_EQ(probe.entries, 5 * 101 + 5 * 200);
    probe_unregister(&probe);
    probe_done(&probe);
}

static void *run_in_thread(void *arg)
{
    fiber_run(arg);
    return NULL;
}

/* Each step of a fiber in a new thread. */
static void test_a_stack_runs_in_other_threads(void)
{
    struct fiber fiber;

    native_probe(&probe, "*:mod:target");
    fiber_begin(&fiber, 1, 50);
    while (fiber.rounds) {
        pthread_t thread;

        CHECK_EQ(pthread_create(&thread, NULL, run_in_thread, &fiber), 0);
        CHECK_EQ(pthread_join(thread, NULL), 0);
    }
    fiber_end(&fiber, 50 + 49 * 25);
    probe_unregister(&probe);
    probe_done(&probe);
}

/* ---- one stack for two flows of execution: the bytes of the other one are kept elsewhere */

static ucontext_t scheduler;
static char *shared_stack;
static int current;
static long sums[2];

static void switch_copied(void *arg)
{
    ucontext_t *own = arg;

    CHECK_EQ(swapcontext(own, &scheduler), 0);
}

static ucontext_t flows[2];

static void run_copied(int number)
{
    for (int i = 0; i < 100; i++) {
        target_call(switch_copied, &flows[number]); /* at the same place of the same stack as the other one */
        sums[number] += target_add(number, i);
    }
}

static void test_a_stack_is_copied(void)
{
    static char *saved[2];

    native_probe(&probe, "*:mod:target");
    shared_stack = malloc(STACK_BYTES);
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(getcontext(&flows[i]), 0);
        flows[i].uc_stack = (stack_t){.ss_sp = shared_stack, .ss_size = STACK_BYTES};
        flows[i].uc_link = &scheduler;
        makecontext(&flows[i], (void (*)(void))run_copied, 1, i);
        CHECK_EQ(swapcontext(&scheduler, &flows[i]), 0);
        saved[i] = malloc(STACK_BYTES);
        memcpy(saved[i], shared_stack, STACK_BYTES);
    }
    for (int i = 0; i < 200; i++) {
        current = i % 2;
        memcpy(shared_stack, saved[current], STACK_BYTES);
        CHECK_EQ(swapcontext(&scheduler, &flows[current]), 0);
        memcpy(saved[current], shared_stack, STACK_BYTES);
    }
    CHECK_EQ(sums[0], 99 * 50);
    CHECK_EQ(sums[1], 99 * 50 + 100);
    for (int i = 0; i < 2; i++)
        free(saved[i]);
    free(shared_stack);
    probe_unregister(&probe);
    probe_done(&probe);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    native_meet(object, "*:mod:target");
    test_stacks_take_turns();
    test_a_stack_runs_in_other_threads();
    test_a_stack_is_copied();
    CHECK(!fg_killed());
    return 0;
}
