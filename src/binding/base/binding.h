/* What the parts of the function graph's Python API share: its objects, and the callback that runs in a thread.
 *
 * fgraph_module.c     types and functions into the module, the interpreter's end
 * fgraph_client.c     what all objects have that the engine calls Python functions for
 * fgraph_ops.c        FgraphOps: the user as a Python object
 * fgraph_filter.c     its filters
 * fgraph_users.c      registering, listing users
 * fgraph_callback.c   from the engine into a Python function and back; fgraph_callback.h: what is common to all callbacks
 * fgraph_error.c      when that raises
 * fgraph_trace.c      what callbacks are told: GraphEnt and GraphRet ...
 * fgraph_regs.c       ... and FtraceRegs
 * fgraph_data.c       what they keep from entry to return
 * fgraph_function.c   Function
 * fgraph_symbols.c    finding functions, called or not
 * fgraph_ret_stack.c  calls in progress
 * fgraph_profile.c    ProfileBase
 * fgraph_probe.h      Fprobe and KprobeMultiLink, and what they have in common
 * fgraph_kprobe.c     Kprobe, with a header of its own */
#ifndef FG_FGRAPH_BINDING_H
#define FG_FGRAPH_BINDING_H

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/lock.h"
#include "engine/graph/fgraph.h"

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
    X(return_location)                                                                                       \
    X(instruction_pointer)                                                                                   \
    X(ret_ip)                                                                                                \
    X(fprobe)                                                                                                \
    X(kprobe_multi_link)                                                                                     \
    X(kprobe_multi_ctx)                                                                                      \
    X(kprobe)                                                                                                \
    X(kprobe_regs)                                                                                           \
    X(profile)                                                                                               \
    X(instance)

struct fg_buffer;
struct fg_python_probe;

struct fg_engine_state {
#define X(name) PyTypeObject *name##_type;
    FG_ENGINE_TYPES(X)
#undef X
    PyObject *kprobes; /* fgraph_kprobe.c */
    bool is_closing;   /* the interpreter is ending: no Python function is called any more */
    struct fg_python_probe *probes, *leaving; /* fgraph_probe.c; under FG_LOCK_CONTROL */
    struct fg_buffer *lingers;                /* fgraph_data.c; under FG_LOCK_VIEWS */
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
    if (fg_likely(atomic_load_explicit(spare, memory_order_relaxed) == none))
        atomic_store_explicit(spare, object, memory_order_relaxed);
    else
        Py_DECREF((PyObject *)object);
#endif
}

/* The beginning of each object that the engine calls Python functions for: FgraphOps, Fprobe, KprobeMultiLink. While it is
 * registered the engine holds a reference to it. */
struct fg_client {
    PyObject_HEAD struct fg_engine_state *state;
    PyObject *entryfunc, *retfunc; /* as they were given */
    PyObject *name;                /* str */
    PyObject *last_error;          /* or NULL */
    PyObject *weakrefs;
    void (*disable)(struct fg_client *self); /* one of its functions raised: none is called any more */
    _Atomic uint64_t errors;
    _Atomic bool is_disabled;
    bool keep_on_error, save_regs;
};

static inline bool fg_client_is_disabled(struct fg_client *self)
{
    return fg_unlikely(atomic_load_explicit(&self->is_disabled, memory_order_relaxed));
}

/* FgraphOps. */
struct fg_python_ops {
    struct fg_client client; /* `ops.name` points into its name */
    struct fgraph_ops ops;
    PyObject *patterns[FGRAPH_NR_FILTER_SETS]; /* tuples of str */
    PyObject *tids;                            /* tuple of int, or None */
    fg_spare ent, ret;                         /* each with its regs */
};

static inline struct fg_python_ops *fg_python_ops_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_python_ops, ops);
}

/* A Python callback that runs in this thread. One at a time, but for those that a signal brings. */
struct fg_callback {
    struct fg_client *self;
    struct fg_func *func;
    struct ftrace_graph_ent *entry;     /* of an FgraphOps; NULL at a return */
    const struct ftrace_graph_ret *end; /* of an FgraphOps; NULL at an entry */
    bool is_entry;
    struct ftrace_regs *regs;
    PyThreadState *tstate;
    fg_pyframe *newest;        /* the thread's newest frame when it began */
    struct fg_buffer *buffers; /* the views that it got, latest first */
    struct fg_callback_scope scope;
};

