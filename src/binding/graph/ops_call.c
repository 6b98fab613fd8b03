/* From the engine into the Python functions of an FgraphOps, and back. All of this runs at each call of a
 * traced function: it allocates nothing in the usual case, and reads nothing that nobody asks for. */
#include "binding/graph/ops_call.h"

#include "binding/core/call.h"
#include "binding/graph/function.h"
#include "binding/graph/trace.h"

/* The object of the last callback serves again; if it was for the same function, it is ready. */
static inline struct fg_trace *take_trace(const struct fg_callback *callback, struct fg_func *func,
                                          fg_spare *spare)
{
    struct fg_trace *trace = fg_spare_take(spare);

    if (fg_unlikely(!trace || trace->func != fg_function_known(func)))
        trace = fg_trace_about(trace, callback, func);
    if (fg_likely(trace != NULL))
        trace->callback = trace->regs->callback = callback;
    return trace;
}

/* The callback is over: an object that nobody kept serves the next callback. */
static inline void settle_trace(struct fg_trace *trace, fg_spare *spare)
{
    if (fg_unlikely(Py_REFCNT(trace) != 1 || Py_REFCNT(trace->regs) != 1 || trace->parent))
        fg_trace_settle(trace, spare);
    else
        fg_spare_put(spare, trace);
}

/* The function's result as `read` understands it; 0 if it raised. */
FG_ALWAYS_INLINE int call(struct fg_callback *callback, struct fg_func *func, PyObject *function,
                          fg_spare *spare, int (*read)(PyObject *answer))
{
    struct fg_trace *trace = take_trace(callback, func, spare);
    int answer = -1;

    if (fg_likely(trace != NULL)) {
        PyObject *args[4]; /* args[0] is for the callee, see PY_VECTORCALL_ARGUMENTS_OFFSET */

        args[1] = (PyObject *)trace;
        args[2] = (PyObject *)callback->self;
        args[3] = (PyObject *)trace->regs;
        answer = read(fg_callback_call(function, args + 1, 3));
    }
    if (fg_unlikely(answer < 0)) {
        fg_client_failed(callback->self, function);
        answer = 0;
    }
    if (fg_likely(trace != NULL))
        settle_trace(trace, spare);
    return answer;
}

int fg_call_entryfunc(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct fg_python_ops *self = fg_python_ops_of(ops);
    struct fg_callback callback;
    int wants_return;

    if (fg_client_is_disabled(&self->client))
        return 0;
    callback.entry = trace;
    callback.end = NULL;
    fg_callback_enter(&callback, &self->client, trace->func, regs, true);
    wants_return = call(&callback, trace->func, self->client.entryfunc, &self->ent, fg_truth_of);
    fg_callback_leave(&callback);
    return wants_return;
}

FG_ALWAYS_INLINE void call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                                   struct ftrace_regs *regs)
{
    struct fg_python_ops *self = fg_python_ops_of(ops);
    struct fg_callback callback;

    callback.entry = NULL;
    callback.end = trace;
    fg_callback_enter(&callback, &self->client, trace->func, regs, false);
    call(&callback, trace->func, self->client.retfunc, &self->ret, fg_nothing_of);
    fg_callback_leave(&callback);
}

/* The thread is ending, and has detached its thread state. */
FG_COLD static void call_retfunc_attached(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                                          struct ftrace_regs *regs)
{
    PyGILState_STATE attached;

    if (fg_callback_attach(trace->func, &attached)) {
        call_retfunc(trace, ops, regs);
        fg_callback_detach(attached);
    }
}

void fg_call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    if (fg_client_is_disabled(&fg_python_ops_of(ops)->client))
        return;
    if (fg_callback_needs_attach(trace->task, regs))
        call_retfunc_attached(trace, ops, regs);
    else
        call_retfunc(trace, ops, regs);
}

static int refuse(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 0;
}

static void ignore(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
}

void fg_ops_mute(struct fg_python_ops *self)
{
    atomic_store(&self->client.is_disabled, true);
    /* C callbacks do not look at the flag, so they are replaced. Another thread may be about to call one:
     * it calls the old callback, which stays valid, or the new one. */
    __atomic_store_n(&self->ops.entryfunc, refuse, __ATOMIC_RELAXED);
    __atomic_store_n(&self->ops.retfunc, ignore, __ATOMIC_RELAXED);
}
