/* kretprobes: a handler at the return of one function, with data from its entry; and whether some user of a
 * function asked for full regs. */
#include <errno.h>

#include "engine/probe/fprobe.h"
#include "engine/probe/kretprobe.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

static struct fg_func *funcs[2];

static int nr_entries, nr_returns;
static bool skips;

static int on_entry(struct kretprobe_instance *ri, struct ftrace_regs *regs)
{
    (void)regs;
    CHECK(ri->func == funcs[0]);
    CHECK_EQ(*(uint64_t *)ri->data, 0);
    *(uint64_t *)ri->data = (uint64_t)++nr_entries;
    return skips;
}

static int on_return(struct kretprobe_instance *ri, struct ftrace_regs *regs)
{
    (void)regs;
    CHECK(ri->rp->private_data == &nr_returns);
    CHECK_EQ(*(uint64_t *)ri->data, (uint64_t)nr_entries);
    nr_returns++;
    return 1; /* ignored */
}

static struct kretprobe rp = {.handler = on_return,
                              .entry_handler = on_entry,
                              .data_size = sizeof(uint64_t),
                              .maxactive = 1,
                              .private_data = &nr_returns};

/* Fails if the entry's answer is ignored, or if maxactive limits calls in progress. */
static void test_the_handler_has_the_data_of_its_entry(void)
{
    rp.func = funcs[0];
    CHECK_EQ(fg_kretprobe_prepare(&rp), 0);
    CHECK_EQ(fg_fprobe_register_ips(&rp.fprobe, NULL, &rp.func, NULL, 1), 0);
    CHECK_EQ(fg_kretprobe_prepare(&rp), -EEXIST);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[1]);
    CHECK_EQ(nr_entries, 1);
    CHECK_EQ(nr_returns, 1);
    skips = true;
    sim_call_return(funcs[0]);
    CHECK_EQ(nr_entries, 2);
    CHECK_EQ(nr_returns, 1);
    CHECK_EQ(fg_fprobe_nmissed(&rp.fprobe), 0);
    CHECK_EQ(fg_fprobe_unregister(&rp.fprobe), 0);
}

static void test_what_a_kretprobe_needs(void)
{
    struct kretprobe none = {.func = funcs[0]}, both = {.func = funcs[0], .handler = on_return};

    CHECK_EQ(fg_kretprobe_prepare(NULL), -EINVAL);
    CHECK_EQ(fg_kretprobe_prepare(&none), -EINVAL);
    both.symbol_name = "m.f0";
    CHECK_EQ(fg_kretprobe_prepare(&both), -EINVAL);
    both.func = NULL;
    CHECK_EQ(fg_kretprobe_prepare(&both), 0);
    CHECK(!both.fprobe.entry_handler);
}

/* What fg_func_saves_regs() said at the latest entry. */
static bool saves;

static int wants_return(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)ops, (void)regs;
    saves = fg_func_saves_regs(trace->func);
    return 0;
}

static int nothing(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                   void *data)
{
    (void)fp, (void)func, (void)ret_ip, (void)regs, (void)data;
    return 0;
}

static void check_saves(bool expected)
{
    saves = !expected;
    sim_call_return(funcs[0]);
    CHECK_EQ(saves, expected);
}

/* Fails if a disabled fprobe, or one of another function, counts. */
static void test_full_regs_are_there_if_any_user_of_the_function_asked(void)
{
    struct fgraph_ops plain = {.entryfunc = wants_return}, saving = {.entryfunc = wants_return, .flags = 1};
    struct fprobe fp = {.entry_handler = nothing, .flags = FTRACE_OPS_FL_SAVE_REGS};

    CHECK_EQ(fgraph_register(&plain), 0);
    check_saves(false);
    CHECK_EQ(fgraph_register(&saving), 0);
    check_saves(true);
    CHECK_EQ(fgraph_unregister(&saving), 0);
    check_saves(false);
    CHECK_EQ(fg_fprobe_register_ips(&fp, NULL, &funcs[1], NULL, 1), 0);
    check_saves(false);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(fg_fprobe_register_ips(&fp, NULL, &funcs[0], NULL, 1), 0);
    check_saves(true);
    CHECK_EQ(fg_fprobe_set_enabled(&fp, false), 0);
    check_saves(false);
    CHECK_EQ(fg_fprobe_unregister(&fp), 0);
    CHECK_EQ(fgraph_unregister(&plain), 0);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, 2);
    test_the_handler_has_the_data_of_its_entry();
    test_what_a_kretprobe_needs();
    test_full_regs_are_there_if_any_user_of_the_function_asked();
    CHECK(fg_killed() == NULL);
    return 0;
}
