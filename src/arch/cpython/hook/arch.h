/* The CPython arch: turns "this Python function is entered, returns, gives way, runs again" into engine calls. Here it is
 * started and stopped. */
#ifndef FG_CPYTHON_ARCH_H
#define FG_CPYTHON_ARCH_H

#include "arch/cpython/base/interp.h"

/* Brings up the engine, if it is not: functions can have records. -1 with an exception. Under FG_LOCK_CONTROL, as the next
 * two. */
int fg_cpython_init(struct fg_interp *interp);
/* And the hooks in this interpreter. */
int fg_cpython_start(struct fg_interp *interp);
/* Takes the hooks out when no user of this interpreter needs them any more. */
void fg_cpython_stop(struct fg_interp *interp);
/* What hooks functions here: "sys.monitoring" or "frame evaluator". */
const char *fg_cpython_backend_name(void);
/* The sys.monitoring tool id in use, or -1. */
int fg_cpython_tool_id(void);
/* This interpreter, which is not the main one, is ending; its users have left. */
void fg_cpython_end(struct fg_interp *interp);

#endif
