/* Commands of functions: what calls of functions do in an instance (Documentation/trace/ftrace.rst, "Filter
 * commands": `FUNCTION:traceoff:3`), whichever tracer it has.
 *
 * A command is an fprobe of its own on the functions that were named. Each function has an action of its own,
 * so its count is its own, too. */
#ifndef FG_FUNC_COMMAND_H
#define FG_FUNC_COMMAND_H

#include "engine/probe/fprobe.h"
#include "engine/trigger/trigger.h"

struct fg_func_command {
    struct fprobe fp;
    _Atomic(struct fg_instance *) instance; /* NULL: it has stopped */
    int handle;                             /* the instance's */
    bool writes;                            /* it takes a slot of the instance, as an event does */
    struct fg_func_command *next;
};

/**
 * fg_func_command_add() - Prepare a command of an instance, which is all zeros.
 * @kind: of all its actions
 *
 * The caller then registers command->fp on functions with the addresses of their actions, struct fg_trigger,
 * as cookies. The actions stay until it is unregistered.
 *
 * Return: 0; -EINVAL: no such instance; -ENOMEM; -ENOSPC; -EBUSY: another thread changes the instance.
 * Context: no lock of the engine held.
 */
int fg_func_command_add(struct fg_func_command *command, int handle, enum fg_trigger_kind kind);

/* Undoes fg_func_command_add(): its fprobe is not registered any longer. No lock of the engine is held. */
void fg_func_command_remove(struct fg_func_command *command);

#endif
