/* Labels: FG_LATENCY_TEXT_BYTES of text that say which function something is. No code of the program's
 * runs for one. */
#ifndef FG_CPYTHON_LATENCY_LABEL_H
#define FG_CPYTHON_LATENCY_LABEL_H

#include "arch/cpython/base/compat/python.h"
#include "engine/tracer/latency.h"

/* "module.qualname (file:line)"; line 0: where the function begins. `globals` may be NULL. */
void fg_label_code(PyCodeObject *code, PyObject *globals, int line, char *out);
/* The newest Python function of a thread's frames, "qualname (file:line)"; false: it runs none. Without a
 * thread state and without allocating: whoever asks knows that the thread does not run meanwhile. */
bool fg_label_thread(PyThreadState *tstate, char *out);
/* What a callable is: a function, method, builtin, partial, a step of an asyncio task; of others the
 * type. */
void fg_label_callable(PyObject *callable, char *out);
/* What the callback of an asyncio.Handle runs, and where that is now: where the coroutine of a task gave
 * way, else where the function begins; `is_at` may be NULL. `awaited`, which may be NULL, is told of the
 * coroutines that this one awaits, from the outside in. */
struct fg_label_awaited {
    void (*add)(void *arg, const char *is_at);
    void *arg;
};
void fg_label_callback(PyObject *callback, char *runs, char *is_at, const struct fg_label_awaited *awaited);

#endif
