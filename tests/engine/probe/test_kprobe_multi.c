/* kprobe_multi: one program on many functions, with a cookie per function, at the entry, the return, or
 * both. */
#include <errno.h>

#include "engine/probe/kprobe_multi.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

static struct fg_func *funcs[3];

struct seen {
    struct kprobe_multi_link link;
    int answer;
    int n;
    struct kprobe_multi_ctx ctxs[8];
    uint64_t session[8]; /* the shared word as found; the program then adds 5 */
};

static int prog(struct kprobe_multi_ctx *ctx)
{
    struct seen *seen = ctx->link->private_data;

    CHECK(seen->n < 8);
    CHECK(ctx->link == &seen->link);
    seen->ctxs[seen->n] = *ctx;
    if (ctx->session_cookie) {
        seen->session[seen->n] = *ctx->session_cookie;
        *ctx->session_cookie += 5;
    }
    seen->n++;
    return seen->answer;
}

static void seen_init(struct seen *seen, enum kprobe_multi_kind kind)
{
    *seen = (struct seen){.link = {.prog = prog, .kind = kind, .private_data = seen}};
}

static void check_ctx(const struct seen *seen, int i, struct fg_func *func, uint64_t cookie, bool is_return)
{
    CHECK(i < seen->n);
    CHECK(seen->ctxs[i].func == func);
    CHECK_EQ(seen->ctxs[i].cookie, cookie);
    CHECK_EQ(seen->ctxs[i].is_return, is_return);
    CHECK_EQ(seen->ctxs[i].session_cookie != NULL, seen->link.kind == KPROBE_MULTI_SESSION);
}

static void call_nested(void)
{
    uintptr_t outer = sim_call(funcs[0]), inner = sim_call(funcs[1]);

    sim_return(inner);
    sim_return(outer);
    sim_call_return(funcs[2]);
}

/* Fails if every function gets the first one's cookie, or if a return gets no cookie. Fails if a return
 * link has an entry handler. */
static void test_each_function_has_its_cookie_at_entry_and_return(void)
{
    static const uint64_t cookies[2] = {11, UINT64_MAX};
    struct seen entry, returns;

    seen_init(&entry, KPROBE_MULTI_ENTRY);
    seen_init(&returns, KPROBE_MULTI_RETURN);
    entry.answer = 1; /* ignored */
    CHECK_EQ(fg_kprobe_multi_attach(&entry.link, NULL, funcs, cookies, 2), 0);
    CHECK_EQ(fg_kprobe_multi_attach(&returns.link, NULL, funcs, cookies, 2), 0);
    call_nested();
    CHECK_EQ(entry.n, 2);
    check_ctx(&entry, 0, funcs[0], 11, false);
    check_ctx(&entry, 1, funcs[1], UINT64_MAX, false);
    CHECK_EQ(returns.n, 2);
    check_ctx(&returns, 0, funcs[1], UINT64_MAX, true);
    check_ctx(&returns, 1, funcs[0], 11, true);
    CHECK_EQ(fg_kprobe_multi_detach(&entry.link), 0);
    CHECK_EQ(fg_kprobe_multi_detach(&returns.link), 0);
    call_nested();
    CHECK_EQ(entry.n + returns.n, 4);
    CHECK(fg_task_current()->top == fg_task_current()->stack);
}

/* Fails with `data` instead of `data + has_cookies`: the session's word was the cookie. */
static void test_a_session_shares_a_word_between_entry_and_return(void)
{
    static const uint64_t cookies[3] = {7, 8, 9};

    for (int with_cookies = 0; with_cookies < 2; with_cookies++) {
        struct seen seen;

        seen_init(&seen, KPROBE_MULTI_SESSION);
        CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, with_cookies ? cookies : NULL, 3), 0);
        call_nested();
        CHECK_EQ(seen.n, 6);
        check_ctx(&seen, 0, funcs[0], with_cookies ? 7 : 0, false);
        check_ctx(&seen, 1, funcs[1], with_cookies ? 8 : 0, false);
        check_ctx(&seen, 2, funcs[1], with_cookies ? 8 : 0, true);
        check_ctx(&seen, 3, funcs[0], with_cookies ? 7 : 0, true);
        check_ctx(&seen, 5, funcs[2], with_cookies ? 9 : 0, true);
        for (int i = 0; i < seen.n; i++)
            CHECK_EQ(seen.session[i], seen.ctxs[i].is_return ? 5 : 0);
        CHECK_EQ(fg_kprobe_multi_detach(&seen.link), 0);
    }
}

