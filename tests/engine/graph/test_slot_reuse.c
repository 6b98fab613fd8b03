/* Slots are reused in the order in which they were given back. A return function is never called for an
 * entry of the slot's previous owner, however late that call returns. */
#include <errno.h>

#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *f;

/* Fails if the slot given back last is taken first (a stack): the same slot was reused at once. */
static void test_slots_are_reused_first_in_first_out(void)
{
    struct probe probe;

    probe_init(&probe, "probe", NULL, 0);
    for (uint32_t i = 0; i < 3 * FG_MAX_USERS; i++) {
        probe_register(&probe);
        CHECK_EQ(fg_user_slot(&probe.ops), i % FG_MAX_USERS);
        probe_unregister(&probe);
    }
}

/* Fails if fg_slot_user compares generations modulo 2^16: after a multiple of 2^16 registrations, the
 * old owner's entries returned to the new one. A keeper also wants those returns, else the frames would
 * go with the old owner. Other users only hold slots, so that 32 rotate. */
static void test_no_return_for_another_owners_entry_after_many_registrations(void)
{
    enum { ROUNDS = 2 * (1 << 16) - 1, NR_HOLDERS = FG_MAX_USERS / 2 };
    struct probe old, other, new, holders[NR_HOLDERS];
    uintptr_t call, generator, collected;
    int slot;

    probe_init(&old, "old", NULL, 4);
    probe_init(&other, "other", NULL, 0);
    probe_init(&new, "new", NULL, 4);
    for (uint32_t i = 0; i < NR_HOLDERS; i++) {
        probe_init(&holders[i], "holder", i ? "nothing" : NULL, 0);
        probe_register(&holders[i]);
    }
    probe_register(&old);
    generator = sim_call(f);
    sim_suspend(generator);
    call = sim_call(f);
    collected = sim_call(f);
    sim_suspend(collected);
    slot = fg_user_slot(&old.ops);
    probe_unregister(&old);
    for (uint32_t i = 0; i < ROUNDS; i++) {
        probe_register(&other);
        probe_unregister(&other);
    }
    probe_register(&new);
    CHECK_EQ(fg_user_slot(&new.ops), slot);
    sim_return(call);
    sim_resume(generator);
    sim_suspend(generator);
    sim_resume(generator);
    sim_return(generator);
    sim_close(collected);
    CHECK_EQ(probe_ends(&holders[0]), 3);
    CHECK_EQ(probe_ends(&old), 0);
    CHECK_EQ(old.resumes, 0);
    CHECK_EQ(probe_ends(&new), 0);
    CHECK_EQ(new.resumes + new.suspends, 0);
    sim_call_return(f);
    CHECK_EQ(probe_ends(&new), 1);
    CHECK_EQ(new.depth, 0);
    CHECK_EQ(new.bad, 0);
    probe_unregister(&new);
    for (uint32_t i = 0; i < NR_HOLDERS; i++) {
        probe_unregister(&holders[i]);
        probe_done(&holders[i]);
    }
}

static void leave_and_come_back(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe_unregister(probe);
    probe_register(probe);
}

/* Fails if slots of users that unregister in a callback are never given back: ENOSPC at the 64th call. */
static void test_a_user_may_leave_and_come_back_in_its_own_callback(void)
{
    struct probe probe;

    probe_init(&probe, "again", NULL, 1);
    probe.on_entry = leave_and_come_back;
    probe_register(&probe);
    for (uint32_t i = 0; i < 5 * FG_MAX_USERS; i++) {
        sim_call_return(f);
        CHECK_EQ(probe.entries, i + 1);
        CHECK_EQ(probe_ends(&probe), 0); /* the user that made the entry is gone */
    }
    probe.on_entry = NULL;
    sim_call_return(f);
    CHECK_EQ(probe_ends(&probe), 1);
    CHECK_EQ(probe.depth, 0);
    probe_unregister(&probe);
}

static void leave_a_full_table(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)trace;
    probe_unregister(probe);
    CHECK_EQ(fgraph_register(&probe->ops), -ENOSPC);
}

/* Fails if the slot is given back while a callback, here the caller itself, still uses it: a user
 * registered in that callback started at depth 1. */
static void test_a_slot_is_not_reused_while_a_callback_may_know_it(void)
{
    struct probe fillers[FG_MAX_USERS - 1], probe;

    for (uint32_t i = 0; i < NR_OF(fillers); i++) {
        probe_init(&fillers[i], "filler", "nothing", 0);
        probe_register(&fillers[i]);
    }
    probe_init(&probe, "again", NULL, 1);
    probe.on_entry = leave_a_full_table;
    probe_register(&probe);
    sim_call_return(f);
    probe.on_entry = NULL;
    probe_register(&probe);
    sim_call_return(f);
    CHECK_EQ(probe_ends(&probe), 1);
    CHECK_EQ(probe.depth, 0);
    probe_unregister(&probe);
    for (uint32_t i = 0; i < NR_OF(fillers); i++) {
        probe_unregister(&fillers[i]);
        probe_done(&fillers[i]);
    }
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    test_slots_are_reused_first_in_first_out();
    test_no_return_for_another_owners_entry_after_many_registrations();
    test_a_user_may_leave_and_come_back_in_its_own_callback();
    test_a_slot_is_not_reused_while_a_callback_may_know_it();
    return 0;
}
