/* Users of the public API on native functions: fprobes, kretprobes and kprobe_multi links that say that they
 * see these, their data from entry to exit, cookies, and what callbacks call. Others do not get them. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/core/regs.h"
#include "engine/probe/fprobe.h"
#include "engine/probe/kprobe_multi.h"
#include "engine/probe/kretprobe.h"
#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

static struct fg_native_object *object;

struct found {
    const char *name;
    struct fg_func *func;
};

static void find(const struct fg_native_state *state, void *arg)
{
    struct found *found = arg;

    if (strcmp(state->name, found->name) == 0)
        found->func = state->func;
}

static struct fg_func *func_of(const char *name)
{
    struct found found = {.name = name};

    fg_native_for_each(find, &found);
    CHECK(found.func != NULL);
    return found.func;
}

/* ---- fprobes */

static _Atomic uint64_t entries, exits, wrong;

static int on_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *data)
{
    (void)fp, (void)regs;
    *(uint64_t *)data = func->id + ++entries * 1000;
    wrong += ret_ip == 0;
    target_add(1, 2); /* a callback makes this call: nobody sees it */
    return 0;
}

static void on_exit_of(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                       void *data)
{
    (void)fp, (void)regs;
    wrong += *(uint64_t *)data % 1000 != func->id % 1000 || ret_ip == 0;
    target_add(1, 2);
    exits++;
}

static void reset(void)
{
    entries = exits = wrong = 0;
}

static int register_on(struct fprobe *fp, const char *pattern, const char *notpattern)
{
    struct fg_fprobe_filter filter = {.filter = {.n = 0}};
    const char *reason;
    size_t column;
    int error;

    CHECK_EQ(fg_patterns_add(&filter.filter, pattern, &reason, &column), 0);
    if (notpattern)
        CHECK_EQ(fg_patterns_add(&filter.notfilter, notpattern, &reason, &column), 0);
    error = fg_fprobe_register(fp, NULL, &filter);
    fg_patterns_clear(&filter.filter);
    fg_patterns_clear(&filter.notfilter);
    return error;
}

static void test_an_fprobe_must_say_that_it_sees_native_functions(void)
{
    struct fprobe fp = {.entry_handler = on_entry, .entry_data_size = 8};
    struct fg_func *func = func_of("target_add");

    reset();
    CHECK_EQ(register_on(&fp, "target_add:mod:target", NULL), -ENOENT);
    CHECK_EQ(fg_fprobe_register_ips(&fp, NULL, &func, NULL, 1), -EOPNOTSUPP);
    CHECK(!fg_fprobe_is_registered(&fp));
    CHECK_EQ(native_hooked(NULL), 0);
    target_add(1, 2);
    CHECK_EQ(entries, 0);
}

static void test_data_goes_from_entry_to_exit(void)
{
    struct fprobe fp = {.entry_handler = on_entry,
                        .exit_handler = on_exit_of,
                        .entry_data_size = 8,
                        .flags = FTRACE_OPS_FL_NATIVE};

    reset();
    CHECK_EQ(register_on(&fp, "target_*:mod:target", "target_*e*:mod:target"), 0);
    CHECK_EQ(target_add(40, 2), 42);
    CHECK_EQ(target_tail(10, 1), 21);
    CHECK_EQ(target_leaf(4), 5); /* not of the filter */
    CHECK_EQ(entries, 3);
    CHECK_EQ(exits, 3);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(target_add(40, 2), 42);
    CHECK_EQ(entries, 3);
}

enum { NR_THREADS = 4, NR_CALLS = 2000 };

static void *call_many(void *arg)
{
    for (int i = 0; i < NR_CALLS; i++)
        CHECK_EQ(target_recurse(1), 1);
    return arg;
}

static void test_handlers_run_in_all_threads(void)
{
    struct fprobe fp = {.entry_handler = on_entry,
                        .exit_handler = on_exit_of,
                        .entry_data_size = 8,
                        .flags = FTRACE_OPS_FL_NATIVE};
    pthread_t threads[NR_THREADS];

    reset();
    CHECK_EQ(register_on(&fp, "target_recurse:mod:target", NULL), 0);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, call_many, NULL), 0);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(entries, 2 * NR_THREADS * NR_CALLS);
    CHECK_EQ(exits, entries);
    CHECK_EQ(wrong, 0);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

