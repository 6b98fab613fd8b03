/* The variables and the evaluation stack of a frame. Nothing here runs code of the program, allocates
 * or raises. */
#ifndef FG_CPYTHON_VARIABLES_H
#define FG_CPYTHON_VARIABLES_H

#include "arch/cpython/base/compat/frame.h"

/* True if a cell in the slot of variable `i` holds the variable. At the entry on 3.11 MAKE_CELL has not
 * run, so a cell in the slot is the argument itself. */
static inline bool fg_variable_is_in_cell(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);

    return (kind & CO_FAST_FREE) || ((kind & CO_FAST_CELL) && fg_pyframe_has_begun(frame));
}

/* Argument `i`, borrowed; NULL: unbound. */
static inline PyObject *fg_pyframe_argument(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    PyObject *value = fg_pyframe_local(frame, i);

    return value && PyCell_Check(value) && fg_variable_is_in_cell(frame, code, i)
               ? ((PyCellObject *)value)->ob_ref
               : value;
}

/* True if the call is at its first instruction or before it. */
static inline bool fg_pyframe_is_at_start(fg_pyframe *frame)
{
    return _PyInterpreterFrame_LASTI(frame) <= fg_pyframe_code(frame)->_co_firsttraceable;
}

/* The index of the variable @name (UTF-8) among the first @n of a code object; -1: no such variable. */
int fg_code_variable(PyCodeObject *code, int n, const char *name);

/**
 * fg_pyframe_place() - The object in a slot of a frame: its variables first, then its evaluation stack.
 * @n: the slot
 * @depth: how many objects lie on the evaluation stack, or -1: not known
 * @is_cell: set to true if the object is a cell that holds the variable's value
 *
 * Return: borrowed; NULL: the slot is empty, or there is no such slot.
 */
PyObject *fg_pyframe_place(fg_pyframe *frame, unsigned n, int depth, bool *is_cell);

/**
 * fg_pyframe_operands() - How many objects lie on a frame's evaluation stack.
 * @result: the object that the call is returning or yielding, which is not counted; NULL: it does neither
 *
 * Return: -1: only the evaluator knows the depth.
 */
int fg_pyframe_operands(fg_pyframe *frame, const PyObject *result);

#endif
