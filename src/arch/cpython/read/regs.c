/* See regs.h. The data is read from the interpreter's own frame. */
#include "arch/cpython/read/regs.h"

#include "arch/cpython/base/compat/discard.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/values.h"
#include "arch/cpython/read/variables.h"
#include "arch/cpython/value/value_parts.h"
#include "engine/base/compiler.h"
#include "engine/core/public.h"

/* ---- a frame's slots: variables, then evaluation stack */

static PyObject *place(const struct ftrace_regs *regs, unsigned n, bool *is_cell)
{
    fg_pyframe *frame = fg_regs_frame(regs);

    *is_cell = false;
    return frame ? fg_pyframe_place(frame, n, fg_regs_stack_depth(regs), is_cell) : NULL;
}

PyObject *fg_regs_stack_nth(const struct ftrace_regs *regs, unsigned n)
{
    bool is_cell;
    PyObject *value = place(regs, n, &is_cell);

    return is_cell ? ((PyCellObject *)value)->ob_ref : value;
}

PyObject *fg_regs_take_nth(const struct ftrace_regs *regs, unsigned n)
{
    bool is_cell;
    PyObject *value = place(regs, n, &is_cell);

    /* Without the GIL another thread may set the cell at this moment. */
    return is_cell ? PyCell_Get(value) : Py_XNewRef(value);
}

int fg_regs_query_offset(const struct ftrace_regs *regs, const char *name)
{
    fg_pyframe *frame = fg_regs_frame(regs);
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;

    return code ? fg_code_variable(code, code->co_nlocalsplus, name) : -1;
}

/* ---- arguments, result and exception */

/* The frame, if its variables still are the arguments: at a return the function may have assigned to
 * them. */
static inline fg_pyframe *frame_with_arguments(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_regs_ops && !regs->value ? regs->frame : NULL;
}

PyObject *fg_regs_argument(const struct ftrace_regs *regs, unsigned n)
{
    fg_pyframe *frame = frame_with_arguments(regs);
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;

    if (fg_unlikely(!frame))
        return fg_regs_is_c(regs) && n == 0 ? regs->value : NULL;
    if (fg_unlikely(n >= (unsigned)code->co_argcount) && n >= (unsigned)fg_code_argument_count(code))
        return NULL;
    return fg_pyframe_argument(frame, code, (int)n);
}

unsigned fg_regs_argument_count(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = frame_with_arguments(regs);

    if (fg_regs_is_c(regs))
        return regs->value != NULL;
    return frame ? (unsigned)fg_code_argument_count(fg_pyframe_code(frame)) : 0;
}

PyObject *fg_regs_argument_by_name(const struct ftrace_regs *regs, const char *name)
{
    fg_pyframe *frame = frame_with_arguments(regs);
    PyCodeObject *code = frame ? fg_pyframe_code(frame) : NULL;
    int n = code ? fg_code_variable(code, fg_code_argument_count(code), name) : -1;

    return n >= 0 ? fg_pyframe_argument(frame, code, n) : NULL;
}

PyObject *fg_regs_result(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_regs_ops ? regs->value : NULL;
}

PyObject *fg_regs_exception(const struct ftrace_regs *regs)
{
    return regs->ops == &fg_python_raise_regs_ops ? regs->value : NULL;
}

PyObject *fg_regs_callable(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_frame(regs);

    if (fg_regs_is_c(regs))
        return fg_container_of(regs, const struct fg_c_function_regs, regs)->callable;
    return frame ? fg_pyframe_function(frame) : NULL;
}

/* ---- locations and callers */

/* On 3.11 the call's own frame is linked to its caller only while it runs. At its entry and at its end
 * the thread's newest frame is the caller's; at a kprobe it is the call's own. */
fg_pyframe *fg_regs_caller(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_is_c(regs) ? regs->frame : fg_regs_frame(regs);

    if (!frame || fg_regs_is_c(regs))
        return fg_complete_pyframe(frame);
#if FG_HAVE_MONITORING
    return fg_complete_pyframe(frame->previous);
#else
    {
        fg_pyframe *newest = fg_current_pyframe(regs->thread ? regs->thread : fg_tstate());

        return fg_complete_pyframe(newest == frame ? frame->previous : newest);
    }
#endif
}

static void locate(fg_pyframe *frame, struct ftrace_location *location)
{
    PyCodeObject *code = fg_pyframe_code(frame);
    int at = fg_pyframe_is_at_start(frame) ? code->_co_firsttraceable : _PyInterpreterFrame_LASTI(frame);

    location->func = fg_code_func(code);
    location->code = (PyObject *)code;
    location->offset = at * (int)sizeof(_Py_CODEUNIT);
    location->line = PyCode_Addr2Line(code, location->offset);
}

