/* fprobes in numbers: many on one function, one on many functions. A call that finds no room on the
 * stack, or that a handler makes, counts as missed once. A registration that runs out of memory changes
 * nothing. */
#include <errno.h>

#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/graph/user_list.h"
#include "engine/users/meet.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"
#include "support/watch.h"

enum { MANY = 200, TOO_MANY = 5000, NR_FUNCS = 20000 };

static struct fg_func *f, *g, *funcs[NR_FUNCS];
static struct watch watches[TOO_MANY];

/* ---- out of memory */

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HAVE_SHORT_MEMORY

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);

static int allocations_left = -1; /* negative: no limit */

static bool is_short(void)
{
    return allocations_left == 0 || (allocations_left > 0 && allocations_left-- == 0);
}

void *malloc(size_t bytes)
{
    return is_short() ? NULL : __libc_malloc(bytes);
}

void *calloc(size_t n, size_t bytes)
{
    return is_short() ? NULL : __libc_calloc(n, bytes);
}

/* Fails without `undo`: f kept a list with an unregistered fprobe. Fails if the shared user is not
 * freed when its registration runs out of memory. */
static void test_without_memory_a_registration_changes_nothing(void)
{
    struct fg_func *two[2] = {f, g};
    int error = -ENOMEM, nr_failed = 0;
    struct watch watch;

    for (; error == -ENOMEM; nr_failed += error == -ENOMEM) {
        watch_init(&watch, NULL, 8);
        atomic_store(&watch.is_registered, true);
        allocations_left = nr_failed;
        error = fg_fprobe_register_ips(&watch.fp, NULL, two, NULL, 2);
        allocations_left = -1;
        CHECK(error == 0 || error == -ENOMEM);
        CHECK_EQ(fg_fprobe_is_registered(&watch.fp), !error);
        CHECK_EQ(fgraph_count(), !error);
        CHECK_EQ(f->fprobes != NULL, !error);
        CHECK_EQ(g->fprobes != NULL, !error);
        CHECK_EQ(fg_func_has_users(f), !error);
    }
    CHECK(nr_failed >= 6); /* the functions, a list each, the shared user, the plan, lists of users */
    sim_call_return(f);
    CHECK_EQ(watch.exits, 1);
    watch_unregister(&watch);
}

/* Fails if the NULL of a failed copy is published: the other fprobe was gone too. Fails if the entry
 * trusts the list. */
static void test_without_memory_an_fprobe_leaves_all_the_same(void)
{
    struct watch stays, goes;

    for (int room = 0; room < 8; room++) {
        watch_init(&stays, NULL, 8);
        watch_init(&goes, NULL, 8);
        watch_register(&goes, "m.f");
        watch_register(&stays, "m.f");
        allocations_left = room;
        watch_unregister(&goes);
        allocations_left = -1;
        memset(&goes.fp, 0xa5, sizeof(goes.fp)); /* a late call of a handler would crash */
        sim_call_return(f);
        CHECK_EQ(stays.exits, 1);
        CHECK_EQ(goes.entries, 0);
        allocations_left = room;
        watch_unregister(&stays);
        allocations_left = -1;
        sim_call_return(f);
        CHECK_EQ(stays.exits, 1);
        CHECK_EQ(fgraph_count(), 0);
    }
}

/* Fails if an error of `attach` is ignored: the function had no fprobe. */
static void test_without_memory_a_function_is_not_found_by_half(void)
{
    struct fg_func_desc desc = {
        .module = "m", .qualname = "new", .file = "", .args = "", .domain = &sim_domains[0]};
    struct fg_func *func = NULL;
    struct watch watch;

    watch_init(&watch, NULL, 0);
    watch_register(&watch, "m.*");
    fg_func_forget(
        fg_func_meet(&desc)); /* leaves a record to reuse: each round gets one allocation further */
    for (int room = 0; !func; room++) {
        allocations_left = room;
        func = fg_func_meet(&desc);
        allocations_left = -1;
    }
    sim_call_return(func);
    CHECK_EQ(watch.exits, 1);
    fg_func_forget(func);
    watch_unregister(&watch);
}
#endif

/* ---- numbers */

static void register_many(uint32_t n, size_t data_bytes)
{
    for (uint32_t i = 0; i < n; i++) {
        watch_init(&watches[i], NULL, data_bytes);
        watch_register_ips(&watches[i], &f, 1);
    }
}

static void unregister_many(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) {
        watch_unregister(&watches[i]);
        CHECK_EQ(watches[i].bad, 0);
    }
    CHECK_EQ(fgraph_count(), 0);
}

static uint32_t next_entry, next_exit;

static void check_entry_order(struct watch *watch, struct fg_func *func)
{
    (void)func;
    CHECK_EQ(watch - watches, next_entry++);
    next_exit = next_entry;
}

