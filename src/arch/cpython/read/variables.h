/* The variables of a frame, and what lies on its evaluation stack. Nothing here runs code of the program,
 * allocates or raises. */
#ifndef FG_CPYTHON_VARIABLES_H
#define FG_CPYTHON_VARIABLES_H

#include "arch/cpython/base/compat/frame.h"

/* Variable `i` is held by a cell, if a cell lies in its place. At the entry on 3.11, before MAKE_CELL has
 * run, a cell there is the argument itself. */
static inline bool fg_variable_is_in_cell(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);

    return (kind & CO_FAST_FREE) || ((kind & CO_FAST_CELL) && fg_pyframe_has_begun(frame));
}

/* The value of argument `i`; borrowed; NULL: it is unbound. */
static inline PyObject *fg_pyframe_argument(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    PyObject *value = fg_pyframe_local(frame, i);

    return value && PyCell_Check(value) && fg_variable_is_in_cell(frame, code, i)
               ? ((PyCellObject *)value)->ob_ref
               : value;
}

/* The call is at its first instruction, or before it. */
static inline bool fg_pyframe_is_at_start(fg_pyframe *frame)
{
    return _PyInterpreterFrame_LASTI(frame) <= fg_pyframe_code(frame)->_co_firsttraceable;
}

/* The number of a variable among the first `n` of a code object's, or -1. UTF-8. */
int fg_code_variable(PyCodeObject *code, int n, const char *name);

/**
 * fg_pyframe_place() - What lies in a place of a frame: its variables first, then its evaluation stack.
 * @depth: how many objects lie on the evaluation stack, or -1
 * @is_cell: set: a cell lies there, which holds the variable's value
 *
 * Return: borrowed; NULL: nothing lies there, or there is no such place.
 */
PyObject *fg_pyframe_place(fg_pyframe *frame, unsigned n, int depth, bool *is_cell);

/**
 * fg_pyframe_operands() - How many objects lie on a frame's evaluation stack.
 * @result: what the call returns or yields at this moment, which is not counted; NULL: it does neither
 *
 * Return: -1: only the evaluator knows.
 */
int fg_pyframe_operands(fg_pyframe *frame, const PyObject *result);

#endif
