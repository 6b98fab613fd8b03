/* C functions on CPython 3.11: heard of through the thread's C profile function, which stays the owner's.
 *
 * sys.setprofile has one slot: (function, object). We put our own function in front of the one that is there and
 * pass every event on to it with its own object; sys.getprofile() goes on returning that object. A tool that
 * sets itself anew takes our function out, and the next traced frame puts it back in front. */
#ifndef FG_CPYTHON_C_CALLS_H
#define FG_CPYTHON_C_CALLS_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/hook/hooks.h"

/* Some user has asked for C functions since the hooks were installed: each call needs a further look. */
extern bool fg_c_calls_wanted;

void fg_c_calls_are_wanted(void);

FG_COLD void fg_c_calls_attach_slow(PyThreadState *tstate);
void fg_c_calls_detach_all(void);
/* From now on calls of C functions are heard in all frames of the main interpreter, or no more. */
void fg_c_calls_hear_all(bool hears);
/* If they are. */
void fg_c_calls_attach_if_all(PyThreadState *tstate);
int fg_c_calls_profile(PyObject *object, PyFrameObject *frame, int what, PyObject *arg);

static inline void fg_c_calls_attach(PyThreadState *tstate, struct fg_func *func)
{
#if !FG_HAVE_MONITORING
    if (fg_unlikely(fg_c_calls_wanted) && tstate->c_profilefunc != fg_c_calls_profile &&
        fg_hooks_wants_c_calls(func))
        fg_c_calls_attach_slow(tstate);
#else
    (void)tstate, (void)func;
#endif
}

#endif
