/* See ended.h. */
#include "arch/cpython/hook/ended.h"

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/thread.h"
#include "engine/core/task.h"

static _Atomic(void (*)(struct fg_interp *interp)) stop_ended;

void fg_ended_use(void (*stop)(struct fg_interp *interp))
{
    atomic_store(&stop_ended, stop);
}

void fg_ended_note(const void *scope)
{
    struct fg_interp *interp = (struct fg_interp *)(uintptr_t)scope;

    if (!atomic_exchange(&interp->has_ended, true))
        atomic_fetch_add(&fg_slow_path_holds, 1);
}

/* True for one thread after each note. */
static bool take_note(struct fg_interp *interp)
{
    if (!atomic_exchange(&interp->has_ended, false))
        return false;
    atomic_fetch_sub(&fg_slow_path_holds, 1);
    return true;
}

static bool is_in_callback(void)
{
    return fg_task_self && !fg_task_is_quiet(fg_task_self);
}

bool fg_ended_check_slow(PyThreadState *tstate)
{
    struct fg_interp *interp = fg_interp_known();
    struct fg_callback_scope scope;

    if (!interp || !atomic_load(&interp->has_ended) || is_in_callback() || fg_is_finalizing() ||
        !take_note(interp))
        return false;
    fg_callback_prepare(&scope, tstate);
    atomic_load (&stop_ended)(interp);
    fg_callback_restore(&scope, tstate);
    return !interp->is_installed;
}
