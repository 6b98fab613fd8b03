/* Returns run in the reverse order of entries, in whatever order slots were freed and taken again. */
#include <stdlib.h>

#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *f;
static struct probe probes[FG_MAX_USERS];
static struct probe *present[FG_MAX_USERS]; /* in order of registration */
static uint32_t nr_present;
static uint32_t nr_entered, nr_returned; /* of the call in progress */

static void entered(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    CHECK(present[nr_entered++] == probe);
}

static void returned(struct probe *probe, struct ftrace_graph_ret *trace)
{
    (void)trace;
    CHECK(present[nr_entered - ++nr_returned] == probe);
}

static void come(struct probe *probe)
{
    probe_register(probe);
    present[nr_present++] = probe;
}

static void go(uint32_t at)
{
    probe_unregister(present[at]);
    nr_present--;
    for (; at < nr_present; at++)
        present[at] = present[at + 1];
}

static void call(void)
{
    nr_entered = nr_returned = 0;
    sim_call_return(f);
    CHECK_EQ(nr_entered, nr_present);
    CHECK_EQ(nr_returned, nr_present);
}

static void clear(void)
{
    while (nr_present)
        go(nr_present - 1);
}

/* Fails if a frame's slots are walked from the highest down, unsorted: once slot 0 was taken again, the
 * newest user returned last. */
static void test_returns_are_in_reverse_order_wherever_the_queue_of_slots_begins(void)
{
    for (uint32_t first = 0; first < FG_MAX_USERS; first++) {
        for (uint32_t i = 0; i < 5; i++)
            come(&probes[i]);
        call();
        clear();
    }
}

/* Fails if the walk starts at the newest user's slot and wraps around: a slot that was freed early may
 * be taken late. */
static void test_returns_are_in_reverse_order_after_users_came_and_went_at_random(void)
{
    srand(1);
    for (uint32_t i = 0; i < 4000; i++) {
        struct probe *probe = &probes[(uint32_t)rand() % FG_MAX_USERS];
        uint32_t at = 0;

        while (at < nr_present && present[at] != probe)
            at++;
        if (at < nr_present)
            go(at);
        else
            come(probe);
        call();
    }
    clear();
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        probe_init(&probes[i], "probe", NULL, 0);
        probes[i].on_entry = entered;
        probes[i].on_return = returned;
    }
    test_returns_are_in_reverse_order_wherever_the_queue_of_slots_begins();
    test_returns_are_in_reverse_order_after_users_came_and_went_at_random();
    return 0;
}
