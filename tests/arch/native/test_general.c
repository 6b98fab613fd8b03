/* Fprobes whose handlers use general registers only take the fast path, with the registers of the call as
 * they are. Whatever else the function has, or happens meanwhile, goes the slow path: no return is lost. */
#include <math.h>
#include <pthread.h>
#include <string.h>

#include "engine/probe/fprobe.h"
#include "engine/probe/kprobe_multi.h"
#include "support/check.h"
#include "support/general.h"
#include "support/native.h"
#include "target/target.h"

static double real(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void finish(struct fprobe *fp, uint64_t calls, uint64_t saved)
{
    CHECK_EQ(fg_fprobe_unregister(fp), 0);
    CHECK_EQ(general.entries, calls);
    CHECK_EQ(general.exits, calls);
    CHECK_EQ(general.saved, saved);
    CHECK_EQ(general.wrong, 0);
    CHECK_EQ(native_hooked(NULL), 0);
}

static void begin(struct fprobe *fp, const char *pattern, size_t entry_data_size)
{
    general_probe(fp, entry_data_size);
    native_probe_place(fp, pattern);
    target_leaf(1); /* the thread's first traced call takes the slow path */
    CHECK_EQ(general.entries, 1);
    CHECK_EQ(general.exits, 1);
    general.saved = 0;
}

static void test_the_words_of_a_call(void)
{
    struct fprobe fp;
    struct target_mixed mixed;

    begin(&fp, "target_*:mod:target", 8);
    CHECK_EQ(target_twelve(1, -2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12), 642);
    for (uint32_t i = 0; i < 6; i++)
        CHECK_EQ(general.arguments[i], i == 1 ? (uint64_t)-2 : i + 1);
    CHECK_EQ(general.ip, (uintptr_t)target_twelve);
    CHECK_EQ(general.results[0], 642);
    CHECK(target_sum_doubles(8, 1., 2., 3., 4., 5., 6., 7., 8.) == 36.);
    for (uint32_t i = 0; i < 8; i++)
        CHECK(real(general.reals[i]) == i + 1.);
    CHECK(real(general.real_results[0]) == 36.);
    mixed = target_make_mixed(3, 4.5);
    CHECK(mixed.a == 3 && mixed.b == 4.5);
    CHECK_EQ(general.results[0], 3);
    CHECK(real(general.real_results[0]) == 4.5);
    finish(&fp, 4, 0);
}

/* Calls of handlers are not traced, whichever path they take. */
static void call_add(void)
{
    target_add(1, 2);
}

static void test_recursion_and_calls_of_handlers(void)
{
    struct fprobe fp;

    begin(&fp, "target_*:mod:target", 16);
    general.calls = general.calls_at_exit = call_add;
    CHECK_EQ(target_recurse(100), 100); /* the thread gets entries for so many, on the slow path */
    general.saved = 0;
    CHECK_EQ(target_recurse(100), 100);
    CHECK_EQ(target_tail(10, 1), 21);
    CHECK_EQ(fg_fprobe_nmissed(&fp), 0); /* its own calls are not missed */
    finish(&fp, 1 + 2 * 101 + 2, 0);
}

static void test_a_handler_skips_the_exit(void)
{
    struct fprobe fp;

    begin(&fp, "target_*:mod:target", 0);
    general.skips = 1;
    CHECK_EQ(target_recurse(9), 9);
    CHECK_EQ(general.entries, 11);
    CHECK_EQ(general.exits, 1);
    general.skips = 0;
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(general.exits, 2);
    general.exits += 10;
    finish(&fp, 12, 0);
}

/* Each changes which path the entry and the return of a call in progress take. */
static struct fprobe other;
static struct probe user;

static void add_fprobe(void *arg)
{
    (void)arg;
    other.flags = 0;
    native_probe_place(&other, "target_call:mod:target");
}

static void remove_fprobe(void *arg)
{
    (void)arg;
    CHECK_EQ(fg_fprobe_unregister(&other), 0);
}

static void add_user(void *arg)
{
    (void)arg;
    native_probe(&user, "target_call:mod:target");
}

static void remove_user(void *arg)
{
    (void)arg;
    probe_unregister(&user);
    probe_done(&user);
}

static int on_other_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                          void *data)
{
    (void)func, (void)ret_ip, (void)regs, (void)data;
    ++*(uint64_t *)fp->private_data;
    return 0;
}

static void on_other_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                          void *data)
{
    (void)func, (void)ret_ip, (void)regs, (void)data;
    --*(uint64_t *)fp->private_data;
}