/* Fails if the entry handler ignores the program's answer. */
static void test_a_session_without_a_return(void)
{
    struct seen seen;

    seen_init(&seen, KPROBE_MULTI_SESSION);
    seen.answer = 1;
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 3), 0);
    call_nested();
    CHECK_EQ(seen.n, 3);
    CHECK_EQ(fg_kprobe_multi_nmissed(&seen.link), 0);
    CHECK_EQ(fg_kprobe_multi_detach(&seen.link), 0);
}

/* Fails if attach leaves out the functions that the filter matches. */
static void test_a_filter_in_the_place_of_functions(void)
{
    struct fg_fprobe_filter filter = {0};
    const char *reason;
    struct seen seen;
    size_t column;

    seen_init(&seen, KPROBE_MULTI_SESSION);
    CHECK_EQ(fg_patterns_add(&filter.filter, "m.f[01]", &reason, &column), 0);
    CHECK_EQ(fg_kprobe_multi_attach_filter(&seen.link, NULL, &filter), 0);
    CHECK(!filter.filter.items);
    call_nested();
    CHECK_EQ(seen.n, 4);
    check_ctx(&seen, 0, funcs[0], 0, false);
    CHECK_EQ(fg_kprobe_multi_detach(&seen.link), 0);
}

/* Fails without any of the checks in `prepare`. */
static void test_what_is_wrong_with_a_link_is_told(void)
{
    struct seen seen;

    CHECK_EQ(fg_kprobe_multi_attach(NULL, NULL, funcs, NULL, 1), -EINVAL);
    CHECK_EQ(fg_kprobe_multi_detach(NULL), -EINVAL);
    seen_init(&seen, (enum kprobe_multi_kind)3);
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 1), -EINVAL);
    seen_init(&seen, KPROBE_MULTI_ENTRY);
    CHECK_EQ(fg_kprobe_multi_detach(&seen.link), -EINVAL);
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 0), -EINVAL);
    seen.link.prog = NULL;
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 1), -EINVAL);
    seen.link.prog = prog;
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 1), 0);
    seen.link.kind = KPROBE_MULTI_SESSION;
    CHECK_EQ(fg_kprobe_multi_attach(&seen.link, NULL, funcs, NULL, 1), -EEXIST);
    CHECK(!seen.link.fprobe.exit_handler);
    CHECK_EQ(fg_kprobe_multi_detach(&seen.link), 0);
    CHECK_EQ(fgraph_count(), 0);
}

static int call_f1(struct kprobe_multi_ctx *ctx)
{
    (void)ctx;
    sim_call_return(funcs[1]);
    return 0;
}

/* Fails if the link counts, instead of its fprobe. */
static void test_calls_that_a_program_makes_are_counted(void)
{
    struct kprobe_multi_link link = {.prog = call_f1, .kind = KPROBE_MULTI_SESSION};

    CHECK_EQ(fg_kprobe_multi_attach(&link, NULL, funcs, NULL, 3), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(fg_kprobe_multi_nmissed(&link), 2);
    CHECK_EQ(fg_kprobe_multi_detach(&link), 0);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, 3);
    test_each_function_has_its_cookie_at_entry_and_return();
    test_a_session_shares_a_word_between_entry_and_return();
    test_a_session_without_a_return();
    test_a_filter_in_the_place_of_functions();
    test_what_is_wrong_with_a_link_is_told();
    test_calls_that_a_program_makes_are_counted();
    CHECK(fg_killed() == NULL);
    return 0;
}
