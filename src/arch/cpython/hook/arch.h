/* Starting and stopping the CPython arch, which reports entry, return, suspend and resume of functions
 * to the engine. */
#ifndef FG_CPYTHON_ARCH_H
#define FG_CPYTHON_ARCH_H

#include "arch/cpython/base/interp.h"

/* Starts the engine if it is not running; after that functions can have records. Return: 0; -1 with an
 * exception. Call this and the next two under FG_LOCK_CONTROL. */
int fg_cpython_init(struct fg_interp *interp);
/* Starts the engine and installs the hooks in this interpreter. Return: 0; -1 with an exception. */
int fg_cpython_start(struct fg_interp *interp);
/* Removes the hooks of this interpreter, unless it has users. */
void fg_cpython_stop(struct fg_interp *interp);
/* The name of the backend: "sys.monitoring" or "frame evaluator". */
const char *fg_cpython_backend_name(void);
/* The sys.monitoring tool id in use, or -1. */
int fg_cpython_tool_id(void);
/* Called when this interpreter, which is not the main one, ends. Its users are unregistered. */
void fg_cpython_end(struct fg_interp *interp);

#endif
