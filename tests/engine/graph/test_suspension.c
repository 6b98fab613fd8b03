/* Suspension: a generator is one call with one entry and one return, on whatever threads it runs. */
#include "engine/graph/call.h"
#include "engine/graph/parked.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct probe probe;
static struct fg_func *f, *gen;

static void *resume_and_suspend(void *arg)
{
    uintptr_t *generator = arg;

    sim_resume(*generator);
    sim_call_return(f);
    sim_suspend(*generator);
    return NULL;
}

static void *resume_and_finish(void *arg)
{
    uintptr_t *generator = arg;

    sim_resume(*generator);
    sim_return(*generator);
    return NULL;
}

/* Fails if fg_suspend copies the frame without its data words. */
static void test_a_generator_moves_between_threads_data_and_all(void)
{
    uintptr_t generator = sim_call(gen);

    sim_call_return(f);
    sim_suspend(generator);
    for (int i = 0; i < 10; i++)
        sim_in_thread(resume_and_suspend, &generator);
    sim_in_thread(resume_and_finish, &generator);
    CHECK_EQ(probe.suspends, 11);
    CHECK_EQ(probe.resumes, 11);
    CHECK_EQ(probe_ends(&probe), probe.entries);
    CHECK_EQ(fg_parked_count(), 0);
}

/* Fails without fg_resume_users in end_unparked: the depth dropped below zero. */
static void test_a_suspended_call_that_is_closed_ends_once(void)
{
    uint64_t closed = probe.ends[FG_END_CLOSE];
    uintptr_t generator = sim_call(gen);

    sim_suspend(generator);
    sim_close(generator);
    sim_close(generator);
    CHECK_EQ(probe.ends[FG_END_CLOSE], closed + 1);
    CHECK_EQ(probe.depth, 0);
    sim_call_return(f);
    CHECK_EQ(probe.depth, 0);
}

/* Fails without fg_resume_late in find_frame. */
static void test_a_resume_that_was_not_told_is_noticed_at_the_end(void)
{
    uint64_t resumes = probe.resumes, ends = probe_ends(&probe);
    uintptr_t generator = sim_call(gen), outer;

    sim_suspend(generator);
    outer = sim_call(f);
    sim_return(generator);
    CHECK_EQ(probe.resumes, resumes + 1);
    CHECK_EQ(probe_ends(&probe), ends + 1);
    sim_return(outer);
    CHECK_EQ(probe_ends(&probe), ends + 2);
}

/* Fails if shard_grow does not move the old chains. */
static void test_many_suspended_calls(void)
{
    enum { MANY = 50000 };
    static uintptr_t generators[MANY];

    for (int i = 0; i < MANY; i++) {
        generators[i] = sim_call(gen);
        sim_suspend(generators[i]);
    }
    CHECK_EQ(fg_parked_count(), MANY);
    for (int i = 0; i < MANY; i++) {
        int at = i * 7919 % MANY; /* each once, in mixed order */

        sim_resume(generators[at]);
        CHECK(fg_top_is(fg_task_current(), generators[at]));
        sim_return(generators[at]);
    }
    CHECK_EQ(fg_parked_count(), 0);
    CHECK_EQ(probe_ends(&probe), probe.entries);
}

static void *suspend_and_resume_many(void *arg)
{
    enum { MANY = 2000 };
    static _Thread_local uintptr_t generators[MANY];

    (void)arg;
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < MANY; i++) {
            generators[i] = sim_call(gen);
            sim_suspend(generators[i]);
        }
        for (int i = 0; i < MANY; i++) {
            sim_resume(generators[i]);
            sim_raise(generators[i]);
        }
    }
    return NULL;
}

/* Fails without the shards' locks. */
static void test_threads_suspend_at_the_same_time(void)
{
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        sim_spawn(&threads[i], suspend_and_resume_many, NULL);
    for (int i = 0; i < 4; i++)
        sim_join(threads[i]);
    CHECK_EQ(fg_parked_count(), 0);
    CHECK_EQ(probe_ends(&probe), probe.entries);
}

