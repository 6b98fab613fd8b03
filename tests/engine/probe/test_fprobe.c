/* fprobes: which handlers run at an entry and its exit, in which order, and with which data. No handler
 * runs at an exit if its fprobe was registered, unregistered or disabled after the entry, or if its
 * entry handler declined the exit. */
#include <errno.h>
#include <unistd.h>

#include "engine/core/regs.h"
#include "engine/graph/call.h"
#include "engine/graph/user_list.h"
#include "engine/ring/ring_layout.h"
#include "engine/users/meet.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"
#include "support/watch.h"

static struct fg_func *f, *g;
static struct watch a, b, c;

static void begin_three(size_t data_bytes)
{
    watch_init(&a, "a", data_bytes);
    watch_init(&b, "b", data_bytes);
    watch_init(&c, "c", data_bytes);
    watch_register(&a, "m.f");
    watch_register(&b, "m.f");
    watch_register(&c, "m.*");
}

static void end(struct watch *watch)
{
    if (fg_fprobe_is_registered(&watch->fp))
        watch_unregister(watch);
    CHECK_EQ(watch->bad, 0);
    CHECK_EQ(watch->called_after, 0);
}

/* Ends the test: no fprobe, user or frame is left. */
static void end_three(void)
{
    end(&a);
    end(&b);
    end(&c);
    CHECK_EQ(fgraph_count(), 0);
    CHECK(!sim_is_hooked(f));
    CHECK(fg_task_current()->top == fg_task_current()->stack);
}

/* Fails if a new fprobe goes to the head of the list, or if the pieces of a frame are walked from the
 * oldest. */
static void test_entries_are_in_order_of_registration_and_exits_in_reverse(void)
{
    begin_three(8);
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "a> b> c> c< b< a<");
    sim_call_return(g);
    CHECK_TEXT(watch_log(), "c> c<");
    watch_unregister(&a);
    watch_register(&a, "m.f"); /* registered again, as the latest */
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "b> c> a> a< c< b<");
    end_three();
}

/* Fails if a nonzero answer counts as zero, or if the fprobe's piece stays on the stack. */
static void test_a_nonzero_entry_cancels_only_its_own_exit(void)
{
    begin_three(120);
    atomic_store(&b.cancels, true);
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "a> b> c> c< a<");
    CHECK_EQ(fg_fprobe_nmissed(&b.fp), 0);
    atomic_store(&a.cancels, true);
    atomic_store(&c.cancels, true);
    sim_call(f);
    CHECK(fg_task_current()->top == fg_task_current()->stack); /* no fprobe wants the exit: no frame */
    watch_log();
    end_three();
}

/* Fails if the exit trusts the frame, that is, if fg_live_fprobe does not check the word. */
static void test_an_fprobe_that_left_in_between_has_no_exit(void)
{
    uintptr_t call;

    begin_three(16);
    call = sim_call(f);
    watch_unregister(&b);
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> b> c> c< a<");
    call = sim_call(f);
    watch_unregister(&a);
    watch_unregister(&c); /* the last one: the shared user is unregistered too */
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> c>");
    end_three();
}

/* Fails if the exit calls all fprobes of the function. */
static void test_an_fprobe_that_came_in_between_has_no_exit(void)
{
    uintptr_t call;

    begin_three(0);
    watch_unregister(&b);
    call = sim_call(f);
    watch_register(&b, "m.f");
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> c> c< a<");
    end_three();
}

/* Fails if a live word lacks the registration's number: b and d took b's place and were both called. */
static void test_an_fprobe_that_left_and_came_back_in_between_has_no_exit(void)
{
    struct watch d;
    uintptr_t call;

    begin_three(8);
    call = sim_call(f);
    watch_unregister(&b);
    watch_register(&b, "m.f"); /* takes its old place */
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> b> c> c< a<");
    call = sim_call(f);
    watch_unregister(&b);
    watch_init(&d, "d", 8);
    watch_register(&d, "m.f"); /* another fprobe takes that place */
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> c> b> c< a<");
    end(&d);
    end_three();
}

