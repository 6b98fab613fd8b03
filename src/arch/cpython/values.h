/* Encoding Python values into records: never repr, never any code of the traced program. */
#ifndef FG_CPYTHON_VALUES_H
#define FG_CPYTHON_VALUES_H

#include "compat.h"
#include "engine/regs.h"

/* regs.frame is the frame, its arguments are in place; regs.value the result, or what is yielded. */
extern const struct ftrace_regs_ops fg_python_regs_ops;
/* The same at an end by an exception: regs.value is it. */
extern const struct ftrace_regs_ops fg_python_raise_regs_ops;
/* regs.frame is the calling frame, regs.value the first argument at entry (NULL: none is known). */
extern const struct ftrace_regs_ops fg_c_function_regs_ops;

/* What is in a Python function's regs, borrowed; NULL: there is none. Argument n, in the order of the code object's
 * variables, at an entry or a resume; the result at a return, the value at a yield; the exception at an end by one. */
PyObject *fg_regs_argument(const struct ftrace_regs *regs, unsigned n);
PyObject *fg_regs_result(const struct ftrace_regs *regs);
PyObject *fg_regs_exception(const struct ftrace_regs *regs);

#endif