int fg_pyframe_locate(fg_pyframe *frame, struct ftrace_location *location)
{
    if (frame)
        locate(frame, location);
    else
        *location = (struct ftrace_location){.offset = -1, .line = -1};
    return frame != NULL;
}

int fg_regs_location(const struct ftrace_regs *regs, struct ftrace_location *location)
{
    return fg_pyframe_locate(fg_regs_frame(regs), location);
}

int fg_regs_return_location(const struct ftrace_regs *regs, struct ftrace_location *location)
{
    return fg_pyframe_locate(fg_regs_caller(regs), location);
}

uintptr_t fg_regs_find_return_address(const struct ftrace_regs *regs)
{
    const fg_pyframe *caller;

#if FG_HAVE_MONITORING
    if (fg_likely(fg_regs_frame(regs) != NULL))
        return fg_pyframe_return_address(regs->frame);
#endif
    caller = fg_regs_caller(regs);
    return caller ? (uintptr_t)fg_pyframe_instruction(caller) : 0;
}

/* The calling function. It has no record yet if it was called before its interpreter was hooked. */
static struct fg_func *calling_func(fg_pyframe *frame)
{
    struct fg_func *func = fg_code_func(fg_pyframe_code(frame));

    return fg_likely(func != NULL) ? func : fg_code_discover(frame);
}

size_t fg_regs_find_callers(const struct ftrace_regs *regs, struct fg_caller *callers, size_t n)
{
    fg_pyframe *frame = n ? fg_regs_caller(regs) : NULL;
    size_t found = 0;

    for (; frame && found < n; frame = fg_complete_pyframe(frame->previous)) {
        const struct fg_func *func = calling_func(frame);
        struct ftrace_location location;

        locate(frame, &location);
        callers[found++] = (struct fg_caller){
            .func = func ? func->id : 0,
            .place = location.line > 0 ? (uint32_t)location.line : 0,
        };
    }
    return found;
}

uintptr_t fg_regs_frame_pointer(const struct ftrace_regs *regs)
{
    return (uintptr_t)fg_regs_frame(regs);
}

uintptr_t fg_regs_instruction_address(const struct ftrace_regs *regs)
{
    const fg_pyframe *frame = fg_regs_frame(regs);

    return frame ? (uintptr_t)fg_pyframe_instruction(frame) : 0;
}

/* ---- the evaluation stack */

int fg_regs_stack_depth(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_frame(regs);

    return frame ? fg_pyframe_operands(frame, fg_regs_result(regs)) : -1;
}

uintptr_t fg_regs_stack_pointer(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_frame(regs);
    int depth = fg_regs_stack_depth(regs);

    return depth >= 0 ? (uintptr_t)&frame->localsplus[fg_pyframe_code(frame)->co_nlocalsplus + depth] : 0;
}

/* ---- the frame object */

/* CPython makes frame objects for the thread's newest frame only. So make the frame the newest for a
 * moment. */
static PyObject *frame_object(PyThreadState *tstate, fg_pyframe *frame)
{
    fg_pyframe **newest = fg_newest_pyframe(tstate), *before = *newest;
    PyObject *object;

    *newest = frame;
    object = (PyObject *)PyThreadState_GetFrame(tstate);
    *newest = before;
    return object;
}

#if FG_HAVE_MONITORING
PyObject *fg_regs_frame_object(const struct ftrace_regs *regs, PyThreadState *tstate, fg_pyframe *newest)
{
    (void)newest;
    return frame_object(tstate, fg_regs_frame(regs));
}
#else
/* At an entry on 3.11 the frame is not linked to its caller's yet, and no instruction of it has run.
 * CPython skips such incomplete frames, so let the frame look begun while the object is made, and no
 * longer. The frame object reads a frame that has not begun correctly only if `prev_instr` says so
 * (_PyFrame_FastToLocalsWithError). The garbage collector is off meanwhile, so that no Python code runs
 * in between. */
PyObject *fg_regs_frame_object(const struct ftrace_regs *regs, PyThreadState *tstate, fg_pyframe *newest)
{
    fg_pyframe *frame = fg_regs_frame(regs);
    _Py_CODEUNIT *at = frame->prev_instr;
    int collects = PyGC_Disable();
    PyObject *object;

    frame->previous = newest;
    if (!fg_pyframe_has_begun(frame))
        frame->prev_instr = _PyCode_CODE(frame->f_code) + frame->f_code->_co_firsttraceable;
    object = frame_object(tstate, frame);
    frame->prev_instr = at;
    if (collects)
        PyGC_Enable();
    return object;
}
#endif

