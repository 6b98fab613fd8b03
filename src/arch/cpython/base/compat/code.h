/* Code objects: the extra data that extensions keep with them, by index (PEP 523's co_extra). */
#ifndef FG_COMPAT_CODE_H
#define FG_COMPAT_CODE_H

#include "arch/cpython/base/compat/python.h"

#include <string.h>

#include "internal/pycore_code.h"

/* The struct _PyCodeObjectExtra of Objects/codeobject.c. Reading an extra takes one indexed load. */
struct fg_code_extras {
    Py_ssize_t size;
    void *extras[1];
};

static inline void *fg_code_extra(PyCodeObject *code, Py_ssize_t index)
{
#ifdef Py_GIL_DISABLED
    void *extra = NULL;

    /* Other threads may be adding extras. From 3.15 on CPython guards against that (gh-144981). */
    PyUnstable_Code_GetExtra((PyObject *)code, index, &extra);
    return extra;
#else
    const struct fg_code_extras *extras = code->co_extra;

    return extras && index < extras->size ? extras->extras[index] : NULL;
#endif
}

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#endif

/* Stores our extra data in an entry that is still empty. Return: 0; -1 with an exception: memory is short.
 *
 * CPython's own function makes the array as long as there are users of extras. When a code object is
 * freed, CPython calls the free function of every entry in the array, also for NULL. So other users' free
 * functions would be called for every code object that we know. To prevent that, our array ends at our
 * entry. CPython lengthens it for users that come after us. Before 3.15 CPython's function takes no lock
 * without the GIL either. */
static inline int fg_code_set_extra(PyCodeObject *code, Py_ssize_t index, void *extra)
{
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030F0000
    /* CPython delays freeing the old array, which other threads may be reading. */
    return PyUnstable_Code_SetExtra((PyObject *)code, index, extra);
#else
    struct fg_code_extras *extras = code->co_extra;
    Py_ssize_t size = extras ? extras->size : 0;

    if (size <= index) {
        extras = PyMem_Realloc(extras, sizeof(*extras) + (size_t)index * sizeof(void *));
        if (!extras) {
            PyErr_NoMemory();
            return -1;
        }
        memset(extras->extras + size, 0, (size_t)(index + 1 - size) * sizeof(void *));
        extras->size = index + 1;
        code->co_extra = extras;
    }
    extras->extras[index] = extra;
    return 0;
#endif
}

#endif
