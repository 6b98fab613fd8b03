/* Recursion: calls that a callback makes are not traced; each missed call is counted on the user. */
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *f, *g;

static void call_others(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)probe, (void)trace;
    sim_call_return(g);
    sim_call_return(f);
}

static void call_others_at_return(struct probe *probe, struct ftrace_graph_ret *trace)
{
    (void)probe, (void)trace;
    sim_raise(sim_call(g));
}

/* Fails if the guard always admits a call (endless recursion), or without count_missed. */
static void test_calls_of_a_callback_are_missed_and_counted(void)
{
    struct probe calls, other;

    probe_init(&calls, "calls", NULL, 2);
    probe_init(&other, "other", "m.g", 0);
    calls.on_entry = call_others;
    calls.on_return = call_others_at_return;
    probe_register(&calls);
    probe_register(&other);
    for (uint64_t i = 1; i <= 10; i++) {
        sim_call_return(f);
        CHECK_EQ(calls.entries, i);
        CHECK_EQ(probe_ends(&calls), i);
        CHECK_EQ(fgraph_nmissed(&calls.ops), 3 * i);
        CHECK_EQ(fgraph_nmissed(&other.ops), 2 * i); /* g: in the entry and in the return */
        CHECK_EQ(other.entries, 0);
        CHECK_EQ(fg_task_current()->missed, 3 * i);
    }
    CHECK_EQ(calls.bad, 0);
    probe_unregister(&calls);
    sim_call_return(g);
    CHECK_EQ(other.entries, 1);
    probe_unregister(&other);
    probe_done(&other);
}

static void suspend_and_resume(struct probe *probe, struct ftrace_graph_ent *trace)
{
    uintptr_t *generator = probe->arg;

    (void)trace;
    if (generator) {
        sim_resume(*generator);
        sim_suspend(*generator);
    }
}

/* Fails without the guard in fg_resume: the generator's frame was pushed above the callback's own
 * frame. */
static void test_a_generator_that_a_callback_runs_stays_as_it_was(void)
{
    struct probe probe;
    uintptr_t generator;

    probe_init(&probe, "probe", NULL, 1);
    probe.on_entry = suspend_and_resume;
    probe_register(&probe);
    generator = sim_call(g);
    sim_suspend(generator);
    probe.arg = &generator;
    sim_call_return(f);
    CHECK_EQ(probe.resumes, 0);
    sim_resume(generator);
    sim_return(generator);
    CHECK_EQ(probe.resumes, 1);
    CHECK_EQ(probe_ends(&probe), 2);
    CHECK_EQ(probe.bad, 0);
    probe_unregister(&probe);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    test_calls_of_a_callback_are_missed_and_counted();
    test_a_generator_that_a_callback_runs_stays_as_it_was();
    return 0;
}