/* Fails without fg_abandon_function in fg_func_forget. */
static void test_a_function_that_dies_ends_its_suspended_calls(void)
{
    struct fg_func *dying = sim_function("m", "dying");
    uint64_t closed = probe.ends[FG_END_CLOSE];
    uintptr_t other = sim_call(gen);

    sim_suspend(other);
    for (int i = 0; i < 5; i++)
        sim_suspend(sim_call(dying));
    sim_free(dying);
    CHECK_EQ(probe.ends[FG_END_CLOSE], closed + 5);
    CHECK_EQ(fg_parked_count(), 1);
    sim_close(other);
}

static void free_function(struct probe *of, struct ftrace_graph_ent *trace)
{
    struct fg_func *dying = of->arg;

    (void)trace;
    of->arg = NULL;
    if (dying)
        sim_free(dying);
}

/* Fails if fg_abandon_function puts the frame back and calls fg_abandon: the guard refused it, in an
 * endless loop. */
static void test_a_function_may_die_in_a_callback(void)
{
    struct fg_func *dying = sim_function("m", "dying");
    uint64_t ends = probe_ends(&probe);

    sim_suspend(sim_call(dying));
    probe.arg = dying;
    probe.on_entry = free_function;
    sim_call_return(f);
    probe.on_entry = NULL;
    CHECK_EQ(probe_ends(&probe), ends + 1);
    CHECK_EQ(fg_parked_count(), 0);
    atomic_fetch_sub(&probe.entries, 1); /* its return cannot be reported, and is counted */
    CHECK_EQ(fg_task_current()->lost_returns, 1);
}

static void *no_room_for_parked(void *arg)
{
    struct fg_func *dying = arg;
    uintptr_t generator = sim_call(gen);
    uint64_t entries;

    sim_suspend(generator);
    sim_suspend(sim_call(dying));
    while (fg_task_current()->overrun == 0)
        sim_call(f);
    entries = probe.entries;
    sim_resume(generator); /* stays parked */
    CHECK_EQ(fg_parked_count(), 2);
    sim_free(dying);
    CHECK_EQ(fg_parked_count(), 1);
    CHECK_EQ(fg_task_current()->lost_returns, 1);
    CHECK_EQ(probe.entries, entries);
    return (void *)generator;
}

/* Fails with the loop of the previous test: with a full stack it never ended. */
static void test_without_room_a_suspended_call_stays_suspended(void)
{
    struct fg_func *dying = sim_function("m", "dying");
    pthread_t thread;
    void *generator;

    fg_task_set_size(FG_TASK_BYTES_MIN);
    sim_spawn(&thread, no_room_for_parked, dying);
    CHECK_EQ(pthread_join(thread, &generator), 0);
    fg_task_set_size(FG_TASK_BYTES_DEFAULT);
    CHECK(probe.bad <= 1); /* there may have been room for the last call's frame, but not for its data */
    atomic_store(&probe.bad, 0);
    sim_resume((uintptr_t)generator);
    sim_return((uintptr_t)generator);
    atomic_fetch_sub(&probe.entries, 1);
    CHECK_EQ(probe_ends(&probe), probe.entries);
    CHECK_EQ(fg_parked_count(), 0);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    gen = sim_function("m", "gen");
    probe_init(&probe, "probe", NULL, 7);
    probe_register(&probe);
    test_a_generator_moves_between_threads_data_and_all();
    test_a_suspended_call_that_is_closed_ends_once();
    test_a_resume_that_was_not_told_is_noticed_at_the_end();
    test_many_suspended_calls();
    test_threads_suspend_at_the_same_time();
    test_a_function_that_dies_ends_its_suspended_calls();
    test_a_function_may_die_in_a_callback();
    test_without_room_a_suspended_call_stays_suspended();
    CHECK_EQ(probe.bad, 0);
    CHECK_EQ(probe.depth, 0);
    probe_unregister(&probe);
    CHECK(fg_killed() == NULL);
    return 0;
}
