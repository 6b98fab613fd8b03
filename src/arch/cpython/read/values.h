/* Encoding Python values into records: never repr, never any code of the traced program. */
#ifndef FG_CPYTHON_VALUES_H
#define FG_CPYTHON_VALUES_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/regs.h"

/* regs.frame is the frame, its arguments are in place; regs.value the result, or what is yielded. */
extern const struct ftrace_regs_ops fg_python_regs_ops;
/* The same at an end by an exception: regs.value is it. */
extern const struct ftrace_regs_ops fg_python_raise_regs_ops;
/* regs.frame is the calling frame, regs.value the first argument at entry (NULL: none is known). */
extern const struct ftrace_regs_ops fg_c_function_regs_ops;

/* The regs that these ops are of: no frame tells which C function was called. */
struct fg_c_function_regs {
    struct ftrace_regs regs;
    PyObject *callable; /* borrowed */
};

/* Of a call whose frame is gone, or is another call's by now. */
static inline struct ftrace_regs fg_no_regs(void)
{
    return (struct ftrace_regs){&fg_python_regs_ops, NULL, NULL, NULL};
}

/* A character in UTF-8; a lone surrogate, which has none, as U+FFFD. Returns the bytes used. */
size_t fg_utf8_of(Py_UCS4 c, uint8_t out[4]);

#endif
