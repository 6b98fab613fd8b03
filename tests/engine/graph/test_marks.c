/* Selection by thread and by caller: tids, graph, graph_notrace. */
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *root, *leaf, *other;

static struct probe begin(const char *filter, const char *graph, const char *graph_notrace)
{
    struct probe probe;

    probe_init(&probe, "marks", filter, 1);
    probe_edit_filter(&probe, FGRAPH_GRAPH, graph);
    probe_edit_filter(&probe, FGRAPH_GRAPH_NOTRACE, graph_notrace);
    return probe;
}

/* The probe no longer moves, so its address can be its user's private data. */
static void start(struct probe *probe)
{
    probe->ops.private_data = probe;
    probe_register(probe);
}

static void check_seen(struct probe *probe, uint64_t entries, uint32_t depth)
{
    CHECK_EQ(probe->entries, entries);
    CHECK_EQ(probe->depth, depth);
}

/* Fails without filter_flags in fg_user_list_with (a changed list lost the root), or if fg_marks_check
 * ignores the depth. */
static void test_graph_shows_a_function_and_what_it_calls(void)
{
    struct probe probe = begin(NULL, "g.root", NULL), second = begin("g.root", NULL, NULL);
    uintptr_t outer, inner;

    start(&probe);
    start(&second);
    sim_call_return(leaf);
    check_seen(&probe, 0, 0);
    outer = sim_call(root);
    inner = sim_call(leaf);
    check_seen(&probe, 2, 1);
    sim_call_return(root);
    check_seen(&probe, 3, 2);
    sim_return(inner);
    sim_return(outer);
    sim_call_return(leaf);
    check_seen(&probe, 3, 0);
    check_seen(&second, 2, 0);
    probe_finish(&second);
    probe_finish(&probe);
}

/* Fails if only the filter decides what is hooked (the root was not hooked), or if the root counts as
 * one of the user's frames. */
static void test_a_root_outside_of_the_filter_is_silent(void)
{
    struct probe probe = begin("g.leaf", "g.root", NULL);
    uintptr_t outer, again;

    start(&probe);
    outer = sim_call(root);
    sim_call_return(leaf);
    check_seen(&probe, 1, 0);
    again = sim_call(root);
    sim_return(again);
    sim_call_return(leaf);
    check_seen(&probe, 2, 0);
    sim_raise(outer);
    sim_call_return(leaf);
    check_seen(&probe, 2, 0);
    probe_finish(&probe);
}

/* Fails if `hiding` is not reset at a return, at a suspend, or at a resume. */
static void test_graph_notrace_hides_a_function_and_what_it_calls(void)
{
    struct probe probe = begin(NULL, NULL, "g.root"), second = begin(NULL, NULL, NULL);
    uintptr_t outer, hidden;

    start(&probe);
    start(&second);
    outer = sim_call(other);
    hidden = sim_call(root);
    sim_call_return(leaf);
    sim_call_return(root);
    check_seen(&probe, 1, 0);
    sim_suspend(hidden);
    sim_call_return(leaf);
    check_seen(&probe, 2, 1);
    sim_resume(hidden);
    sim_call_return(leaf);
    check_seen(&probe, 2, 1);
    sim_raise(hidden);
    sim_call_return(leaf);
    check_seen(&probe, 3, 1);
    sim_return(outer);
    CHECK_EQ(second.entries, 7);
    CHECK_EQ(probe.suspends + probe.resumes, 0);
    CHECK_EQ(second.suspends + second.resumes, 2);
    probe_finish(&second);
    probe_finish(&probe);
}

/* Fails without may_hide in the flags. */
static void test_what_is_hidden_stays_so_until_its_call_ends(void)
{
    struct probe probe = begin(NULL, NULL, "g.root");
    uintptr_t hidden;

    start(&probe);
    hidden = sim_call(root);
    probe_edit_filter(&probe, FGRAPH_GRAPH_NOTRACE, NULL);
    sim_call_return(leaf);
    check_seen(&probe, 0, 0);
    sim_return(hidden);
    sim_call_return(leaf);
    sim_call_return(root);
    check_seen(&probe, 2, 0);
    probe_finish(&probe);
}

static void *resume_and_return(void *arg)
{
    uintptr_t call = *(uintptr_t *)arg;

    sim_resume(call);
    sim_call_return(leaf);
    sim_return(call);
    sim_call_return(leaf);
    return NULL;
}

/* Fails if the mark of a resumed frame is counted on the task that suspended it. */
static void test_a_mark_moves_with_its_call_to_another_thread(void)
{
    struct probe probe = begin(NULL, NULL, "g.root");
    uintptr_t hidden;

    start(&probe);
    hidden = sim_call(root);
    sim_suspend(hidden);
    sim_in_thread(resume_and_return, &hidden);
    check_seen(&probe, 1, 0);
    sim_call_return(leaf);
    check_seen(&probe, 2, 0);
    probe_finish(&probe);
}

/* Fails if a registration does not clear the task's marks for its slot. */
static void test_a_mark_is_nothing_to_the_next_owner_of_the_slot(void)
{
    struct probe old = begin(NULL, NULL, "g.root");
    uintptr_t hidden;
    int slot;

    start(&old);
    slot = fg_user_slot(&old.ops);
    hidden = sim_call(root);
    probe_unregister(&old);
    for (unsigned i = 0; i < FG_MAX_USERS; i++) {
        struct probe next = begin(NULL, NULL, NULL);

        start(&next);
        if (fg_user_slot(&next.ops) == slot) {
            sim_call_return(leaf);
            CHECK_EQ(next.entries, 1);
            sim_return(hidden);
            sim_call_return(leaf);
            CHECK_EQ(next.entries, 2);
        }
        probe_finish(&next);
    }
    probe_done(&old);
}

static void set_tids(struct probe *probe, int tid)
{
    CHECK_EQ(fgraph_set_tids(&probe->ops, &tid, 1), 0);
}

static void *call_leaf(void *arg)
{
    set_tids(arg, (int)syscall(SYS_gettid));
    sim_call_return(leaf);
    return NULL;
}

/* Fails if the tids are read from the edited filter instead of the published set, or if they are
 * checked again at the return. */
static void test_only_calls_in_chosen_threads(void)
{
    struct probe probe = begin("g.leaf", NULL, NULL);
    uintptr_t call;

    start(&probe);
    call = sim_call(leaf);
    sim_in_thread(call_leaf, &probe);
    CHECK_EQ(probe.entries, 2);
    sim_return(call);
    sim_call_return(leaf);
    CHECK_EQ(probe.entries, 2);
    CHECK_EQ(fgraph_set_tids(&probe.ops, NULL, 0), 0);
    sim_call_return(leaf);
    CHECK_EQ(probe.entries, 3);
    CHECK_EQ(fgraph_set_tids(&probe.ops, (int[]){0}, 0), 0);
    sim_call_return(leaf);
    CHECK_EQ(probe.entries, 3);
    probe_finish(&probe);
}

int main(void)
{
    sim_begin();
    root = sim_function("g", "root");
    leaf = sim_function("g", "leaf");
    other = sim_function("h", "other");
    test_graph_shows_a_function_and_what_it_calls();
    test_a_root_outside_of_the_filter_is_silent();
    test_graph_notrace_hides_a_function_and_what_it_calls();
    test_what_is_hidden_stays_so_until_its_call_ends();
    test_a_mark_moves_with_its_call_to_another_thread();
    test_a_mark_is_nothing_to_the_next_owner_of_the_slot();
    test_only_calls_in_chosen_threads();
    CHECK(fg_killed() == NULL);
    return 0;
}
