/* Whether the caller of a Python function throws the result away: whether a POP_TOP follows its CALL. Reads
 * the caller's frame and its instructions as they stand while the call returns. */
#ifndef FG_COMPAT_DISCARD_H
#define FG_COMPAT_DISCARD_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/frame.h"
#include "engine/base/compiler.h"
#if FG_HAVE_MONITORING
#include "internal/pycore_instruments.h"
#endif
#include <opcode.h>

/* ---- instructions */

#if FG_HAVE_MONITORING
/* The opcode that INSTRUMENTED_LINE stands for. The data has two bytes for each instruction, the opcode
 * first. Later releases of 3.13, and 3.14, have 2 to 5 bytes for each, behind a byte that says how many.
 * What runs may be another release than the headers are of. Before, the first byte was the opcode of the
 * first instruction, or 0: none with a number from 2 to 5 can be the first one. */
static inline int fg_opcode_of_line(const _PyCoMonitoringData *monitoring, Py_ssize_t at)
{
    const uint8_t *lines = (const uint8_t *)monitoring->lines;
    bool has_size = lines[0] >= 2 && lines[0] <= 5;

    return has_size ? lines[1 + at * lines[0]] : lines[at * 2];
}

/* The instructions that the frame runs: without the GIL each thread has a copy from 3.14 on. */
static inline const _Py_CODEUNIT *fg_pyframe_code_units(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return _PyFrame_GetBytecode(frame);
#else
    return _PyCode_CODE(fg_pyframe_code(frame));
#endif
}
#endif

#if FG_HAVE_MONITORING
/* The opcode that line and instruction events have replaced. */
FG_COLD static int fg_replaced_opcode(fg_pyframe *frame, const _Py_CODEUNIT *at)
{
    const _PyCoMonitoringData *monitoring = fg_pyframe_code(frame)->_co_monitoring;
    int opcode = _Py_OPCODE(*at);

    if (opcode == INSTRUMENTED_LINE && monitoring && monitoring->lines)
        opcode = fg_opcode_of_line(monitoring, at - fg_pyframe_code_units(frame));
    if (opcode == INSTRUMENTED_INSTRUCTION && monitoring && monitoring->per_instruction_opcodes)
        opcode = monitoring->per_instruction_opcodes[at - fg_pyframe_code_units(frame)];
    return opcode;
}
#endif

/* The opcode without line and instruction events. It may be specialized. What is asked about may be a cache
 * entry (fg_pyframe_call()), which may look like any opcode. */
static inline int fg_opcode_without_lines(fg_pyframe *frame, const _Py_CODEUNIT *at)
{
#if FG_HAVE_MONITORING
    if (fg_unlikely(_Py_OPCODE(*at) >= MIN_INSTRUMENTED_OPCODE))
        return fg_replaced_opcode(frame, at);
#else
    (void)frame;
#endif
    return _Py_OPCODE(*at);
}

/* True if the opcode is a CALL, as the compiler made it, with events, or specialized. */
static inline bool fg_opcode_is_call(int opcode)
{
    switch (opcode) {
    case CALL:
    case CALL_FUNCTION_EX:
#if FG_HAVE_MONITORING
    case INSTRUMENTED_CALL:
    case INSTRUMENTED_CALL_FUNCTION_EX:
#endif
#if PY_VERSION_HEX >= 0x030D0000
    case CALL_KW:
    case INSTRUMENTED_CALL_KW:
        return true;
    default: /* CPython numbers specialized opcodes in the order of their names */
        return opcode >= CALL_ALLOC_AND_ENTER_INIT && opcode <= CALL_TYPE_1;
#else
    case CALL_PY_EXACT_ARGS:
    case CALL_PY_WITH_DEFAULTS:
#if FG_HAVE_MONITORING
    case CALL_BOUND_METHOD_EXACT_ARGS:
#else
    case CALL_ADAPTIVE:
#endif
        return true;
    default:
        return false;
#endif
    }
}

/* ---- the caller's CALL */

/* The instruction that called, at which the frame stands. NULL: it is no CALL, but an operator, a read of an
 * attribute, the next round of a loop, or the like. */
static inline const _Py_CODEUNIT *fg_pyframe_call(fg_pyframe *caller)
{
    const _Py_CODEUNIT *at = fg_pyframe_instruction(caller);

#if FG_HAVE_MONITORING && PY_VERSION_HEX < 0x030D0000
    /* The frame stands at the last cache entry of a CALL, and at a CALL_FUNCTION_EX itself. */
    const _Py_CODEUNIT *before = at - INLINE_CACHE_ENTRIES_CALL;

    if (before >= fg_pyframe_code_units(caller) && fg_opcode_is_call(fg_opcode_without_lines(caller, before)))
        return before;
#endif
    return fg_opcode_is_call(fg_opcode_without_lines(caller, at)) ? at : NULL;
}

/* The instruction with which the caller goes on. */
static inline const _Py_CODEUNIT *fg_pyframe_return_instruction(const fg_pyframe *caller)
{
    const _Py_CODEUNIT *at = fg_pyframe_instruction(caller);

#if PY_VERSION_HEX >= 0x030D0000
    return at + caller->return_offset;
#elif FG_HAVE_MONITORING
    return at + 1 + caller->return_offset;
#else
    return at + 1 + (_Py_OPCODE(*at) == CALL_FUNCTION_EX ? 0 : INLINE_CACHE_ENTRIES_CALL);
#endif
}

