/* Late and early: any thread registers, unregisters and refilters users while calls run. After
 * unregister has returned, no callback of the user runs. */
#include <unistd.h>

#include "engine/graph/user_list.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 16, NR_CALLERS = 4, NR_CHANGERS = 3, ROUNDS = 60 };

static struct fg_func *funcs[NR_FUNCS];
static _Atomic bool over;

static void recurse(unsigned depth, uint32_t seed)
{
    uintptr_t call = sim_call(funcs[seed % NR_FUNCS]);

    if (depth)
        recurse(depth - 1, seed * 7 + depth);
    if (seed % 5 == 0)
        sim_raise(call);
    else if (seed % 7) /* else its return goes unreported */
        sim_return(call);
}

static void *caller(void *arg)
{
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    uintptr_t generator = sim_call(funcs[0]);

    sim_suspend(generator);
    while (!atomic_load(&over)) {
        uintptr_t outermost = sim_call(funcs[1]);

        recurse(20, seed++);
        sim_return(outermost);
        sim_resume(generator);
        sim_suspend(generator);
    }
    sim_resume(generator);
    sim_return(generator);
    return NULL;
}

static void *changer(void *arg)
{
    static const char *const patterns[] = {"m.f*", "m.f[0-4]", "m.f7", "nothing"};
    struct probe probe;

    for (uintptr_t i = (uintptr_t)arg; i < (uintptr_t)arg + ROUNDS; i++) {
        probe_init(&probe, "changer", patterns[i % NR_OF(patterns)], i % 5);
        probe_register(&probe);
        probe_set_filter(&probe, patterns[(i / 2) % NR_OF(patterns)], i % 3 ? NULL : "m.f3");
        usleep(i % 11);
        probe_unregister(&probe);
        CHECK_EQ(probe.running, 0);
        CHECK_EQ(probe.bad, 0);
        CHECK_EQ(probe.called_after, 0);
        CHECK(probe_ends(&probe) <= probe.entries);
        probe_done(&probe);
        memset(&probe, 0xa5, sizeof(probe)); /* a late callback would jump to an invalid address */
    }
    return NULL;
}

/* Fails without synchronize() in fgraph_unregister, or if fg_task_synchronize does not wait. */
static void test_users_come_and_go_while_calls_run(void)
{
    pthread_t callers[NR_CALLERS], changers[NR_CHANGERS];
    struct probe steady;

    probe_init(&steady, "steady", NULL, 3);
    probe_register(&steady);
    atomic_store(&over, false);
    for (uintptr_t i = 0; i < NR_CALLERS; i++)
        sim_spawn(&callers[i], caller, (void *)(i * 1000));
    for (uintptr_t i = 0; i < NR_CHANGERS; i++)
        sim_spawn(&changers[i], changer, (void *)(i * ROUNDS));
    for (uintptr_t i = 0; i < NR_CHANGERS; i++)
        sim_join(changers[i]);
    atomic_store(&over, true);
    for (uintptr_t i = 0; i < NR_CALLERS; i++)
        sim_join(callers[i]);
    CHECK_EQ(probe_ends(&steady), steady.entries);
    CHECK_EQ(steady.bad, 0);
    probe_unregister(&steady);
}

static _Atomic bool inside, let_go;

static void stay_inside(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)probe, (void)trace;
    atomic_store(&inside, true);
    while (!atomic_load(&let_go))
        usleep(100);
}

static void *one_call(void *arg)
{
    (void)arg;
    sim_call_return(funcs[0]);
    return NULL;
}

static void *let_go_later(void *arg)
{
    struct probe *probe = arg;

    usleep(20000);
    CHECK_EQ(probe->running, 1);
    atomic_store(&let_go, true);
    return NULL;
}

