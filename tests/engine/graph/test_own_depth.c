/* Own depth: the depth that a user gets counts only its own frames, whoever else traces. */
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct probe all, some;
static struct fg_func *f, *g;

/* Fails if all frames of the stack are counted instead of users[idx].depth: `some` got depth 3. */
static void test_others_frames_do_not_count(void)
{
    uintptr_t calls[4];

    for (int i = 0; i < 3; i++)
        calls[i] = sim_call(f);
    CHECK_EQ(all.depth, 2);
    calls[3] = sim_call(g);
    CHECK_EQ(all.depth, 3);
    CHECK_EQ(some.depth, 0);
    sim_return(calls[3]);
    CHECK_EQ(some.depth, 0);
    for (int i = 2; i >= 0; i--)
        sim_return(calls[i]);
    CHECK_EQ(all.depth, 0);
}

/* Fails without the --depth in suspend_users, or without the ++ in fg_resume_users. */
static void test_a_suspended_call_does_not_count(void)
{
    uintptr_t generator = sim_call(g), call;

    sim_suspend(generator);
    call = sim_call(g);
    CHECK_EQ(some.depth, 0);
    sim_resume(generator);
    CHECK_EQ(some.depth, 1);
    sim_call_return(g);
    CHECK_EQ(some.depth, 2);
    sim_return(generator);
    CHECK_EQ(some.depth, 1);
    sim_return(call);
    CHECK_EQ(some.depth, 0);
}

/* Fails without `depth = 0` in clear_task_slot: after 64 registrations the slot's depth was 1. */
static void test_a_new_owner_of_a_slot_begins_at_zero(void)
{
    uintptr_t call = sim_call(g);

    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        probe_unregister(&some);
        probe_register(&some);
        sim_call_return(g);
        CHECK_EQ(some.depth, 0);
    }
    sim_return(call);
    sim_call_return(g);
    CHECK_EQ(some.depth, 0);
}

/* Fails if the depth is incremented before the entry function is called: refused entries then count. */
static void test_refused_calls_do_not_count(void)
{
    atomic_store(&some.refuse, true);
    for (int i = 0; i < 3; i++) {
        uintptr_t call = sim_call(g);

        CHECK_EQ(some.depth, 0);
        sim_return(call);
    }
    atomic_store(&some.refuse, false);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    probe_init(&all, "all", NULL, 0);
    probe_init(&some, "some", "m.g", 1);
    probe_register(&all);
    probe_register(&some);
    test_others_frames_do_not_count();
    test_a_suspended_call_does_not_count();
    test_a_new_owner_of_a_slot_begins_at_zero();
    test_refused_calls_do_not_count();
    CHECK_EQ(all.bad + some.bad, 0);
    probe_unregister(&all);
    probe_unregister(&some);
    return 0;
}
