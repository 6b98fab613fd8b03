/* Labels: texts of at most FG_LATENCY_TEXT_BYTES that name a function. Making one runs no code of the
 * program. */
#ifndef FG_CPYTHON_LATENCY_LABEL_H
#define FG_CPYTHON_LATENCY_LABEL_H

#include "arch/cpython/base/compat/python.h"

#include "engine/tracer/latency.h"

/* Writes "module.qualname (file:line)". Line 0: the function's first line. `globals` may be NULL. */
void fg_label_code(PyCodeObject *code, PyObject *globals, int line, char *out);
/* Writes "qualname (file:line)" for the newest Python function of a thread. Return: false: the thread
 * runs no Python function. Needs no thread state and does not allocate. The caller makes sure that the
 * thread does not run meanwhile. */
bool fg_label_thread(PyThreadState *tstate, char *out);
/* Names a function, method, builtin, or the function inside a partial. For any other callable, names
 * its type. */
void fg_label_callable(PyObject *callable, char *out);
/* Names what the callback of an asyncio.Handle runs (@runs), and where that is now (@is_at). For a step
 * of a task, @is_at is where the task's coroutine is suspended; otherwise it is where the function
 * begins. `is_at` may be NULL. `awaited` may be NULL; else `add` is called for each coroutine that this
 * one awaits, outermost first. */
struct fg_label_awaited {
    void (*add)(void *arg, const char *is_at);
    void *arg;
};
void fg_label_callback(PyObject *callback, char *runs, char *is_at, const struct fg_label_awaited *awaited);

#endif