/* The one that runs in this thread now, or NULL. */
static inline struct fg_callback *fg_callback_current(void)
{
    return fg_callback_scope ? fg_callback_scope->holder : NULL;
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
        *callback;        /* NULL: it is over, and all that can be asked is below */
    struct fg_regs *regs; /* the callback's other argument; NULL once it is over */
    PyObject *func;
    PyObject *parent;            /* NULL until asked for */
    struct fg_trace_facts facts; /* once it is over */
};

/* Free-threaded builds: an object's own lock, let go of where its holder waits. */
#ifndef Py_BEGIN_CRITICAL_SECTION /* a macro from 3.13 on */
#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION() }
#endif

/* ---- fgraph_client.c */

/* A new one, of which nothing was said yet; NULL with an exception. */
PyObject *fg_client_new(PyTypeObject *type);
/* What the engine is to call for what was given as `name`: a C function's address, `python` for a Python function, 0 for
 * None. -1 with an exception. */
int fg_client_resolve(PyObject *callback, const char *name, uintptr_t python, uintptr_t *function);
void fg_client_set_functions(struct fg_client *self, PyObject *entryfunc, PyObject *retfunc);
/* Its name as UTF-8, which lives as long as the name; NULL with an exception. */
const char *fg_client_set_name(struct fg_client *self, PyObject *name);
int fg_client_traverse(PyObject *object, visitproc visit, void *arg);
int fg_client_clear(PyObject *object);
/* The rest of a dealloc. */
void fg_client_dealloc(PyObject *object);
/* Of what may be replaced at any time: the object at this offset, or None. */
PyObject *fg_client_get_object(PyObject *object, void *offset);
PyObject *fg_client_get_errors(PyObject *object, void *closure);
PyObject *fg_client_get_enabled(PyObject *object, void *closure);

#define FG_CLIENT_OFFSET(name) ((void *)offsetof(struct fg_client, name))

#define FG_CLIENT_ATTRIBUTES(entryfunc_name, retfunc_name)                                                   \
    {entryfunc_name, fg_client_get_object, NULL, "As it was given.", FG_CLIENT_OFFSET(entryfunc)},           \
        {retfunc_name, fg_client_get_object, NULL, "As it was given.", FG_CLIENT_OFFSET(retfunc)},           \
        FG_CLIENT_STATE_ATTRIBUTES

#define FG_CLIENT_STATE_ATTRIBUTES                                                                           \
    {"name", fg_client_get_object, NULL, "What error messages call it.", FG_CLIENT_OFFSET(name)},            \
        {"last_error", fg_client_get_object, NULL,                                                           \
         "The latest exception that came out of a callback, or None.", FG_CLIENT_OFFSET(last_error)},        \
        {"errors", fg_client_get_errors, NULL, "Exceptions that came out of callbacks.", NULL},              \
    {                                                                                                        \
        "enabled", fg_client_get_enabled, NULL, "False once a callback has raised, or it was disabled.",     \
            NULL                                                                                             \
    }

#define FG_CLIENT_MEMBERS                                                                                    \
    {"keep_on_error", T_BOOL, offsetof(struct fg_client, keep_on_error), READONLY,                           \
     "It stays enabled after a callback has raised."},                                                       \
        {"save_regs", T_BOOL, offsetof(struct fg_client, save_regs), READONLY,                               \
         "Its callbacks may have the full frame."},                                                          \
    {                                                                                                        \
        "__weaklistoffset__", T_PYSSIZET, offsetof(struct fg_client, weakrefs), READONLY, NULL               \
    }

/* ---- fgraph_ops.c */

extern PyType_Spec fg_ops_spec;

/* ---- fgraph_filter.c */