static void check_exit_order(struct watch *watch, struct fg_func *func)
{
    (void)func;
    CHECK_EQ(watch - watches, --next_exit);
}

/* Fails with an offset field of 12 bits. */
static void test_200_fprobes_with_15_words_on_one_function(void)
{
    struct probe before, behind;
    uintptr_t outer, inner;

    probe_init(&before, "before", NULL, FG_MAX_DATA_WORDS);
    probe_init(&behind, "behind", NULL, FG_MAX_DATA_WORDS);
    probe_register(&before);
    register_many(MANY, FPROBE_MAX_DATA_BYTES);
    probe_register(&behind);
    for (uint32_t i = 0; i < MANY; i++) {
        watches[i].on_entry = check_entry_order;
        watches[i].on_exit = check_exit_order;
    }
    outer = sim_call(g);
    inner = sim_call(f);
    CHECK_EQ(next_entry, MANY);
    sim_suspend(inner);
    sim_resume(inner);
    sim_return(inner);
    sim_return(outer);
    CHECK_EQ(next_exit, 0);
    CHECK_EQ(probe_ends(&before) + probe_ends(&behind), 4);
    CHECK_EQ(before.bad + behind.bad, 0);
    for (uint32_t i = 0; i < MANY; i++)
        CHECK_EQ(fg_fprobe_nmissed(&watches[i].fp), 0);
    probe_unregister(&before);
    probe_unregister(&behind);
    unregister_many(MANY);
}

/* Fails without FG_FPROBES_END_WORDS in piece_push: offsets did not fit, and the kill switch stopped
 * tracing. Fails with FG_OFFSET_MASK instead: the next user found no room. */
static void test_those_that_find_no_room_are_counted_and_others_still_have_theirs(void)
{
    struct probe behind;
    uint32_t nr_reported = 0;

    register_many(TOO_MANY, FPROBE_MAX_DATA_BYTES);
    probe_init(&behind, "behind", NULL, FG_MAX_DATA_WORDS);
    probe_register(&behind);
    sim_call_return(f);
    sim_call_return(f);
    while (nr_reported < TOO_MANY && watches[nr_reported].entries)
        nr_reported++;
    CHECK_EQ(nr_reported, (FG_FPROBES_END_WORDS - FG_FRAME_WORDS) / (FPROBE_MAX_DATA_BYTES / 8 + 2));
    for (uint32_t i = 0; i < TOO_MANY; i++) {
        uint64_t expected = i < nr_reported ? 2 : 0;

        CHECK_EQ(watches[i].entries, expected);
        CHECK_EQ(watches[i].exits, expected);
        CHECK_EQ(fg_fprobe_nmissed(&watches[i].fp), 2 - expected);
    }
    CHECK_EQ(probe_ends(&behind), 2);
    CHECK_EQ(behind.bad, 0);
    probe_unregister(&behind);
    unregister_many(TOO_MANY);
}

/* Fails if a plan stops after the first 256 functions. */
static void test_one_fprobe_on_20000_functions_with_200_on_one_of_them(void)
{
    struct watch all;

    for (uint32_t i = 0; i < NR_FUNCS; i++) {
        char name[16];

        snprintf(name, sizeof(name), "f%u", i);
        funcs[i] = sim_function("many", name);
    }
    watch_init(&all, NULL, 120);
    watch_register(&all, "many.*");
    for (uint32_t i = 0; i < MANY; i++) {
        watch_init(&watches[i], NULL, 120);
        watch_register_ips(&watches[i], &funcs[NR_FUNCS / 2], 1);
    }
    for (uint32_t i = 0; i < NR_FUNCS; i++) {
        CHECK(sim_is_hooked(funcs[i]));
        sim_call_return(funcs[i]);
    }
    CHECK_EQ(all.exits, NR_FUNCS);
    CHECK_EQ(all.bad, 0);
    for (uint32_t i = 0; i < MANY; i++)
        CHECK_EQ(watches[i].exits, 1);
    watch_unregister(&all);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[NR_FUNCS / 2]);
    CHECK_EQ(all.entries, NR_FUNCS);
    CHECK(!sim_is_hooked(funcs[0]));
    CHECK_EQ(watches[MANY - 1].exits, 2);
    unregister_many(MANY);
    for (uint32_t i = 0; i < NR_FUNCS; i++)
        sim_free(funcs[i]);
}

/* Fails if all chunks of the table of registrations start at index 0. */
static void test_any_number_of_fprobes_live_at_once(void)
{
    register_many(3000, 0);
    sim_call_return(f);
    for (uint32_t i = 0; i < 3000; i++)
        CHECK_EQ(watches[i].exits, 1);
    unregister_many(3000);
}

/* ---- missed calls */