/* True if two instructions load the same. The first may have a line event. */
static inline bool fg_is_same_load(const _Py_CODEUNIT *first, const _Py_CODEUNIT *other)
{
    bool has_line = false;

#if FG_HAVE_MONITORING
    has_line = _Py_OPCODE(*first) == INSTRUMENTED_LINE;
#endif
    return _Py_OPARG(*first) == _Py_OPARG(*other) && (has_line || _Py_OPCODE(*first) == _Py_OPCODE(*other));
}

/* True if the `with` statement called, not an expression: __enter__ from 3.14 on, and __exit__ at the end of
 * the block, which gets None three times. From 3.14 on a call with three times the same constant, but of an
 * int, looks the same. */
static inline bool fg_call_is_of_with(fg_pyframe *caller, const _Py_CODEUNIT *call)
{
#if PY_VERSION_HEX >= 0x030E0000
    const int exit_arguments = 3;
#else
    const int exit_arguments = 2; /* the first None is passed as `self` is */
#endif
#if FG_HAVE_MONITORING
    const _Py_CODEUNIT *end = call;
#else
    const _Py_CODEUNIT *end = call - 1 - INLINE_CACHE_ENTRIES_PRECALL;
#endif
    int units = _Py_OPCODE(*(end - 2)) == EXTENDED_ARG ? 2 : 1; /* of each argument */
    const _Py_CODEUNIT *third = end - 1, *second = third - units, *first = second - units;

#if PY_VERSION_HEX >= 0x030E0000
    int load = fg_opcode_without_lines(caller, third);

    if (_Py_OPARG(*call) == 0 && load == LOAD_SPECIAL)
        return true;
    if (load == LOAD_SMALL_INT)
        return false;
#else
    (void)caller;
#endif
    return _Py_OPARG(*call) == exit_arguments && _Py_OPCODE(*third) != CACHE &&
           fg_is_same_load(second, third) && fg_is_same_load(first, third);
}

/* ---- who called */

#if FG_HAVE_MONITORING
/* True if the next frame is that of a Python function. Else C code made the call, as map() does. */
static inline bool fg_pyframe_is_python(const fg_pyframe *caller)
{
    return caller && (caller->owner == FRAME_OWNED_BY_THREAD || caller->owner == FRAME_OWNED_BY_GENERATOR);
}

static inline bool fg_pyframe_calls(fg_pyframe *caller, const fg_pyframe *frame)
{
    (void)caller, (void)frame;
    return true;
}
#else
static inline bool fg_pyframe_is_python(const fg_pyframe *caller)
{
    return caller != NULL;
}

/* What the statement calls at whose CALL the frame stands, borrowed. NULL: not found.
 *
 * The evaluator alone knows the depth of the stack. But the callable of a statement is the lowest object
 * after what the blocks around it have there: iterators of loops, exit functions of `with`, exceptions. It is
 * a function or the like if it was looked up as a method. Else it follows NULL, which nothing below it is. So
 * no object above the stack's top is looked at. An __exit__ that is a static method hides it: then nothing is
 * known. */
static inline PyObject *fg_pyframe_callable(fg_pyframe *caller)
{
    PyObject *const *stack = caller->localsplus + fg_pyframe_code(caller)->co_nlocalsplus;
    int size = fg_pyframe_code(caller)->co_stacksize;
    int i = 0;

    while (i < size && stack[i] && !PyType_HasFeature(Py_TYPE(stack[i]), Py_TPFLAGS_METHOD_DESCRIPTOR))
        i++;
    i += i < size && !stack[i];
    return i < size ? stack[i] : NULL;
}

/* True if the CALL at which @caller stands is of @frame's function. A C function that calls it, as map()
 * does, has no frame of its own. */
static inline bool fg_pyframe_calls(fg_pyframe *caller, const fg_pyframe *frame)
{
    PyObject *callable = fg_pyframe_callable(caller);

    if (callable && PyMethod_Check(callable))
        callable = PyMethod_GET_FUNCTION(callable);
    return callable == (PyObject *)frame->f_func;
}
#endif

/* True if the caller may throw away what a call returns: the answer for most results that are used is false.
 * @frame: the call's, at its return. @caller: the next frame, complete or not; NULL: there is none. */
static inline bool fg_pyframe_may_be_discarded(const fg_pyframe *frame, fg_pyframe *caller)
{
    return fg_pyframe_is_python(caller) && frame->owner != FRAME_OWNED_BY_GENERATOR &&
           fg_opcode_without_lines(caller, fg_pyframe_return_instruction(caller)) == POP_TOP;
}

/**
 * fg_pyframe_is_discarded() - Tell whether the caller throws away what a call returns.
 * @frame, @caller: as of fg_pyframe_may_be_discarded(), which is true of them.
 *
 * Return: true: the call is an expression statement. False: its result is used, or this is not known.
 */
static inline bool fg_pyframe_is_discarded(const fg_pyframe *frame, fg_pyframe *caller)
{
    const _Py_CODEUNIT *call = fg_pyframe_call(caller);

    return call && !fg_call_is_of_with(caller, call) && fg_pyframe_calls(caller, frame);
}

#endif
