/* The function profiler is an fgraph user that counts calls in rows (profile_rows.h draws them).
 *
 * The engine itself does the plain step of nearly every call (plain_call.c). The functions here do it for
 * the others: the first call of a function in a thread, calls with several users, and profiles without
 * graph-time or sleep-time. */
#include "engine/profile/function_profile.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/clock.h"
#include "engine/graph/data.h"
#include "engine/profile/profile_data.h"
#include "engine/users/users.h"

static struct fg_function_profile *registered; /* under the engine's lock */

/* ---- counting */

static struct fg_profile_cursor *cursor_of(struct fg_task *task, const struct fgraph_ops *ops)
{
    return &task->users[fg_user_of_const(ops)->idx].profile;
}

static void count_missed(struct fgraph_ops *ops)
{
    atomic_fetch_add_explicit(&fg_user_of(ops)->nmissed, 1, memory_order_relaxed);
}

/* Native functions were noted when they were met. */
static bool note(struct fgraph_ops *ops, const struct fg_func *func)
{
    bool is_noted;

    if (func->flags & FG_FUNC_NATIVE)
        return true;
    fg_engine_lock();
    is_noted = fg_profile_note_function(fg_function_profile_of(ops)->data, func);
    fg_engine_unlock();
    return is_noted;
}

/* The row of a function. NULL: no memory. */
FG_COLD static struct fg_profile_row *make_row(struct fgraph_ops *ops, struct fg_task *task,
                                               const struct fg_func *func)
{
    struct fg_profile_cursor *cursor = cursor_of(task, ops);
    struct fg_profile_data *data = fg_function_profile_of(ops)->data;

    return note(ops, func) && fg_profile_make_row(cursor, data, task->tid, func->id) ? cursor->rows + func->id
                                                                                     : NULL;
}

/* Engine's lock held. */
static void found(struct fg_func *func, struct fgraph_ops *ops, bool matched)
{
    if (matched && (func->flags & FG_FUNC_NATIVE) &&
        !fg_profile_note_function(fg_function_profile_of(ops)->data, func))
        count_missed(ops);
}

/* The same. NULL also in a handler of a signal; the call is counted as missed. */
FG_COLD static struct fg_profile_row *first_row(struct fgraph_ops *ops, struct fg_task *task,
                                                const struct fg_func *func)
{
    struct fg_profile_row *row = fg_task_is_in_signal(task) ? NULL : make_row(ops, task, func);

    if (!row)
        count_missed(ops);
    return row;
}

static bool has_counted(const struct fg_profile_cursor *cursor, uint32_t id)
{
    return fg_profile_has(cursor, id) && atomic_load_explicit(&cursor->rows[id].hit, memory_order_relaxed);
}

static void ready(struct fg_task *task, const struct fg_func *func, struct fgraph_ops *ops,
                  const struct ftrace_regs *regs)
{
    struct fg_profile_row *row;

    (void)regs;
    if (fg_likely(has_counted(cursor_of(task, ops), func->id)) || !fg_task_hold(task))
        return;
    row = make_row(ops, task, func);
    if (row) /* a store maps its page */
        atomic_store_explicit(&row->hit, 0, memory_order_relaxed);
    fg_task_release(task);
}

static bool count_entry(const struct ftrace_graph_ent *trace, struct fgraph_ops *ops)
{
    const struct fg_profile_cursor *cursor = cursor_of(trace->task, ops);
    uint32_t id = trace->func->id;
    struct fg_profile_row *row;

    if (fg_profile_has(cursor, id) && fg_profile_begin(cursor->rows + id))
        return true;
    row = first_row(ops, trace->task, trace->func);
    if (row)
        atomic_store_explicit(&row->hit, 1, memory_order_relaxed);
    return row != NULL;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    bool is_counted;

    (void)regs;
    if (fg_unlikely(!fg_task_hold(trace->task))) {
        count_missed(ops);
        return 0;
    }
    is_counted = count_entry(trace, ops);
    fg_task_release(trace->task);
    return is_counted;
}

/* A call that began before the fork is the parent's and is not counted. The call may have begun in
 * another thread, so this thread may have no row yet. */
static void count(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, uint64_t time)
{
    const struct fg_profile_cursor *cursor = cursor_of(trace->task, ops);
    struct fg_profile_row *row;

    if (trace->start < fg_function_profile_of(ops)->data->since || !fg_task_hold(trace->task))
        return;
    row = fg_profile_has(cursor, trace->func->id) ? cursor->rows + trace->func->id
                                                  : first_row(ops, trace->task, trace->func);
    if (row)
        fg_profile_end(row, time);
    fg_task_release(trace->task);
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    count(trace, ops, trace->rettime - trace->start);
}

/* ---- profiles without graph-time (the time of callees) or without sleep-time
 *
 * The task variable holds the time that the newest call's callees have taken so far. When a call begins
 * to run it saves its caller's value; when it stops it restores that value with its own time added. A
 * suspended call keeps its own sum in its data, because another caller may resume it. */

struct call {
    uint64_t outer; /* the caller's task variable */
    uint64_t below; /* time of its callees before it was last suspended */
    uint64_t ran;   /* its own time before that, callees included */
    uint64_t cpu;   /* the thread's CPU time when it last began to run */
};

