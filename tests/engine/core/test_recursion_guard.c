/* Recursion: calls that a callback makes are not traced; each missed call is counted on the user. Calls of a
 * signal handler that interrupts the callback are traced. */
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

/* ---- handlers of signals in the middle of a callback */

static void handle(struct probe *probe)
{
    uintptr_t *generator = probe->arg, call;

    if (probe->entries > 1)
        return; /* this is a callback of the handler's call */
    sim_handler(true);
    call = sim_call(g);
    sim_call_return(f);
    sim_return(call);
    sim_raise(sim_call(g));
    if (generator) {
        sim_resume(*generator);
        sim_suspend(*generator);
    }
    sim_handler(false);
}

static void handle_at_entry(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    handle(probe);
}

/* Each call of the handler is heard by all users, the interrupted one included, with the depth and the data
 * that it has in each. Failed before: all of them were missed. */
static void test_calls_of_a_handler_are_traced(void)
{
    struct probe interrupted, other;
    uintptr_t generator;

    probe_init(&interrupted, "interrupted", NULL, 2);
    probe_init(&other, "other", NULL, 1);
    probe_register(&interrupted);
    probe_register(&other);
    generator = sim_call(g);
    sim_suspend(generator);
    interrupted.entries = other.entries = 0;
    interrupted.arg = &generator;
    interrupted.on_entry = handle_at_entry;
    sim_call_return(f);
    CHECK_EQ(interrupted.entries, 4);
    CHECK_EQ(other.entries, 4);
    CHECK_EQ(probe_ends(&interrupted), 4);
    CHECK_EQ(probe_ends(&other), 4);
    CHECK_EQ(interrupted.resumes, 1);
    CHECK_EQ(other.resumes, 1);
    CHECK_EQ(interrupted.bad, 0);
    CHECK_EQ(other.bad, 0);
    CHECK_EQ(fgraph_nmissed(&interrupted.ops), 0);
    CHECK_EQ(interrupted.deepest, 2);
    CHECK_EQ(other.deepest, 1); /* it hears of the interrupted call later */
    CHECK_EQ(fgraph_nmissed(&other.ops), 0);
    sim_resume(generator);
    sim_return(generator);
    CHECK(fg_task_current()->top == fg_task_current()->stack);
    probe_unregister(&interrupted);
    probe_unregister(&other);
}

static void handle_at_return(struct probe *probe, struct ftrace_graph_ret *trace)
{
    (void)trace;
    handle(probe);
}

static void test_calls_of_a_handler_in_a_return_are_traced(void)
{
    struct probe probe;

    probe_init(&probe, "probe", NULL, 2);
    probe.on_return = handle_at_return;
    probe_register(&probe);
    sim_call_return(f);
    CHECK_EQ(probe.entries, 4);
    CHECK_EQ(probe_ends(&probe), 4);
    CHECK_EQ(probe.bad, 0);
    CHECK_EQ(fgraph_nmissed(&probe.ops), 0);
    probe_unregister(&probe);
}

/* A callback of a handler's call is in the handler's context: what it calls is missed, and so is what a
 * second handler calls there. */
static void call_in_handlers_callback(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    if (probe->entries > 1) {
        sim_call_return(g);
        return;
    }
    sim_handler(true);
    sim_call_return(g);
    sim_handler(false);
}

static void test_each_context_has_its_own_guard(void)
{
    struct probe probe;

    probe_init(&probe, "probe", NULL, 2);
    probe.on_entry = call_in_handlers_callback;
    probe_register(&probe);
    sim_call_return(f);
    CHECK_EQ(probe.entries, 2);
    CHECK_EQ(probe_ends(&probe), 2);
    CHECK_EQ(fgraph_nmissed(&probe.ops), 1);
    CHECK_EQ(probe.bad, 0);
    probe_unregister(&probe);
}

/* A user leaves while its callback is interrupted. The frame below, whose users are not known yet, stays. */
static void other_leaves_in_handler(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    if (probe->entries > 1)
        return;
    CHECK_EQ(fgraph_unregister(probe->arg), 0);
    sim_handler(true);
    sim_call_return(g);
    sim_handler(false);
}

static void test_no_frame_of_an_interrupted_callback_is_reaped(void)
{
    struct probe probe, leaves;

    probe_init(&leaves, "leaves", NULL, 0);
    probe_init(&probe, "probe", NULL, 2);
    probe.on_entry = other_leaves_in_handler;
    probe.arg = &leaves.ops;
    probe_register(&leaves);
    probe_register(&probe);
    sim_call_return(f);
    CHECK_EQ(probe.entries, 2);
    CHECK_EQ(probe_ends(&probe), 2);
    CHECK_EQ(probe.bad, 0);
    CHECK(fg_task_current()->top == fg_task_current()->stack);
    probe_unregister(&probe);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    test_calls_of_a_callback_are_missed_and_counted();
    test_a_generator_that_a_callback_runs_stays_as_it_was();
    test_calls_of_a_handler_are_traced();
    test_calls_of_a_handler_in_a_return_are_traced();
    test_each_context_has_its_own_guard();
    test_no_frame_of_an_interrupted_callback_is_reaped();
    return 0;
}