/* A tuple, each item of which `check` (or NULL) accepts. A lone str would be read letter by letter: TypeError. */
PyObject *fg_tuple_of(PyObject *sequence, const char *what, int (*check)(PyObject *item, const char *what));
/* A tuple of str out of a sequence of them. TypeError: `what` is none. */
PyObject *fg_pattern_tuple(PyObject *sequence, const char *what);
/* Puts a tuple's patterns into a set. ValueError: a bad one. */
int fg_filter_add_tuple(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *tuple);
PyObject *fg_raise_pattern(const struct fg_pattern_error *error);
/* A tuple of int, or None. */
PyObject *fg_tid_tuple(PyObject *tids);
/* Such a tuple's ids become the filter's. */
int fg_filter_add_tid_tuple(struct fg_filter *filter, PyObject *tuple);
/* Hands all filters of an ops to the engine, at once. -1 with an exception: nothing has changed. */
int fg_ops_apply_filters(struct fg_python_ops *self);
/* Attaches it to no function, in the engine alone: what it is asked for stays. */
void fg_ops_detach(struct fg_client *self);
extern const char *const fg_filter_set_names[FGRAPH_NR_FILTER_SETS];
int fg_ops_edit_filter(PyObject *self, enum fgraph_filter_set set, PyObject *patterns, bool reset);
PyObject *fg_ops_set_tids(PyObject *self, PyObject *tids);

/* The methods set_filter and its likes of a type whose objects `edit` changes: -1 with an exception. */
typedef int (*fg_edit_filter)(PyObject *self, enum fgraph_filter_set set, PyObject *patterns, bool reset);
PyObject *fg_filter_set_patterns(PyObject *self, enum fgraph_filter_set set, PyObject *args, PyObject *kwargs,
                                 fg_edit_filter edit);

#define FG_KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

#define FG_FILTER_SETTER(function, set, edit)                                                                \
    static PyObject *function(PyObject *self, PyObject *args, PyObject *kwargs)                              \
    {                                                                                                        \
        return fg_filter_set_patterns(self, set, args, kwargs, edit);                                        \
    }

#define FG_FILTER_SETTERS(edit)                                                                              \
    FG_FILTER_SETTER(set_filter, FGRAPH_FILTER, edit)                                                        \
    FG_FILTER_SETTER(set_notrace, FGRAPH_NOTRACE, edit)                                                      \
    FG_FILTER_SETTER(set_graph, FGRAPH_GRAPH, edit)                                                          \
    FG_FILTER_SETTER(set_graph_notrace, FGRAPH_GRAPH_NOTRACE, edit)

#define FG_FILTER_METHODS                                                                                    \
    {"set_filter", FG_KEYWORDS(set_filter),                                                                  \
     "set_filter(patterns, reset=False): add to `filter`, or replace it."},                                  \
        {"set_notrace", FG_KEYWORDS(set_notrace),                                                            \
         "set_notrace(patterns, reset=False): the same for `notrace`."},                                     \
        {"set_graph", FG_KEYWORDS(set_graph), "set_graph(patterns, reset=False): the same for `graph`."},    \
    {                                                                                                        \
        "set_graph_notrace", FG_KEYWORDS(set_graph_notrace),                                                 \
            "set_graph_notrace(patterns, reset=False): the same for `graph_notrace`."                        \
    }

/* ---- fgraph_users.c */

PyObject *fg_register(PyObject *module, PyObject *ops);
PyObject *fg_unregister(PyObject *module, PyObject *ops);
PyObject *fg_users(PyObject *module, PyObject *ignored);
/* OSError ENOSPC: the text says who holds the slots. NULL. */
PyObject *fg_raise_no_slot(void);
/* What is to be raised when `object` could not be registered: the error is fg_binding_register's. NULL. */
PyObject *fg_raise_registration(int error, PyObject *object);
/* Their texts. */
PyObject *fg_tuple_of_patterns(const struct fg_patterns *patterns);
/* Marks the engine's users that are FgraphOps. */
void fg_python_user_leaves(struct fgraph_ops *ops);
extern PyStructSequence_Desc fg_user_desc;

/* ---- fgraph_callback.c */

