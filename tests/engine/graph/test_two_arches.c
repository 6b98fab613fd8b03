/* Functions of two arches in one engine. Calls of both nest on one shadow stack. Users see the calls of
 * their scope and of global domains, as if one arch owned all functions. This program contains the
 * simulated arch twice; each instance checks that it is asked only about its own functions.
 *
 *     domain         arch  seen by
 *     sim_domains[0]  0    users of the default scope
 *     sub             0    users of scope "sub" (as a subinterpreter)
 *     sim_domains[1]  1    all users: it is global (as native code) */
#include <errno.h>

#include "engine/core/root.h"
#include "engine/graph/data.h"
#include "engine/graph/parked.h"
#include "engine/graph/user_list.h"
#include "engine/users/meet.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"
#include "support/watch.h"

static const char sub_scope[] = "sub";
static struct fg_domain sub = {.scope = sub_scope};
static struct fg_func *py, *py_gen, *native, *native_gen, *sub_py;

/* A user that matches every function in its scope. */
static void begin(struct probe *probe, const char *pattern, const void *scope)
{
    probe_init(probe, "user", pattern, 2);
    fg_user_of(&probe->ops)->scope = scope;
    probe_register(probe);
}

/* Calls py and native alternately, each from the other. */
static void nest(int depth)
{
    uintptr_t call = sim_call(depth % 2 ? native : py);

    if (depth)
        nest(depth - 1);
    if (depth % 3)
        sim_return(call);
    else
        sim_raise(call);
}

/* Fails if fg_domain_is_seen only compares `domain->scope == scope`, or if it is always true. */
static void test_users_see_their_scope_and_global_domains(void)
{
    struct probe all, other;

    begin(&all, NULL, NULL);
    begin(&other, NULL, sub_scope);
    nest(9); /* ten calls, five of each arch */
    CHECK_EQ(all.entries, 10);
    CHECK_EQ(other.entries, 5);
    sim_call_return(sub_py);
    CHECK_EQ(all.entries, 10);
    CHECK_EQ(other.entries, 6);
    probe_finish(&all);
    probe_finish(&other);
}

static uint32_t depths[16], nr_depths;

static void note_depth(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)probe;
    depths[nr_depths++] = trace->depth;
}

/* Fails if the depth counts all frames of the task. */
static void test_own_depth_and_data_do_not_depend_on_the_arch(void)
{
    struct probe both, of_native;

    begin(&both, NULL, NULL);
    begin(&of_native, "native.*", NULL);
    of_native.on_entry = note_depth;
    nr_depths = 0;
    nest(5);
    CHECK_EQ(nr_depths, 3);
    for (uint32_t i = 0; i < nr_depths; i++)
        CHECK_EQ(depths[i], i); /* a py frame lies between two native frames */
    CHECK_EQ(both.entries, 6);
    probe_finish(&of_native);
    probe_finish(&both);
}

static void *resume_both(void *arg)
{
    const uintptr_t *calls = arg;

    sim_resume(calls[0]);
    sim_call_return(native);
    sim_resume(calls[1]);
    sim_call_return(py);
    sim_return(calls[1]);
    sim_return(calls[0]);
    return NULL;
}

/* One generator of each arch is suspended while a call of the other arch surrounds it. Both are resumed
 * in another thread. */
static void test_suspended_calls_of_both_arches_move_to_another_thread(void)
{
    struct probe both, of_py;
    uintptr_t outer, calls[2], inner;

    begin(&both, NULL, NULL);
    begin(&of_py, "py.*", NULL);
    outer = sim_call(native);
    calls[0] = sim_call(py_gen);
    sim_suspend(calls[0]);
    inner = sim_call(py);
    calls[1] = sim_call(native_gen);
    sim_suspend(calls[1]);
    CHECK_EQ(fg_parked_count(), 2);
    sim_in_thread(resume_both, calls);
    CHECK_EQ(fg_parked_count(), 0);
    sim_return(inner);
    sim_return(outer);
    CHECK_EQ(both.suspends, 2);
    CHECK_EQ(both.resumes, 2);
    CHECK_EQ(of_py.suspends, 1);
    CHECK_EQ(of_py.resumes, 1);
    CHECK_EQ(both.entries, 6);
    CHECK_EQ(of_py.entries, 3);
    probe_finish(&both);
    probe_finish(&of_py);
}

/* When a call returns, the calls above it had unreported returns, whatever their arch. */
static void test_unreported_ends_are_closed_across_arches(void)
{
    struct probe both;
    uintptr_t outer;

    begin(&both, NULL, NULL);
    outer = sim_call(py);
    sim_call(native);
    sim_call(py_gen);
    sim_return(outer);
    CHECK_EQ(both.ends[FG_END_CLOSE], 2);
    CHECK_EQ(both.ends[FG_END_RETURN], 1);
    probe_finish(&both);
}

