/* FgraphOps: a user as a Python object. */
#include "fgraph_binding.h"

#include "structmember.h"

/* ---- callbacks: Python's, or addresses of C functions */

/* The address behind a ctypes function pointer, a numba cfunc or a cffi pointer; 0: it is none of these, or there is an
 * exception. Such things cannot be told without knowing those packages: that is Python's work. */
static uintptr_t foreign_address(PyObject *callback)
{
    PyObject *glue = PyImport_ImportModule("funcgraph.fgraph");
    PyObject *address = glue ? PyObject_CallMethod(glue, "native_address", "O", callback) : NULL;
    uintptr_t result = 0;

    if (address && address != Py_None)
        result = (uintptr_t)PyLong_AsUnsignedLongLong(address);
    Py_XDECREF(address);
    Py_XDECREF(glue);
    return result;
}

static uintptr_t address_of_int(PyObject *callback, const char *name)
{
    unsigned long long address = PyLong_AsUnsignedLongLong(callback);

    if (PyErr_Occurred() || !address) {
        PyErr_Format(PyExc_ValueError, "%s: %R is no address of a function", name, callback);
        return 0;
    }
    return (uintptr_t)address;
}

/* What the engine is to call: a C function's address, `python` for a Python function, 0 for None. -1 with an
 * exception. */
static int resolve(PyObject *callback, const char *name, uintptr_t python, uintptr_t *function)
{
    *function = 0;
    if (callback == Py_None)
        return 0;
    if (PyLong_Check(callback) && !PyBool_Check(callback)) {
        *function = address_of_int(callback, name);
    } else if (!PyFunction_Check(callback) && !PyMethod_Check(callback) && !PyCFunction_Check(callback)) {
        *function = foreign_address(callback);
        if (!*function && !PyErr_Occurred() && !PyCallable_Check(callback))
            PyErr_Format(PyExc_TypeError,
                         "%s: a function, the address of a C function or None is needed, not %.100s", name,
                         Py_TYPE(callback)->tp_name);
    }
    if (PyErr_Occurred())
        return -1;
    if (!*function)
        *function = python;
    return 0;
}

static int set_callbacks(struct fg_python_ops *self, PyObject *entryfunc, PyObject *retfunc)
{
    uintptr_t entry, ret;

    if (resolve(entryfunc, "entryfunc", (uintptr_t)fg_call_entryfunc, &entry) != 0 ||
        resolve(retfunc, "retfunc", (uintptr_t)fg_call_retfunc, &ret) != 0)
        return -1;
    Py_XSETREF(self->entryfunc, Py_NewRef(entryfunc));
    Py_XSETREF(self->retfunc, Py_NewRef(retfunc));
    self->ops.entryfunc = (trace_func_graph_ent_t)entry;
    self->ops.retfunc = (trace_func_graph_ret_t)ret;
    return 0;
}

/* ---- making one */

static int set_name(struct fg_python_ops *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name); /* kept with the str */

    if (!text)
        return -1;
    Py_XSETREF(self->name, Py_NewRef(name));
    self->ops.name = text;
    return 0;
}

static int set_filters(struct fg_python_ops *self, PyObject *const sets[], PyObject *tids)
{
    PyObject *tuple = fg_tid_tuple(tids);

    if (!tuple)
        return -1;
    Py_XSETREF(self->tids, tuple);
    for (int set = 0; set < FGRAPH_NR_FILTER_SETS; set++) {
        tuple = sets[set] ? fg_pattern_tuple(sets[set], fg_filter_set_names[set]) : PyTuple_New(0);
        if (!tuple)
            return -1;
        Py_XSETREF(self->patterns[set], tuple);
    }
    return fg_ops_apply_filters(self);
}

/* An ops of which nothing was said yet. */
static int set_nothing(struct fg_python_ops *self)
{
    PyObject *const none[FGRAPH_NR_FILTER_SETS] = {NULL};
    PyObject *name = PyUnicode_FromString("");
    int error = name ? set_name(self, name) : -1;

    Py_XDECREF(name);
    fg_user_of(&self->ops)->leavefunc = fg_python_user_leaves;
    return error || set_callbacks(self, Py_None, Py_None) || set_filters(self, none, Py_None) ? -1 : 0;
}

