/* See types.h. */
#include "binding/base/types.h"

#include <stdbool.h>

int fg_make_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    *type = (PyTypeObject *)PyType_FromModuleAndSpec(module, spec, NULL);
    return *type ? 0 : -1;
}

int fg_add_type(PyObject *module, PyType_Spec *spec, PyTypeObject **type)
{
    return fg_make_type(module, spec, type) == 0 ? PyModule_AddType(module, *type) : -1;
}

int fg_add_sequence(PyObject *module, PyStructSequence_Desc *desc, PyTypeObject **type)
{
    *type = PyStructSequence_NewType(desc);
    return *type ? PyModule_AddType(module, *type) : -1;
}

PyObject *fg_sequence_of(PyTypeObject *type, PyObject *const items[], Py_ssize_t n)
{
    PyObject *sequence = PyStructSequence_New(type);
    bool is_complete = sequence != NULL;

    for (Py_ssize_t i = 0; i < n; i++) {
        is_complete = is_complete && items[i];
        if (sequence)
            PyStructSequence_SetItem(sequence, i, items[i]);
        else
            Py_XDECREF(items[i]);
    }
    if (!is_complete)
        Py_CLEAR(sequence);
    return sequence;
}

void fg_dealloc_plain(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    PyObject_Free(object);
    Py_DECREF(type);
}