/* Fails if a plan asks the first function's arch about all functions. */
static void test_each_arch_hooks_its_own_functions(void)
{
    uint64_t brackets[SIM_NR_ARCHES], syncs[SIM_NR_ARCHES];
    struct probe both;
    uintptr_t call;

    for (int i = 0; i < SIM_NR_ARCHES; i++) {
        brackets[i] = sim_arch_calls(i)->brackets;
        syncs[i] = sim_arch_calls(i)->syncs;
    }
    begin(&both, NULL, NULL);
    CHECK(sim_is_hooked(py) && sim_is_hooked(native) && !sim_is_hooked(sub_py));
    for (int i = 0; i < SIM_NR_ARCHES; i++) {
        CHECK_EQ(sim_arch_calls(i)->brackets, brackets[i] + 1); /* once for all functions of the arch */
        CHECK_EQ(sim_arch_calls(i)->syncs, syncs[i] + 2);
    }
    call = sim_call(native);
    probe_edit_filter(&both, FGRAPH_FILTER, "py.*");
    CHECK(sim_is_hooked(py) && sim_is_hooked(native)); /* until its call in progress has returned */
    sim_return(call);
    CHECK(sim_is_hooked(py) && !sim_is_hooked(native));
    CHECK_EQ(probe_ends(&both), 1);
    sim_call_return(native);
    CHECK_EQ(both.entries, 1);
    probe_finish(&both);
    CHECK(!sim_is_hooked(py));
}

/* Late and early: users come and go inside nested calls of both arches. */
static void test_users_come_and_go_inside_a_nesting(void)
{
    struct probe early, late;
    uintptr_t outer, inner;
    int slot;

    begin(&early, NULL, NULL);
    outer = sim_call(py);
    inner = sim_call(native);
    slot = fg_user_slot(&early.ops);
    probe_unregister(&early);
    for (uint32_t i = 1; i < FG_MAX_USERS; i++) { /* until the same slot is taken again */
        begin(&late, "nothing", NULL);
        probe_finish(&late);
    }
    begin(&late, NULL, NULL);
    CHECK_EQ(fg_user_slot(&late.ops), slot);
    sim_return(inner);
    inner = sim_call(native);
    CHECK_EQ(late.depth, 0);
    sim_return(inner);
    sim_return(outer);
    CHECK_EQ(late.entries, 1);
    CHECK_EQ(probe_ends(&late), 1);
    CHECK_EQ(early.entries, 2);
    CHECK_EQ(probe_ends(&early), 0);
    probe_done(&early);
    probe_finish(&late);
}

static void *end_inside(void *arg)
{
    (void)arg;
    sim_call(py);
    sim_call(native);
    sim_call(py_gen);
    return NULL;
}

static void test_a_thread_that_ends_closes_calls_of_both(void)
{
    struct probe both;

    begin(&both, NULL, NULL);
    sim_in_thread(end_inside, NULL);
    CHECK_EQ(both.ends[FG_END_CLOSE], 3);
    CHECK_EQ(fg_task_count(), 1);
    probe_finish(&both);
}

static _Atomic uint64_t objects[2];

static void leave_object(struct probe *probe, struct ftrace_graph_ent *trace)
{
    CHECK(fgraph_reserve_object(trace, &probe->ops, &objects[trace->func == native]));
}

/* Fails if fg_data_drop asks the arch of the newest frame's function. */
static void test_each_arch_lets_go_of_objects_on_its_own_frames(void)
{
    uint64_t drops[] = {sim_arch_calls(0)->drops, sim_arch_calls(1)->drops};
    struct probe both;

    begin(&both, NULL, NULL);
    both.on_entry = leave_object;
    nest(3);
    CHECK_EQ(sim_arch_calls(0)->drops, drops[0] + 2);
    CHECK_EQ(sim_arch_calls(1)->drops, drops[1] + 2);
    CHECK_EQ(objects[0], 2);
    CHECK_EQ(objects[1], 2);
    sim_call(py);
    sim_call(native);
    probe_unregister(&both); /* releases its frames with their objects */
    CHECK_EQ(sim_arch_calls(0)->drops, drops[0] + 3);
    CHECK_EQ(sim_arch_calls(1)->drops, drops[1] + 3);
    probe_done(&both);
}

/* Fails with one pool of records for all arches. */
static void test_a_record_is_reused_by_its_own_arch_only(void)
{
    struct fg_func *first = sim_function_in(&sim_domains[1], "native", "passing"), *other;

    sim_free(first);
    other = sim_function_in(&sim_domains[0], "py", "passing");
    CHECK(other != first);
    sim_free(other);
    CHECK(sim_function_in(&sim_domains[1], "native", "passing") == first);
    sim_free(first);
}

