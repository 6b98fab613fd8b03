/* Registering users from Python's side, and the hooks that live as long as there are any. */
#ifndef FG_REGISTRATION_H
#define FG_REGISTRATION_H

#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/lock.h"
#include "engine/graph/fgraph.h"

/* This interpreter, with the engine up and no hook needed. NULL with an exception. */
struct fg_interp *fg_engine_here(void);

/* Brings up the hooks, if they are not, and keeps them until the release. -1 with an exception: none is free. */
int fg_hooks_hold(void);
void fg_hooks_release(void);
/* Takes them out if nobody holds them and no user is registered: for whoever unregistered one. */
void fg_hooks_stop_if_unused(void);

/* As fgraph_register and fgraph_unregister, with the hooks. -EIO with an exception: none is free. */
int fg_binding_register(struct fgraph_ops *ops);
int fg_binding_unregister(struct fgraph_ops *ops);
/* If it is registered, it hears of C functions that its new filter names. 0, or -ENOMEM: perhaps not of all. */
int fg_binding_filter_changed(const struct fgraph_ops *ops);

#endif
