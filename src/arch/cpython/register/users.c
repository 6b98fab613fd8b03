/* See users.h. Registering waits for callbacks, and a callback may be about to register or unregister a
 * user itself. So FG_LOCK_CONTROL is not held while a user is registered. */
#include "arch/cpython/register/users.h"

#include <errno.h>

#include "arch/cpython/base/lock.h"
#include "arch/cpython/hook/arch.h"
#include "arch/cpython/read/symbols.h"
#include "engine/graph/user.h"
#include "engine/users/users.h"

static struct fg_interp *interp_here(void)
{
    struct fg_interp *interp = fg_interp_here();

    if (!interp)
        PyErr_NoMemory();
    return interp;
}

struct fg_interp *fg_engine_here(void)
{
    struct fg_interp *interp = interp_here();
    int error;

    if (!interp)
        return NULL;
    fg_lock(FG_LOCK_CONTROL);
    error = fg_cpython_init(interp);
    fg_unlock(FG_LOCK_CONTROL);
    return error ? NULL : interp;
}

int fg_hooks_hold(void)
{
    struct fg_interp *interp = interp_here();
    int error = -1;

    if (!interp)
        return -1;
    fg_lock(FG_LOCK_CONTROL);
    error = fg_cpython_start(interp);
    if (!error)
        interp->holds++;
    fg_unlock(FG_LOCK_CONTROL);
    return error;
}

static void let_go(unsigned held)
{
    struct fg_interp *interp = fg_interp_known();

    if (!interp)
        return;
    fg_lock(FG_LOCK_CONTROL);
    interp->holds -= held;
    if (!interp->holds)
        fg_cpython_stop(interp); /* a no-op while any user is registered */
    fg_unlock(FG_LOCK_CONTROL);
}

void fg_hooks_release(void)
{
    let_go(1);
}

void fg_hooks_stop_if_unused(void)
{
    let_go(0);
}

int fg_cpython_register(struct fgraph_ops *ops)
{
    int error;

    if (fg_user_slot(ops) >= 0)
        return -EBUSY;
    if (fg_hooks_hold() != 0)
        return -EIO;
    fg_user_of(ops)->scope = fg_interp_known();
    error = fg_symbols_meet_named_c(fg_interp_known(), &fg_user_of(ops)->filter);
    if (!error)
        error = fgraph_register(ops);
    fg_hooks_release();
    return error;
}

int fg_cpython_filter_changed(const struct fgraph_ops *ops)
{
    if (fg_user_slot(ops) < 0) {
        fg_hooks_stop_if_unused(); /* it may have been unregistered during the change */
        return 0;
    }
    if (fg_user_of_const(ops)->scope != fg_interp_known())
        return 0;
    return fg_symbols_meet_named_c(fg_interp_known(), &fg_user_of_const(ops)->filter);
}

int fg_cpython_unregister(struct fgraph_ops *ops)
{
    int error = fg_user_of(ops)->scope == fg_interp_known() ? fgraph_unregister(ops) : -EINVAL;

    fg_hooks_stop_if_unused();
    return error;
}