static PyObject *ops_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    PyObject *module = PyType_GetModuleByDef(type, &fg_engine_module_def);
    struct fg_python_ops *self = module ? (struct fg_python_ops *)type->tp_alloc(type, 0) : NULL;

    if (!self)
        return NULL;
    self->state = fg_engine_state(module);
    if (set_nothing(self) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int ops_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"entryfunc",     "retfunc", "filter", "notrace",       "graph",
                            "graph_notrace", "tids",    "name",   "keep_on_error", NULL};
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *entryfunc = Py_None, *retfunc = Py_None, *tids = Py_None, *name = self->name;
    PyObject *sets[FGRAPH_NR_FILTER_SETS] = {NULL};
    int keep_on_error = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$OOOOOUp:FgraphOps", names, &entryfunc, &retfunc,
                                     &sets[FGRAPH_FILTER], &sets[FGRAPH_NOTRACE], &sets[FGRAPH_GRAPH],
                                     &sets[FGRAPH_GRAPH_NOTRACE], &tids, &name, &keep_on_error))
        return -1;
    if (fgraph_slot(&self->ops) >= 0) {
        PyErr_SetString(PyExc_RuntimeError, "an FgraphOps cannot be made anew while it is registered");
        return -1;
    }
    self->keep_on_error = keep_on_error;
    return set_name(self, name) || set_callbacks(self, entryfunc, retfunc) || set_filters(self, sets, tids)
               ? -1
               : 0;
}

static int ops_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->entryfunc);
    Py_VISIT(self->retfunc);
    Py_VISIT(self->last_error);
    return 0;
}

static int ops_clear(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;

    /* Not registered, or the engine's reference would keep it. */
    Py_CLEAR(self->entryfunc);
    Py_CLEAR(self->retfunc);
    Py_CLEAR(self->last_error);
    return 0;
}

static void ops_dealloc(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    ops_clear(object);
    fg_filter_clear(&fg_user_of(&self->ops)->filter);
    for (int set = 0; set < FGRAPH_NR_FILTER_SETS; set++)
        Py_CLEAR(self->patterns[set]);
    Py_CLEAR(self->tids);
    Py_CLEAR(self->name);
    Py_XDECREF(fg_spare_take(&self->ent));
    Py_XDECREF(fg_spare_take(&self->ret));
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *ops_repr(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    int slot = fgraph_slot(&self->ops);

    if (slot < 0)
        return PyUnicode_FromFormat("<%s %R, not registered>", Py_TYPE(object)->tp_name, self->name);
    return PyUnicode_FromFormat("<%s %R in slot %d>", Py_TYPE(object)->tp_name, self->name, slot);
}

/* ---- attributes */

static PyObject *get_patterns(PyObject *object, void *set)
{
    PyObject *patterns;

    Py_BEGIN_CRITICAL_SECTION(object);
    patterns = Py_NewRef(((struct fg_python_ops *)object)->patterns[(uintptr_t)set]);
    Py_END_CRITICAL_SECTION();
    return patterns;
}

/* Of those that may be replaced at any time. */
static PyObject *get_object(PyObject *object, void *offset)
{
    PyObject *value;

    Py_BEGIN_CRITICAL_SECTION(object);
    value = *(PyObject **)((char *)object + (uintptr_t)offset);
    value = Py_NewRef(value ? value : Py_None);
    Py_END_CRITICAL_SECTION();
    return value;
}

static PyObject *get_slot(PyObject *object, void *Py_UNUSED(closure))
{
    int slot = fgraph_slot(&((struct fg_python_ops *)object)->ops);

    return slot < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(slot);
}

static PyObject *get_generation(PyObject *object, void *Py_UNUSED(closure))
{
    uint64_t generation = fg_user_of(&((struct fg_python_ops *)object)->ops)->generation;

    return generation ? PyLong_FromUnsignedLongLong(generation) : Py_NewRef(Py_None);
}

static PyObject *get_registered(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(fgraph_slot(&((struct fg_python_ops *)object)->ops) >= 0);
}

static PyObject *get_enabled(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!fg_ops_is_disabled((struct fg_python_ops *)object));
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(fgraph_nmissed(&((struct fg_python_ops *)object)->ops));
}

static PyObject *get_errors(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(atomic_load(&((struct fg_python_ops *)object)->errors));
}

/* The caller's word; NULL with an exception. */
static uint64_t *task_word(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    struct fg_task *task = fg_task_current();

    if (fgraph_slot(&self->ops) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "task_var: this FgraphOps is not registered");
        return NULL;
    }
    if (!task)
        PyErr_SetString(PyExc_RuntimeError, "task_var: this thread has no shadow stack");
    return task ? fgraph_task_var(task, &self->ops) : NULL;
}

static PyObject *get_task_var(PyObject *object, void *Py_UNUSED(closure))
{
    const uint64_t *word = task_word(object);

    return word ? PyLong_FromUnsignedLongLong(*word) : NULL;
}

