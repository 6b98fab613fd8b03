/* Instructions as the compiler made them (PyCode_GetCode()): which of them get line and instruction
 * events. */
#ifndef FG_COMPAT_OPCODE_H
#define FG_COMPAT_OPCODE_H

#include "arch/cpython/base/compat/python.h"

#include <opcode.h>

static inline int fg_opcode_at(PyObject *bytes, Py_ssize_t offset)
{
    return (unsigned char)PyBytes_AS_STRING(bytes)[offset];
}

/* CPython fires no events for these opcodes. They belong to the instruction before them, or to the way
 * calls are made. */
static inline bool fg_opcode_is_silent(int opcode)
{
    switch (opcode) {
    case CACHE:
    case RESUME:
#if FG_HAVE_MONITORING
    case END_FOR:
#endif
        return true;
    default:
        return false;
    }
}

/* Opcodes that do not begin a line. */
static inline bool fg_opcode_is_lineless(int opcode)
{
#if FG_HAVE_MONITORING
    if (opcode == END_SEND || opcode == END_ASYNC_FOR)
        return true;
#endif
    return fg_opcode_is_silent(opcode);
}

/* On 3.13 FOR_ITER skips the POP_TOP after END_FOR too. */
static inline bool fg_opcode_is_skipped(PyObject *bytes, Py_ssize_t offset)
{
#if PY_VERSION_HEX >= 0x030D0000 && PY_VERSION_HEX < 0x030E0000
    return offset >= 2 && fg_opcode_at(bytes, offset) == POP_TOP &&
           fg_opcode_at(bytes, offset - 2) == END_FOR;
#else
    (void)bytes, (void)offset;
    return false;
#endif
}

#endif
