/* Function records of code objects. A record is made at the function's first call, or earlier by
 * symbols.c. It is stored in the code object's extra slot. */
#ifndef FG_CPYTHON_CODE_H
#define FG_CPYTHON_CODE_H

#include "arch/cpython/base/compat/code.h"
#include "arch/cpython/base/compat/frame.h"
#include "engine/base/compiler.h"
#include "engine/core/function.h"

extern Py_ssize_t fg_code_extra_index; /* -1 before fg_code_init */

/* Return: 0; -1 with an exception: no slot is free. */
int fg_code_init(void);

/* The record of a code object, or NULL if it has none yet. */
static inline struct fg_func *fg_code_func(PyCodeObject *code)
{
    return fg_code_extra(code, fg_code_extra_index);
}

/* The code object of a Python function; another thread may be freeing it. New reference, or NULL: it is
 * gone, or the function is a C function. */
PyCodeObject *fg_code_of(struct fg_func *func);

/* Makes the record of the code that `frame` runs. Runs no code of the program. Inside the guard or outside,
 * without locks. Return: NULL if memory is short; no exception is left set. */
FG_COLD struct fg_func *fg_code_discover(fg_pyframe *frame);

/**
 * fg_code_meet() - Return a code object's record; make it if there is none.
 * @module: from fg_code_module(), or NULL
 *
 * An exception may be left set, so the caller saves its own.
 *
 * Return: NULL if memory is short.
 */
struct fg_func *fg_code_meet(PyCodeObject *code, PyObject *module);

/* The module name in a function's globals: an exact str, or NULL. Runs no code of the program. New
 * reference. */
PyObject *fg_code_module(PyObject *globals);

/* The two parts of the record's name. Valid as long as `code` and `module` live. */
struct fg_code_name {
    const char *module, *qualname;
};

struct fg_code_name fg_code_name(const PyCodeObject *code, PyObject *module);

/* The number of arguments. They are the first variables of the code: positional, keyword-only, *args,
 * **kwargs. */
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
