/* Making a function's hooks match its users, through the backend of this build. */
#ifndef FG_CPYTHON_HOOKS_H
#define FG_CPYTHON_HOOKS_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/backend.h"
#include "engine/core/function.h"

/* Set once in a process, before the hooks are installed anywhere. */
extern const struct fg_hook_backend *fg_hook_backend;

/* Members of struct fg_arch_ops. fg_hooks_sync_begin() takes FG_LOCK_EVENTS; call fg_hooks_sync_func()
 * with it held. */
void fg_hooks_sync_begin(void);
void fg_hooks_sync_end(void);
void fg_hooks_sync_func(struct fg_func *func);

/* Records whether the hooks are installed in an interpreter: functions' hooks are set only while they
 * are. */
void fg_hooks_set_installed(struct fg_interp *interp, bool on);

/* Sets the hooks of a function that was just met and has users. */
void fg_hooks_meet_func(struct fg_func *func);
/* Call the backend's sync and listen for a function whose code object another thread may be freeing.
 * Both take FG_LOCK_EVENTS. */
void fg_hooks_sync(struct fg_func *func);
int fg_hooks_listen(struct fg_func *func);

/* True if a user of this function wants the C functions that it calls. */
bool fg_hooks_wants_c_calls(struct fg_func *func);
/* True if one wants even those that are always brief. */
bool fg_hooks_wants_all_c_calls(struct fg_func *func);
/* True if a user wants this call of a C function: from any caller, or because it wants the C functions
 * that this caller calls. `caller` is NULL if it has no record yet. */
bool fg_hooks_wants_c_call(struct fg_func *func, struct fg_func *caller);

#endif