int fg_call_entryfunc(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_call_retfunc(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
/* No function of it is called any more. */
void fg_ops_mute(struct fg_python_ops *self);

/* ---- fgraph_error.c */

/* An exception came out of a Python function that belongs to `owner`: it is set, and is not when this returns. True: it
 * was the function's, and was reported, counted and kept; false: the program has it. */
FG_COLD bool fg_error_report(PyObject *owner, PyObject *function, PyObject **last_error,
                             _Atomic uint64_t *errors);

/* An exception came out of one of its functions: it is set, and is not when this returns. */
FG_COLD void fg_client_failed(struct fg_client *self, PyObject *function);
/* OSError(number, text). Takes over the reference to the text. NULL. */
PyObject *fg_raise_os_error(int number, PyObject *text);

/* ---- fgraph_trace.c */

extern PyType_Spec fg_ent_spec, fg_ret_spec;
/* One that tells of this function: `trace`, or if that is NULL, a new one with its regs. Takes over the reference, and
 * returns one, or NULL with an exception. */
struct fg_trace *fg_trace_about(struct fg_trace *trace, const struct fg_callback *callback,
                                struct fg_func *func);
/* The callback is over, and the object was asked for something, or it or its regs kept. Takes over the reference. */
void fg_trace_settle(struct fg_trace *trace, fg_spare *spare);
/* Where the call returns to: a ReturnLocation, or None. New reference. */
PyObject *fg_callback_return_location(const struct fg_callback *callback);

/* ---- fgraph_regs.c */

extern PyType_Spec fg_regs_spec;
extern PyStructSequence_Desc fg_instruction_pointer_desc;

/* ---- fgraph_data.c */

extern PyType_Spec fg_buffer_spec;
PyObject *fg_ops_reserve_data(PyObject *self, PyObject *size_bytes);
PyObject *fg_ops_retrieve_data(PyObject *self, PyObject *ignored);
PyObject *fg_ops_retrieve_parent_data(PyObject *self, PyObject *depth);
PyObject *fg_ops_reserve_object(PyObject *self, PyObject *object);
PyObject *fg_ops_retrieve_object(PyObject *self, PyObject *ignored);
/* The callback is over: its views' bytes go to where they belong, and the views are of no use any more. */
void fg_buffers_settle(struct fg_callback *callback);
/* An fprobe's entry data, always of the same size: `spare` keeps a view of them. NULL with an exception. */
struct fg_buffer *fg_entry_data_take(struct fg_engine_state *state, fg_spare *spare, void *words,
                                     size_t bytes);
PyObject *fg_entry_data_view(const struct fg_buffer *buffer); /* borrowed */
/* The callback is over. Takes over the reference. */
void fg_entry_data_settle(struct fg_engine_state *state, struct fg_buffer *buffer, fg_spare *spare);

/* ---- fgraph_function.c */

extern PyType_Spec fg_function_spec;
/* The one Function of a record. New reference, or NULL with an exception. */
PyObject *fg_function_of(struct fg_engine_state *state, struct fg_func *func);
/* The record of a Function; NULL: the function is gone. */
struct fg_func *fg_function_record(PyObject *function);

/* ---- fgraph_symbols.c */

PyObject *fg_find_functions(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *fg_functions_named(PyObject *module, PyObject *names);
PyObject *fg_function_of_callable(PyObject *module, PyObject *callable);
PyObject *fg_function_names(PyObject *module, PyObject *args, PyObject *kwargs);

/* Borrowed; NULL: nobody has asked for it yet. */
static inline PyObject *fg_function_known(struct fg_func *func)
{
    /* acquire: pairs with the exchange that makes it known, in another thread */
    return (PyObject *)atomic_load_explicit(&func->object, memory_order_acquire);
}

/* ---- fgraph_ret_stack.c */

extern PyStructSequence_Desc fg_ret_frame_desc, fg_return_location_desc;
/* Where a call returns to if `frame` is what it was called from: a ReturnLocation, or None. New reference. */
PyObject *fg_return_location(struct fg_engine_state *state, fg_pyframe *frame);
PyObject *fg_get_ret_stack(PyObject *module, PyObject *args, PyObject *kwargs);

/* ---- fgraph_profile.c */

extern PyType_Spec fg_profile_spec;
/* Stops all of this interpreter's. */
void fg_profiles_end(void);

#endif
