/* Pairing: the return function is called exactly once for each entry that asked for it, with that
 * entry's data. */
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct probe probe;
static struct fg_func *f, *g;

/* Fails without `task->top = frame` in fg_return: the return was reported twice. */
static void test_return_and_raise_end_a_call_once(void)
{
    uintptr_t outer = sim_call(f), inner = sim_call(g);

    sim_raise(inner);
    sim_raise(inner);
    sim_return(outer);
    sim_return(outer);
    CHECK_EQ(probe.entries, 2);
    CHECK_EQ(probe.ends[FG_END_RAISE], 1);
    CHECK_EQ(probe.ends[FG_END_RETURN], 1);
}

/* Fails if find_frame takes the newest frame whatever its frame pointer. */
static void test_return_of_a_call_that_began_before_tracing_is_ignored(void)
{
    uint64_t ends = probe_ends(&probe);
    uintptr_t call = sim_call(f);

    sim_return(4711);
    CHECK_EQ(probe_ends(&probe), ends);
    sim_return(call);
    CHECK_EQ(probe_ends(&probe), ends + 1);
}

/* Fails without fg_end_frame in find_frame: the inner calls' returns never came. */
static void test_calls_whose_end_was_never_told_are_closed(void)
{
    uint64_t closed = probe.ends[FG_END_CLOSE];
    uintptr_t outer = sim_call(f);

    sim_call(g);
    sim_call(g);
    sim_return(outer);
    CHECK_EQ(probe.ends[FG_END_CLOSE], closed + 2);
    CHECK_EQ(probe_ends(&probe), probe.entries);
    CHECK_EQ(fg_task_current()->lost_returns, 2);
}

static void *calls_without_return(void *arg)
{
    (void)arg;
    sim_call(f);
    sim_call(g);
    return NULL;
}

/* Fails without unwind_frames in fg_task_unwind. */
static void test_thread_exit_ends_its_calls(void)
{
    uint64_t closed = probe.ends[FG_END_CLOSE];

    sim_in_thread(calls_without_return, NULL);
    CHECK_EQ(probe.ends[FG_END_CLOSE], closed + 2);
    CHECK_EQ(probe_ends(&probe), probe.entries);
}

static void exit_thread(struct probe *of, struct ftrace_graph_ent *trace)
{
    (void)of, (void)trace;
    pthread_exit(NULL);
}

/* Fails if users are notified of a task's end only inside the recursion guard: this user was then not
 * notified. */
static uint32_t nr_task_exits;

static void task_exits(struct fg_task *task, struct fgraph_ops *ops)
{
    (void)task, (void)ops;
    nr_task_exits++;
}

static void test_thread_that_ends_in_a_callback_is_let_go_of(void)
{
    uint32_t tasks = fg_task_count();

    fg_user_of(&probe.ops)->taskexitfunc = task_exits;
    probe.on_entry = exit_thread;
    sim_in_thread(calls_without_return, NULL);
    probe.on_entry = NULL;
    fg_user_of(&probe.ops)->taskexitfunc = NULL;
    CHECK_EQ(nr_task_exits, 1);
    CHECK_EQ(fg_task_count(), tasks);
    atomic_fetch_sub(&probe.entries, 1); /* its frame was released with the thread */
    atomic_fetch_sub(&probe.running, 1);
}

static int order[8];
static uint32_t nr_order;

static void note_entry(struct probe *of, struct ftrace_graph_ent *trace)
{
    (void)trace;
    order[nr_order++] = of->ops.name[0];
}

static void note_return(struct probe *of, struct ftrace_graph_ret *trace)
{
    (void)trace;
    order[nr_order++] = of->ops.name[0];
}

/* Fails if return functions run oldest first. Fails if they run in slot order: a slot given back out of
 * order and taken again shows this. */
static void test_returns_come_in_reverse_order_of_the_entries(void)
{
    static const char expected[] = {'a', 'b', 'c', 'c', 'b', 'a'};
    struct probe users[3];
    struct probe filler[FG_MAX_USERS];

    for (uint32_t i = 0; i < FG_MAX_USERS - 3; i++) {
        probe_init(&filler[i], "filler", "nothing.*", 0);
        probe_register(&filler[i]);
        probe_unregister(&filler[i]);
        probe_done(&filler[i]);
    }
    for (uint32_t i = 0; i < 3; i++) {
        static const char *const names[] = {"a", "b", "c"};

        probe_init(&users[i], names[i], "m.f", i);
        users[i].on_entry = note_entry;
        users[i].on_return = note_return;
        probe_register(&users[i]);
    }
    CHECK(fg_user_slot(&users[0].ops) > fg_user_slot(&users[2].ops));
    sim_call_return(f);
    for (uint32_t i = 0; i < NR_OF(expected); i++)
        CHECK_EQ(order[i], expected[i]);
    for (uint32_t i = 0; i < 3; i++) {
        CHECK_EQ(users[i].bad, 0);
        probe_unregister(&users[i]);
        probe_done(&users[i]);
    }
}

/* Fails if the bit of a user that refused stays set. */
static void test_who_refuses_gets_no_return(void)
{
    struct probe other;
    uint64_t ends = probe_ends(&probe);

    probe_init(&other, "other", NULL, 3);
    atomic_store(&other.refuse, true);
    probe_register(&other);
    sim_call_return(f);
    CHECK_EQ(other.entries, 1);
    CHECK_EQ(probe_ends(&other), 0);
    CHECK_EQ(probe_ends(&probe), ends + 1);
    atomic_store(&probe.refuse, true);
    sim_call_return(f);
    atomic_store(&probe.refuse, false);
    CHECK_EQ(probe_ends(&probe), ends + 1);
    CHECK(fg_task_current()->top == fg_task_current()->stack);
    probe_unregister(&other);
    atomic_fetch_sub(&probe.entries, 1);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    probe_init(&probe, "probe", NULL, 2);
    probe_register(&probe);
    test_return_and_raise_end_a_call_once();
    test_return_of_a_call_that_began_before_tracing_is_ignored();
    test_calls_whose_end_was_never_told_are_closed();
    test_thread_exit_ends_its_calls();
    test_thread_that_ends_in_a_callback_is_let_go_of();
    test_returns_come_in_reverse_order_of_the_entries();
    test_who_refuses_gets_no_return();
    CHECK_EQ(probe_ends(&probe), probe.entries);
    CHECK_EQ(probe.bad, 0);
    probe_unregister(&probe);
    CHECK(fg_killed() == NULL);
    return 0;
}