/* ---- the engine's regs operations */

static size_t encode_arguments(const struct ftrace_regs *regs, const struct fg_value_style *style,
                               uint8_t *buffer, size_t bytes)
{
    return fg_encode_arguments(regs->frame, style, buffer, bytes);
}

/* True if the function's name says that its result is left out. */
static bool hides_result(const struct ftrace_regs *regs, const struct fg_value_style *style)
{
    const PyMethodDef *definition;
    fg_pyframe *frame;

    if (fg_likely(!fg_value_style_redacts(style)))
        return false;
    if (fg_regs_is_c(regs)) {
        definition =
            fg_cfunction_definition(fg_container_of(regs, const struct fg_c_function_regs, regs)->callable);
        return definition && fg_value_style_hides(style, definition->ml_name, strlen(definition->ml_name));
    }
    frame = fg_regs_frame(regs);
    return frame && fg_is_hidden(style, fg_pyframe_code(frame)->co_name);
}

static size_t encode_value(const struct ftrace_regs *regs, const struct fg_value_style *style,
                           uint8_t *buffer, size_t bytes)
{
    return fg_encode_result(regs->value, hides_result(regs, style), style, buffer, bytes);
}

/* The next frame, complete or not; NULL: there is none. */
static inline fg_pyframe *next_frame(const struct ftrace_regs *regs)
{
#if FG_HAVE_MONITORING
    fg_pyframe *frame = regs->frame;

    return frame->previous;
#else
    return fg_regs_caller(regs);
#endif
}

/* True if the result is thrown away. A method that returns `self` does so for chains of calls, which have a
 * last one. */
FG_NOINLINE static bool is_discarded(fg_pyframe *frame, const PyObject *value, fg_pyframe *caller)
{
    PyCodeObject *code = fg_pyframe_code(frame);

    return fg_pyframe_is_discarded(frame, caller) &&
           !(code->co_argcount > 0 && fg_pyframe_argument(frame, code, 0) == value &&
             fg_code_variable(code, 1, "self") == 0);
}

/* The result, and whether the caller throws it away: None never says anything. */
static size_t encode_result(const struct ftrace_regs *regs, const struct fg_value_style *style,
                            uint8_t *buffer, size_t bytes)
{
    bool is_hidden = hides_result(regs, style);
    size_t used = fg_encode_result(regs->value, is_hidden, style, buffer, bytes - FG_VALUE_DISCARDED_BYTES);

    if (used && regs->value != Py_None) {
        fg_pyframe *caller = next_frame(regs);

        if (fg_unlikely(fg_pyframe_may_be_discarded(regs->frame, caller)) && !is_hidden &&
            is_discarded(regs->frame, regs->value, caller))
            buffer[used++] = FG_VALUE_DISCARDED;
    }
    return used;
}

static size_t encode_exception(const struct ftrace_regs *regs, const struct fg_value_style *style,
                               uint8_t *buffer, size_t bytes)
{
    return fg_encode_exception(regs->value, style, buffer, bytes);
}

static struct fg_func *caller(const struct ftrace_regs *regs)
{
    fg_pyframe *frame = fg_regs_caller(regs);

    return frame ? calling_func(frame) : NULL;
}

/* Of a call: @arguments encodes what it was called with, @value what it returned. */
#define CALL_OPS(arguments, value)                                                                           \
    {                                                                                                        \
        .encode_arguments = (arguments), .encode_value = (value), .encode_exception = encode_exception,      \
        .return_address = fg_regs_find_return_address, .callers = fg_regs_find_callers, .caller = caller,    \
    }

const struct ftrace_regs_ops fg_python_regs_ops = CALL_OPS(encode_arguments, encode_result);
const struct ftrace_regs_ops fg_python_raise_regs_ops = CALL_OPS(encode_arguments, encode_result);
const struct ftrace_regs_ops fg_c_function_regs_ops = CALL_OPS(encode_value, encode_value);
const struct ftrace_regs_ops fg_place_regs_ops = {
    .return_address = fg_regs_find_return_address,
    .callers = fg_regs_find_callers,
    .caller = caller,
};
const struct ftrace_regs_ops fg_event_values_regs_ops = {
    .callers = fg_regs_find_callers,
};
