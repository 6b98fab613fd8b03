/* Events at places within functions, and exceptions, on CPython 3.11, through the thread's C trace function.
 *
 * sys.settrace() has one slot: (function, object). While a frame with kprobes runs, our function
 * replaces the one in the slot. It passes every event on to that function with its own object, and
 * sys.gettrace() still returns that object. Frames called from there run as usual, unless they have
 * kprobes too. So a frame with kprobes is as slow as under a tracer that does nothing, and no other
 * frame is affected.
 *
 * A function that calls sys.settrace() itself removes ours. It is not probed again before it has called
 * another Python function. */
#ifndef FG_CPYTHON_KPROBE_TRACE_H
#define FG_CPYTHON_KPROBE_TRACE_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/kprobe.h"
#include "engine/base/compiler.h"

#if !FG_HAVE_MONITORING

/* How many interpreters report exceptions. */
extern _Atomic unsigned fg_trace_raises_on;

/* Reports exceptions in an interpreter, or no longer, as interp->raises says. */
void fg_trace_raises(struct fg_interp *interp);

/* Evaluates a frame while there are kprobes or exceptions are reported. `evaluate` has the contract of
 * _PyEval_EvalFrameDefault. */
FG_COLD PyObject *fg_kprobe_evaluate(_PyFrameEvalFunction evaluate, PyThreadState *tstate, fg_pyframe *frame,
                                     int throwflag);

#endif
#endif
