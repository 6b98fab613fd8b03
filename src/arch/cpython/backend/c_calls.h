/* Calls of C functions on CPython 3.11: events come through the thread's C profile function.
 *
 * sys.setprofile() has one slot: (function, object). Our function replaces the one that is there and
 * passes every event on to it with its own object; sys.getprofile() still returns that object. A tool
 * that calls sys.setprofile() again removes our function, and the next traced frame puts it back. */
#ifndef FG_CPYTHON_C_CALLS_H
#define FG_CPYTHON_C_CALLS_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/hook/hooks.h"

/* True once a user has asked for C functions since the hooks were installed. Every call then takes the
 * slow path. */
extern bool fg_c_calls_requested;

void fg_c_calls_are_requested(void);

FG_COLD void fg_c_calls_attach_slow(PyThreadState *tstate);
void fg_c_calls_detach_all(void);
/* Switches events of C functions on or off in all frames of the main interpreter. */
void fg_c_calls_hook_all(bool on);
/* Installs our profile function in this thread if fg_c_calls_hook_all() has switched the events on. */
void fg_c_calls_attach_if_all(PyThreadState *tstate);
int fg_c_calls_profile(PyObject *object, PyFrameObject *frame, int what, PyObject *arg);

static inline void fg_c_calls_attach(PyThreadState *tstate, struct fg_func *func)
{
#if !FG_HAVE_MONITORING
    if (fg_unlikely(fg_c_calls_requested) && tstate->c_profilefunc != fg_c_calls_profile &&
        fg_hooks_wants_c_calls(func))
        fg_c_calls_attach_slow(tstate);
#else
    (void)tstate, (void)func;
#endif
}

#endif
