/* All functions of an interpreter, called or not (like the kernel's kallsyms): function objects, functions
 * nested in their code that have no object yet, and C functions. A search runs no code of the program. */
#ifndef FG_CPYTHON_SYMBOLS_H
#define FG_CPYTHON_SYMBOLS_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"
#include "arch/cpython/read/name_tails.h"
#include "engine/graph/filter.h"

enum fg_symbol_kinds { FG_SYMBOLS_PYTHON = 1, FG_SYMBOLS_C = 2 };

/* A search. Its callbacks run with the interpreter's thread state attached and no locks held. */
struct fg_symbols_query {
    unsigned kinds; /* enum fg_symbol_kinds */
    /* True if the search should include this function. `name` is "module.qualname". Both strings are
     * valid only during the call. */
    bool (*wants)(const char *name, const char *module, bool is_c, void *arg);
    /* Optional: called with the record of each matching function. The function is alive during the search. */
    void (*found)(struct fg_func *func, void *arg);
    void *arg;
    /* Set if `wants` holds for whole names only: these names. Of the Python functions, and of the C
     * functions. The search then does not make the names of other functions. */
    const struct fg_name_tails *python_names, *c_names;
    bool first_only; /* stop at the first match */
};

/**
 * fg_symbols_meet() - Make the records of all functions that a query wants.
 *
 * Return: the number of matching functions, or -ENOMEM.
 * Context: the engine is running (fg_cpython_init); the interpreter's thread state is attached.
 */
Py_ssize_t fg_symbols_meet(struct fg_interp *interp, const struct fg_symbols_query *query);

/**
 * fg_symbols_meet_named_c() - Make the records of the C functions that a filter names.
 *
 * The engine finds a function by its record. Only functions of imported modules are found.
 *
 * Return: 0, or -ENOMEM.
 */
int fg_symbols_meet_named_c(struct fg_interp *interp, const struct fg_filter *filter);

/**
 * fg_symbols_func_of() - The record of one callable, made if necessary.
 * @callable: a Python function, a method, a static or class method, a code object or a C function
 *
 * Return: NULL: not such an object, no function of @interp has this code, or memory is short. No exception
 * is set.
 */
struct fg_func *fg_symbols_func_of(struct fg_interp *interp, PyObject *callable);

#endif
