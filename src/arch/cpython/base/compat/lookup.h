/* Looking up entries of dicts, attributes of types, and modules, without running code of the program. */
#ifndef FG_COMPAT_LOOKUP_H
#define FG_COMPAT_LOOKUP_H

#include "arch/cpython/base/compat/python.h"

/* True for a Python function, also while a call hook is installed on it (on 3.11 it then has another
 * type, see call_hook.c). */
static inline bool fg_is_function(PyObject *object)
{
#if FG_HAVE_MONITORING
    return PyFunction_Check(object);
#else
    return PyFunction_Check(object) || Py_TYPE(object)->tp_base == &PyFunction_Type;
#endif
}

/* dict[key], or NULL; no exception is left set. New reference: without the GIL another thread may free
 * a borrowed one. */
static inline PyObject *fg_dict_get(PyObject *dict, const char *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;

    if (PyDict_GetItemStringRef(dict, key, &value) < 0)
        PyErr_Clear();
    return value;
#else
    return Py_XNewRef(PyDict_GetItemString(dict, key));
#endif
}

static inline PyObject *fg_dict_get_item(PyObject *dict, PyObject *key)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *value = NULL;

    if (PyDict_GetItemRef(dict, key, &value) < 0)
        PyErr_Clear();
    return value;
#else
    return Py_XNewRef(PyDict_GetItem(dict, key));
#endif
}

/* The attribute @name of the type or of one of its bases. Reads only their dicts. New reference, or
 * NULL. */
static inline PyObject *fg_type_lookup(PyTypeObject *type, PyObject *name)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyType_LookupRef(type, name);
#else
    return Py_XNewRef(_PyType_Lookup(type, name));
#endif
}

/* A module that is imported already. Never imports. New reference, or NULL, possibly with an exception. */
static inline PyObject *fg_imported(const char *name, size_t bytes)
{
    PyObject *key = PyUnicode_FromStringAndSize(name, (Py_ssize_t)bytes);
    PyObject *module = key ? PyImport_GetModule(key) : NULL;

    Py_XDECREF(key);
    if (module && !PyModule_CheckExact(module))
        Py_CLEAR(module);
    return module;
}

static inline bool fg_type_has(PyTypeObject *type, PyObject *name)
{
    PyObject *value = fg_type_lookup(type, name);

    Py_XDECREF(value);
    return value;
}

/* The method resolution order, or NULL. New reference: without the GIL another thread may be replacing
 * it. */
static inline PyObject *fg_type_mro(PyTypeObject *type)
{
#ifdef Py_GIL_DISABLED
    /* Call the getter of type.__mro__ itself: a metaclass may override the attribute. */
    PyObject *getters = PyType_GetDict(&PyType_Type);
    PyObject *getter = getters ? fg_dict_get(getters, "__mro__") : NULL;
    PyObject *mro =
        getter ? Py_TYPE(getter)->tp_descr_get(getter, (PyObject *)type, (PyObject *)Py_TYPE(type)) : NULL;

    Py_XDECREF(getter);
    Py_XDECREF(getters);
    if (!mro)
        PyErr_Clear();
    else if (!PyTuple_CheckExact(mro))
        Py_CLEAR(mro);
    return mro;
#else
    return Py_XNewRef(type->tp_mro);
#endif
}

#endif
