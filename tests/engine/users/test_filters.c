/* Filters take effect at once; function records are found, matched and reused. */
#include <errno.h>

#include "engine/graph/user_list.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"

static struct probe probe;

/* Fails without fg_plan_publish in fg_user_set_filter, or without fg_plan_sync. */
static void test_a_filter_changes_at_once(void)
{
    struct fg_func *f = sim_function("m", "f"), *g = sim_function("m", "g");
    uintptr_t call;

    probe_init(&probe, "probe", "m.f", 2);
    probe_register(&probe);
    CHECK(fg_func_has_users(f) && !fg_func_has_users(g));
    CHECK_EQ(sim_syncs(f), 1);
    CHECK_EQ(sim_syncs(g), 0);
    call = sim_call(f);
    probe_set_filter(&probe, "m.g", NULL);
    CHECK(!fg_func_has_users(f) && fg_func_has_users(g));
    CHECK_EQ(sim_syncs(f), 2);
    CHECK_EQ(sim_syncs(g), 1);
    sim_return(call); /* a call that began under the old filter still returns */
    CHECK_EQ(probe_ends(&probe), 1);
    probe_set_filter(&probe, NULL, "m.g");
    CHECK(fg_func_has_users(f) && !fg_func_has_users(g));
    sim_call_return(f);
    CHECK_EQ(probe_ends(&probe), 2);
    CHECK_EQ(probe.bad, 0);
}

/* Fails if &fg_no_users is published for every new function. */
static void test_a_function_found_later_is_matched(void)
{
    struct fg_func *later = sim_function("other", "later");

    CHECK(fg_func_has_users(later));
    sim_call_return(later);
    CHECK_EQ(probe_ends(&probe), 3);
    CHECK(!fg_func_has_users(sim_function("m", "g")));
}

/* Fails without record_give_back: 100,000 records exist, and no record is reused. */
static void test_records_are_used_again_and_ids_are_not(void)
{
    struct fg_func *first = sim_function("m", "again");
    uint32_t count = fg_func_count(), id = first->id;

    sim_free(first);
    CHECK_EQ(fg_func_count(), count - 1);
    for (int i = 0; i < 1000; i++) {
        struct fg_func *next = sim_function("m", "again");

        CHECK(next == first);
        CHECK(next->id > id);
        CHECK_TEXT(next->name, "m.again");
        CHECK_TEXT(next->module, "m");
        CHECK_TEXT(next->qualname, "again");
        CHECK_TEXT(next->file, "sim.py");
        CHECK_TEXT(next->args, "a,b");
        id = next->id;
        sim_free(next);
    }
    CHECK_EQ(fg_func_count(), count - 1);
}

static void count_live(struct fg_func *func, void *arg)
{
    CHECK(func->live);
    ++*(uint32_t *)arg;
}

/* Fails if the record that moves into the freed place keeps its old index. */
static void test_any_function_may_go_first(void)
{
    enum { MANY = 1000 };
    struct fg_func *funcs[MANY];
    uint32_t before = fg_func_count(), n = 0;

    sim_functions(funcs, MANY);
    for (uint32_t i = 0; i < MANY; i++) {
        uint32_t at = i * 7 % MANY; /* 7 and 1000 are coprime: each index once */

        sim_free(funcs[at]);
        if (i == MANY / 2)
            fg_func_for_each(count_live, &n);
    }
    CHECK_EQ(n, before + MANY / 2 - 1);
    n = 0;
    fg_func_for_each(count_live, &n);
    CHECK_EQ(n, before);
    probe_set_filter(&probe, NULL, NULL);
}

static uint32_t nr_found, nr_matched;

static void found(struct fg_func *func, struct fgraph_ops *ops, bool matched)
{
    CHECK(fg_filter_matches(&fg_user_of(ops)->filter, func) == matched);
    nr_found++;
    nr_matched += matched;
}

/* Fails if the user is called for matched functions only. */
static void test_every_function_is_told_to_who_wants_to_know(void)
{
    struct probe finder;

    probe_init(&finder, "finder", "m.[fg]", 0);
    fg_user_of(&finder.ops)->foundfunc = found;
    probe_register(&finder);
    CHECK_EQ(nr_found, fg_func_count());
    CHECK_EQ(nr_matched, 3); /* m.f and both m.g */
    sim_function("m", "f");
    sim_function("x", "y");
    CHECK_EQ(nr_found, fg_func_count());
    CHECK_EQ(nr_matched, 4);
    probe_unregister(&finder);
    probe_done(&finder);
}

/* Fails if the set is cleared before the new patterns are parsed, or if they are added to the live
 * filter. */
static void test_a_bad_pattern_changes_nothing(void)
{
    const char *const good[] = {"m.g", "x.*"}, *const bad[] = {"m.f", "m.[a"};
    struct fg_pattern_error error;
    struct probe edited;

    probe_init(&edited, "edited", "m.f", 0);
    probe_register(&edited);
    CHECK_EQ(fgraph_edit_filter(&edited.ops, FGRAPH_FILTER, bad, 2, true, &error), -EINVAL);
    CHECK_TEXT(error.text, "m.[a");
    CHECK_EQ(error.column, 2);
    CHECK_EQ(fg_user_of(&edited.ops)->filter.sets[FGRAPH_FILTER].n, 1);
    CHECK_EQ(fgraph_edit_filter(&edited.ops, FGRAPH_FILTER, good, 2, false, &error), 0);
    CHECK_EQ(fg_user_of(&edited.ops)->filter.sets[FGRAPH_FILTER].n, 3);
    CHECK_EQ(fgraph_edit_filter(&edited.ops, FGRAPH_FILTER, good, 2, true, &error), 0);
    CHECK_EQ(fg_user_of(&edited.ops)->filter.sets[FGRAPH_FILTER].n, 2);
    probe_unregister(&edited);
    probe_done(&edited);
}

int main(void)
{
    sim_begin();
    test_a_filter_changes_at_once();
    test_a_function_found_later_is_matched();
    test_records_are_used_again_and_ids_are_not();
    test_any_function_may_go_first();
    test_every_function_is_told_to_who_wants_to_know();
    test_a_bad_pattern_changes_nothing();
    probe_unregister(&probe);
    probe_done(&probe);
    return 0;
}
