/* Function records of functions implemented in C, found by their method definition. */
#ifndef FG_CPYTHON_CFUNCTION_H
#define FG_CPYTHON_CFUNCTION_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"
#include "engine/core/function.h"

/* The interpreter's record of a built-in function or method descriptor; NULL for any other callable, or
 * without memory. */
struct fg_func *fg_cfunction_func(struct fg_interp *interp, PyObject *callable);
/* The same, or NULL if there is no record yet. */
struct fg_func *fg_cfunction_known(struct fg_interp *interp, const PyMethodDef *definition);
/* The definition, which identifies a C function; NULL: `callable` is none. */
const PyMethodDef *fg_cfunction_definition(PyObject *callable);

/* The two parts of the record's name. */
struct fg_cfunction_name {
    char module[128], qualname[256];
};

void fg_cfunction_name(PyObject *callable, struct fg_cfunction_name *name);

/* True if `matches` is true of one of the interpreter's C functions. */
bool fg_cfunctions_any(struct fg_interp *interp, bool (*matches)(struct fg_func *func));

/* The interpreter is ending. */
void fg_cfunctions_end(struct fg_interp *interp);

/* A call of a C function is identified by its caller's frame, which has only one such call in progress. */
static inline uintptr_t fg_cfunction_fp(const fg_pyframe *caller)
{
    return (uintptr_t)caller | 1;
}

#endif
