/* callhist: a user of funcgraph in C. Counts how often functions run and how long they take, as histograms.
 *
 *     with callhist.Histogram(filter=["shop.*"]) as histogram:
 *         work()
 *     for function in histogram.results():
 *         print(function["name"], function["calls"], function["self_ns"], function["histogram"])
 *
 * Each Histogram is a separate user. Any number of them, and of other people's users, can watch the same
 * calls. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include <funcgraph.h>

#define MAX_FUNCTIONS 65536u /* functions with larger ids are only counted, in one sum */
#define NR_BUCKETS 64u       /* bucket i: from 2^i ticks to just under 2^(i+1) */
#define ERROR_NAME_BYTES 64u

enum error_state { ERROR_NONE, ERROR_BEING_NOTED, ERROR_NOTED };

/* The counts of one function. Calls can end in any thread, and without the GIL in several threads at once. */
struct function {
    char *name, *file; /* copies: the function may be freed before its counts */
    uint32_t line;
    _Atomic uint64_t calls, measured, raised;
    _Atomic uint64_t total_ticks, self_ticks;
    _Atomic uint64_t buckets[NR_BUCKETS];
    _Atomic int error_state;
    char first_error[ERROR_NAME_BYTES];
};

typedef struct {
    PyObject_HEAD struct fgraph_ops ops;
    uint64_t every; /* each thread measures every N-th call that is not inside a measured call */
    _Atomic(struct function *) *functions; /* by id */
    _Atomic uint64_t unknown_calls;        /* calls of functions that had no room */
} histogram_object;

/* The data of a call in progress, on the shadow stack. */
struct running {
    uint64_t ran_ticks;      /* until it was last suspended */
    uint64_t children_ticks; /* spent in measured callees */
};

/* ---- the callbacks */

static void add(_Atomic uint64_t *counter, uint64_t n)
{
    atomic_fetch_add_explicit(counter, n, memory_order_relaxed);
}

static void function_free(struct function *function)
{
    if (!function)
        return;
    free(function->name);
    free(function->file);
    free(function);
}

static struct function *function_new(const struct fg_func *func)
{
    struct function *function = calloc(1, sizeof(*function));

    if (!function)
        return NULL;
    function->name = strdup(fgraph_func_name(func));
    function->file = strdup(fgraph_func_file(func));
    function->line = fgraph_func_line(func);
    if (function->name && function->file)
        return function;
    function_free(function);
    return NULL;
}

/* Returns NULL if there is no room for another function. */
static struct function *function_of(histogram_object *self, const struct fg_func *func)
{
    uint32_t id = fgraph_func_id(func);
    struct function *function, *other = NULL;

    if (id >= MAX_FUNCTIONS)
        return NULL;
    /* acquire, here and below: pairs with the compare-exchange of the thread that created it */
    function = atomic_load_explicit(&self->functions[id], memory_order_acquire);
    if (function)
        return function;
    function = function_new(func);
    if (!function || atomic_compare_exchange_strong(&self->functions[id], &other, function))
        return function;
    function_free(function); /* another thread was first */
    return other;
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    histogram_object *self = ops->private_data;
    struct function *function = function_of(self, trace->func);

    (void)regs;
    if (!function) {
        add(&self->unknown_calls, 1);
        return 0;
    }
    add(&function->calls, 1);
    /* The task variable is per-thread: no other thread writes it. */
    if (trace->depth == 0 && ++*fgraph_get_task_var(trace->task, ops) % self->every != 0)
        return 0;
    return fgraph_reserve_data(trace, ops, sizeof(struct running)) != NULL;
}

/* Adds the time since the call began or last resumed to its own sum and to its caller's. */
static struct running *end_stretch(struct ftrace_graph_ret *trace, struct fgraph_ops *ops)
{
    struct running *running = fgraph_retrieve_data(trace, ops, NULL);
    struct running *caller = fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 1, NULL);
    uint64_t ticks = trace->rettime - trace->calltime;

    running->ran_ticks += ticks;
    if (caller)
        caller->children_ticks += ticks;
    return running;
}

static void suspend(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    end_stretch(trace, ops);
}

/* Keeps the type name of the first exception. tp_name is a C string: reading it runs no code of the
 * program. */
static void note_error(struct function *function, PyObject *exception)
{
    PyTypeObject *type;
    int none = ERROR_NONE;

    if (!exception || !atomic_compare_exchange_strong(&function->error_state, &none, ERROR_BEING_NOTED))
        return;
    /* Before 3.12 an uncaught exception may still be just its class, without an instance. */
    type = PyExceptionClass_Check(exception) ? (PyTypeObject *)exception : Py_TYPE(exception);
    strncpy(function->first_error, type->tp_name, ERROR_NAME_BYTES - 1);
    /* release: pairs with the acquire of function_as_dict(), which then reads the name */
    atomic_store_explicit(&function->error_state, ERROR_NOTED, memory_order_release);
}

