/* Function: a function record as a Python object. There is one for each record; it holds its texts itself and its code
 * object weakly, so that keeping it keeps nothing of the program's alive. */
#include "binding/graph/function.h"

#include "structmember.h"
#include <stddef.h>

struct function {
    PyObject_HEAD PyObject *name, *module, *qualname, *file;
    PyObject *code; /* weak reference, or NULL: a C function */
    PyObject *weakrefs;
    unsigned int line, id;
    struct fg_func *func; /* it may be another function's by now */
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

/* NULL: of a function that is gone, with a frame left whose end was never told. */
static PyObject *text_of(const char *text)
{
    return PyUnicode_FromString(text ? text : "");
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
    self->code = func->arch_data ? PyWeakref_NewRef(func->arch_data, NULL) : NULL;
    return self->name && self->module && self->qualname && self->file && (self->code || !func->arch_data);
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
    void *there = fg_function_known(func);
    PyObject *made;

    if (fg_likely(there != NULL))
        return Py_NewRef((PyObject *)there);
    made = function_new(state, func);
    if (!made || !func->live)
        return made;
    if (atomic_compare_exchange_strong(&func->object, &there, made))
        return Py_NewRef(made); /* one for the record, one for the caller */
    Py_DECREF(made);
    return Py_NewRef((PyObject *)there);
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
    {"module", T_OBJECT_EX, offsetof(struct function, module), READONLY, "Its module's name."},
    {"qualname", T_OBJECT_EX, offsetof(struct function, qualname), READONLY, "Its name within the module."},
    {"file", T_OBJECT_EX, offsetof(struct function, file), READONLY, "Its source file; empty: it is C."},
    {"line", T_UINT, offsetof(struct function, line), READONLY, "Its first line."},
    {"id", T_UINT, offsetof(struct function, id), READONLY, "Its number, never used again in this process."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct function, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"code", get_code, NULL, "Its code object; None: it is C, or its code is gone.", NULL},
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
