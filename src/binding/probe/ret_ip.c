/* ReturnAddress. One object serves call after call. If a handler keeps it, the object keeps the location
 * of that call, and the next call gets another object. */
#include "binding/probe/ret_ip.h"

#include "binding/base/critical_section.h"
#include "binding/graph/ret_stack.h"

struct fg_ret_ip *fg_ret_ip_new(struct fg_engine_state *state)
{
    struct fg_regs *regs = PyObject_New(struct fg_regs, state->regs_type);
    struct fg_ret_ip *self = regs ? PyObject_New(struct fg_ret_ip, state->ret_ip_type) : NULL;

    if (!self) {
        Py_XDECREF(regs);
        return NULL;
    }
    self->regs = regs;
    self->location = NULL;
    return self;
}

/* The location, borrowed; NULL: no memory, with or without an exception. */
static PyObject *resolve(struct fg_ret_ip *self)
{
    if (!self->location && self->callback)
        self->location = fg_callback_return_location(self->callback);
    return self->location;
}

/* The handler kept the object: resolves the location now. */
FG_COLD static void keep_location(struct fg_ret_ip *self)
{
    Py_BEGIN_CRITICAL_SECTION(self);
    if (!resolve(self))
        PyErr_Clear(); /* reading `location` raises later */
    self->callback = NULL;
    Py_END_CRITICAL_SECTION();
}

void fg_ret_ip_settle_used(struct fg_ret_ip *self, fg_spare *spare)
{
    if (fg_likely(Py_REFCNT(self) == 1 && Py_REFCNT(self->regs) == 1)) {
        Py_CLEAR(self->location);
        fg_spare_put(spare, self);
        return;
    }
    self->regs->callback = NULL;
    Py_CLEAR(self->regs);
    if (Py_REFCNT(self) != 1)
        keep_location(self);
    Py_DECREF(self);
}

static void dealloc(PyObject *object)
{
    struct fg_ret_ip *self = (struct fg_ret_ip *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_CLEAR(self->regs);
    Py_CLEAR(self->location);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *get_location(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *location;

    Py_BEGIN_CRITICAL_SECTION(object);
    location = Py_XNewRef(resolve((struct fg_ret_ip *)object));
    Py_END_CRITICAL_SECTION();
    if (location == Py_None) {
        Py_DECREF(location);
        return PyErr_Format(PyExc_RuntimeError, "CPython did not report where this call returns to");
    }
    return location || PyErr_Occurred() ? location : PyErr_NoMemory();
}

/* The attribute of its ReturnLocation with the name `name`. */
static PyObject *get_of_location(PyObject *object, void *name)
{
    PyObject *location = get_location(object, NULL);
    PyObject *value = location ? PyObject_GetAttrString(location, name) : NULL;

    Py_XDECREF(location);
    return value;
}

static PyObject *as_int(PyObject *object)
{
    return PyLong_FromSize_t(((struct fg_ret_ip *)object)->address);
}

static Py_hash_t hash(PyObject *object)
{
    return (Py_hash_t)(((struct fg_ret_ip *)object)->address >> 1); /* never -1 */
}

static PyObject *compare(PyObject *left, PyObject *right, int op)
{
    bool is_equal;

    if (Py_TYPE(left) != Py_TYPE(right) || (op != Py_EQ && op != Py_NE))
        Py_RETURN_NOTIMPLEMENTED;
    is_equal = ((struct fg_ret_ip *)left)->address == ((struct fg_ret_ip *)right)->address;
    return PyBool_FromLong(is_equal == (op == Py_EQ));
}

static PyObject *repr(PyObject *object)
{
    PyObject *location = get_location(object, NULL), *text = NULL;

    if (location)
        text = PyUnicode_FromFormat("<ReturnAddress in %U at %U:%S>", PyStructSequence_GET_ITEM(location, 0),
                                    PyStructSequence_GET_ITEM(location, 3),
                                    PyStructSequence_GET_ITEM(location, 4));
    Py_XDECREF(location);
    return text;
}

static PyGetSetDef attributes[] = {
    {"location", get_location, NULL, "All of the attributes below, as a ReturnLocation.", NULL},
    {"name", get_of_location, NULL, "'module.qualname' of the caller.", "name"},
    {"module", get_of_location, NULL, "Name of the caller's module.", "module"},
    {"qualname", get_of_location, NULL, "Name of the caller within the module.", "qualname"},
    {"file", get_of_location, NULL, "Source file of the caller.", "file"},
    {"line", get_of_location, NULL, "Line of the call.", "line"},
    {"code", get_of_location, NULL, "Code object of the caller.", "code"},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Place that a probed call returns to."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_hash, hash},
    {Py_tp_richcompare, compare},
    {Py_tp_repr, repr},
    {Py_tp_getset, attributes},
    {Py_nb_index, as_int},
    {Py_nb_int, as_int},
    {0, NULL},
};

PyType_Spec fg_ret_ip_spec = {
    .name = "funcgraph._engine.ReturnAddress",
    .basicsize = sizeof(struct fg_ret_ip),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