static unsigned bucket_of(uint64_t ticks)
{
    return ticks ? 63u - (unsigned)__builtin_clzll(ticks) : 0;
}

static void end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct function *function = function_of(ops->private_data, trace->func);
    struct running *running = end_stretch(trace, ops);

    add(&function->measured, 1);
    add(&function->total_ticks, running->ran_ticks);
    add(&function->self_ticks, running->ran_ticks - running->children_ticks);
    add(&function->buckets[bucket_of(running->ran_ticks)], 1);
    if (trace->end == FG_END_RAISE) {
        add(&function->raised, 1);
        note_error(function, ftrace_regs_get_exception(regs));
    }
}

/* ---- Histogram(filter=(), notrace=(), every=1) */

static PyObject *raise_errno(int error)
{
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    errno = -error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* Returns -1 with an exception set if a pattern is invalid. */
static int check_patterns(const char *const texts[], Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        const char *reason;
        size_t column;

        if (fgraph_check_pattern(texts[i], &reason, &column) == 0)
            continue;
        PyErr_Format(PyExc_ValueError, "pattern '%s', column %zu: %s", texts[i], column + 1, reason);
        return -1;
    }
    return 0;
}

static int set_texts(struct fgraph_ops *ops, enum fgraph_filter_set set, const char *texts[], PyObject *items)
{
    Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
    int error;

    for (Py_ssize_t i = 0; i < n; i++) {
        texts[i] = PyUnicode_AsUTF8(PySequence_Fast_GET_ITEM(items, i));
        if (!texts[i])
            return -1;
    }
    if (check_patterns(texts, n) != 0)
        return -1;
    error = fgraph_set_filter(ops, set, texts, (size_t)n, 1);
    if (error)
        raise_errno(error);
    return error ? -1 : 0;
}

static int set_patterns(struct fgraph_ops *ops, enum fgraph_filter_set set, PyObject *patterns)
{
    PyObject *items = PySequence_Fast(patterns, "a sequence of patterns is needed");
    const char **texts = items ? PyMem_New(const char *, PySequence_Fast_GET_SIZE(items) + 1) : NULL;
    int error = -1;

    if (texts)
        error = set_texts(ops, set, texts, items);
    else if (items)
        PyErr_NoMemory();
    PyMem_Free(texts);
    Py_XDECREF(items);
    return error;
}

static void histogram_init_ops(histogram_object *self)
{
    self->ops.entryfunc = entry;
    self->ops.retfunc = end;
    self->ops.suspendfunc = suspend;
    self->ops.name = "callhist";
    self->ops.private_data = self;
}

static PyObject *histogram_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"filter", "notrace", "every", NULL};
    PyObject *filter = NULL, *notrace = NULL;
    unsigned long long every = 1;
    histogram_object *self;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$K:Histogram", names, &filter, &notrace, &every))
        return NULL;
    if (!every) {
        PyErr_SetString(PyExc_ValueError, "every must be >= 1, got 0");
        return NULL;
    }
    self = (histogram_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    histogram_init_ops(self);
    self->every = every;
    self->functions = calloc(MAX_FUNCTIONS, sizeof(self->functions[0]));
    if (!self->functions)
        PyErr_NoMemory();
    if (!self->functions || (filter && set_patterns(&self->ops, FGRAPH_FILTER, filter) != 0) ||
        (notrace && set_patterns(&self->ops, FGRAPH_NOTRACE, notrace) != 0))
        Py_CLEAR(self);
    return (PyObject *)self;
}

