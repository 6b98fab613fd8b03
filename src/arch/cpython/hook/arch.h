/* The CPython arch, which turns entry, return, suspend and resume of functions into calls of the engine:
 * start and stop. */
#ifndef FG_CPYTHON_ARCH_H
#define FG_CPYTHON_ARCH_H

#include "arch/cpython/base/interp.h"

/* Starts the engine, if it is not running: functions can have records. -1 with an exception. Under
 * FG_LOCK_CONTROL, as the next two. */
int fg_cpython_init(struct fg_interp *interp);
/* The same, and installs the hooks in this interpreter. -1 with an exception. */
int fg_cpython_start(struct fg_interp *interp);
/* Removes the hooks of this interpreter, unless it has users. */
void fg_cpython_stop(struct fg_interp *interp);
/* What hooks functions here: "sys.monitoring" or "frame evaluator". */
const char *fg_cpython_backend_name(void);
/* The sys.monitoring tool id in use, or -1. */
int fg_cpython_tool_id(void);
/* This interpreter, which is not the main one, is ending. Its users have left. */
void fg_cpython_end(struct fg_interp *interp);

#endif
