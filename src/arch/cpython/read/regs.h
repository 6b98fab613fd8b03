/* Reading the state of a call at a hook: arguments, result, the frame's slots, location. Nothing here runs
 * code of the program, allocates or raises, with two exceptions: fg_regs_frame_object() allocates, and
 * reading callers makes the records of those that have none. */
#ifndef FG_CPYTHON_REGS_H
#define FG_CPYTHON_REGS_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/base/compiler.h"
#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/regs.h"

/* At an entry `frame` is the call's frame, and the arguments are in place. At a return or a yield
 * `value` is the returned or yielded object. */
extern const struct ftrace_regs_ops fg_python_regs_ops;
/* The call ends with an exception, which is `value`. */
extern const struct ftrace_regs_ops fg_python_raise_regs_ops;
/* A place within a function that a kprobe probes: `frame` is the running frame. `value` is NULL. */
extern const struct ftrace_regs_ops fg_place_regs_ops;
/* A call of a C function: `frame` is the calling frame. At the entry `value` is the first argument, or
 * NULL if that is not known. */
extern const struct ftrace_regs_ops fg_c_function_regs_ops;

/* A static event (arch/cpython/static/): `frame` is the running frame, or NULL. */
extern const struct ftrace_regs_ops fg_event_values_regs_ops;

/* The regs of a C function's call, with the called object: no frame has it. */
struct fg_c_function_regs {
    struct ftrace_regs regs;
    PyObject *callable; /* borrowed */
};

/* The regs of a call whose frame is freed, or reused by another call. */
static inline struct ftrace_regs fg_no_regs(void)
{
    return (struct ftrace_regs){&fg_python_regs_ops, NULL, NULL, NULL};
}

/* The call's own frame. NULL: the call is of a C function, or no event reported this end. */
static inline fg_pyframe *fg_regs_frame(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_regs_ops || regs->ops == &fg_python_raise_regs_ops ||
                   regs->ops == &fg_place_regs_ops || regs->ops == &fg_event_values_regs_ops
               ? regs->frame
               : NULL;
}

/* True for the regs of a kprobe: they show the full frame to whoever asks. */
static inline bool fg_regs_is_full(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_place_regs_ops;
}

static inline bool fg_regs_is_c(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_c_function_regs_ops;
}

/* Each returns a borrowed reference, or NULL where the regs hold no such object. Arguments exist at an
 * entry or a resume, and are numbered in the order of the code object's variables. For a C function
 * there is only argument 0, and not always. The result exists at a return or a yield, the exception
 * where one ends the call. */
PyObject *fg_regs_argument(const struct ftrace_regs *regs, unsigned n);
/* How many arguments there are; 0: the regs are of a return or of a kprobe. */
unsigned fg_regs_argument_count(const struct ftrace_regs *regs);
PyObject *fg_regs_argument_by_name(const struct ftrace_regs *regs, const char *name);
PyObject *fg_regs_result(const struct ftrace_regs *regs);
PyObject *fg_regs_exception(const struct ftrace_regs *regs);
/* The called object, borrowed. */
PyObject *fg_regs_callable(const struct ftrace_regs *regs);

/* The current location in the function, and the location to which it returns. Before its first
 * instruction has run, a function is at that instruction. Return: 0: not known. */
int fg_regs_location(const struct ftrace_regs *regs, struct ftrace_location *location);
int fg_regs_return_location(const struct ftrace_regs *regs, struct ftrace_location *location);
/* The location of a complete frame. NULL: none is known. Return: 0: not known. */
int fg_pyframe_locate(fg_pyframe *frame, struct ftrace_location *location);
/* The frame of the calling Python function, or NULL. */
fg_pyframe *fg_regs_caller(const struct ftrace_regs *regs);
uintptr_t fg_regs_find_return_address(const struct ftrace_regs *regs);

#if FG_HAVE_MONITORING
/* The return address of a running call; 0: no Python function called it. Nearly every caller is a
 * Python function. The slow branch passes over the frames by which CPython marks calls from C. */
static inline uintptr_t fg_pyframe_return_address(const fg_pyframe *frame)
{
    fg_pyframe *caller = frame->previous;

    if (fg_unlikely(!caller ||
                    (caller->owner != FRAME_OWNED_BY_THREAD && caller->owner != FRAME_OWNED_BY_GENERATOR)))
        caller = fg_complete_pyframe(caller);
    return caller ? (uintptr_t)fg_pyframe_instruction(caller) : 0;
}
#endif

/* Writes up to @n callers, innermost first. C functions between the Python functions are left out.
 * Return: how many. */
size_t fg_regs_find_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n);

/* Addresses; 0: not known. The stack pointer is the address right after the newest object on the
 * evaluation stack. */
uintptr_t fg_regs_frame_pointer(const struct ftrace_regs *regs);
uintptr_t fg_regs_stack_pointer(const struct ftrace_regs *regs);
/* The address of the current instruction; 0: not known. */
uintptr_t fg_regs_instruction_address(const struct ftrace_regs *regs);
/* How many objects lie on the evaluation stack, not counting the result; -1: not known. */
int fg_regs_stack_depth(const struct ftrace_regs *regs);
/* The slot number of a variable: slots are all variables of the code object, then the evaluation stack.
 * -1: no variable has this name. */
int fg_regs_query_offset(const struct ftrace_regs *regs, const char *name);
/* The object in slot @n, borrowed. NULL: the slot is empty, or there is no such slot. */
PyObject *fg_regs_stack_nth(const struct ftrace_regs *regs, unsigned n);
/* The same, but a new reference and safe without the GIL: for objects that are handed to Python code. */
PyObject *fg_regs_take_nth(const struct ftrace_regs *regs, unsigned n);

/* The call's frame object, as sys._getframe() would return it in the function itself. `newest` is the
 * frame that was the thread's newest when the hook ran. New reference; NULL without an exception:
 * memory is short. */
PyObject *fg_regs_frame_object(const struct ftrace_regs *regs, PyThreadState *tstate, fg_pyframe *newest);

#endif
