/* How a frame raises: the instruction that it is at. */
#ifndef FG_COMPAT_RAISE_H
#define FG_COMPAT_RAISE_H

#include "arch/cpython/base/compat/frame.h"
#include <opcode.h>

/* True if CPython reports exceptions that a frame raises again. */
#define FG_HAVE_RERAISES FG_HAVE_MONITORING

struct fg_instruction {
    int opcode, argument;
};

/* The frame's instruction as the compiler made it. Where another tool has line or instruction events,
 * CPython keeps the opcode elsewhere, and only a copy of the code has it. No exception is left set. */
static inline struct fg_instruction fg_instruction_of(fg_pyframe *frame)
{
    const _Py_CODEUNIT *at = fg_pyframe_instruction(frame);
#if FG_HAVE_MONITORING
    struct fg_instruction found = {at->op.code, at->op.arg};

    if (found.opcode >= MIN_INSTRUMENTED_OPCODE) {
        PyObject *bytes = PyCode_GetCode(fg_pyframe_code(frame));
        Py_ssize_t offset = _PyInterpreterFrame_LASTI(frame) * (Py_ssize_t)sizeof(_Py_CODEUNIT);

        if (bytes && offset >= 0 && offset < PyBytes_GET_SIZE(bytes))
            found.opcode = (unsigned char)PyBytes_AS_STRING(bytes)[offset];
        Py_XDECREF(bytes);
        PyErr_Clear();
    }
    return found;
#else
    return (struct fg_instruction){_Py_OPCODE(*at), _Py_OPARG(*at)};
#endif
}

/* `raise` and `raise X` */
static inline bool fg_instruction_is_raise(fg_pyframe *frame)
{
    return fg_instruction_of(frame).opcode == RAISE_VARARGS;
}

/* A bare `raise`, or the end of a finally, a with or an except that does not match. RERAISE 1 is the compiler's
 * own: it comes after each of them, and where an except clause raises. */
static inline bool fg_instruction_reraises(fg_pyframe *frame)
{
    struct fg_instruction found = fg_instruction_of(frame);

    return found.opcode == RAISE_VARARGS || (found.opcode == RERAISE && found.argument != 1);
}

/* True if the frame has ended by a return. */
static inline bool fg_instruction_returns(fg_pyframe *frame)
{
    switch (fg_instruction_of(frame).opcode) {
    case RETURN_VALUE:
#ifdef RETURN_CONST
    case RETURN_CONST:
#endif
        return true;
    default:
        return false;
    }
}

#endif