/* Fails if find_busy gets the wrong half of the guard (the count instead of the contexts). */
static void test_unregister_waits_for_a_callback_that_runs(void)
{
    pthread_t thread, other;
    struct probe probe;

    probe_init(&probe, "slow", NULL, 0);
    probe.on_entry = stay_inside;
    probe_register(&probe);
    sim_spawn(&thread, one_call, NULL);
    while (!atomic_load(&inside))
        usleep(100);
    sim_spawn(&other, let_go_later, &probe);
    probe_unregister(&probe);
    CHECK(atomic_load(&let_go));
    CHECK_EQ(probe.running, 0);
    sim_join(thread);
    sim_join(other);
    CHECK_EQ(probe_ends(&probe), 0);
}

static struct probe pair[2];
static _Atomic uint32_t nr_inside;

static void unregister_the_other(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    atomic_fetch_add(&nr_inside, 1);
    while (atomic_load(&nr_inside) < 2)
        usleep(10);
    probe_unregister(probe->arg);
}

static void *call_of(void *arg)
{
    sim_call_return(arg);
    return NULL;
}

/* Fails without in_synchronize: the two callbacks waited for each other forever. */
static void test_callbacks_that_unregister_each_other_do_not_wait_for_ever(void)
{
    pthread_t thread;

    for (int i = 0; i < 50; i++) {
        atomic_store(&nr_inside, 0);
        for (int u = 0; u < 2; u++) {
            probe_init(&pair[u], "pair", u ? "m.f1" : "m.f0", 0);
            pair[u].on_entry = unregister_the_other;
            pair[u].arg = &pair[!u];
            probe_register(&pair[u]);
        }
        sim_spawn(&thread, call_of, funcs[0]);
        sim_call_return(funcs[1]);
        sim_join(thread);
        probe_done(&pair[0]);
        probe_done(&pair[1]);
    }
}

static void unregister_next(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe_unregister(probe->arg);
}

/* Fails without fg_user_list_stub_out in fgraph_unregister: the list in use still named the
 * unregistered user. */
static void test_a_user_that_a_callback_unregistered_is_not_called(void)
{
    struct probe first, second;

    probe_init(&first, "first", NULL, 0);
    probe_init(&second, "second", NULL, 0);
    first.on_entry = unregister_next;
    first.arg = &second;
    probe_register(&first);
    probe_register(&second);
    sim_call_return(funcs[0]);
    CHECK_EQ(second.entries, 0);
    CHECK_EQ(probe_ends(&first), 1);
    probe_unregister(&first);
}

/* Fails if fg_user_set_filter tests `idx >= 0` instead of the registration: it published the user
 * again. */
static struct probe leaving;
static _Atomic bool left;

static void *set_filters(void *arg)
{
    (void)arg;
    while (!atomic_load(&left))
        probe_set_filter(&leaving, "m.f*", NULL);
    return NULL;
}

static void test_a_filter_set_while_its_user_leaves_does_not_bring_it_back(void)
{
    pthread_t threads[2];

    for (int i = 0; i < 50; i++) {
        atomic_store(&left, false);
        probe_init(&leaving, "leaving", NULL, 0);
        probe_register(&leaving);
        sim_spawn(&threads[0], set_filters, NULL);
        sim_spawn(&threads[1], set_filters, NULL);
        usleep(200);
        probe_unregister(&leaving);
        CHECK(!fg_func_has_users(funcs[0]));
        sim_call_return(funcs[0]);
        atomic_store(&left, true);
        sim_join(threads[0]);
        sim_join(threads[1]);
        CHECK_EQ(leaving.called_after, 0);
        probe_done(&leaving);
    }
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_users_come_and_go_while_calls_run();
    test_unregister_waits_for_a_callback_that_runs();
    test_callbacks_that_unregister_each_other_do_not_wait_for_ever();
    test_a_user_that_a_callback_unregistered_is_not_called();
    test_a_filter_set_while_its_user_leaves_does_not_bring_it_back();
    CHECK(fg_killed() == NULL);
    return 0;
}