static void histogram_dealloc(histogram_object *self)
{
    PyTypeObject *type = Py_TYPE(self);

    fgraph_clear_filters(&self->ops); /* not registered: a registration holds a reference */
    for (uint32_t id = 0; self->functions && id < MAX_FUNCTIONS; id++)
        function_free(atomic_load_explicit(&self->functions[id], memory_order_relaxed));
    free(self->functions);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *histogram_start(histogram_object *self, PyObject *Py_UNUSED(ignored))
{
    int error = register_ftrace_graph(&self->ops);

    if (error)
        return raise_errno(error);
    Py_INCREF(self); /* for the registration: the engine has the address of ops */
    return Py_NewRef(self);
}

static PyObject *histogram_stop(histogram_object *self, PyObject *Py_UNUSED(ignored))
{
    int error = unregister_ftrace_graph(&self->ops);

    if (error)
        return raise_errno(error);
    Py_DECREF(self); /* the registration's reference */
    Py_RETURN_NONE;
}

static PyObject *histogram_exit(histogram_object *self, PyObject *Py_UNUSED(exception))
{
    return histogram_stop(self, NULL);
}

/* Returns [(ns, calls), ...]: this many calls took at least ns and less than twice ns. */
static PyObject *buckets_as_list(const struct function *function)
{
    PyObject *list = PyList_New(0);

    for (unsigned i = 0; list && i < NR_BUCKETS; i++) {
        uint64_t n = atomic_load_explicit(&function->buckets[i], memory_order_relaxed);
        PyObject *bucket;

        if (!n)
            continue;
        bucket =
            Py_BuildValue("(KK)", (unsigned long long)fgraph_duration_ns(1ull << i), (unsigned long long)n);
        if (!bucket || PyList_Append(list, bucket) != 0)
            Py_CLEAR(list);
        Py_XDECREF(bucket);
    }
    return list;
}

static unsigned long long get(const _Atomic uint64_t *counter)
{
    return atomic_load_explicit(counter, memory_order_relaxed);
}

static PyObject *function_as_dict(const struct function *function)
{
    int state = atomic_load_explicit(&function->error_state, memory_order_acquire);
    PyObject *buckets = buckets_as_list(function);

    if (!buckets)
        return NULL;
    return Py_BuildValue(
        "{s:s,s:s,s:I,s:K,s:K,s:K,s:z,s:K,s:K,s:N}", "name", function->name, "file", function->file, "line",
        function->line, "calls", get(&function->calls), "measured", get(&function->measured), "raised",
        get(&function->raised), "first_error", state == ERROR_NOTED ? function->first_error : NULL,
        "total_ns", (unsigned long long)fgraph_duration_ns(get(&function->total_ticks)), "self_ns",
        (unsigned long long)fgraph_duration_ns(get(&function->self_ticks)), "histogram", buckets);
}

static PyObject *histogram_results(histogram_object *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *list = PyList_New(0);

    for (uint32_t id = 0; list && id < MAX_FUNCTIONS; id++) {
        struct function *function = atomic_load_explicit(&self->functions[id], memory_order_acquire);
        PyObject *dict = function ? function_as_dict(function) : NULL;

        if (function && (!dict || PyList_Append(list, dict) != 0))
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    return list;
}

static PyObject *histogram_nmissed(histogram_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(fgraph_nmissed(&self->ops));
}

static PyObject *histogram_unknown_calls(histogram_object *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(get(&self->unknown_calls));
}

#define METHOD(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef histogram_methods[] = {
    {"start", METHOD(histogram_start), METH_NOARGS, "start() -> self: begin to count."},
    {"stop", METHOD(histogram_stop), METH_NOARGS,
     "stop(): stop counting. The counts stay; start() adds to them."},
    {"results", METHOD(histogram_results), METH_NOARGS, "results() -> list with a dict for each function."},
    {"__enter__", METHOD(histogram_start), METH_NOARGS, NULL},
    {"__exit__", METHOD(histogram_exit), METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef histogram_getset[] = {
    {"nmissed", (getter)histogram_nmissed, NULL, "Calls made by callbacks: not traced.", NULL},
    {"unknown_calls", (getter)histogram_unknown_calls, NULL,
     "Calls of functions that had no room in the table.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot histogram_slots[] = {
    {Py_tp_doc,
     "Histogram(filter=(), notrace=(), *, every=1): counts how often functions run and how long they take."},
    {Py_tp_new, histogram_new},
    {Py_tp_dealloc, histogram_dealloc},
    {Py_tp_methods, histogram_methods},
    {Py_tp_getset, histogram_getset},
    {0, NULL},
};

static PyType_Spec histogram_spec = {
    .name = "callhist.Histogram",
    .basicsize = sizeof(histogram_object),
    .flags = Py_TPFLAGS_DEFAULT,
    .slots = histogram_slots,
};

/* ---- the module */

static int exec_module(PyObject *module)
{
    PyObject *type;
    int error;

    if (funcgraph_import() != 0)
        return -1;
    type = PyType_FromModuleAndSpec(module, &histogram_spec, NULL);
    error = type ? PyModule_AddType(module, (PyTypeObject *)type) : -1;
    Py_XDECREF(type);
    return error;
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, exec_module},
#if PY_VERSION_HEX >= 0x030D0000
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT,
    .m_name = "callhist",
    .m_doc = "Counts how often functions run and how long they take.",
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit_callhist(void)
{
    return PyModuleDef_Init(&module_def);
}
