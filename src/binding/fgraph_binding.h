/* What the parts of the function graph's Python API share: its objects, and the callback that runs in a thread.
 *
 * fgraph_module.c     types and functions into the module, the interpreter's end
 * fgraph_ops.c        FgraphOps: the user as a Python object
 * fgraph_filter.c     its filters
 * fgraph_users.c      registering, listing users
 * fgraph_callback.c   from the engine into a Python function and back
 * fgraph_error.c      when that raises
 * fgraph_trace.c      what callbacks are told: GraphEnt and GraphRet ...
 * fgraph_regs.c       ... and FtraceRegs
 * fgraph_data.c       what they keep from entry to return
 * fgraph_function.c   Function
 * fgraph_ret_stack.c  calls in progress */
#ifndef FG_FGRAPH_BINDING_H
#define FG_FGRAPH_BINDING_H

#include "arch/cpython/arch.h"
#include "arch/cpython/callback.h"

/* Of the module funcgraph._engine. */
#define FG_ENGINE_TYPES(X)                                                                                   \
    X(ops)                                                                                                   \
    X(ent)                                                                                                   \
    X(ret)                                                                                                   \
    X(regs)                                                                                                  \
    X(function)                                                                                              \
    X(buffer)                                                                                                \
    X(user)                                                                                                  \
    X(ret_frame)                                                                                             \
    X(return_location)

struct fg_buffer;

struct fg_engine_state {
#define X(name) PyTypeObject *name##_type;
    FG_ENGINE_TYPES(X)
#undef X
    bool is_closing;           /* the interpreter is ending: no Python function is called any more */
    struct fg_buffer *lingers; /* fgraph_data.c; under FG_LOCK_VIEWS */
    size_t nr_lingers, max_lingers;
};

extern struct PyModuleDef fg_engine_module_def; /* engine_module.c */

static inline struct fg_engine_state *fg_engine_state(PyObject *module)
{
    return (struct fg_engine_state *)PyModule_GetState(module);
}

/* ---- fgraph_module.c: for engine_module.c */

int fg_fgraph_add(PyObject *module);
int fg_fgraph_traverse(PyObject *module, visitproc visit, void *arg);
int fg_fgraph_clear(PyObject *module);

/* ---- objects */

/* A place for one object that is used again and again; whoever needs a second one makes it. */
typedef _Atomic(void *) fg_spare;

static inline void *fg_spare_take(fg_spare *spare)
{
#ifdef Py_GIL_DISABLED
    return atomic_exchange_explicit(spare, NULL, memory_order_acquire);
#else
    void *object = atomic_load_explicit(spare, memory_order_relaxed);

    atomic_store_explicit(spare, NULL, memory_order_relaxed);
    return object;
#endif
}

/* Takes over the reference. */
static inline void fg_spare_put(fg_spare *spare, void *object)
{
    void *none = NULL;

#ifdef Py_GIL_DISABLED
    if (!atomic_compare_exchange_strong_explicit(spare, &none, object, memory_order_release,
                                                 memory_order_relaxed))
        Py_DECREF((PyObject *)object);
#else
    if (atomic_load_explicit(spare, memory_order_relaxed) == none)
        atomic_store_explicit(spare, object, memory_order_relaxed);
    else
        Py_DECREF((PyObject *)object);
#endif
}

/* FgraphOps. While it is registered the engine holds a reference to it. */
struct fg_python_ops {
    PyObject_HEAD struct fgraph_ops ops;
    struct fg_engine_state *state;
    PyObject *entryfunc, *retfunc;             /* as they were given */
    PyObject *name;                            /* str; `ops.name` points into it */
    PyObject *patterns[FGRAPH_NR_FILTER_SETS]; /* tuples of str */
    PyObject *tids;                            /* tuple of int, or None */
    PyObject *last_error;                      /* or NULL */
    PyObject *weakrefs;
    _Atomic uint64_t errors;
    _Atomic bool is_disabled;
    bool keep_on_error;
    fg_spare ent, ret; /* each with its regs */
};

static inline struct fg_python_ops *fg_python_ops_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_python_ops, ops);
}

static inline bool fg_ops_is_disabled(struct fg_python_ops *self)
{
    return fg_unlikely(atomic_load_explicit(&self->is_disabled, memory_order_relaxed));
}

/* A Python callback that runs in this thread. One at a time, but for those that a signal brings. */
struct fg_callback {
    struct fg_callback *outer;
    struct fg_python_ops *self;
    struct ftrace_graph_ent *entry;     /* NULL at a return */
    const struct ftrace_graph_ret *end; /* NULL at an entry */
    struct ftrace_regs *regs;
    PyThreadState *tstate;
    fg_pyframe *newest;        /* the thread's newest frame when it began */
    struct fg_buffer *buffers; /* the views that it got, latest first */
    struct fg_callback_scope scope;
};

extern _Thread_local struct fg_callback *fg_callback_current __attribute__((tls_model("initial-exec")));

