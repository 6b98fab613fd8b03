/* Function. There is one for each record. It has texts of its own and a weak reference to the code
 * object, so that keeping a Function keeps no object of the program alive. */
#include "binding/graph/function.h"

#include <stddef.h>

#include "structmember.h"

struct function {
    PyObject_HEAD PyObject *name, *module, *qualname, *file;
    PyObject *code; /* weak reference; NULL for a C function */
    PyObject *weakrefs;
    unsigned int line, id;
    struct fg_func *func; /* the record; another function may have it by now, see fg_func_is */
};

static void dealloc(PyObject *object)
{
    struct function *self = (struct function *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    Py_XDECREF(self->name);
    Py_XDECREF(self->module);
    Py_XDECREF(self->qualname);
    Py_XDECREF(self->file);
    Py_XDECREF(self->code);
    PyObject_Free(object);
    Py_DECREF(type);
}

/* A NULL text belongs to a function that is gone, but has a frame left because CPython never reported its
 * end. */
static PyObject *text_of(const char *text)
{
    return PyUnicode_FromString(text ? text : "");
}

/* True if the arch keeps an object of Python for the function. */
static bool has_object(const struct fg_func *func)
{
    return func->arch_data && !(func->flags & FG_FUNC_NATIVE);
}

static bool fill(struct function *self, struct fg_func *func)
{
    self->func = func;
    self->line = func->line;
    self->id = func->id;
    self->weakrefs = NULL;
    self->name = text_of(func->name);
    self->module = text_of(func->module);
    self->qualname = text_of(func->qualname);
    self->file = text_of(func->file);
    self->code = has_object(func) ? PyWeakref_NewRef(func->arch_data, NULL) : NULL;
    return self->name && self->module && self->qualname && self->file && (self->code || !has_object(func));
}

static PyObject *function_new(struct fg_engine_state *state, struct fg_func *func)
{
    struct function *self = PyObject_New(struct function, state->function_type);

    if (self && !fill(self, func))
        Py_CLEAR(self);
    return (PyObject *)self;
}

PyObject *fg_function_of(struct fg_engine_state *state, struct fg_func *func)
{
    void *known = fg_function_known(func);
    PyObject *made;

    if (fg_likely(known != NULL))
        return Py_NewRef((PyObject *)known);
    made = function_new(state, func);
    if (!made || !func->live || (func->flags & FG_FUNC_NATIVE)) /* a native one is no interpreter's own */
        return made;
    if (atomic_compare_exchange_strong(&func->object, &known, made))
        return Py_NewRef(made); /* one reference for the record, one for the caller */
    Py_DECREF(made);
    return Py_NewRef((PyObject *)known);
}

struct fg_func *fg_function_record(PyObject *object)
{
    struct function *self = (struct function *)object;

    return fg_func_is(self->func, self->id) ? self->func : NULL;
}

static PyObject *get_code(PyObject *object, void *Py_UNUSED(closure))
{
    struct function *self = (struct function *)object;

    return self->code ? PyObject_CallNoArgs(self->code) : Py_NewRef(Py_None);
}

static PyObject *repr(PyObject *object)
{
    struct function *self = (struct function *)object;

    return PyUnicode_FromFormat("<Function %U at %U:%u>", self->name, self->file, self->line);
}

static PyMemberDef members[] = {
    {"name", T_OBJECT_EX, offsetof(struct function, name), READONLY, "'module.qualname'"},
    {"module", T_OBJECT_EX, offsetof(struct function, module), READONLY, "Name of its module."},
    {"qualname", T_OBJECT_EX, offsetof(struct function, qualname), READONLY, "Name within the module."},
    {"file", T_OBJECT_EX, offsetof(struct function, file), READONLY, "Source file; empty for a C function."},
    {"line", T_UINT, offsetof(struct function, line), READONLY, "First line."},
    {"id", T_UINT, offsetof(struct function, id), READONLY, "Number, never reused in this process."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"code", get_code, NULL, "Code object; None for a C function, or if the code is gone.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A function that can be traced."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_repr, repr},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_function_spec = {
    .name = "funcgraph._engine.Function",
    .basicsize = sizeof(struct function),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
