/* Reading what a hook saw at a function's boundary: arguments, result, places in the frame, where it is. Nothing here
 * runs code of the program's, allocates or raises, but for what makes a frame object. */
#ifndef FG_CPYTHON_REGS_H
#define FG_CPYTHON_REGS_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/read/values.h"
#include "engine/graph/fgraph.h"

/* The call's own frame. NULL: a C function has none, or CPython did not tell of this end. */
static inline fg_pyframe *fg_regs_frame(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_regs_ops || regs->ops == &fg_python_raise_regs_ops ? regs->frame : NULL;
}

static inline bool fg_regs_is_c(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_c_function_regs_ops;
}

/* What lies in the place of this variable, if it is a cell, holds its value. Before MAKE_CELL has run (3.11, at the entry)
 * an argument may be a cell itself. */
static inline bool fg_variable_is_in_cell(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    _PyLocals_Kind kind = _PyLocals_GetKind(code->co_localspluskinds, i);

    return (kind & CO_FAST_FREE) || ((kind & CO_FAST_CELL) && fg_pyframe_has_begun(frame));
}

static inline PyObject *fg_pyframe_argument(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    PyObject *value = fg_pyframe_local(frame, i);

    return value && PyCell_Check(value) && fg_variable_is_in_cell(frame, code, i)
               ? ((PyCellObject *)value)->ob_ref
               : value;
}

/* What is in the regs, borrowed; NULL: there is none. Argument n at an entry or a resume, in the order of the code
 * object's variables (of a C function only the first, and not always); the result at a return, the value at a yield; the
 * exception at an end by one. */
PyObject *fg_regs_argument(const struct ftrace_regs *regs, unsigned n);
PyObject *fg_regs_argument_by_name(const struct ftrace_regs *regs, const char *name);
PyObject *fg_regs_result(const struct ftrace_regs *regs);
PyObject *fg_regs_exception(const struct ftrace_regs *regs);
/* The called object; borrowed. */
PyObject *fg_regs_callable(const struct ftrace_regs *regs);

/* The number of a variable among the first `n` of a code object's, or -1. UTF-8. */
int fg_code_variable(PyCodeObject *code, int n, const char *name);

/* Where the function is: at its first instruction before it has begun; and where it returns to. False: not known. */
int fg_regs_location(const struct ftrace_regs *regs, struct ftrace_location *location);
int fg_regs_return_location(const struct ftrace_regs *regs, struct ftrace_location *location);
/* The next frame out that is Python code's, or NULL. */
fg_pyframe *fg_regs_caller(const struct ftrace_regs *regs);
uintptr_t fg_regs_find_return_address(const struct ftrace_regs *regs);

#if FG_HAVE_MONITORING
/* Of a call that runs; 0: nothing of Python's called it. Nearly every caller is a Python function, not CPython's own frame that
 * stands for C. */
static inline uintptr_t fg_pyframe_return_address(const fg_pyframe *frame)
{
    fg_pyframe *caller = frame->previous;

    if (fg_unlikely(!caller ||
                    (caller->owner != FRAME_OWNED_BY_THREAD && caller->owner != FRAME_OWNED_BY_GENERATOR)))
        caller = fg_complete_pyframe(caller);
    return caller ? (uintptr_t)fg_pyframe_instruction(caller) : 0;
}
#endif

/* Python functions; a C function in between is not among them. */
size_t fg_regs_find_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);

/* Addresses; 0: not known. The stack pointer is that just above what lies on the evaluation stack. */
uintptr_t fg_regs_frame_pointer(const struct ftrace_regs *regs);
uintptr_t fg_regs_stack_pointer(const struct ftrace_regs *regs);
/* How many objects lie on the evaluation stack, without the result; -1: not known. */
int fg_regs_stack_depth(const struct ftrace_regs *regs);
/* Places: all variables of the code object, then the evaluation stack. -1: there is no variable of this name. */
int fg_regs_query_offset(const struct ftrace_regs *regs, const char *name);
PyObject *fg_regs_stack_nth(const struct ftrace_regs *regs,
                            unsigned n); /* borrowed; NULL: nothing, or no place */
/* The same for Python code: new reference. */
PyObject *fg_regs_take_nth(const struct ftrace_regs *regs, unsigned n);

/* The call's frame object, as sys._getframe() would give it to the function itself. `newest` was the thread's newest frame
 * when the hook ran. New reference; NULL without an exception: no memory. */
PyObject *fg_regs_frame_object(const struct ftrace_regs *regs, PyThreadState *tstate, fg_pyframe *newest);

#endif
