/* Task variables: one word per task and user, zero in new tasks and after each registration. */
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct probe first, second;
static struct fg_func *f;
static uint64_t seen[2];

static void count_calls(struct probe *probe, struct ftrace_graph_ent *trace)
{
    seen[probe == &second] = (*fgraph_task_var(trace->task, &probe->ops))++;
}

static void *two_calls(void *arg)
{
    (void)arg;
    sim_call_return(f);
    CHECK_EQ(seen[0], 0);
    sim_call_return(f);
    CHECK_EQ(seen[0], 1);
    return NULL;
}

/* Fails with one variable for all users (users[0].var): the second user saw the first one's count. */
static void test_each_user_and_task_has_its_own(void)
{
    for (uint64_t i = 0; i < 3; i++) {
        sim_call_return(f);
        CHECK_EQ(seen[0], i);
        CHECK_EQ(seen[1], i);
    }
    sim_in_thread(two_calls, NULL);
    sim_in_thread(two_calls, NULL); /* may get the memory of the previous task */
    sim_call_return(f);
    CHECK_EQ(seen[0], 3);
}

/* Fails without `var = 0` in clear_task_slot: visible after as many registrations as there are slots. */
static void test_zero_at_each_registration(void)
{
    for (uint32_t i = 0; i < 2 * FG_MAX_USERS; i++) {
        probe_unregister(&second);
        probe_register(&second);
        sim_call_return(f);
        CHECK_EQ(seen[1], 0);
        sim_call_return(f);
        CHECK_EQ(seen[1], 1);
    }
    CHECK_EQ(seen[0], 3 + 4 * FG_MAX_USERS);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    probe_init(&first, "first", NULL, 0);
    probe_init(&second, "second", NULL, 0);
    first.on_entry = second.on_entry = count_calls;
    probe_register(&first);
    probe_register(&second);
    test_each_user_and_task_has_its_own();
    test_zero_at_each_registration();
    probe_unregister(&first);
    probe_unregister(&second);
    return 0;
}
