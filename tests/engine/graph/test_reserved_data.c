/* Reserved data: what a user reserves at an entry, only that user finds, and only at that entry's
 * return. */
#include <string.h>

#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct fg_func *f, *g;

/* Fails if the data size field has one bit too few (mask 0x1f): 32 words came back as 0. */
static void test_each_allowed_size_comes_back(void)
{
    for (size_t words = 1; words <= FG_MAX_DATA_WORDS; words++) {
        struct probe users[3];

        for (size_t i = 0; i < 3; i++) {
            probe_init(&users[i], "sized", NULL, i == 1 ? FG_MAX_DATA_WORDS + 1 - words : words);
            probe_register(&users[i]);
        }
        for (int i = 0; i < 3; i++) {
            uintptr_t outer = sim_call(f), inner = sim_call(g);

            sim_return(inner);
            sim_return(outer);
        }
        for (size_t i = 0; i < 3; i++) {
            CHECK_EQ(probe_ends(&users[i]), 6);
            CHECK_EQ(users[i].bad, 0);
            probe_unregister(&users[i]);
        }
    }
}

static void try_sizes(struct probe *probe, struct ftrace_graph_ent *trace)
{
    size_t most = FG_MAX_DATA_WORDS * sizeof(uint64_t);
    unsigned char *data;

    CHECK(!fgraph_reserve_data(trace, &probe->ops, 0));
    CHECK(!fgraph_reserve_data(trace, &probe->ops, most + 1));
    CHECK(!fgraph_reserve_data(trace, &probe->ops, SIZE_MAX));
    data = fgraph_reserve_data(trace, &probe->ops, most - 3);
    CHECK(data != NULL);
    for (size_t i = 0; i < most; i++)
        CHECK_EQ(data[i], 0);
    memset(data, 0xff, most);
    CHECK(!fgraph_reserve_data(trace, &probe->ops, 8));
}

static void check_size(struct probe *probe, struct ftrace_graph_ret *trace)
{
    size_t bytes;

    CHECK(fgraph_retrieve_data(trace, &probe->ops, &bytes) != NULL);
    CHECK_EQ(bytes, FG_MAX_DATA_WORDS * sizeof(uint64_t) - 3);
    atomic_store(&probe->bad, 0); /* the data are this test's, not the probe's */
}

/* Fails with `>=` instead of `>` in the size check, or without the check that the newest data are the
 * user's own. */
static void test_too_much_nothing_and_twice_are_refused(void)
{
    struct probe other, probe;

    probe_init(&other, "other", NULL, 1);
    probe_init(&probe, "sizes", NULL, 0);
    probe.on_entry = try_sizes;
    probe.on_return = check_size;
    probe_register(&other);
    probe_register(&probe);
    sim_call_return(f);
    sim_call_return(f); /* zeroed, although the words were used before */
    CHECK_EQ(probe_ends(&probe), 2);
    CHECK_EQ(other.bad, 0);
    probe_unregister(&probe);
    probe_unregister(&other);
}

struct parents {
    uint64_t values[4]; /* of this call, its parent, and so on */
    int n;
};

static void put_value(struct probe *probe, struct ftrace_graph_ent *trace)
{
    struct parents *parents = probe->arg;
    uint64_t *data = fgraph_reserve_data(trace, &probe->ops, sizeof(uint64_t));

    *data = ++parents->values[0];
}

static void read_parents(struct probe *probe, struct ftrace_graph_ret *trace)
{
    struct parents *parents = probe->arg;
    uint64_t *data;
    size_t bytes;

    parents->n = 0;
    while ((data = fgraph_retrieve_parent_data(trace->task, trace->frame, &probe->ops, (unsigned)parents->n,
                                               &bytes))) {
        CHECK_EQ(bytes, sizeof(uint64_t));
        parents->values[parents->n++] = *data;
    }
    atomic_store(&probe->bad, 0);
}

/* Fails if fgraph_retrieve_parent_data counts every frame as a depth instead of only the user's own. */
static void test_a_parents_data_is_found_by_own_depth(void)
{
    struct parents parents = {{10}, 0};
    struct probe other, probe;
    uintptr_t calls[5];

    probe_init(&other, "other", NULL, 5);
    probe_init(&probe, "parents", "m.f", 0);
    probe.on_entry = put_value;
    probe.on_return = read_parents;
    probe.arg = &parents;
    probe_register(&other);
    probe_register(&probe);
    for (int i = 0; i < 5; i++)
        calls[i] = sim_call(i % 2 ? g : f); /* f g f g f: three own frames */
    sim_return(calls[4]);
    CHECK_EQ(parents.n, 3);
    CHECK_EQ(parents.values[0], 13);
    CHECK_EQ(parents.values[1], 12);
    CHECK_EQ(parents.values[2], 11);
    for (int i = 3; i >= 0; i--)
        sim_return(calls[i]);
    CHECK_EQ(parents.n, 1);
    CHECK_EQ(other.bad, 0);
    probe_unregister(&probe);
    probe_unregister(&other);
    probe_done(&probe);
}

/* Fails if the data of a user that refused stay on the stack: 64 such users overflowed the offset
 * field. */
static void test_data_of_a_user_that_refuses_are_dropped(void)
{
    struct probe users[FG_MAX_USERS];
    uintptr_t call;

    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        probe_init(&users[i], "many", NULL, FG_MAX_DATA_WORDS);
        atomic_store(&users[i].refuse, i % 2);
        probe_register(&users[i]);
    }
    call = sim_call(f);
    CHECK_EQ(fg_task_current()->top - fg_task_current()->stack,
             FRAME_DESCRIPTOR + 1 + (FG_MAX_USERS / 2) * (FG_MAX_DATA_WORDS + 1));
    sim_return(call);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        CHECK_EQ(users[i].bad, 0);
        CHECK_EQ(probe_ends(&users[i]), !(i % 2));
        probe_unregister(&users[i]);
    }
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    test_each_allowed_size_comes_back();
    test_too_much_nothing_and_twice_are_refused();
    test_a_parents_data_is_found_by_own_depth();
    test_data_of_a_user_that_refuses_are_dropped();
    CHECK(fg_killed() == NULL);
    return 0;
}
