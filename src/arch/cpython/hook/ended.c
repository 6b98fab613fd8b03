/* See ended.h. */
#include "arch/cpython/hook/ended.h"

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/thread.h"
#include "engine/core/task.h"

#define MAX_STOPS 2

static _Atomic(fg_ended_stop) stops[MAX_STOPS];

void fg_ended_use(fg_ended_stop stop)
{
    for (int i = 0; i < MAX_STOPS; i++) {
        fg_ended_stop none = NULL;

        if (atomic_load(&stops[i]) == stop || atomic_compare_exchange_strong(&stops[i], &none, stop))
            return;
    }
}

static void stop_all(struct fg_interp *interp)
{
    for (int i = 0; i < MAX_STOPS; i++) {
        fg_ended_stop stop = atomic_load(&stops[i]);

        if (stop)
            stop(interp);
    }
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
    stop_all(interp);
    fg_callback_restore(&scope, tstate);
    return !interp->is_installed;
}
