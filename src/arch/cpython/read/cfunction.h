/* Function records of C functions, found by their PyMethodDef. */
#ifndef FG_CPYTHON_CFUNCTION_H
#define FG_CPYTHON_CFUNCTION_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"
#include "engine/core/function.h"

/* The record of a built-in function or method descriptor, made if there is none. NULL: `callable` is
 * neither, or memory is short. */
struct fg_func *fg_cfunction_func(struct fg_interp *interp, PyObject *callable);
/* cfunction_table.h has fg_cfunction_known(), which finds the record of a definition. */
/* The definition, which identifies a C function; NULL: `callable` is not a C function. */
const PyMethodDef *fg_cfunction_definition(PyObject *callable);

/* The two parts of the record's name. */
struct fg_cfunction_name {
    char module[128], qualname[256];
};

void fg_cfunction_name(PyObject *callable, struct fg_cfunction_name *name);

/* True if `matches` returns true for at least one of the interpreter's C functions. */
bool fg_cfunctions_any(struct fg_interp *interp, bool (*matches)(struct fg_func *func));

/* Called when the interpreter ends: forgets its C functions. */
void fg_cfunctions_end(struct fg_interp *interp);

/* The key of a C function's call: its caller's frame, which can have only one such call in progress. */
static inline uintptr_t fg_cfunction_fp(const fg_pyframe *caller)
{
    return (uintptr_t)caller | 1;
}

#endif
