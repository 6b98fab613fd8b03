/* See ops.h. */
#include "binding/graph/ops.h"

#include "binding/base/critical_section.h"
#include "binding/core/filter.h"
#include "binding/graph/ops_call.h"
#include "binding/graph/ops_data.h"
#include "binding/graph/ops_filter.h"
#include "binding/graph/users.h"
#include "engine/core/task.h"
#include "engine/graph/filter.h"
#include "engine/graph/user.h"
#include "structmember.h"

/* ---- making one */

static int set_callbacks(struct fg_python_ops *self, PyObject *entryfunc, PyObject *retfunc)
{
    uintptr_t entry, ret;

    if (fg_client_resolve(entryfunc, "entryfunc", (uintptr_t)fg_call_entryfunc, &entry) != 0 ||
        fg_client_resolve(retfunc, "retfunc", (uintptr_t)fg_call_retfunc, &ret) != 0)
        return -1;
    fg_client_set_functions(&self->client, entryfunc, retfunc);
    self->ops.entryfunc = (trace_func_graph_ent_t)entry;
    self->ops.retfunc = (trace_func_graph_ret_t)ret;
    return 0;
}

static int set_name(struct fg_python_ops *self, PyObject *name)
{
    const char *text = fg_client_set_name(&self->client, name);

    if (text)
        self->ops.name = text;
    return text ? 0 : -1;
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

static PyObject *ops_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    PyObject *const none[FGRAPH_NR_FILTER_SETS] = {NULL};
    struct fg_python_ops *self = (struct fg_python_ops *)fg_client_new(type);

    if (!self)
        return NULL;
    self->client.disable = fg_ops_detach;
    fg_user_of(&self->ops)->leavefunc = fg_python_user_leaves;
    if (set_name(self, self->client.name) != 0 || set_filters(self, none, Py_None) != 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static int ops_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"entryfunc", "retfunc", "filter",        "notrace",   "graph", "graph_notrace",
                            "tids",      "name",    "keep_on_error", "save_regs", NULL};
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *entryfunc = Py_None, *retfunc = Py_None, *tids = Py_None, *name = self->client.name;
    PyObject *sets[FGRAPH_NR_FILTER_SETS] = {NULL};
    int keep_on_error = 0, save_regs = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OO$OOOOOUpp:FgraphOps", names, &entryfunc, &retfunc,
                                     &sets[FGRAPH_FILTER], &sets[FGRAPH_NOTRACE], &sets[FGRAPH_GRAPH],
                                     &sets[FGRAPH_GRAPH_NOTRACE], &tids, &name, &keep_on_error, &save_regs))
        return -1;
    if (fg_user_slot(&self->ops) >= 0) {
        PyErr_SetString(PyExc_RuntimeError, "FgraphOps.__init__ called while the object is registered");
        return -1;
    }
    self->client.keep_on_error = keep_on_error;
    self->client.save_regs = save_regs;
    return set_name(self, name) || set_callbacks(self, entryfunc, retfunc) || set_filters(self, sets, tids)
               ? -1
               : 0;
}

static void ops_dealloc(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;

    PyObject_GC_UnTrack(object);
    fg_filter_clear(&fg_user_of(&self->ops)->filter);
    for (int set = 0; set < FGRAPH_NR_FILTER_SETS; set++)
        Py_CLEAR(self->patterns[set]);
    Py_CLEAR(self->tids);
    Py_XDECREF(fg_spare_take(&self->ent));
    Py_XDECREF(fg_spare_take(&self->ret));
    fg_client_dealloc(object);
}

static PyObject *ops_repr(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    int slot = fg_user_slot(&self->ops);

    if (slot < 0)
        return PyUnicode_FromFormat("<%s %R, not registered>", Py_TYPE(object)->tp_name, self->client.name);
    return PyUnicode_FromFormat("<%s %R in slot %d>", Py_TYPE(object)->tp_name, self->client.name, slot);
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

static PyObject *get_slot(PyObject *object, void *Py_UNUSED(closure))
{
    int slot = fg_user_slot(&((struct fg_python_ops *)object)->ops);

    return slot < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(slot);
}

static PyObject *get_generation(PyObject *object, void *Py_UNUSED(closure))
{
    uint64_t generation = fg_user_of(&((struct fg_python_ops *)object)->ops)->generation;

    return generation ? PyLong_FromUnsignedLongLong(generation) : Py_NewRef(Py_None);
}

static PyObject *get_registered(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(fg_user_slot(&((struct fg_python_ops *)object)->ops) >= 0);
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(fgraph_nmissed(&((struct fg_python_ops *)object)->ops));
}

/* The calling thread's word, or NULL with an exception. */
static uint64_t *task_word(PyObject *object)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    struct fg_task *task = fg_task_current();

    if (fg_user_slot(&self->ops) < 0) {
        PyErr_SetString(PyExc_RuntimeError, "task_var needs a registered FgraphOps");
        return NULL;
    }
    if (!task)
        PyErr_SetString(PyExc_RuntimeError,
                        "task_var: this thread has no shadow stack: no traced function has run in it");
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

static PyGetSetDef attributes[] = {
    FG_FILTER_ATTRIBUTES(get_patterns),
    {"tids", fg_client_get_object, NULL, "Only calls in these threads (native ids); None: in all.",
     (void *)offsetof(struct fg_python_ops, tids)},
    FG_CLIENT_ATTRIBUTES("entryfunc", "retfunc"),
    {"nmissed", get_nmissed, NULL,
     "Number of calls of its functions that were not traced because a callback made them.", NULL},
    {"slot", get_slot, NULL, "Slot in the table of users, or None.", NULL},
    {"generation", get_generation, NULL, "Number of its registration, or None.", NULL},
    {"registered", get_registered, NULL, "Whether it is registered.", NULL},
    {"task_var", get_task_var, set_task_var, "64-bit word of the calling thread.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    FG_CLIENT_MEMBERS,
    {NULL, 0, 0, 0, NULL},
};

/* ---- methods */

FG_FILTER_SETTERS(fg_ops_edit_filter)

static PyMethodDef methods[] = {
    FG_FILTER_METHODS,
    {"set_tids", fg_ops_set_tids, METH_O, "set_tids(tids): trace only calls in these threads; None: in all."},
    {"reserve_data", fg_ops_reserve_data, METH_O,
     "reserve_data(size_bytes) -> memoryview | None: keep zeroed bytes until this call returns."},
    {"retrieve_data", fg_ops_retrieve_data, METH_NOARGS,
     "retrieve_data() -> memoryview | None: the bytes reserved at this call's entry."},
    {"retrieve_parent_data", fg_ops_retrieve_parent_data, METH_O,
     "retrieve_parent_data(depth) -> memoryview | None: the bytes of the traced call `depth` levels up."},
    {"reserve_object", fg_ops_reserve_object, METH_O,
     "reserve_object(obj) -> bool: keep an object until this call returns."},
    {"retrieve_object", fg_ops_retrieve_object, METH_NOARGS,
     "retrieve_object(): the object reserved at this call's entry, or None."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A user of the function graph."},
    {Py_tp_new, ops_new},
    {Py_tp_init, ops_init},
    {Py_tp_traverse, fg_client_traverse},
    {Py_tp_clear, fg_client_clear},
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
