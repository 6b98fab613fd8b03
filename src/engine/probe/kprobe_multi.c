/* An fprobe's entry data holds the cookie and the session word. */
#include "engine/probe/kprobe_multi.h"

#include <errno.h>

#include "engine/base/compiler.h"

static int run(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
               uint64_t *data, bool is_return)
{
    struct kprobe_multi_link *link = fg_container_of(fp, struct kprobe_multi_link, fprobe);
    bool has_cookies = fg_fprobe_of(fp)->has_cookies;
    struct kprobe_multi_ctx ctx = {
        .link = link,
        .func = func,
        .ret_ip = ret_ip,
        .regs = regs,
        .cookie = has_cookies ? data[0] : 0,
        .session_cookie = link->kind == KPROBE_MULTI_SESSION ? data + has_cookies : NULL,
        .is_return = is_return,
    };

    return link->prog(&ctx);
}

static int on_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *data)
{
    return run(fp, func, ret_ip, regs, data, false);
}

static void on_exit_of(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                       void *data)
{
    run(fp, func, ret_ip, regs, data, true);
}

/* Checks a link and sets up its fprobe. Returns 0 or a negative errno. */
static int prepare(struct kprobe_multi_link *link)
{
    if (!link || !link->prog || (unsigned)link->kind > KPROBE_MULTI_SESSION)
        return -EINVAL;
    if (fg_fprobe_is_registered(&link->fprobe))
        return -EEXIST;
    link->fprobe.entry_handler = link->kind != KPROBE_MULTI_RETURN ? on_entry : NULL;
    link->fprobe.exit_handler = link->kind != KPROBE_MULTI_ENTRY ? on_exit_of : NULL;
    link->fprobe.flags &= ~(uint64_t)FTRACE_OPS_FL_GENERAL_REGS; /* the handlers are these two */
    link->fprobe.entry_data_size = link->kind == KPROBE_MULTI_SESSION ? sizeof(uint64_t) : 0;
    return 0;
}

int fg_kprobe_multi_attach(struct kprobe_multi_link *link, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n)
{
    int error = prepare(link);

    return error ? error : fg_fprobe_register_ips(&link->fprobe, scope, funcs, cookies, n);
}

int fg_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const void *scope,
                                  struct fg_fprobe_filter *filter)
{
    int error = prepare(link);

    return error ? error : fg_fprobe_register(&link->fprobe, scope, filter);
}

int fg_kprobe_multi_detach(struct kprobe_multi_link *link)
{
    return link ? fg_fprobe_unregister(&link->fprobe) : -EINVAL;
}

uint64_t fg_kprobe_multi_nmissed(const struct kprobe_multi_link *link)
{
    return fg_fprobe_nmissed(&link->fprobe);
}