static int set_task_var(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    unsigned long long number;
    uint64_t *word;

    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "task_var cannot be deleted");
        return -1;
    }
    number = PyLong_AsUnsignedLongLong(value);
    if (number == (unsigned long long)-1 && PyErr_Occurred())
        return -1;
    word = task_word(object);
    if (!word)
        return -1;
    *word = number;
    return 0;
}

#define SET(name) ((void *)(uintptr_t)FGRAPH_##name)
#define MEMBER(name) ((void *)offsetof(struct fg_python_ops, name))

static PyGetSetDef attributes[] = {
    {"filter", get_patterns, NULL, "Only these functions; empty: all.", SET(FILTER)},
    {"notrace", get_patterns, NULL, "Never these functions.", SET(NOTRACE)},
    {"graph", get_patterns, NULL, "Only these functions and what they call.", SET(GRAPH)},
    {"graph_notrace", get_patterns, NULL, "Neither these functions nor what they call.", SET(GRAPH_NOTRACE)},
    {"tids", get_object, NULL, "Only calls in these threads (native ids); None: in all.", MEMBER(tids)},
    {"entryfunc", get_object, NULL, "As it was given.", MEMBER(entryfunc)},
    {"retfunc", get_object, NULL, "As it was given.", MEMBER(retfunc)},
    {"name", get_object, NULL, "What users() and error messages call it.", MEMBER(name)},
    {"last_error", get_object, NULL, "The latest exception that came out of a callback, or None.",
     MEMBER(last_error)},
    {"errors", get_errors, NULL, "Exceptions that came out of callbacks.", NULL},
    {"nmissed", get_nmissed, NULL, "Calls of its functions that callbacks made: they are not traced.", NULL},
    {"slot", get_slot, NULL, "Its slot in the table of users, or None.", NULL},
    {"generation", get_generation, NULL, "The number of its registration, or None.", NULL},
    {"registered", get_registered, NULL, "It has a slot.", NULL},
    {"enabled", get_enabled, NULL, "False once a callback has raised, until it is registered again.", NULL},
    {"task_var", get_task_var, set_task_var, "The calling thread's 64-bit word.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"keep_on_error", T_BOOL, offsetof(struct fg_python_ops, keep_on_error), READONLY,
     "It stays enabled after a callback has raised."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct fg_python_ops, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

/* ---- methods */

#define SETTER(function, set)                                                                                \
    static PyObject *function(PyObject *self, PyObject *args, PyObject *kwargs)                              \
    {                                                                                                        \
        return fg_ops_set_patterns((struct fg_python_ops *)self, set, args, kwargs);                         \
    }

SETTER(set_filter, FGRAPH_FILTER)
SETTER(set_notrace, FGRAPH_NOTRACE)
SETTER(set_graph, FGRAPH_GRAPH)
SETTER(set_graph_notrace, FGRAPH_GRAPH_NOTRACE)

#define KEYWORDS(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef methods[] = {
    {"set_filter", KEYWORDS(set_filter),
     "set_filter(patterns, reset=False): add to `filter`, or replace it."},
    {"set_notrace", KEYWORDS(set_notrace), "set_notrace(patterns, reset=False): the same for `notrace`."},
    {"set_graph", KEYWORDS(set_graph), "set_graph(patterns, reset=False): the same for `graph`."},
    {"set_graph_notrace", KEYWORDS(set_graph_notrace),
     "set_graph_notrace(patterns, reset=False): the same for `graph_notrace`."},
    {"set_tids", fg_ops_set_tids, METH_O, "set_tids(tids): only calls in these threads; None: in all."},
    {"reserve_data", fg_ops_reserve_data, METH_O,
     "reserve_data(size_bytes) -> memoryview | None: zeroed bytes for the return of this call."},
    {"retrieve_data", fg_ops_retrieve_data, METH_NOARGS,
     "retrieve_data() -> memoryview | None: what was reserved at this call's entry."},
    {"retrieve_parent_data", fg_ops_retrieve_parent_data, METH_O,
     "retrieve_parent_data(depth) -> memoryview | None: of the call `depth` further out."},
    {"reserve_object", fg_ops_reserve_object, METH_O,
     "reserve_object(obj) -> bool: an object for the return of this call."},
    {"retrieve_object", fg_ops_retrieve_object, METH_NOARGS,
     "retrieve_object(): the object that was reserved at this call's entry."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A user of the function graph."},
    {Py_tp_new, ops_new},
    {Py_tp_init, ops_init},
    {Py_tp_traverse, ops_traverse},
    {Py_tp_clear, ops_clear},
    {Py_tp_dealloc, ops_dealloc},
    {Py_tp_repr, ops_repr},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fg_ops_spec = {
    .name = "funcgraph._engine.FgraphOps",
    .basicsize = sizeof(struct fg_python_ops),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
