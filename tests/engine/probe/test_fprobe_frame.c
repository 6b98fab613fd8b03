/* The frame of a call with two fprobes has the layout drawn in docs/internals/fprobes.md. The registration
 * words are those of the first two registrations of a program. */
#include "engine/core/domain.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/probe/fprobe.h"
#include "support/check.h"
#include "support/sim_arch.h"

static struct fg_func *pay;
static int nr_exits;

static int store(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                 void *data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs;
    if (data)
        *(uint64_t *)data = 42;
    return 0;
}

static void count_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                       void *data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs, (void)data;
    nr_exits++;
}

static void check_words(const uint64_t *frame)
{
    CHECK_EQ(frame[0], (uintptr_t)pay);
    CHECK_EQ(frame[2], 0);
    CHECK_EQ(frame[3], 0);
    CHECK_EQ(frame[4], 0x1);
    CHECK_EQ(frame[5] & FG_TYPE_MASK, FG_TYPE_BITMAP);
    CHECK_EQ(frame[6], 0x200000);
    CHECK_EQ(frame[7], 42);
    CHECK(fg_is_data(frame[8]));
    CHECK_EQ(fg_data_idx(frame[8]), 0);
    CHECK_EQ(fg_data_size_words(frame[8]), 2);
    CHECK_EQ(frame[9], 0x400002);
    CHECK(fg_is_data(frame[10]));
    CHECK_EQ(fg_data_idx(frame[10]), 0);
    CHECK_EQ(fg_data_size_words(frame[10]), 1);
}

int main(void)
{
    struct fprobe a = {.entry_handler = store, .exit_handler = count_exit, .entry_data_size = 8};
    struct fprobe b = {.entry_handler = store, .exit_handler = count_exit};
    const struct fg_task *task;
    const uint64_t *top;
    uintptr_t call;

    sim_begin();
    pay = sim_function("shop", "pay");
    CHECK_EQ(fg_fprobe_register_ips(&a, pay->domain->scope, &pay, NULL, 1), 0);
    CHECK_EQ(fg_fprobe_register_ips(&b, pay->domain->scope, &pay, NULL, 1), 0);
    task = fg_task_current();
    top = task->top;
    call = sim_call(pay);
    CHECK_EQ(task->top - top, 11);
    check_words(top);
    sim_return(call);
    CHECK(task->top == top);
    CHECK_EQ(nr_exits, 2);
    CHECK_EQ(fg_fprobe_unregister(&a), 0);
    CHECK_EQ(fg_fprobe_unregister(&b), 0);
    return 0;
}
