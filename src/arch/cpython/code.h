/* Function records of code objects: found at a function's first call, held in the code object's extra slot. */
#ifndef FG_CPYTHON_CODE_H
#define FG_CPYTHON_CODE_H

#include "compat.h"
#include "engine/fgraph.h"

extern Py_ssize_t fg_code_extra_index; /* -1 before fg_code_init */

/* -1 with an exception: no slot left. */
int fg_code_init(void);

/* The record of a code object, or NULL if it was not met yet. */
static inline struct fg_func *fg_code_func(PyCodeObject *code)
{
    return fg_code_extra(code, fg_code_extra_index);
}

/* Makes the record of the code that `frame` runs. NULL when memory is short; no exception is left set. */
FG_COLD struct fg_func *fg_code_discover(fg_pyframe *frame);

/* The arguments are the first of its variables: those by position, by keyword, *args, **kwargs. */
static inline int fg_code_argument_count(const PyCodeObject *code)
{
    return code->co_argcount + code->co_kwonlyargcount + !!(code->co_flags & CO_VARARGS) +
           !!(code->co_flags & CO_VARKEYWORDS);
}

static inline bool fg_code_is_generator(const PyCodeObject *code)
{
    return code->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR);
}

#endif
