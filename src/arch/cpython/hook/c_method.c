/* See c_method.h. */
#include "arch/cpython/hook/c_method.h"

#include <string.h>

PyMethodDef *fg_c_method_of(PyTypeObject *type, const char *name)
{
    for (PyMethodDef *method = type->tp_methods; method && method->ml_name; method++) {
        if (strcmp(method->ml_name, name) == 0)
            return method;
    }
    return NULL;
}

void fg_c_method_stand_before(struct fg_c_method *at, PyMethodDef *method, int flags, PyCFunction ours)
{
    if (at->method || !method || method->ml_flags != flags)
        return;
    *at = (struct fg_c_method){method, method->ml_meth, ours};
    method->ml_meth = ours;
}

void fg_c_method_step_aside(struct fg_c_method *at)
{
    if (!at->method || at->method->ml_meth != at->ours)
        return;
    at->method->ml_meth = at->original;
    at->method = NULL;
}