/* Fails without the store in fg_live_set_enabled. Fails if the fprobe is unregistered instead: it was
 * not called again. */
static void test_a_disabled_fprobe_stays_and_is_not_called(void)
{
    uintptr_t call;

    begin_three(8);
    CHECK(fg_fprobe_is_enabled(&b.fp));
    call = sim_call(f);
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, false), 0);
    CHECK(!fg_fprobe_is_enabled(&b.fp));
    CHECK(fg_fprobe_is_registered(&b.fp));
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> b> c> c< a<");
    call = sim_call(f);
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, true), 0);
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> c> c< a<");
    call = sim_call(f);
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, false), 0);
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, true), 0);
    sim_return(call);
    CHECK_TEXT(watch_log(), "a> b> c> c< b< a<");
    CHECK_EQ(fg_fprobe_nmissed(&b.fp), 0);
    /* Changing the lists of other functions leaves this function's list as it is. */
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, false), 0);
    watch_unregister(&a);
    CHECK_EQ(fg_fprobe_set_enabled(&b.fp, true), 0);
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "b> c> c< b<");
    end_three();
}

static void *entry_data, *exit_data;
static uintptr_t seen_ret_ip[2];

static int note_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                      void *data)
{
    (void)fp, (void)func, (void)regs;
    entry_data = data;
    seen_ret_ip[0] = ret_ip;
    return 0;
}

static void note_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                      void *data)
{
    (void)fp, (void)func, (void)regs;
    exit_data = data;
    seen_ret_ip[1] = ret_ip;
}

static void check_data(fprobe_entry_cb on_entry, fprobe_exit_cb on_exit, size_t bytes, bool at_entry,
                       bool at_exit)
{
    struct fprobe fp = {.entry_handler = on_entry, .exit_handler = on_exit, .entry_data_size = bytes};

    entry_data = exit_data = &fp;
    CHECK_EQ(fg_fprobe_register_ips(&fp, NULL, &f, NULL, 1), 0);
    CHECK_EQ(fp.entry_data_size, bytes);
    sim_call_return(f);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    if (on_entry)
        CHECK_EQ(entry_data != NULL, at_entry);
    if (on_exit)
        CHECK_EQ(exit_data != NULL, at_exit);
    if (at_entry && at_exit)
        CHECK(entry_data == exit_data);
}

/* Fails if `piece + 1` is passed without a check of the size, or if an fprobe without an exit handler
 * gets a piece. */
static void test_there_are_entry_data_where_both_sides_can_use_them(void)
{
    check_data(note_entry, note_exit, 0, false, false);
    check_data(note_entry, note_exit, 1, true, true);
    check_data(note_entry, note_exit, 120, true, true);
    check_data(note_entry, NULL, 8, false, false);
    check_data(NULL, note_exit, 8, false, true);
    check_data(NULL, NULL, 8, false, false);
}

static uint32_t nr_lookups;

static uintptr_t some_address(const struct ftrace_regs *regs)
{
    (void)regs;
    return 1000 + nr_lookups++;
}

/* Fails if the arch is asked once per handler, or before any handler is about to run. */
static void test_the_return_address_is_asked_for_once_and_only_for_a_handler(void)
{
    static const struct ftrace_regs_ops ops = {.return_address = some_address};
    struct ftrace_regs regs = {.ops = &ops};
    struct fprobe fps[2] = {{.entry_handler = note_entry, .exit_handler = note_exit},
                            {.entry_handler = note_entry, .exit_handler = note_exit}};

    for (int i = 0; i < 2; i++)
        CHECK_EQ(fg_fprobe_register_ips(&fps[i], NULL, &f, NULL, 1), 0);
    fg_enter(fg_task_current(), f, 16, &regs);
    CHECK_EQ(nr_lookups, 1);
    CHECK_EQ(seen_ret_ip[0], 1000);
    fg_return(fg_task_current(), 16, &regs, FG_END_RETURN);
    CHECK_EQ(nr_lookups, 2);
    CHECK_EQ(seen_ret_ip[1], 1001);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fg_fprobe_set_enabled(&fps[i], false), 0);
    fg_enter(fg_task_current(), f, 16, &regs);
    CHECK_EQ(nr_lookups, 2);
    for (int i = 0; i < 2; i++)
        CHECK_EQ(fg_fprobe_unregister(&fps[i]), 0);
}

