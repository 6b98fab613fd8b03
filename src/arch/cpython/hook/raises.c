/* See raises.h. */
#include "arch/cpython/hook/raises.h"

#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/lock.h"
#include "arch/cpython/hook/hooks.h"

static _Atomic(fg_on_raise) callback;

void fg_raises_report(const struct fg_raise *raise)
{
    fg_on_raise on_raise = atomic_load_explicit(&callback, memory_order_relaxed);

    if (on_raise)
        on_raise(raise);
}

static void count(struct fg_interp *interp, unsigned kinds, int by)
{
    interp->raises[0] += kinds & FG_RAISES ? (unsigned)by : 0;
    interp->raises[1] += kinds & FG_RERAISES ? (unsigned)by : 0;
}

/* No exception is left set. */
static void stop_reporting(struct fg_interp *interp, unsigned kinds)
{
    fg_exception aside = fg_exception_set_aside();

    count(interp, kinds, -1);
    if (interp->is_installed && fg_hook_backend->follow_raises(interp) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

int fg_raises_follow(struct fg_interp *interp, fg_on_raise on_raise, unsigned kinds, bool on)
{
    int error = 0;

    atomic_store(&callback, on_raise);
    fg_lock(FG_LOCK_EVENTS);
    if (on) {
        count(interp, kinds, 1);
        error = interp->is_installed ? fg_hook_backend->follow_raises(interp) : 0;
    }
    if (!on || error)
        stop_reporting(interp, kinds);
    fg_unlock(FG_LOCK_EVENTS);
    return error ? -EIO : 0;
}
