/* The callbacks of uvloop, an event loop written in C (Cython). It has no Python method that could be
 * hooked. But it enters the callback's context before each callback and exits it afterwards (PEP 567,
 * uvloop's cbhandles.pyx and loop.pyx), through its global offset table. There these calls are replaced. */
#ifndef FG_CPYTHON_UVLOOP_H
#define FG_CPYTHON_UVLOOP_H

#include "arch/cpython/base/compat/python.h"

/* Called after each callback, with the times in ticks and the context in which it ran. With the GIL; an
 * exception may be set, and stays. */
typedef void (*fg_uvloop_ended)(uint64_t begin, uint64_t end, PyObject *context);

/* True if the program has imported uvloop, and this thread does not run another event loop. No exception is
 * left set. */
bool fg_uvloop_is_likely(void);

/**
 * fg_uvloop_hook() - Hear of uvloop's callbacks from now on. Does nothing if it does already.
 *
 * Return: false: uvloop is not imported yet, or does not call CPython through the table.
 */
bool fg_uvloop_hook(fg_uvloop_ended ended);
void fg_uvloop_unhook(void);

/* The callback of the handle that has this context. New reference, or NULL: a transport or a protocol, which
 * have no handle. Looks through all that the collector tracks, the youngest first. Runs no code of the
 * program. */
PyObject *fg_uvloop_callback(PyObject *context);

#endif