static void test_functions_that_are_met_later_get_their_fprobes(void)
{
    struct fprobe fp = {.entry_handler = on_entry,
                        .exit_handler = on_exit_of,
                        .entry_data_size = 8,
                        .flags = FTRACE_OPS_FL_NATIVE};
    struct fprobe other = {.entry_handler = on_entry, .entry_data_size = 8};
    struct fg_fprobe_filter filter = {.filter = {.n = 0}}, same = {.filter = {.n = 0}};
    const char *reason;
    size_t column;

    reset();
    CHECK_EQ(fg_patterns_add(&filter.filter, "target_leaf:mod:target", &reason, &column), 0);
    CHECK_EQ(fg_patterns_add(&same.filter, "target_leaf:mod:target", &reason, &column), 0);
    CHECK_EQ(fg_fprobe_register_pending(&fp, NULL, &filter), 0);
    CHECK_EQ(fg_fprobe_register_pending(&other, NULL, &same), 0);
    CHECK_EQ(native_meet(object, "target_leaf:mod:target"), 1);
    CHECK_EQ(target_leaf(4), 5);
    CHECK_EQ(entries, 1);
    CHECK_EQ(exits, 1);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(fg_fprobe_unregister(&other), 0);
}

/* ---- kprobe_multi and kretprobes */

static uint64_t cookies_seen[4];
static int nr_cookies;

static int prog(struct kprobe_multi_ctx *ctx)
{
    cookies_seen[nr_cookies++] = ctx->cookie + (uint64_t)ctx->is_return;
    return 0;
}

static void test_each_function_has_its_cookie(void)
{
    struct fg_func *funcs[] = {func_of("target_add"), func_of("target_leaf")};
    const uint64_t cookies[] = {10, 20};
    struct kprobe_multi_link link = {.prog = prog, .kind = KPROBE_MULTI_SESSION};

    CHECK_EQ(fg_kprobe_multi_attach(&link, NULL, funcs, cookies, 2), -EOPNOTSUPP);
    link = (struct kprobe_multi_link){
        .prog = prog, .kind = KPROBE_MULTI_SESSION, .fprobe = {.flags = FTRACE_OPS_FL_NATIVE}};
    CHECK_EQ(fg_kprobe_multi_attach(&link, NULL, funcs, cookies, 2), 0);
    CHECK_EQ(target_leaf(4), 5);
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(fg_kprobe_multi_detach(&link), 0);
    CHECK_EQ(nr_cookies, 4);
    CHECK(cookies_seen[0] == 20 && cookies_seen[1] == 21 && cookies_seen[2] == 10 && cookies_seen[3] == 11);
}

static uint64_t argument, result;

static int keep_argument(struct kretprobe_instance *ri, struct ftrace_regs *regs)
{
    return !fg_regs_word(regs, FG_WORD_ARGUMENT, 0, ri->data);
}

static int keep_result(struct kretprobe_instance *ri, struct ftrace_regs *regs)
{
    argument = *(uint64_t *)ri->data;
    CHECK(fg_regs_word(regs, FG_WORD_RESULT, 0, &result));
    return 0;
}

static void test_a_kretprobe_sees_the_result_beside_an_argument_of_the_entry(void)
{
    struct fg_func *func = func_of("target_leaf");
    struct kretprobe rp = {.func = func,
                           .handler = keep_result,
                           .entry_handler = keep_argument,
                           .data_size = 8,
                           .flags = FTRACE_OPS_FL_NATIVE};

    CHECK_EQ(fg_kretprobe_prepare(&rp), 0);
    CHECK_EQ(fg_fprobe_register_ips(&rp.fprobe, NULL, &func, NULL, 1), 0);
    CHECK_EQ(target_leaf(41), 42);
    CHECK_EQ(argument, 41);
    CHECK_EQ(result, 42);
    CHECK_EQ(fg_fprobe_unregister(&rp.fprobe), 0);
}

/* ---- users of the function graph */

static void test_a_user_says_it_by_its_flag(void)
{
    struct probe probe;

    probe_init(&probe, "user", "target_leaf:mod:target", 2);
    probe.ops.flags = FTRACE_OPS_FL_NATIVE;
    probe_register(&probe);
    CHECK_EQ(target_leaf(1), 2);
    native_finish(&probe, 1);
    probe_init(&probe, "user", "target_leaf:mod:target", 2);
    probe_register(&probe);
    CHECK_EQ(target_leaf(1), 2);
    native_finish(&probe, 0);
}

int main(void)
{
    object = native_begin();
    test_functions_that_are_met_later_get_their_fprobes();
    CHECK(native_meet(object, "*:mod:target") > 20);
    test_an_fprobe_must_say_that_it_sees_native_functions();
    test_data_goes_from_entry_to_exit();
    test_each_function_has_its_cookie();
    test_a_kretprobe_sees_the_result_beside_an_argument_of_the_entry();
    test_a_user_says_it_by_its_flag();
    test_handlers_run_in_all_threads();
    return 0;
}