/* Fails without any of the checks in begin, register_attempt and add_to_given. Fails if an undo
 * restores no list: g kept an fprobe that was never registered. Fails without fg_fprobe_list_has in
 * add_to: f had the fprobe twice. */
static void test_a_registration_does_all_or_nothing(void)
{
    struct fg_func *gone = sim_function("m", "gone"), *given[3] = {f, g, gone};
    struct fg_fprobe_filter nothing = {0};
    struct watch watch;

    watch_init(&watch, "w", 0);
    CHECK_EQ(fg_fprobe_register(NULL, NULL, &nothing), -EINVAL);
    CHECK_EQ(fg_fprobe_register(&watch.fp, NULL, NULL), -EINVAL);
    CHECK_EQ(fg_fprobe_register(&watch.fp, NULL, &nothing), -EINVAL);
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, NULL, NULL, 1), -EINVAL);
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, given, NULL, 0), -EINVAL);
    CHECK_EQ(watch_try_register(&watch, "no.such", NULL), -ENOENT);
    CHECK_EQ(watch_try_register(&watch, "m.*", "*"), -ENOENT);
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, "other scope", given, NULL, 1), -ENOENT);
    sim_free(gone);
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, given, NULL, 3), -ENOENT);
    given[1] = f; /* given twice, its list is restored once */
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, given, NULL, 3), -ENOENT);
    CHECK(!f->fprobes);
    given[1] = NULL;
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, given, NULL, 2), -ENOENT);
    watch.fp.entry_data_size = FPROBE_MAX_DATA_BYTES + 1;
    CHECK_EQ(watch_try_register(&watch, "m.f", NULL), -E2BIG);
    CHECK(!fg_fprobe_is_registered(&watch.fp));
    CHECK_EQ(fgraph_count(), 0);
    CHECK(!f->fprobes && !g->fprobes);
    CHECK_EQ(fg_fprobe_unregister(&watch.fp), -EINVAL);
    CHECK_EQ(fg_fprobe_unregister(NULL), -EINVAL);
    CHECK_EQ(fg_fprobe_unregister_async(&watch.fp), -EINVAL);
    CHECK_EQ(fg_fprobe_set_enabled(&watch.fp, true), -EINVAL);
    watch.fp.entry_data_size = FPROBE_MAX_DATA_BYTES;
    watch_register(&watch, "m.f");
    CHECK_EQ(watch_try_register(&watch, "m.g", NULL), -EEXIST);
    CHECK_EQ(fg_fprobe_register_ips(&watch.fp, NULL, &g, NULL, 1), -EEXIST);
    CHECK(!g->fprobes);
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "w> w<");
    end(&watch);
    CHECK_EQ(fg_fprobe_unregister(&watch.fp), -EINVAL);
}

static struct probe *slot_takers[FG_MAX_USERS];

/* Fails if an error from registering the shared user is ignored. */
static void test_no_slot_for_the_user_of_all_fprobes(void)
{
    struct watch watch;

    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        slot_takers[i] = malloc(sizeof(struct probe));
        probe_init(slot_takers[i], "taker", "nothing", 0);
        probe_register(slot_takers[i]);
    }
    watch_init(&watch, "w", 0);
    CHECK_EQ(watch_try_register(&watch, "m.f", NULL), -ENOSPC);
    CHECK(!f->fprobes);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++) {
        probe_unregister(slot_takers[i]);
        probe_done(slot_takers[i]);
        free(slot_takers[i]);
    }
    watch_register(&watch, "m.f");
    end(&watch);
}

