/* See kretprobe.h. */
#include "engine/probe/kretprobe.h"

#include <errno.h>
#include <stdbool.h>

#include "engine/base/compiler.h"
#include "engine/probe/fprobe.h"

static struct kretprobe *rp_of(struct fprobe *fp)
{
    return fg_container_of(fp, struct kretprobe, fprobe);
}

static int on_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *data)
{
    struct kretprobe_instance ri = {.rp = rp_of(fp), .func = func, .ret_addr = ret_ip, .data = data};

    return ri.rp->entry_handler(&ri, regs);
}

static void on_return(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                      void *data)
{
    struct kretprobe_instance ri = {.rp = rp_of(fp), .func = func, .ret_addr = ret_ip, .data = data};

    ri.rp->handler(&ri, regs);
}

int fg_kretprobe_prepare(struct kretprobe *rp)
{
    if (!rp || !rp->handler || !rp->symbol_name == !rp->func)
        return -EINVAL;
    if (fg_fprobe_is_registered(&rp->fprobe))
        return -EEXIST;
    rp->fprobe.entry_handler = rp->entry_handler ? on_entry : NULL;
    rp->fprobe.exit_handler = on_return;
    rp->fprobe.entry_data_size = rp->data_size;
    rp->fprobe.flags = rp->flags & ~(uint64_t)FTRACE_OPS_FL_GENERAL_REGS; /* the handlers are these two */
    return 0;
}
