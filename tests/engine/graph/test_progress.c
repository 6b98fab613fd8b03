/* Users unregister and change filters while calls are in progress. */
#include <semaphore.h>

#include "engine/graph/frame.h"
#include "engine/graph/parked.h"
#include "engine/graph/progress.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *f, *g;

static bool count(const struct fg_frame_info *frame, void *arg)
{
    (void)frame;
    ++*(int *)arg;
    return true;
}

static int nr_frames(void)
{
    int n = 0;

    fg_walk(fg_task_current(), count, &n);
    return n;
}

/* Fails without fg_progress_reap_all in fgraph_unregister: each user that came and went left a frame. */
static void test_frames_go_with_their_last_user(void)
{
    uintptr_t outer = sim_call(f);

    for (int i = 0; i < 1000; i++) {
        struct probe probe;

        probe_init(&probe, "short", NULL, 4);
        probe_register(&probe);
        sim_call(f);
        sim_suspend(sim_call(g));
        CHECK_EQ(nr_frames(), 1);
        probe_unregister(&probe);
        probe_done(&probe);
        CHECK_EQ(nr_frames(), 0);
    }
    sim_return(outer);
}

/* Fails if a frame is parked although no user wants it. */
static void test_a_frame_that_nobody_wants_is_not_parked(void)
{
    struct probe probe, other;
    uintptr_t outer, inner;

    probe_init(&other, "stays", "m.g", 0);
    probe_register(&other);
    probe_init(&probe, "leaves", "m.f", 4);
    probe_register(&probe);
    outer = sim_call(f);
    inner = sim_call(g); /* keeps the frame below from being released at once */
    probe_unregister(&probe);
    sim_return(inner);
    sim_suspend(outer);
    CHECK_EQ(fg_parked_count(), 0);
    probe_unregister(&other);
    probe_done(&probe);
    probe_done(&other);
}

struct two_threads {
    struct probe stays, leaves;
    sem_t has_called, may_go_on;
};

static void *call_and_call_again(void *arg)
{
    struct two_threads *two = arg;
    uintptr_t outer = sim_call(g);

    for (int i = 0; i < 10; i++)
        sim_call(f);
    sem_post(&two->has_called);
    sem_wait(&two->may_go_on);
    CHECK_EQ(nr_frames(), 11);
    sim_call_return(g);
    CHECK_EQ(nr_frames(), 1);
    sim_return(outer);
    CHECK_EQ(nr_frames(), 0);
    return NULL;
}

/* Fails without reap_later: the frames stayed below the new one. */
static void test_frames_of_another_thread_go_at_its_next_entry(void)
{
    struct two_threads two;
    pthread_t thread;

    sem_init(&two.has_called, 0, 0);
    sem_init(&two.may_go_on, 0, 0);
    probe_init(&two.stays, "stays", "m.g", 1);
    probe_init(&two.leaves, "leaves", NULL, 1);
    probe_register(&two.stays);
    probe_register(&two.leaves);
    sim_spawn(&thread, call_and_call_again, &two);
    sem_wait(&two.has_called);
    probe_unregister(&two.leaves);
    probe_done(&two.leaves);
    sem_post(&two.may_go_on);
    sim_join(thread);
    CHECK_EQ(probe_ends(&two.stays), 2);
    probe_unregister(&two.stays);
    probe_done(&two.stays);
}

/* Fails if the hooks are removed as soon as no filter matches the function, although its calls are in
 * progress. Fails if a return does not look for further calls in progress: the function stayed hooked. */
static void test_ends_are_told_after_the_filter_has_changed(void)
{
    struct probe probe;
    uintptr_t outer, inner, suspended;

    probe_init(&probe, "changes", "m.*", 2);
    probe_register(&probe);
    outer = sim_call(f);
    inner = sim_call(f);
    suspended = sim_call(f);
    sim_suspend(suspended);
    probe_set_filter(&probe, "nothing", NULL);
    CHECK(sim_is_hooked(f));
    CHECK(!sim_is_hooked(g));
    sim_return(inner);
    sim_return(outer);
    CHECK(sim_is_hooked(f));
    sim_resume(suspended);
    sim_raise(suspended);
    CHECK(!sim_is_hooked(f));
    CHECK_EQ(probe_ends(&probe), 3);
    CHECK_EQ(probe.bad, 0);
    probe_unregister(&probe);
    probe_done(&probe);
}