static inline struct fg_task *fg_callback_task(const struct fg_callback *callback)
{
    return callback->entry ? callback->entry->task : callback->end->task;
}

static inline struct fg_func *fg_callback_func(const struct fg_callback *callback)
{
    return callback->entry ? callback->entry->func : callback->end->func;
}

/* What is told of a call; an entry has no rettime, no end and no overrun. */
struct fg_trace_facts {
    uint64_t calltime, start, rettime, overrun;
    uint32_t depth;
    enum fg_end end;
};

/* FtraceRegs. */
struct fg_regs {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
};

/* GraphEnt, GraphRet. */
struct fg_trace {
    PyObject_HEAD const struct fg_callback
        *callback;               /* NULL: it is over, and all that can be asked is below */
    struct fg_regs *regs;        /* the callback's other argument; NULL once it is over */
    PyObject *func, *parent;     /* NULL until asked for */
    struct fg_trace_facts facts; /* once it is over */
};

/* Free-threaded builds: an object's own lock, let go of where its holder waits. */
#ifndef Py_BEGIN_CRITICAL_SECTION /* a macro from 3.13 on */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* ---- fgraph_ops.c */

extern PyType_Spec fg_ops_spec;

/* ---- fgraph_filter.c */

/* A tuple of str out of a sequence of them. TypeError: `what` is none. */
PyObject *fg_pattern_tuple(PyObject *sequence, const char *what);
/* Puts a tuple's patterns into a set. ValueError: a bad one. */
int fg_filter_add_tuple(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *tuple);
PyObject *fg_raise_pattern(const struct fg_pattern_error *error);
/* A tuple of int, or None. */
PyObject *fg_tid_tuple(PyObject *tids);
/* Hands all filters of an ops to the engine, at once. -1 with an exception: nothing has changed. */
int fg_ops_apply_filters(struct fg_python_ops *self);
/* Attaches it to no function, in the engine alone: what it is asked for stays. */
void fg_ops_detach(struct fg_python_ops *self);
extern const char *const fg_filter_set_names[FGRAPH_NR_FILTER_SETS];
PyObject *fg_ops_set_patterns(struct fg_python_ops *self, enum fgraph_filter_set set, PyObject *args,
                              PyObject *kwargs);
PyObject *fg_ops_set_tids(PyObject *self, PyObject *tids);

/* ---- fgraph_users.c */

PyObject *fg_register(PyObject *module, PyObject *ops);
PyObject *fg_unregister(PyObject *module, PyObject *ops);
PyObject *fg_users(PyObject *module, PyObject *ignored);
/* Marks the engine's users that are FgraphOps. */
void fg_python_user_leaves(struct fgraph_ops *ops);
extern PyStructSequence_Desc fg_user_desc;

/* ---- fgraph_callback.c */

int fg_call_entryfunc(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
/* No function of it is called any more. */
void fg_ops_mute(struct fg_python_ops *self);

/* ---- fgraph_error.c */

/* An exception came out of the callback: it is set, and is not when this returns. */
FG_COLD void fg_callback_failed(struct fg_callback *callback, PyObject *function);

/* ---- fgraph_trace.c */

extern PyType_Spec fg_ent_spec, fg_ret_spec;
/* With its regs. New reference, or NULL with an exception. */
struct fg_trace *fg_trace_new(const struct fg_callback *callback);
/* The callback is over, and the object was asked for something, or it or its regs kept. Takes over the reference. */
void fg_trace_settle(struct fg_trace *trace, fg_spare *spare);

/* ---- fgraph_regs.c */

extern PyType_Spec fg_regs_spec;

/* ---- fgraph_data.c */

extern PyType_Spec fg_buffer_spec;
PyObject *fg_ops_reserve_data(PyObject *self, PyObject *size_bytes);
PyObject *fg_ops_retrieve_data(PyObject *self, PyObject *ignored);
PyObject *fg_ops_retrieve_parent_data(PyObject *self, PyObject *depth);
PyObject *fg_ops_reserve_object(PyObject *self, PyObject *object);
PyObject *fg_ops_retrieve_object(PyObject *self, PyObject *ignored);
/* The callback is over: its views' bytes go to where they belong, and the views are of no use any more. */
void fg_buffers_settle(struct fg_callback *callback);

/* ---- fgraph_function.c */

extern PyType_Spec fg_function_spec;
/* The one Function of a record. New reference, or NULL with an exception. */
PyObject *fg_function_of(struct fg_engine_state *state, struct fg_func *func);

/* ---- fgraph_ret_stack.c */

extern PyStructSequence_Desc fg_ret_frame_desc, fg_return_location_desc;
/* Where a call returns to if `frame` is what it was called from: a ReturnLocation, or None. New reference. */
PyObject *fg_return_location(struct fg_engine_state *state, fg_pyframe *frame);
PyObject *fg_get_ret_stack(PyObject *module, PyObject *args, PyObject *kwargs);

#endif
