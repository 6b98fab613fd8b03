/* See hooks.h. */
#include "arch/cpython/hook/hooks.h"

#include "arch/cpython/base/lock.h"
#include "arch/cpython/base/object.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "engine/core/task.h"
#include "engine/graph/user_list.h"
#include "engine/ring/ring_layout.h"

const struct fg_hook_backend *fg_hook_backend;

static void set_c_call_hooks(struct fg_interp *interp, bool hooked)
{
    if (hooked == interp->hooks_c_calls)
        return;
    interp->hooks_c_calls = hooked;
    fg_hook_backend->hook_c_calls(interp);
}

static bool is_hooked(struct fg_func *func)
{
    return fg_func_wants_any_caller(func) || fg_func_has_pending_returns(func);
}

/* Events for all calls of C functions slow down the whole program. They are on only while a user wants
 * a C function from any caller, or waits for the return of such a call. */
static void sync_c(struct fg_func *func)
{
    struct fg_interp *interp = fg_func_interp(func);
    bool hooked =
        fg_func_wants_any_caller(func) || (interp->hooks_c_calls && fg_cfunctions_any(interp, is_hooked));

    set_c_call_hooks(interp, hooked);
}

/* The code object of a hooked function. New reference, or NULL. */
static PyCodeObject *code_of(struct fg_func *func)
{
    return fg_func_interp(func)->is_installed ? fg_code_of(func) : NULL;
}

void fg_hooks_sync_func(struct fg_func *func)
{
    const struct fg_interp *interp = fg_func_interp(func);
    PyCodeObject *code;

    if (func->flags & FG_FUNC_C) {
        if (interp->is_installed)
            sync_c(func);
        return;
    }
    code = code_of(func);
    if (code)
        fg_hook_backend->sync(code, func);
    Py_XDECREF(code);
}

void fg_hooks_sync_begin(void)
{
    fg_lock(FG_LOCK_EVENTS);
}

void fg_hooks_sync_end(void)
{
    fg_unlock(FG_LOCK_EVENTS);
}

void fg_hooks_sync(struct fg_func *func)
{
    fg_hooks_sync_begin();
    fg_hooks_sync_func(func);
    fg_hooks_sync_end();
}

int fg_hooks_listen(struct fg_func *func)
{
    PyCodeObject *code = code_of(func);
    int error;

    fg_lock(FG_LOCK_EVENTS);
    error = code ? fg_hook_backend->listen(code, func) : 0;
    fg_unlock(FG_LOCK_EVENTS);
    Py_XDECREF(code);
    return error;
}

void fg_hooks_meet_func(struct fg_func *func)
{
    const struct fg_interp *interp = fg_func_interp(func);

    fg_lock(FG_LOCK_EVENTS);
    if (interp->is_installed) {
        if (func->flags & FG_FUNC_C)
            sync_c(func);
        else
            fg_hook_backend->sync(func->arch_data, func);
    }
    fg_unlock(FG_LOCK_EVENTS);
}

void fg_hooks_set_installed(struct fg_interp *interp, bool on)
{
    fg_lock(FG_LOCK_EVENTS);
    set_c_call_hooks(interp, false);
    interp->is_installed = on;
    fg_unlock(FG_LOCK_EVENTS);
}

/* True if a filter among those of the function's users is as @is_so says. */
static bool any_filter(struct fg_func *func, bool (*is_so)(const struct fg_filter *filter))
{
    struct fg_task *task = fg_task_current();
    bool has_entered =
        /* else a caller holds the guard; the list is not freed in either case */
        task && fg_guard_enter(task);
    const struct fg_user_list *list =
        task ? atomic_load_explicit(&func->users, memory_order_acquire) : &fg_no_users;
    bool any = false;

    for (uint32_t i = 0; i < list->n && !any; i++)
        any = is_so(&fg_user_of(atomic_load_explicit(&list->users[i].ops, memory_order_relaxed))->filter);
    if (has_entered)
        fg_guard_leave(task);
    return any;
}

static bool has_c_calls(const struct fg_filter *filter)
{
    return filter->c_calls;
}

static bool has_all_c_calls(const struct fg_filter *filter)
{
    return filter->c_calls && !filter->no_brief;
}

bool fg_hooks_wants_c_calls(struct fg_func *func)
{
    return any_filter(func, has_c_calls);
}

bool fg_hooks_wants_all_c_calls(struct fg_func *func)
{
    return any_filter(func, has_all_c_calls);
}

bool fg_hooks_wants_c_call(struct fg_func *func, struct fg_func *caller)
{
    return fg_func_has_users(func) &&
           (fg_func_wants_any_caller(func) || (caller && fg_hooks_wants_c_calls(caller)));
}
