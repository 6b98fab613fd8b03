/* Limits are graceful: a full stack, a full table, a user registered twice, very deep recursion. */
#include <errno.h>

#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

enum { DEEP = 100000 };

static struct fg_func *f;
static uintptr_t calls[DEEP];

/* Fails if the limit check in fg_enter is one word short, or if refused calls are not counted. */
static void *fill_the_stack(void *arg)
{
    struct probe *probe = arg;
    uint64_t overrun = fg_overrun_total();
    uint32_t n = 0, refused = 100, ends = (uint32_t)probe_ends(probe), frames;
    uint64_t entries = probe->entries;

    calls[n++] = sim_call(f); /* with data: an odd number of words */
    probe->data_words = 0;
    frames = 1 + (uint32_t)((fg_task_current()->limit - fg_task_current()->top) / (FRAME_DESCRIPTOR + 1));
    while (fg_task_current()->overrun < refused)
        calls[n++] = sim_call(f);
    CHECK_EQ(fg_overrun_total() - overrun, refused);
    CHECK_EQ(probe->entries - entries, n - refused);
    CHECK_EQ(n - refused, frames);
    CHECK(fg_task_current()->end >= fg_task_current()->top);
    for (uint32_t i = n; i-- > 0;) {
        probe->data_words = i ? 0 : 2;
        sim_return(calls[i]);
    }
    CHECK_EQ(probe_ends(probe), probe->entries);
    CHECK_EQ(probe->bad, 0);
    sim_call_return(f); /* tracing continues */
    CHECK_EQ(probe_ends(probe) - ends, frames + 1);
    CHECK_EQ(probe->depth, 0);
    return NULL;
}

static void test_calls_that_find_the_stack_full_run_and_are_counted(void)
{
    struct probe probe;

    probe_init(&probe, "probe", NULL, 2);
    probe_register(&probe);
    for (size_t pages = 0; pages < 3; pages++) { /* covers all remainders of the stack's size */
        fg_task_set_size(FG_TASK_BYTES_MIN + pages * 4096);
        sim_in_thread(fill_the_stack, &probe);
    }
    probe_unregister(&probe);
    fg_task_set_size(FG_TASK_BYTES_DEFAULT);
}

static uint64_t nr_data, nr_no_data;

static void reserve_all(struct probe *probe, struct ftrace_graph_ent *trace)
{
    if (fgraph_reserve_data(trace, &probe->ops, FG_MAX_DATA_WORDS * 8))
        nr_data++;
    else
        nr_no_data++;
}

static void *fill_with_data(void *arg)
{
    (void)arg;
    while (fg_task_current()->overrun < 1)
        sim_call(f);
    return NULL;
}

/* Fails without the limit in fgraph_reserve_data: it overwrote the task variables. */
static void test_no_room_for_data_is_told(void)
{
    struct probe probe;

    fg_task_set_size(FG_TASK_BYTES_MIN);
    probe_init(&probe, "probe", NULL, 0);
    probe.on_entry = reserve_all;
    probe_register(&probe);
    sim_in_thread(fill_with_data, NULL);
    CHECK(nr_data > 10);
    CHECK(nr_no_data > 0);
    CHECK_EQ(probe_ends(&probe), probe.entries);
    probe_unregister(&probe);
    fg_task_set_size(FG_TASK_BYTES_DEFAULT);
}

/* Fails if FG_TASK_BYTES_DEFAULT is 1 MiB. */
static void test_recursion_of_100000_frames(void)
{
    struct probe probe;

    probe_init(&probe, "probe", NULL, 1);
    probe_register(&probe);
    for (uint32_t i = 0; i < DEEP; i++) {
        calls[i] = sim_call(f);
        CHECK_EQ(probe.depth, i);
    }
    for (uint32_t i = DEEP; i-- > 0;) {
        sim_return(calls[i]);
        CHECK_EQ(probe.depth, i);
    }
    CHECK_EQ(probe_ends(&probe), DEEP);
    CHECK_EQ(probe.bad, 0);
    CHECK_EQ(fg_task_current()->overrun, 0);
    probe_unregister(&probe);
}

/* Fails without any of the three checks in fg_users_register_begin and fgraph_unregister. */
static void test_a_full_table_and_the_same_user_twice_are_refused(void)
{
    struct probe probes[FG_MAX_USERS + 1];
    int slot;

    for (uint32_t i = 0; i <= FG_MAX_USERS; i++)
        probe_init(&probes[i], "probe", NULL, 0);
    CHECK_EQ(fgraph_unregister(&probes[0].ops), -EINVAL);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        probe_register(&probes[i]);
        CHECK_EQ(fgraph_register(&probes[i].ops), -EBUSY);
    }
    CHECK_EQ(fgraph_register(&probes[FG_MAX_USERS].ops), -ENOSPC);
    CHECK_EQ(fg_user_slot(&probes[FG_MAX_USERS].ops), -1);
    sim_call_return(f);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++)
        CHECK_EQ(probe_ends(&probes[i]), 1);
    slot = fg_user_slot(&probes[17].ops);
    probe_unregister(&probes[17]);
    CHECK_EQ(fgraph_unregister(&probes[17].ops), -EINVAL);
    probe_register(&probes[FG_MAX_USERS]);
    CHECK_EQ(fg_user_slot(&probes[FG_MAX_USERS].ops), slot);
    for (uint32_t i = 0; i <= FG_MAX_USERS; i++) {
        if (i != 17)
            probe_unregister(&probes[i]);
    }
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    test_recursion_of_100000_frames();
    test_calls_that_find_the_stack_full_run_and_are_counted();
    test_no_room_for_data_is_told();
    test_a_full_table_and_the_same_user_twice_are_refused();
    CHECK(fg_killed() == NULL);
    return 0;
}
