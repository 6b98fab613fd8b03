/* Entry-only users: their functions have only entry hooks until some user wants returns. A user that
 * wants returns sees no call whose return would go unreported. */
#include "engine/graph/call.h"
#include "engine/probe/fprobe.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

static struct fg_func *func;

struct counter {
    struct fgraph_ops ops;
    int entries, ends, wants_ends;
    uint32_t depth; /* of the latest entry */
};

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct counter *counter = ops->private_data;

    (void)regs;
    counter->entries++;
    counter->depth = trace->depth;
    return counter->wants_ends;
}

static void on_return(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)regs;
    ((struct counter *)ops->private_data)->ends++;
}

static void come(struct counter *counter, bool is_entry_only)
{
    *counter = (struct counter){.wants_ends = !is_entry_only};
    counter->ops = (struct fgraph_ops){
        .entryfunc = on_entry, .retfunc = on_return, .name = "counter", .private_data = counter};
    fg_user_of(&counter->ops)->is_entry_only = is_entry_only;
    CHECK_EQ(fgraph_register(&counter->ops), 0);
}

static void go(struct counter *counter)
{
    CHECK_EQ(fgraph_unregister(&counter->ops), 0);
    fg_filter_clear(&fg_user_of(&counter->ops)->filter);
}

static void set_filter(struct counter *counter, const char *pattern)
{
    struct fg_pattern_error error;

    CHECK_EQ(fgraph_edit_filter(&counter->ops, FGRAPH_FILTER, &pattern, 1, true, &error), 0);
}

/* Fails if hook() in sim_arch.c, the counterpart of events_of_users in the CPython arch, checks for any
 * users instead of users that want returns. */
static void test_its_functions_have_hooks_for_entries_alone(void)
{
    struct counter one, both;

    come(&one, true);
    CHECK(sim_is_hooked(func) && !sim_set_return_hooks(func));
    come(&both, false);
    CHECK(sim_set_return_hooks(func));
    sim_call_return(func);
    go(&both);
    CHECK(sim_is_hooked(func) && !sim_set_return_hooks(func));
    sim_call_return(func);
    go(&one);
    CHECK(!sim_is_hooked(func));
    CHECK_EQ(one.entries, 2);
    CHECK_EQ(one.ends, 0);
    CHECK_EQ(both.entries, 1);
    CHECK_EQ(both.ends, 1);
}

static void test_it_has_no_frames(void)
{
    struct counter one;
    uintptr_t outer;

    come(&one, true);
    outer = sim_call(func);
    CHECK(!fg_top_is(fg_task_self, outer));
    sim_call(func);
    CHECK_EQ(one.depth, 0);
    go(&one);
}

static void call_now(struct fg_func *synced)
{
    if (synced == func)
        sim_call(func); /* its return goes unreported: return hooks come only now */
}

/* Fails if has_to_wait in call.c always returns false. On the fast path: fails if publish_only_user
 * ignores that return hooks are still missing (fg_func_awaits_return_hooks). */
static void test_who_wants_ends_sees_no_call_before_the_hooks_tell_of_them(void)
{
    for (int is_alone = 0; is_alone < 2; is_alone++) {
        struct counter one, both;
        int entries;

        come(&one, true);
        sim_before_sync(call_now);
        come(&both, false);
        sim_before_sync(NULL);
        entries = one.entries;
        CHECK_EQ(entries, 1);
        CHECK_EQ(both.entries, 0);
        if (is_alone)
            go(&one);
        sim_call_return(func);
        CHECK_EQ(one.entries, entries + !is_alone);
        CHECK_EQ(both.entries, 1);
        CHECK_EQ(both.ends, 1);
        CHECK_EQ(fg_task_self->lost_returns, 0);
        go(&both);
        if (!is_alone)
            go(&one);
    }
}

/* Fails if note_pending looks only for functions without any user, or if loses_returns always returns
 * false. */
static void test_returns_in_progress_are_reported_after_a_change_of_filters(void)
{
    struct counter one, both;
    uintptr_t call;

    come(&one, true);
    come(&both, false);
    call = sim_call(func);
    set_filter(&both, "nothing");
    CHECK(sim_set_return_hooks(func));
    sim_return(call);
    CHECK_EQ(both.ends, 1);
    CHECK(sim_is_hooked(func) && !sim_set_return_hooks(func));
    go(&both);
    go(&one);
}

/* ---- fprobes */

struct probe_counter {
    struct fprobe fp;
    int entries, exits;
};

static int on_probe_entry(struct fprobe *fp, struct fg_func *probed, uintptr_t ret_ip,
                          struct ftrace_regs *regs, void *data)
{
    (void)probed, (void)ret_ip, (void)regs, (void)data;
    ((struct probe_counter *)fp->private_data)->entries++;
    return 0;
}

static void on_probe_exit(struct fprobe *fp, struct fg_func *probed, uintptr_t ret_ip,
                          struct ftrace_regs *regs, void *data)
{
    (void)probed, (void)ret_ip, (void)regs, (void)data;
    ((struct probe_counter *)fp->private_data)->exits++;
}

static void probe_come(struct probe_counter *counter, bool has_exit)
{
    *counter = (struct probe_counter){.fp = {.entry_handler = on_probe_entry}};
    counter->fp.exit_handler = has_exit ? on_probe_exit : NULL;
    counter->fp.private_data = counter;
    CHECK_EQ(fg_fprobe_register_ips(&counter->fp, NULL, &func, NULL, 1), 0);
}

/* Fails if fg_fprobes_enter ignores awaits_hooks: the frame stays. Fails if stays_as_it_was ignores
 * that the user now wants returns: no return hooks are installed. */
static void test_an_fprobe_with_an_exit_handler_brings_the_hooks_for_ends(void)
{
    struct probe_counter entry, both;

    probe_come(&entry, false);
    CHECK(sim_is_hooked(func) && !sim_set_return_hooks(func));
    sim_before_sync(call_now);
    probe_come(&both, true);
    sim_before_sync(NULL);
    CHECK_EQ(entry.entries, 1);
    CHECK_EQ(both.entries, 0);
    CHECK(sim_set_return_hooks(func));
    sim_call_return(func);
    CHECK_EQ(both.entries, 1);
    CHECK_EQ(both.exits, 1);
    CHECK_EQ(fg_fprobe_unregister(&both.fp), 0);
    CHECK(sim_is_hooked(func) && !sim_set_return_hooks(func));
    sim_call_return(func);
    CHECK_EQ(entry.entries, 3);
    CHECK_EQ(fg_task_self->lost_returns, 0);
    CHECK_EQ(fg_fprobe_unregister(&entry.fp), 0);
    CHECK(!sim_is_hooked(func));
}

int main(void)
{
    sim_begin();
    func = sim_function("m", "f");
    sim_call(func);
    CHECK(fg_task_current() != NULL);
    test_its_functions_have_hooks_for_entries_alone();
    test_it_has_no_frames();
    test_who_wants_ends_sees_no_call_before_the_hooks_tell_of_them();
    test_returns_in_progress_are_reported_after_a_change_of_filters();
    test_an_fprobe_with_an_exit_handler_brings_the_hooks_for_ends();
    CHECK(fg_killed() == NULL);
    return 0;
}