/* Fails without `attach`, or if the shared user has its latest fprobe first. Fails if `matches` applies
 * globs to C functions. Fails without `detach`: the next function in the record inherited the list. */
static void test_functions_that_come_later_match_and_those_that_go_take_nothing_along(void)
{
    struct fg_func_desc desc = {.module = "m",
                                .qualname = "later",
                                .file = "",
                                .args = "",
                                .flags = FG_FUNC_C,
                                .domain = &sim_domains[0]};
    struct fg_func *later, *reused;
    struct watch d;

    begin_three(8);
    later = sim_function("m", "later");
    sim_call_return(later);
    CHECK_TEXT(watch_log(), "c> c<");
    watch_init(&d, "d", 8);
    watch_register(&d, "*.l*");
    sim_free(later);
    later = sim_function("m", "later");
    sim_call_return(later);
    CHECK_TEXT(watch_log(), "c> d> d< c<");
    end(&d);
    sim_free(later);
    reused = sim_function("other", "reused");
    CHECK(reused == later);
    CHECK(!reused->fprobes && !fg_func_has_users(reused));
    sim_free(reused);
    later = fg_func_meet(&desc);
    CHECK(!fg_func_has_users(later)); /* m.* does not match this function */
    fg_func_forget(later);
    watch_unregister(&a);
    CHECK_EQ(watch_try_register(&a, "m.later", NULL), -ENOENT);
    later = fg_func_meet(&desc);
    CHECK_EQ(watch_try_register(&a, "m.l*", NULL), -ENOENT);
    watch_register(&a, "m.later");
    sim_call_return(later);
    CHECK_TEXT(watch_log(), "a> a<");
    fg_func_forget(later);
    later = fg_func_meet(&desc);
    sim_call_return(later);
    CHECK_TEXT(watch_log(), "a> a<");
    fg_func_forget(later);
    end_three();
}

/* Fails if `matches` ignores notfilter, or if functions of other scopes are counted. */
static void test_count_says_how_many_functions_match(void)
{
    struct fg_fprobe_filter filter = {0};
    const char *reason;
    size_t column;

    CHECK_EQ(fg_patterns_add(&filter.filter, "m.*", &reason, &column), 0);
    CHECK_EQ(fg_fprobe_count(NULL, &filter), 2);
    CHECK_EQ(fg_fprobe_count("other scope", &filter), 0);
    CHECK_EQ(fg_patterns_add(&filter.notfilter, "*.g", &reason, &column), 0);
    CHECK_EQ(fg_fprobe_count(NULL, &filter), 1);
    fg_patterns_clear(&filter.filter);
    fg_patterns_clear(&filter.notfilter);
}

/* Fails if each fprobe on f hooks it again, as a plan of all wanted functions would. */
static void test_a_function_is_hooked_from_its_first_fprobe_to_its_last(void)
{
    uint32_t syncs, others = sim_syncs(g);

    watch_init(&a, "a", 0);
    watch_init(&b, "b", 0);
    CHECK(!sim_is_hooked(f));
    watch_register_ips(&a, (struct fg_func *[]){f, f}, 2);
    CHECK(sim_is_hooked(f));
    syncs = sim_syncs(f);
    watch_register(&b, "m.f");
    CHECK_EQ(fgraph_count(), 1); /* one user for both fprobes */
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "a> b> b< a<"); /* given twice, called once */
    watch_unregister(&a);
    CHECK_EQ(sim_syncs(f), syncs);
    CHECK(sim_is_hooked(f));
    watch_unregister(&b);
    CHECK(!sim_is_hooked(f));
    CHECK_EQ(sim_syncs(g), others);
    CHECK_EQ(fgraph_count(), 0);
}