/* A function found while users are registered is attached to those in scope. */
static void test_new_functions_meet_users_of_both_scopes(void)
{
    struct probe all, other;
    struct fg_func *func;

    begin(&all, "*.passing", NULL);
    begin(&other, "*.passing", sub_scope);
    func = sim_function_in(&sim_domains[1], "native", "passing");
    sim_call_return(func);
    sim_free(func);
    func = sim_function_in(&sub, "sub", "passing");
    sim_call_return(func);
    sim_free(func);
    CHECK_EQ(all.entries, 1);
    CHECK_EQ(other.entries, 2);
    probe_finish(&all);
    probe_finish(&other);
}

/* The engine asks only the called function's arch whether the call is for a signal. */
static void test_the_arch_of_the_function_is_asked_about_signals(void)
{
    struct fg_func *handler = sim_function_in(&sim_domains[1], "native", "handler");
    struct probe both;
    uint64_t before = sim_arch_calls(0)->irq_requested;

    probe_init(&both, "user", NULL, 0);
    fg_user_of(&both.ops)->filter.irqs = FG_IRQS_MARKED;
    probe_register(&both);
    CHECK(fg_func_set_irq(handler));
    sim_return(sim_call_for_signal(handler));
    CHECK_EQ(sim_arch_calls(1)->irq_requested, 1);
    CHECK_EQ(sim_arch_calls(0)->irq_requested, before);
    probe_finish(&both);
    sim_free(handler);
}

static struct watch a, b;

static void watch_in(struct watch *watch, const char *pattern, const void *scope)
{
    struct fg_fprobe_filter filter = {.filter = {.n = 0}};
    const char *reason;
    size_t column;

    CHECK_EQ(fg_patterns_add(&filter.filter, pattern, &reason, &column), 0);
    atomic_store(&watch->is_registered, true);
    CHECK_EQ(fg_fprobe_register(&watch->fp, scope, &filter), 0);
}

/* Fails if fg_fprobes_enter and fg_fprobes_missed do not compare a reference's user: each handler ran
 * twice. */
static void test_fprobes_of_two_scopes_share_a_global_function(void)
{
    struct fg_func *later;

    watch_init(&a, "a", 8);
    watch_init(&b, "b", 8);
    watch_in(&a, "*", NULL);
    watch_in(&b, "*", sub_scope);
    CHECK_EQ(fgraph_count(), 2);
    sim_call_return(native);
    CHECK_TEXT(watch_log(), "a> b> b< a<");
    sim_call_return(py);
    CHECK_TEXT(watch_log(), "a> a<");
    sim_call_return(sub_py);
    CHECK_TEXT(watch_log(), "b> b<");
    later = sim_function_in(&sim_domains[1], "native", "later");
    sim_call_return(later);
    CHECK_TEXT(watch_log(), "a> b> b< a<");
    watch_unregister(&a);
    sim_call_return(later);
    sim_call_return(native);
    CHECK_TEXT(watch_log(), "b> b< b> b<");
    watch_unregister(&b);
    CHECK(!sim_is_hooked(later) && !sim_is_hooked(native));
    sim_free(later);
}

/* Runs last: the kill switch stops the engine for good. */
static void test_the_kill_switch_stops_both(void)
{
    struct probe both;
    uintptr_t outer;

    begin(&both, NULL, NULL);
    outer = sim_call(py);
    fg_kill("two arches");
    sim_call_return(native);
    sim_call_return(py);
    sim_return(outer);
    CHECK_EQ(both.entries, 1);
    CHECK_EQ(probe_ends(&both), 0);
    probe_unregister(&both);
    probe_done(&both);
}

int main(void)
{
    sim_begin();
    sub.arch = sim_domains[0].arch;
    py = sim_function("py", "f");
    native = sim_function_in(&sim_domains[1], "native", "f");
    py_gen = sim_function("py", "gen");
    native_gen = sim_function_in(&sim_domains[1], "native", "gen");
    sub_py = sim_function_in(&sub, "sub", "f");
    test_users_see_their_scope_and_global_domains();
    test_own_depth_and_data_do_not_depend_on_the_arch();
    test_suspended_calls_of_both_arches_move_to_another_thread();
    test_unreported_ends_are_closed_across_arches();
    test_each_arch_hooks_its_own_functions();
    test_users_come_and_go_inside_a_nesting();
    test_a_thread_that_ends_closes_calls_of_both();
    test_each_arch_lets_go_of_objects_on_its_own_frames();
    test_a_record_is_reused_by_its_own_arch_only();
    test_new_functions_meet_users_of_both_scopes();
    test_the_arch_of_the_function_is_asked_about_signals();
    test_fprobes_of_two_scopes_share_a_global_function();
    test_the_kill_switch_stops_both();
    return 0;
}
