/* From the engine into a user's Python function and back. Everything here is on the way of each call of a traced
 * function: no allocation in the ordinary case, no look at what nobody asks for. */
#include "fgraph_binding.h"

_Thread_local struct fg_callback *fg_callback_current __attribute__((tls_model("initial-exec")));

/* The user may leave, and go, while its own function runs: a reference is held for as long. */
static inline void begin(struct fg_callback *callback, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    /* Member by member: clearing it as a whole costs more than all of this. */
    callback->tstate = fg_likely(regs->thread != NULL) ? regs->thread : fg_tstate();
    callback->newest = fg_current_pyframe(callback->tstate);
    callback->self = (struct fg_python_ops *)Py_NewRef(fg_python_ops_of(ops));
    callback->regs = regs;
    callback->buffers = NULL;
    callback->outer = fg_callback_current;
    fg_callback_current = callback;
    fg_callback_begin(&callback->scope, callback->tstate);
}

static inline void end(struct fg_callback *callback)
{
    if (fg_unlikely(callback->buffers != NULL))
        fg_buffers_settle(callback);
    fg_callback_current = callback->outer;
    fg_callback_end(&callback->scope, callback->tstate);
    Py_DECREF(callback->self);
}

#define ALWAYS_INLINE __attribute__((always_inline)) static inline

/* What a function's answer means: -1, with an exception, if nothing. Take over the reference; NULL: there is an
 * exception already. */

ALWAYS_INLINE int truth_of(PyObject *answer)
{
    int truth;

    if (fg_unlikely(!answer))
        return -1;
    truth = answer == Py_True ? 1 : answer == Py_False || answer == Py_None ? 0 : PyObject_IsTrue(answer);
    Py_DECREF(answer);
    return truth;
}

ALWAYS_INLINE int nothing_of(PyObject *answer)
{
    if (fg_unlikely(!answer))
        return -1;
    Py_DECREF(answer);
    return 0;
}

static inline struct fg_trace *take_trace(const struct fg_callback *callback, fg_spare *spare)
{
    struct fg_trace *trace = fg_spare_take(spare);

    if (fg_unlikely(!trace))
        trace = fg_trace_new(callback);
    if (fg_likely(trace != NULL))
        trace->callback = trace->regs->callback = callback;
    return trace;
}

/* The callback is over: what nobody kept serves the next one. */
static inline void settle_trace(struct fg_trace *trace, fg_spare *spare)
{
    if (fg_unlikely(Py_REFCNT(trace) != 1 || Py_REFCNT(trace->regs) != 1 || trace->func || trace->parent))
        fg_trace_settle(trace, spare);
    else
        fg_spare_put(spare, trace);
}

/* What the function answered, as `read` understands it; 0 also if it raised. */
ALWAYS_INLINE int call(struct fg_callback *callback, PyObject *function, fg_spare *spare,
                       int (*read)(PyObject *answer))
{
    struct fg_trace *trace = take_trace(callback, spare);
    int answer = -1;

    if (fg_likely(trace != NULL)) {
        PyObject *args[] = {NULL, (PyObject *)trace, (PyObject *)callback->self, (PyObject *)trace->regs};

        answer = read(fg_callback_call(function, args + 1, 3));
    }
    if (fg_unlikely(answer < 0)) {
        fg_callback_failed(callback, function);
        answer = 0;
    }
    if (fg_likely(trace != NULL))
        settle_trace(trace, spare);
    return answer;
}

int fg_call_entryfunc(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct fg_callback callback;
    int wanted;

    if (fg_ops_is_disabled(fg_python_ops_of(ops)))
        return 0;
    callback.entry = trace;
    callback.end = NULL;
    begin(&callback, ops, regs);
    wanted = call(&callback, callback.self->entryfunc, &callback.self->ent, truth_of);
    end(&callback);
    return wanted;
}

ALWAYS_INLINE void call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                                struct ftrace_regs *regs)
{
    struct fg_callback callback;

    callback.entry = NULL;
    callback.end = trace;
    begin(&callback, ops, regs);
    call(&callback, callback.self->retfunc, &callback.self->ret, nothing_of);
    end(&callback);
}

/* The thread is ending, and has let go of Python. */
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
    if (fg_ops_is_disabled(fg_python_ops_of(ops)))
        return;
    if (fg_likely(!trace->task->exiting))
        call_retfunc(trace, ops, regs);
    else
        call_retfunc_attached(trace, ops, regs);
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
    atomic_store(&self->is_disabled, true);
    /* Those that are no Python functions know no flag. Other threads may be calling them: either they still call the
     * old one, which stays, or the new one. */
    __atomic_store_n(&self->ops.entryfunc, refuse, __ATOMIC_RELAXED);
    __atomic_store_n(&self->ops.retfunc, ignore, __ATOMIC_RELAXED);
}
