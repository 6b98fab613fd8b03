/* The interpreter's own frame of a Python call: struct _PyInterpreterFrame. */
#ifndef FG_COMPAT_FRAME_H
#define FG_COMPAT_FRAME_H

#include "arch/cpython/base/compat/python.h"
#if PY_VERSION_HEX >= 0x030E0000
#include "internal/pycore_interpframe.h"
#include "internal/pycore_stackref.h"
#endif
#include "internal/pycore_code.h"
#include "internal/pycore_frame.h"

typedef struct _PyInterpreterFrame fg_pyframe;

/* The place where CPython stores a thread's newest frame. */
static inline fg_pyframe **fg_newest_pyframe(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return &tstate->current_frame;
#else
    return &tstate->cframe->current_frame;
#endif
}

static inline fg_pyframe *fg_current_pyframe(PyThreadState *tstate)
{
    return *fg_newest_pyframe(tstate);
}

/* The first complete frame of Python code, from @frame outwards. */
static inline fg_pyframe *fg_complete_pyframe(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030C0000
    return _PyFrame_GetFirstComplete(frame);
#else
    while (frame && _PyFrame_IsIncomplete(frame))
        frame = frame->previous;
    return frame;
#endif
}

/* True if C code made the call, not the evaluator for Python code. Before 3.12 a frame that begins does
 * not show the difference, so the answer is always true. */
static inline bool fg_pyframe_is_called_by_c(const fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return frame->previous && frame->previous->owner >= FRAME_OWNED_BY_INTERPRETER;
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->previous && frame->previous->owner == FRAME_OWNED_BY_CSTACK;
#else
    (void)frame;
    return true;
#endif
}

static inline PyCodeObject *fg_pyframe_code(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyFrame_GetCode(frame);
#else
    return frame->f_code;
#endif
}

/* True if @code is the frame's code. The object may have any type: native code fires events for
 * functions whose code is not a code object. */
static inline bool fg_pyframe_is_of(fg_pyframe *frame, PyObject *code)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_executable) == code;
#elif PY_VERSION_HEX >= 0x030D0000
    return frame->f_executable == code;
#else
    return (PyObject *)frame->f_code == code;
#endif
}

/* The line that the frame is at; 0: not known. */
static inline int fg_pyframe_line(fg_pyframe *frame)
{
    int line = PyCode_Addr2Line(fg_pyframe_code(frame),
                                _PyInterpreterFrame_LASTI(frame) * (int)sizeof(_Py_CODEUNIT));

    return line > 0 ? line : 0;
}

/* Local variable slot @i, borrowed; NULL: empty. */
static inline PyObject *fg_pyframe_local(fg_pyframe *frame, int i)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_IsNull(frame->localsplus[i]) ? NULL : PyStackRef_AsPyObjectBorrow(frame->localsplus[i]);
#else
    return frame->localsplus[i];
#endif
}

/* The function object that the frame runs, borrowed. */
static inline PyObject *fg_pyframe_function(fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

/* True if the frame's cells and free variables are in place. Before that only its arguments are. */
static inline bool fg_pyframe_has_begun(fg_pyframe *frame)
{
    return !_PyFrame_IsIncomplete(frame);
}

/* The instruction that the frame is at. Before 3.13: its last code unit. */
static inline _Py_CODEUNIT *fg_pyframe_instruction(const fg_pyframe *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return frame->instr_ptr;
#else
    return frame->prev_instr;
#endif
}

/* How many objects lie on the frame's evaluation stack; -1: only the evaluator knows. */
static inline int fg_pyframe_stack_depth(fg_pyframe *frame)
{
    const PyCodeObject *code = fg_pyframe_code(frame);
#if PY_VERSION_HEX >= 0x030E0000
    Py_ssize_t top = frame->stackpointer ? frame->stackpointer - frame->localsplus : -1;
#else
    Py_ssize_t top = frame->stacktop;
#endif
    Py_ssize_t depth = top - code->co_nlocalsplus;

    return depth >= 0 && depth <= code->co_stacksize ? (int)depth : -1;
}

/* The object in slot `i` of the frame's evaluation stack, borrowed; NULL: empty, or not an object. */
static inline PyObject *fg_pyframe_stack_item(fg_pyframe *frame, int i)
{
    i += fg_pyframe_code(frame)->co_nlocalsplus;
#if PY_VERSION_HEX >= 0x030E0000
    if (PyStackRef_IsTaggedInt(frame->localsplus[i]))
        return NULL;
#endif
    return fg_pyframe_local(frame, i);
}

#endif