/* Fails if a plan includes only functions that it changes: f stayed hooked. */
static void test_nobody_waits_for_ends_once_the_user_has_left(void)
{
    struct probe probe;
    uintptr_t call;

    probe_init(&probe, "changes", "m.*", 2);
    probe_register(&probe);
    call = sim_call(f);
    probe_set_filter(&probe, "nothing", NULL);
    CHECK(sim_is_hooked(f));
    probe_unregister(&probe);
    probe_done(&probe);
    CHECK(!sim_is_hooked(f));
    sim_return(call);
    CHECK_EQ(probe_ends(&probe), 0);
}

static void change_filter(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe_set_filter(probe, "nothing", NULL);
}

/* Fails without is_new: the user's bit is not set yet during the entry, so the call did not count as in
 * progress. */
static void test_a_filter_changed_in_the_entry_itself(void)
{
    struct probe probe;
    uintptr_t call;

    probe_init(&probe, "changes", "m.*", 0);
    probe.on_entry = change_filter;
    probe_register(&probe);
    call = sim_call(f);
    CHECK(sim_is_hooked(f));
    sim_return(call);
    CHECK(!sim_is_hooked(f));
    CHECK_EQ(probe_ends(&probe), 1);
    probe_unregister(&probe);
    probe_done(&probe);
}

static void *call_and_change_filter(void *probe)
{
    sim_call(f);
    probe_set_filter(probe, "nothing", NULL);
    return NULL;
}

/* Fails without `exiting` in fg_progress_call_ended: the thread that ended changed hooks. An arch may not be
 * able to do that in such a thread: CPython crashed. */
static void test_a_thread_that_ends_changes_no_hooks(void)
{
    struct probe probe;

    probe_init(&probe, "changes", "m.*", 0);
    probe_register(&probe);
    sim_in_thread(call_and_change_filter, &probe);
    CHECK_EQ(probe.ends[FG_END_CLOSE], 1);
    CHECK(sim_is_hooked(f));
    probe_unregister(&probe);
    CHECK(!sim_is_hooked(f));
    probe_done(&probe);
}

static void leave(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe_unregister(probe);
}

/* Fails without fg_progress_forget: the frame of the entry under way kept f hooked for good. */
static void test_hooks_kept_for_an_entry_under_way_go_with_the_last_user(void)
{
    struct probe probe;
    uintptr_t call;

    probe_init(&probe, "leaves", "m.*", 0);
    probe.on_entry = leave;
    probe_register(&probe);
    call = sim_call(f);
    CHECK(sim_is_hooked(f));
    CHECK(!sim_is_hooked(g));
    fg_progress_forget(sim_domains[0].scope);
    CHECK(!sim_is_hooked(f));
    sim_return(call);
    probe_done(&probe);
}

static uint32_t nr_needed, nr_not_needed;

static void note_need(struct fg_func *func)
{
    if (fg_users_need_hooks(func->domain->scope))
        nr_needed++;
    else
        nr_not_needed++;
}

/* Fails without fg_plan_is_under_way: the arch removed its hooks before it was asked to sync f and g. */
static void test_hooks_are_needed_until_those_of_all_functions_match(void)
{
    struct probe probe;

    probe_init(&probe, "leaves", "m.*", 0);
    probe_register(&probe);
    CHECK(fg_users_need_hooks(sim_domains[0].scope));
    sim_before_sync(note_need);
    probe_unregister(&probe);
    sim_before_sync(NULL);
    CHECK_EQ(nr_needed, 2);
    CHECK_EQ(nr_not_needed, 0);
    CHECK(!fg_users_need_hooks(sim_domains[0].scope));
    probe_done(&probe);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    test_frames_go_with_their_last_user();
    test_a_frame_that_nobody_wants_is_not_parked();
    test_frames_of_another_thread_go_at_its_next_entry();
    test_ends_are_told_after_the_filter_has_changed();
    test_nobody_waits_for_ends_once_the_user_has_left();
    test_a_filter_changed_in_the_entry_itself();
    test_a_thread_that_ends_changes_no_hooks();
    test_hooks_kept_for_an_entry_under_way_go_with_the_last_user();
    test_hooks_are_needed_until_those_of_all_functions_match();
    CHECK(fg_killed() == NULL);
    return 0;
}
