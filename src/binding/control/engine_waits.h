/* The engine's side of a wait, once this process has loaded the engine. */
#ifndef FG_CONTROL_ENGINE_WAITS_H
#define FG_CONTROL_ENGINE_WAITS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/base/waits.h"

/* Takes the table of funcgraph._engine, a module, and hides the calling thread. @woken: called to wake
 * readers, as struct fg_waits has it. Without the table there is no waiting: no error. */
void fg_engine_waits_take(PyObject *engine, void (*woken)(void));

/* Hides the calling thread from the tracing of native functions, if there is an engine. */
void fg_engine_waits_hide_thread(void);

/* A fg_wait_request. Without an engine there is always news. */
enum fg_news fg_engine_waits_request(int handle, uint32_t seen);

#endif
