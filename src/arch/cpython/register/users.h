/* Registering users of the function graph in this interpreter, and keeping the hooks installed as long
 * as there are users.
 *
 * All functions here need the interpreter's thread state. None holds a lock on return. */
#ifndef FG_CPYTHON_REGISTER_USERS_H
#define FG_CPYTHON_REGISTER_USERS_H

#include "arch/cpython/base/interp.h"
#include "engine/graph/user.h"

/* This interpreter, with the engine initialized. Hooks need not be installed. NULL with an exception. */
struct fg_interp *fg_engine_here(void);

/**
 * fg_hooks_hold - install the hooks if necessary, and keep them until fg_hooks_release()
 *
 * Return: 0, or -1 with an exception: CPython has no free hook.
 */
int fg_hooks_hold(void);
void fg_hooks_release(void);

/* Removes the hooks if nobody holds them and no user is registered. Call after unregistering a user. */
void fg_hooks_stop_if_unused(void);

/**
 * fg_cpython_register - register a user in this interpreter, and install the hooks
 *
 * Return: 0; an error of fgraph_register; or -EIO with an exception: CPython has no free hook.
 */
int fg_cpython_register(struct fgraph_ops *ops);

/**
 * fg_cpython_unregister - unregister a user of this interpreter, and remove unused hooks
 *
 * Waits for running callbacks, as fgraph_unregister does.
 *
 * Return: 0; -EINVAL: not registered, or registered in another interpreter.
 */
int fg_cpython_unregister(struct fgraph_ops *ops);

/**
 * fg_cpython_filter_changed - attach a user to the C functions that its changed filter names
 *
 * Does nothing for a user that is not registered in this interpreter.
 *
 * Return: 0, or -ENOMEM: some functions may not be attached.
 */
int fg_cpython_filter_changed(const struct fgraph_ops *ops);

#endif