static void test_users_come_and_go_in_a_call(void)
{
    uint64_t balance = 0;
    struct fprobe fp;

    begin(&fp, "target_*:mod:target", 8);
    other = (struct fprobe){
        .entry_handler = on_other_entry, .exit_handler = on_other_exit, .private_data = &balance};
    for (int i = 0; i < 10; i++) {
        target_call(add_fprobe, NULL);
        target_call(remove_fprobe, NULL);
        target_call(add_user, NULL);
        target_call(remove_user, NULL);
    }
    CHECK_EQ(general.entries, 41);
    CHECK_EQ(general.exits, 41);
    CHECK(general.saved >= 30);
    general.saved = 0;
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(balance, 10); /* of the calls in which it left */
    finish(&fp, 42, 0);
}

static void leave_in_call(void *arg)
{
    CHECK_EQ(fg_fprobe_unregister(arg), 0);
}

/* The exit is not called, and the hook goes with the call. */
static void test_it_leaves_in_a_call(void)
{
    struct fprobe fp;

    for (int i = 0; i < 3; i++) {
        begin(&fp, "target_[lc]*:mod:target", 8);
        target_call(leave_in_call, &fp);
        CHECK_EQ(general.entries, 2);
        CHECK_EQ(general.exits, 1);
        CHECK_EQ(native_hooked(NULL), 0);
        target_call(add_user, NULL);
        remove_user(NULL);
    }
}

static struct fprobe *leaving;

static void leave_in_handler(void)
{
    struct fprobe *fp = leaving;

    leaving = NULL;
    if (fp)
        CHECK_EQ(fg_fprobe_unregister_async(fp), 0);
}

/* In a handler: what of the call is left ends in silence. */
static void test_it_leaves_in_its_handlers(void)
{
    struct fprobe fp;

    begin(&fp, "target_*:mod:target", 8);
    general.calls = leave_in_handler;
    leaving = &fp;
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(general.entries, 2);
    CHECK_EQ(general.exits, 1);
    CHECK_EQ(native_hooked(NULL), 0);
    begin(&fp, "target_*:mod:target", 8);
    general.calls_at_exit = leave_in_handler;
    leaving = &fp;
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(general.entries, 2);
    CHECK_EQ(general.exits, 2);
    CHECK_EQ(native_hooked(NULL), 0);
}

enum { NR_THREADS = 4, NR_CALLS = 2000 };

static void *call_many(void *arg)
{
    for (int i = 0; i < NR_CALLS; i++)
        CHECK_EQ(target_recurse(3), 3);
    return arg;
}

static uint64_t begun;

static int count_begun(struct kprobe_multi_ctx *ctx)
{
    begun += ctx->is_return ? (uint64_t)-1 : 1;
    return 0;
}

/* The handlers of a link are the engine's own, which may change any register. */
static void test_a_link_takes_the_slow_path(void)
{
    struct kprobe_multi_link link = {.prog = count_begun,
                                     .kind = KPROBE_MULTI_SESSION,
                                     .fprobe = {.flags = FTRACE_OPS_FL_NATIVE | FTRACE_OPS_FL_GENERAL_REGS}};
    struct fg_fprobe_filter filter = {.is_native = true};
    const char *reason;
    size_t column;

    CHECK_EQ(fg_patterns_add(&filter.filter, "target_add:mod:target", &reason, &column), 0);
    CHECK_EQ(fg_kprobe_multi_attach_filter(&link, NULL, &filter), 0);
    CHECK(!(link.fprobe.flags & FTRACE_OPS_FL_GENERAL_REGS));
    CHECK_EQ(target_add(1, 2), 3);
    CHECK_EQ(begun, 0);
    CHECK_EQ(fg_kprobe_multi_detach(&link), 0);
}

static void test_threads(void)
{
    struct fprobe fp;
    pthread_t threads[NR_THREADS];

    general_probe_nothing(&fp);
    native_probe_place(&fp, "target_*:mod:target");
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, call_many, NULL), 0);
    if (NATIVE_STOPS) {
        for (int i = 0; i < 20; i++) {
            native_probe(&user, "target_recurse:mod:target");
            CHECK_EQ(fg_fprobe_unregister(&fp), 0);
            native_probe_place(&fp, "target_*:mod:target");
            remove_user(NULL);
        }
    }
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    CHECK(native_meet(object, "*:mod:target") > 10);
    test_the_words_of_a_call();
    test_recursion_and_calls_of_handlers();
    test_a_handler_skips_the_exit();
    test_users_come_and_go_in_a_call();
    test_it_leaves_in_a_call();
    test_it_leaves_in_its_handlers();
    test_a_link_takes_the_slow_path();
    test_threads();
    return 0;
}