/* Fails with one user for all scopes. */
static void test_each_scope_has_a_user_of_its_own(void)
{
    static struct fg_domain domain = {.scope = "other scope"};
    struct fg_func_desc desc = {.module = "m", .qualname = "h", .file = "", .args = "", .domain = &domain};
    struct fg_func *h;

    domain.arch = sim_domains[0].arch;
    h = fg_func_meet(&desc);
    watch_init(&a, "a", 8);
    watch_init(&b, "b", 8);
    watch_register(&a, "m.*");
    atomic_store(&b.is_registered, true);
    CHECK_EQ(fg_fprobe_register_ips(&b.fp, domain.scope, &h, NULL, 1), 0);
    CHECK_EQ(fgraph_count(), 2);
    CHECK_EQ(fgraph_count_in(domain.scope), 1);
    sim_call_return(h);
    sim_call_return(f);
    CHECK_TEXT(watch_log(), "b> b< a> a<");
    watch_unregister(&a);
    sim_call_return(h);
    CHECK_TEXT(watch_log(), "b> b<");
    watch_unregister(&b);
    CHECK_EQ(fgraph_count(), 0);
    fg_func_forget(h);
}

static void count_one(struct fprobe *fp, void *arg)
{
    CHECK(fp == &a.fp || fp == &b.fp || fp == &c.fp);
    ++*(int *)arg;
}

/* Fails if the walk begins at the second fprobe. */
static void test_for_each_visits_all(void)
{
    int n = 0;

    begin_three(0);
    fg_fprobe_for_each(NULL, count_one, &n);
    CHECK_EQ(n, 3);
    end_three();
    fg_fprobe_for_each(NULL, count_one, &n);
    CHECK_EQ(n, 3);
}

static void *resume_and_return(void *arg)
{
    sim_resume((uintptr_t)arg);
    sim_return((uintptr_t)arg);
    return NULL;
}

/* Fails if a suspend calls the exit handler, or if the pieces do not move with the frame. */
static void test_a_suspended_call_keeps_its_data_and_exits_once(void)
{
    uintptr_t generator, closed;

    begin_three(120);
    generator = sim_call(f);
    sim_suspend(generator);
    closed = sim_call(f);
    sim_suspend(closed);
    CHECK_TEXT(watch_log(), "a> b> c> a> b> c>");
    sim_resume(generator);
    sim_suspend(generator);
    watch_unregister(&b);
    sim_in_thread(resume_and_return, (void *)generator);
    CHECK_TEXT(watch_log(), "c< a<");
    sim_close(closed);
    CHECK_TEXT(watch_log(), "c< a<");
    end_three();
}

int main(void)
{
    sim_begin();
    f = sim_function("m", "f");
    g = sim_function("m", "g");
    test_entries_are_in_order_of_registration_and_exits_in_reverse();
    test_a_nonzero_entry_cancels_only_its_own_exit();
    test_an_fprobe_that_left_in_between_has_no_exit();
    test_an_fprobe_that_came_in_between_has_no_exit();
    test_an_fprobe_that_left_and_came_back_in_between_has_no_exit();
    test_a_disabled_fprobe_stays_and_is_not_called();
    test_there_are_entry_data_where_both_sides_can_use_them();
    test_the_return_address_is_asked_for_once_and_only_for_a_handler();
    test_a_registration_does_all_or_nothing();
    test_no_slot_for_the_user_of_all_fprobes();
    test_functions_that_come_later_match_and_those_that_go_take_nothing_along();
    test_count_says_how_many_functions_match();
    test_a_function_is_hooked_from_its_first_fprobe_to_its_last();
    test_each_scope_has_a_user_of_its_own();
    test_for_each_visits_all();
    test_a_suspended_call_keeps_its_data_and_exits_once();
    CHECK(fg_killed() == NULL);
    return 0;
}
