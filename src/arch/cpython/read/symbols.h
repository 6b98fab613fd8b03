/* All functions of an interpreter, called or not (the kernel's kallsyms): function objects, functions
 * nested in their code that have no object yet, and C functions. No code of the program runs during a
 * search. */
#ifndef FG_CPYTHON_SYMBOLS_H
#define FG_CPYTHON_SYMBOLS_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "engine/graph/filter.h"

enum fg_symbol_kinds { FG_SYMBOLS_PYTHON = 1, FG_SYMBOLS_C = 2 };

/* A search. Its functions are called with the interpreter's thread state attached, and without locks. */
struct fg_symbols_query {
    unsigned kinds; /* enum fg_symbol_kinds */
    /* `name` is "module.qualname". The texts live as long as the call. */
    bool (*wants)(const char *name, const char *module, bool is_c, void *arg);
    /* Optional: gets the record of each function that is wanted. The function lives as long as the
     * search. */
    void (*found)(struct fg_func *func, void *arg);
    void *arg;
};

/* Makes the records of all functions that are wanted. Returns how many there are, or -ENOMEM. The engine
 * is running (fg_cpython_init). */
Py_ssize_t fg_symbols_meet(struct fg_interp *interp, const struct fg_symbols_query *query);

/* C functions that a filter names get their records, by which the engine finds them: those of modules
 * that are imported. 0, or -ENOMEM. */
int fg_symbols_meet_named_c(struct fg_interp *interp, const struct fg_filter *filter);

/* The record of a Python function, a method, a static or class method, a code object or a C function,
 * made if need be. NULL: it is none, no function has this code, or memory is short; no exception is set. */
struct fg_func *fg_symbols_func_of(struct fg_interp *interp, PyObject *callable);

#endif