static void call_runs(struct call *call, struct fg_task *task, struct fgraph_ops *ops)
{
    uint64_t *var = fgraph_task_var(task, ops);

    call->outer = *var;
    *var = 0;
    if (!fg_function_profile_of(ops)->sleep_time)
        call->cpu = fg_clock_work_ns();
}

static void call_stops(struct call *call, const struct ftrace_graph_ret *trace, struct fgraph_ops *ops)
{
    uint64_t *var = fgraph_task_var(trace->task, ops);
    uint64_t stretch = fg_function_profile_of(ops)->sleep_time ? trace->rettime - trace->calltime
                                                               : fg_clock_work_ns() - call->cpu;

    call->ran += stretch;
    call->below += *var;
    *var = call->outer + stretch;
}

static int entry_of_call(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_reserve_data(trace, ops, sizeof(*call));

    if (!call || !entry(trace, ops, regs))
        return 0;
    call_runs(call, trace->task, ops);
    return 1;
}

static void suspend_call(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_retrieve_data(trace, ops, NULL);

    (void)regs;
    if (call)
        call_stops(call, trace, ops);
}

static void resume_call(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call *call = fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 0, NULL);

    (void)regs;
    if (call)
        call_runs(call, trace->task, ops);
}

static void end_of_call(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_function_profile *profile = fg_function_profile_of(ops);
    struct call *call = fgraph_retrieve_data(trace, ops, NULL);
    uint64_t time;

    (void)regs;
    if (!call)
        return;
    call_stops(call, trace, ops);
    time = profile->sleep_time ? trace->rettime - trace->start : call->ran;
    count(trace, ops, profile->graph_time ? time : time - call->below);
}

/* ---- tasks that end, and forks */

/* Engine's lock held. */
static void task_exit(struct fg_task *task, struct fgraph_ops *ops)
{
    fg_profile_end_task(cursor_of(task, ops), fg_function_profile_of(ops)->data);
}

void fg_function_profiles_fork_prepare(void)
{
    fg_profile_rows_lock();
}

void fg_function_profiles_fork_release(void)
{
    fg_profile_rows_unlock();
}

void fg_function_profiles_fork_child(void)
{
    struct fg_task *self = fg_task_own();

    for (struct fg_function_profile *profile = registered; profile; profile = profile->next) {
        fg_profile_data_clear_tasks(profile->data);
        profile->data->since = fg_clock_now();
        if (self)
            *cursor_of(self, &profile->ops) = (struct fg_profile_cursor){0};
    }
}

/* ---- starting and stopping */

/* Engine's lock held. */
static void leave(struct fgraph_ops *ops)
{
    struct fg_function_profile **at = &registered;

    while (*at != fg_function_profile_of(ops))
        at = &(*at)->next;
    *at = (*at)->next;
}

bool fg_function_profile_is(const struct fgraph_ops *ops)
{
    return fg_user_of_const(ops)->leavefunc == leave;
}

void fg_function_profile_init(struct fg_function_profile *profile, bool graph_time, bool sleep_time)
{
    struct fg_user *user = fg_user_of(&profile->ops);
    bool is_plain = graph_time && sleep_time;

    profile->graph_time = graph_time;
    profile->sleep_time = sleep_time;
    profile->ops.name = "function_profile";
    profile->ops.entryfunc = is_plain ? entry : entry_of_call;
    profile->ops.retfunc = is_plain ? end : end_of_call;
    profile->ops.suspendfunc = is_plain ? NULL : suspend_call;
    profile->ops.resumefunc = is_plain ? NULL : resume_call;
    user->readyfunc = ready;
    user->foundfunc = found;
    user->is_plain = is_plain;
    user->plain_kind = FG_PLAIN_PROFILE;
    user->sees_native = true;
    user->taskexitfunc = task_exit;
    user->leavefunc = leave;
}

static bool is_enlisted(const struct fg_function_profile *profile)
{
    const struct fg_function_profile *at = registered;

    while (at && at != profile)
        at = at->next;
    return at != NULL;
}

/* Lets the profile count in `data`, and sets *old to the data of its last run. -EBUSY: it counts already. */
static int enlist(struct fg_function_profile *profile, struct fg_profile_data *data,
                  struct fg_profile_data **old)
{
    int error = 0;

    fg_engine_lock();
    if (is_enlisted(profile)) {
        error = -EBUSY;
    } else {
        *old = profile->data;
        profile->data = data;
        profile->next = registered;
        registered = profile;
    }
    fg_engine_unlock();
    return error;
}

static void delist(struct fg_function_profile *profile, struct fg_profile_data *data)
{
    fg_engine_lock();
    leave(&profile->ops);
    profile->data = data;
    fg_engine_unlock();
}

int fg_function_profile_start(struct fg_function_profile *profile,
                              int (*register_user)(struct fgraph_ops *ops))
{
    struct fg_profile_data *data = calloc(1, sizeof(*data)), *old = NULL;
    int error;

    if (!data)
        return -ENOMEM;
    data->since = fg_clock_now();
    error = enlist(profile, data, &old);
    if (error) {
        free(data);
        return error;
    }
    error = register_user(&profile->ops);
    if (error)
        delist(profile, old);
    fg_profile_data_free(error ? data : old);
    return error;
}

int fg_function_profile_stop(struct fg_function_profile *profile)
{
    return fgraph_unregister(&profile->ops);
}

void fg_function_profile_clear(struct fg_function_profile *profile)
{
    fg_profile_data_free(profile->data);
    profile->data = NULL;
}
