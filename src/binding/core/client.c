/* See client.h. */
#include "binding/core/client.h"

#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/core/error.h"

/* ---- callbacks: Python callables, or addresses of C functions */

/* The address of a ctypes function pointer, a numba cfunc or a cffi pointer; 0 for anything else, or with
 * an exception. Python code decides, because it takes knowledge of those packages. */
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
        PyErr_Format(PyExc_ValueError, "%s must be the address of a C function, got %R", name, callback);
        return 0;
    }
    return (uintptr_t)address;
}

int fg_client_resolve(PyObject *callback, const char *name, uintptr_t python, uintptr_t *function)
{
    *function = 0;
    if (callback == Py_None)
        return 0;
    if (PyLong_Check(callback) && !PyBool_Check(callback)) {
        *function = address_of_int(callback, name);
    } else if (!PyFunction_Check(callback) && !PyMethod_Check(callback) && !PyCFunction_Check(callback)) {
        *function = foreign_address(callback);
        if (!*function && !PyErr_Occurred() && !PyCallable_Check(callback))
            fg_raise_type(name, "a function, the address of a C function or None", callback);
    }
    if (PyErr_Occurred())
        return -1;
    if (!*function)
        *function = python;
    return 0;
}

void fg_client_set_functions(struct fg_client *self, PyObject *entryfunc, PyObject *retfunc)
{
    Py_XSETREF(self->entryfunc, Py_NewRef(entryfunc));
    Py_XSETREF(self->retfunc, Py_NewRef(retfunc));
}

const char *fg_client_set_name(struct fg_client *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name); /* cached in the str */

    if (text)
        Py_XSETREF(self->name, Py_NewRef(name));
    return text;
}

void fg_client_failed(struct fg_client *self, PyObject *function)
{
    if (fg_error_report((PyObject *)self, function, &self->last_error, &self->errors) &&
        !self->keep_on_error) {
        atomic_store(&self->is_disabled, true);
        self->disable(self);
    }
}

/* ---- the object's life */

PyObject *fg_client_new(PyTypeObject *type)
{
    PyObject *module = fg_engine_module_of(type);
    struct fg_client *self = module ? (struct fg_client *)type->tp_alloc(type, 0) : NULL;

    if (!self)
        return NULL;
    self->state = fg_engine_state(module);
    self->name = PyUnicode_FromString("");
    fg_client_set_functions(self, Py_None, Py_None);
    if (!self->name)
        Py_CLEAR(self);
    return (PyObject *)self;
}

int fg_client_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct fg_client *self = (struct fg_client *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->entryfunc);
    Py_VISIT(self->retfunc);
    Py_VISIT(self->last_error);
    return 0;
}

int fg_client_clear(PyObject *object)
{
    struct fg_client *self = (struct fg_client *)object;

    /* The object is not registered: the engine's reference would keep it alive. */
    Py_CLEAR(self->entryfunc);
    Py_CLEAR(self->retfunc);
    Py_CLEAR(self->last_error);
    return 0;
}

void fg_client_dealloc(PyObject *object)
{
    struct fg_client *self = (struct fg_client *)object;
    PyTypeObject *type = Py_TYPE(object);

    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    fg_client_clear(object);
    Py_CLEAR(self->name);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- attributes */

PyObject *fg_client_get_object(PyObject *object, void *offset)
{
    PyObject *value;

    Py_BEGIN_CRITICAL_SECTION(object);
    value = *(PyObject **)((char *)object + (uintptr_t)offset);
    value = Py_NewRef(value ? value : Py_None);
    Py_END_CRITICAL_SECTION();
    return value;
}

PyObject *fg_client_get_errors(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(atomic_load(&((struct fg_client *)object)->errors));
}

PyObject *fg_client_get_enabled(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(!fg_client_is_disabled((struct fg_client *)object));
}
