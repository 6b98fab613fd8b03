/* How a frame raises, or has ended: by which instruction. */
#ifndef FG_COMPAT_RAISE_H
#define FG_COMPAT_RAISE_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/opcode.h"

/* True if CPython reports exceptions that a frame raises again. */
#define FG_HAVE_RERAISES FG_HAVE_MONITORING

/* The opcode at an offset, in bytes, as the compiler made it. Where another tool has line or instruction
 * events, CPython keeps the opcode elsewhere, and only a copy of the code has it. -1: not known. No
 * exception is left set. */
static inline int fg_opcode_in(PyCodeObject *code, int offset)
{
    const _Py_CODEUNIT *at = _PyCode_CODE(code) + offset / (int)sizeof(_Py_CODEUNIT);
#if FG_HAVE_MONITORING
    int opcode = at->op.code;

    if (opcode >= MIN_INSTRUMENTED_OPCODE) {
        PyObject *bytes = PyCode_GetCode(code);

        opcode = bytes && offset < PyBytes_GET_SIZE(bytes) ? fg_opcode_at(bytes, offset) : -1;
        Py_XDECREF(bytes);
        PyErr_Clear();
    }
    return opcode;
#else
    return _Py_OPCODE(*at);
#endif
}

static inline int fg_argument_in(PyCodeObject *code, int offset)
{
    const _Py_CODEUNIT *at = _PyCode_CODE(code) + offset / (int)sizeof(_Py_CODEUNIT);

#if FG_HAVE_MONITORING
    return at->op.arg;
#else
    return _Py_OPARG(*at);
#endif
}

/* `raise` and `raise X` */
static inline bool fg_is_raise(PyCodeObject *code, int offset)
{
    return fg_opcode_in(code, offset) == RAISE_VARARGS;
}

/* A bare `raise`, or the end of a finally, a with or an except that does not match. RERAISE 1 is the
 * compiler's own: it comes after each of them, and where an except clause raises. */
static inline bool fg_is_reraise(PyCodeObject *code, int offset)
{
    int opcode = fg_opcode_in(code, offset);

    return opcode == RAISE_VARARGS || (opcode == RERAISE && fg_argument_in(code, offset) != 1);
}

/* True if a frame has ended by a return. */
static inline bool fg_has_returned(fg_pyframe *frame)
{
    int offset = _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT);
    int opcode = offset >= 0 ? fg_opcode_in(fg_pyframe_code(frame), offset) : -1;

#ifdef RETURN_CONST
    if (opcode == RETURN_CONST)
        return true;
#endif
    return opcode == RETURN_VALUE;
}

#endif
