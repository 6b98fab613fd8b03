/* Reading what a hook saw at a function's boundary: arguments, result, places of the frame, location.
 * Nothing here runs code of the program, allocates or raises, except for what makes a frame object. */
#ifndef FG_CPYTHON_REGS_H
#define FG_CPYTHON_REGS_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/core/compiler.h"
#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/regs.h"

/* At the entry of a call `frame` is its frame and the arguments are in place. At a return or a yield
 * `value` is the result, or what is yielded. */
extern const struct ftrace_regs_ops fg_python_regs_ops;
/* The call ends by an exception, which is `value`. */
extern const struct ftrace_regs_ops fg_python_raise_regs_ops;
/* A call of a C function: `frame` is the calling frame; at the entry `value` is the first argument, or
 * NULL if that is not known. */
extern const struct ftrace_regs_ops fg_c_function_regs_ops;

/* The regs of a C function's call: no frame tells which function was called. */
struct fg_c_function_regs {
    struct ftrace_regs regs;
    PyObject *callable; /* borrowed */
};

/* The regs of a call whose frame is gone, or is another call's by now. */
static inline struct ftrace_regs fg_no_regs(void)
{
    return (struct ftrace_regs){&fg_python_regs_ops, NULL, NULL, NULL};
}

/* The call's own frame. NULL: a C function has none, or no event told this end. */
static inline fg_pyframe *fg_regs_frame(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_regs_ops || regs->ops == &fg_python_raise_regs_ops ? regs->frame : NULL;
}

static inline bool fg_regs_is_c(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_c_function_regs_ops;
}

/* What the regs hold, borrowed; NULL: nothing. Argument n at an entry or a resume, in the order of the
 * code object's variables (of a C function only the first, and not always); the result at a return; the
 * value at a yield; the exception where one ends the call. */
PyObject *fg_regs_argument(const struct ftrace_regs *regs, unsigned n);
PyObject *fg_regs_argument_by_name(const struct ftrace_regs *regs, const char *name);
PyObject *fg_regs_result(const struct ftrace_regs *regs);
PyObject *fg_regs_exception(const struct ftrace_regs *regs);
/* The called object; borrowed. */
PyObject *fg_regs_callable(const struct ftrace_regs *regs);

/* The location in the function (its first instruction before it has begun), and where it returns to. 0:
 * not known. */
int fg_regs_location(const struct ftrace_regs *regs, struct ftrace_location *location);
int fg_regs_return_location(const struct ftrace_regs *regs, struct ftrace_location *location);
/* The frame of the calling Python function, or NULL. */
fg_pyframe *fg_regs_caller(const struct ftrace_regs *regs);
uintptr_t fg_regs_find_return_address(const struct ftrace_regs *regs);

#if FG_HAVE_MONITORING
/* Of a running call; 0: no Python function called it. Nearly every caller is a Python function, not the
 * frame with which CPython marks C. */
static inline uintptr_t fg_pyframe_return_address(const fg_pyframe *frame)
{
    fg_pyframe *caller = frame->previous;

    if (fg_unlikely(!caller ||
                    (caller->owner != FRAME_OWNED_BY_THREAD && caller->owner != FRAME_OWNED_BY_GENERATOR)))
        caller = fg_complete_pyframe(caller);
    return caller ? (uintptr_t)fg_pyframe_instruction(caller) : 0;
}
#endif

/* Callers that are Python functions; C functions between them are left out. */
size_t fg_regs_find_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);

/* Addresses; 0: not known. The stack pointer is the address after the newest object of the evaluation
 * stack. */
uintptr_t fg_regs_frame_pointer(const struct ftrace_regs *regs);
uintptr_t fg_regs_stack_pointer(const struct ftrace_regs *regs);
/* How many objects lie on the evaluation stack, without the result; -1: not known. */
int fg_regs_stack_depth(const struct ftrace_regs *regs);
/* Places: all variables of the code object, then the evaluation stack. -1: there is no variable of this
 * name. */
int fg_regs_query_offset(const struct ftrace_regs *regs, const char *name);
PyObject *fg_regs_stack_nth(const struct ftrace_regs *regs,
                            unsigned n); /* borrowed; NULL: nothing, or no place */
/* The same for Python code: new reference. */
PyObject *fg_regs_take_nth(const struct ftrace_regs *regs, unsigned n);

/* The call's frame object, as sys._getframe() would give it to the function itself. `newest` was the
 * thread's newest frame when the hook ran. New reference; NULL without an exception: no memory. */
PyObject *fg_regs_frame_object(const struct ftrace_regs *regs, PyThreadState *tstate, fg_pyframe *newest);

#endif
