/* Code objects: what others may keep with them, by index (PEP 523's co_extra). */
#ifndef FG_COMPAT_CODE_H
#define FG_COMPAT_CODE_H

#include "arch/cpython/base/compat/python.h"
#include "internal/pycore_code.h"
#include <string.h>

/* Code extras: one indexed load. The struct is the one of Objects/codeobject.c. */
struct fg_code_extras {
    Py_ssize_t size;
    void *extras[1];
};

static inline void *fg_code_extra(PyCodeObject *code, Py_ssize_t index)
{
#ifdef Py_GIL_DISABLED
    void *extra = NULL;

    /* Other threads may be adding extras; from 3.15 on CPython guards against that itself (gh-144981). */
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

/* For an entry that is empty. -1 with an exception: memory is short.
 *
 * CPython's own function makes the array as long as there are users of extras, and a code object that is
 * freed has every entry's free function called, also for NULL: other users' functions would hear of all
 * code that we know. So the array ends at our entry; CPython lengthens it for whoever comes after us.
 * Without the GIL CPython's function has no lock before 3.15 either. */
static inline int fg_code_set_extra(PyCodeObject *code, Py_ssize_t index, void *extra)
{
#if defined(Py_GIL_DISABLED) && PY_VERSION_HEX >= 0x030F0000
    /* It frees later what others may be reading. */
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