static void call_g_twice(struct watch *watch, struct fg_func *func)
{
    (void)watch, (void)func;
    sim_call_return(g);
    sim_call_return(g);
}

/* Fails without notify_missed in count_missed, or if a disabled fprobe counts the call. Fails if only the
 * fprobe whose handler made the call counts it. */
static void test_a_call_that_a_handler_makes_counts_one_on_each_fprobe_of_the_function(void)
{
    struct watch caller, other, disabled, elsewhere;

    watch_init(&caller, NULL, 8);
    watch_init(&other, NULL, 8);
    watch_init(&disabled, NULL, 8);
    watch_init(&elsewhere, NULL, 8);
    caller.on_entry = caller.on_exit = call_g_twice;
    watch_register(&caller, "m.*");
    watch_register(&other, "m.g");
    watch_register(&disabled, "m.g");
    watch_register(&elsewhere, "m.f");
    CHECK_EQ(fg_fprobe_set_enabled(&disabled.fp, false), 0);
    sim_call_return(f);
    CHECK_EQ(caller.exits, 1);
    CHECK_EQ(other.entries, 0);
    CHECK_EQ(fg_fprobe_nmissed(&caller.fp), 4);
    CHECK_EQ(fg_fprobe_nmissed(&other.fp), 4);
    CHECK_EQ(fg_fprobe_nmissed(&disabled.fp), 0);
    CHECK_EQ(fg_fprobe_nmissed(&elsewhere.fp), 0);
    watch_unregister(&caller);
    CHECK_EQ(fg_fprobe_nmissed(&caller.fp), 4); /* still readable after the unregistration */
    watch_register(&caller, "m.g");
    CHECK_EQ(fg_fprobe_nmissed(&caller.fp), 0);
    watch_unregister(&caller);
    watch_unregister(&other);
    watch_unregister(&disabled);
    watch_unregister(&elsewhere);
}

/* Calls until frames find no room: each call was seen or counted. */
static void *fill_the_stack(void *arg)
{
    struct watch *watch = arg;
    uint64_t n = 0, nr_data_missed;

    while (!fg_task_current()->overrun) {
        sim_call(f);
        n++;
    }
    nr_data_missed = n - 1 - watch[0].entries;
    CHECK_EQ(fg_fprobe_nmissed(&watch[0].fp), nr_data_missed + 1);
    CHECK_EQ(fg_fprobe_nmissed(&watch[1].fp), 1);
    CHECK_EQ(watch[1].entries, n - 1);
    CHECK_EQ(fg_fprobe_nmissed(&watch[2].fp), 0);
    for (int i = 0; i < 50; i++)
        sim_call(f);
    CHECK_EQ(fg_task_current()->overrun, 51);
    CHECK_EQ(fg_fprobe_nmissed(&watch[0].fp), nr_data_missed + 51);
    CHECK_EQ(fg_fprobe_nmissed(&watch[1].fp), 51);
    return NULL; /* its calls end with the thread */
}

/* Fails without notify_missed in find_room, or if a handler runs although its data found no room. */
static void test_calls_that_find_the_stack_full_count_one_each(void)
{
    struct watch watch[3];
    struct probe holder; /* keeps all frames */

    fg_task_set_size(FG_TASK_BYTES_MIN);
    watch_init(&watch[0], NULL, 120);
    watch_init(&watch[1], NULL, 0);
    watch[1].fp.exit_handler = NULL; /* needs no room */
    watch_init(&watch[2], NULL, 120);
    for (int i = 0; i < 3; i++)
        watch_register(&watch[i], "m.f");
    probe_init(&holder, "holder", NULL, 0);
    probe_register(&holder);
    CHECK_EQ(fg_fprobe_set_enabled(&watch[2].fp, false), 0);
    sim_in_thread(fill_the_stack, watch);
    CHECK_EQ(watch[0].exits, watch[0].entries);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(watch[i].bad, 0);
        watch_unregister(&watch[i]);
    }
    probe_unregister(&holder);
    fg_task_set_size(FG_TASK_BYTES_DEFAULT);
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
#ifdef HAVE_SHORT_MEMORY
    test_without_memory_a_registration_changes_nothing();
    test_without_memory_an_fprobe_leaves_all_the_same();
    test_without_memory_a_function_is_not_found_by_half();
#endif
    test_200_fprobes_with_15_words_on_one_function();
    test_those_that_find_no_room_are_counted_and_others_still_have_theirs();
    test_one_fprobe_on_20000_functions_with_200_on_one_of_them();
    test_any_number_of_fprobes_live_at_once();
    test_a_call_that_a_handler_makes_counts_one_on_each_fprobe_of_the_function();
    test_calls_that_find_the_stack_full_count_one_each();
    CHECK(fg_killed() == NULL);
    return 0;
}
