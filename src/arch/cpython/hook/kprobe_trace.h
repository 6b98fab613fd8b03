/* Hearing of places within functions on CPython 3.11: through the thread's C trace function, which stays the owner's.
 *
 * sys.settrace has one slot: (function, object). For as long as a frame runs that has probes, our own function stands in
 * front of the one that is there and passes every event on to it with its own object; sys.gettrace() goes on returning
 * that object. Frames that it calls run as they would without us, unless they have probes too. So a frame with probes
 * runs as slow as under any tracer that does nothing, and no other frame is touched.
 *
 * A function that itself calls sys.settrace() takes ours out, and is not probed until it has called another Python
 * function. */
#ifndef FG_CPYTHON_KPROBE_TRACE_H
#define FG_CPYTHON_KPROBE_TRACE_H

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/hook/kprobe.h"

#if !FG_HAVE_MONITORING

/* Evaluates a frame; `evaluate` as _PyEval_EvalFrameDefault. */
PyObject *fg_kprobe_evaluate(_PyFrameEvalFunction evaluate, PyThreadState *tstate, fg_pyframe *frame,
                             int throwflag);

#endif
#endif
