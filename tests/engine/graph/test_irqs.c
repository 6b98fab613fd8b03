/* The interpreter calls signal handlers. Each user either sees such a call marked, or has it hidden
 * together with all calls under it. */
#include "engine/graph/frame.h"
#include "engine/users/meet.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *handler, *leaf;

/* The frames reported to a user, at their entries and returns. */
struct irq_counts {
    uint32_t begun, ended;
};

static void note_entry(struct probe *probe, struct ftrace_graph_ent *trace)
{
    struct irq_counts *irq_counts = probe->arg;

    irq_counts->begun += fg_frame_is_irq(trace->frame);
}

static void note_return(struct probe *probe, struct ftrace_graph_ret *trace)
{
    struct irq_counts *irq_counts = probe->arg;

    irq_counts->ended += fg_frame_is_irq(trace->frame);
}

static void start(struct probe *probe, const char *pattern, enum fg_irqs irqs, struct irq_counts *irq_counts)
{
    probe_init(probe, "irqs", pattern, 1);
    *irq_counts = (struct irq_counts){0, 0};
    probe->arg = irq_counts;
    probe->on_entry = note_entry;
    probe->on_return = note_return;
    probe->ops.private_data = probe;
    fg_user_of(&probe->ops)->filter.irqs = irqs;
    probe_register(probe);
}

static void call_with_leaf(uintptr_t call)
{
    sim_call_return(leaf);
    sim_return(call);
}

/* Fails if the arch is not asked, or if it is asked about every function. Fails if the frame's epoch is
 * read from one bit lower, which is FG_FRAME_IRQ. */
static void test_a_call_for_a_signal_is_told_from_others(void)
{
    struct probe probe;
    struct irq_counts irq_counts;
    uintptr_t call;

    start(&probe, NULL, FG_IRQS_MARKED, &irq_counts);
    call_with_leaf(sim_call(handler));
    CHECK_EQ(irq_counts.begun, 0);
    call_with_leaf(sim_call_for_signal(handler));
    call_with_leaf(sim_call_for_signal(leaf)); /* leaf is no handler: the arch is not asked */
    CHECK_EQ(irq_counts.begun, 1);
    CHECK_EQ(irq_counts.ended, 1);
    call = sim_call_for_signal(handler);
    sim_call_return(handler);
    sim_raise(call);
    CHECK_EQ(irq_counts.begun, 2);
    CHECK_EQ(irq_counts.ended, 2);
    CHECK_EQ(probe.entries, 8);
    probe_finish(&probe);
}

/* Fails if a handler that the program calls itself is hidden, if `hiding` is not reset at the return,
 * or if the call is hidden from the other user. */
static void test_it_is_hidden_with_what_it_calls(void)
{
    struct probe hides, marks, any;
    struct irq_counts of_hides, of_marks, of_any;

    start(&hides, NULL, FG_IRQS_HIDDEN, &of_hides);
    start(&any, NULL, FG_IRQS_ARE_CALLS, &of_any);
    start(&marks, NULL, FG_IRQS_MARKED, &of_marks);
    call_with_leaf(sim_call_for_signal(handler));
    CHECK_EQ(hides.entries, 0);
    CHECK_EQ(any.entries, 2);
    CHECK_EQ(marks.entries, 2);
    CHECK_EQ(of_marks.begun, 1);
    CHECK_EQ(of_marks.ended, 1);
    call_with_leaf(sim_call(handler));
    sim_call_return(leaf);
    CHECK_EQ(hides.entries, 3);
    CHECK_EQ(any.entries, 5);
    CHECK_EQ(of_marks.begun, 1);
    probe_finish(&marks);
    probe_finish(&hides);
    probe_finish(&any);
}

/* Fails if only the filter's patterns decide what is hooked, or if a user sees a function that is
 * hooked only for hiding. */
static void test_a_handler_outside_of_the_filter_hides_too(void)
{
    struct probe probe;
    struct irq_counts irq_counts;

    start(&probe, "s.leaf", FG_IRQS_HIDDEN, &irq_counts);
    CHECK(sim_is_hooked(handler));
    call_with_leaf(sim_call_for_signal(handler));
    CHECK_EQ(probe.entries, 0);
    call_with_leaf(sim_call(handler));
    CHECK_EQ(probe.entries, 1);
    probe_finish(&probe);
    CHECK(!sim_is_hooked(handler));
}

/* The function becomes a handler while it runs. Fails without the sync, or if its user list is not
 * rebuilt. */
static void test_a_function_becomes_a_handler_late(void)
{
    struct fg_func *late = sim_function("s", "late");
    struct probe probe, hides;
    struct irq_counts irq_counts, of_hides;
    uintptr_t call, signal;

    start(&hides, "s.leaf", FG_IRQS_HIDDEN, &of_hides);
    CHECK(!sim_is_hooked(late));
    CHECK(fg_func_set_irq(late));
    CHECK(sim_is_hooked(late));
    sim_free(late);
    late = sim_function("s", "late");
    start(&probe, NULL, FG_IRQS_MARKED, &irq_counts);
    call = sim_call(late);
    CHECK(fg_func_set_irq(late));
    CHECK(fg_func_set_irq(late));
    signal = sim_call_for_signal(late);
    CHECK_EQ(irq_counts.begun, 1);
    sim_call_return(leaf);
    CHECK_EQ(hides.entries, 0);
    sim_return(signal);
    sim_return(call);
    CHECK_EQ(irq_counts.ended, 1);
    sim_call_return(leaf);
    CHECK_EQ(hides.entries, 1);
    probe_finish(&hides);
    probe_finish(&probe);
    sim_free(late);
}

/* Fails if a reused record keeps the handler mark. */
static void test_the_next_function_of_a_record_is_no_handler(void)
{
    struct fg_func *first = sim_function("s", "first"), *second;
    struct probe probe;
    struct irq_counts irq_counts;

    CHECK(fg_func_set_irq(first));
    sim_free(first);
    second = sim_function("s", "second");
    CHECK(second == first);
    start(&probe, NULL, FG_IRQS_MARKED, &irq_counts);
    call_with_leaf(sim_call_for_signal(second));
    CHECK_EQ(irq_counts.begun, 0);
    probe_finish(&probe);
    sim_free(second);
}

int main(void)
{
    sim_begin();
    handler = sim_function("s", "handler");
    leaf = sim_function("s", "leaf");
    CHECK(fg_func_set_irq(handler));
    test_a_call_for_a_signal_is_told_from_others();
    test_it_is_hidden_with_what_it_calls();
    test_a_handler_outside_of_the_filter_hides_too();
    test_a_function_becomes_a_handler_late();
    test_the_next_function_of_a_record_is_no_handler();
    CHECK(fg_killed() == NULL);
    return 0;
}
