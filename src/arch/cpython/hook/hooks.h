/* What a way of hooking CPython provides, and making a function's hooks match its users. Two ways stand behind one interface:
 * monitoring.c (3.12+) and evalframe.c (3.11). */
#ifndef FG_CPYTHON_HOOKS_H
#define FG_CPYTHON_HOOKS_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/backend.h"
#include "engine/core/function.h"

/* Set once in a process, before the hooks are installed anywhere. */
extern const struct fg_hook_backend *fg_hook_backend;

/* As struct fg_arch_ops asks: begin takes FG_LOCK_EVENTS, under which a function's sync is, and end gives it back. */
void fg_hooks_sync_begin(void);
void fg_hooks_sync_end(void);
void fg_hooks_sync_func(struct fg_func *func);

/* From now on functions' hooks are set, or no more. */
void fg_hooks_set_installed(struct fg_interp *interp, bool on);

/* Makes the hooks of a function that was just met and has users. */
void fg_hooks_meet_func(struct fg_func *func);
/* What the way of hooking does, for a function that may end meanwhile. */
void fg_hooks_sync(struct fg_func *func);
int fg_hooks_listen(struct fg_func *func);

/* C functions are traced for the callers of this function: some user of it wants them. */
bool fg_hooks_wants_c_calls(struct fg_func *func);
/* A call of a C function by this one (NULL: it was not met yet) has to be told: some user wants it wherever it is called,
 * or what the caller calls. */
bool fg_hooks_wants_c_call(struct fg_func *func, struct fg_func *caller);

#endif
