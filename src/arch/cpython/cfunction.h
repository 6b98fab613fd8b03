/* Function records of functions implemented in C, found by their method definition. */
#ifndef FG_CPYTHON_CFUNCTION_H
#define FG_CPYTHON_CFUNCTION_H

#include "compat.h"
#include "engine/fgraph.h"
#include "interp.h"

/* The interpreter's record of a built-in function or method descriptor; NULL for any other callable, or without
 * memory. */
struct fg_func *fg_cfunction_func(struct fg_interp *interp, PyObject *callable);
/* The interpreter is ending. */
void fg_cfunctions_end(struct fg_interp *interp);

/* A C function's call is known by the frame that calls it: one such frame has one C call in progress. */
static inline uintptr_t fg_cfunction_fp(const fg_pyframe *caller)
{
    return (uintptr_t)caller | 1;
}

#endif
