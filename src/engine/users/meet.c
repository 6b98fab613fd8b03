/* See meet.h. */
#include "engine/users/meet.h"

#include "engine/core/root.h"
#include "engine/core/sync.h"
#include "engine/graph/suspended.h"
#include "engine/graph/user_list.h"
#include "engine/users/users.h"

static bool attach_none(struct fg_func *func)
{
    (void)func;
    return true;
}

static void detach_none(struct fg_func *func)
{
    (void)func;
}

static const struct fg_meet_ops no_ops = {attach_none, detach_none};
static const struct fg_meet_ops *meet_ops = &no_ops;

void fg_meet_set_ops(const struct fg_meet_ops *ops)
{
    meet_ops = ops;
}

static struct fg_func *meet_locked(const struct fg_func_desc *desc)
{
    struct fg_func *func = fg_func_new(desc);
    struct fg_user_list *list;

    if (!func)
        return NULL;
    list = meet_ops->attach(func) ? fg_users_match(func) : NULL;
    if (!list) {
        meet_ops->detach(func);
        fg_func_delete(func);
        return NULL;
    }
    fg_func_insert(func);
    fg_user_list_publish(func, list);
    return func;
}

struct fg_func *fg_func_meet(const struct fg_func_desc *desc)
{
    struct fg_func *func;

    fg_engine_lock();
    func = meet_locked(desc);
    fg_engine_unlock();
    return func;
}

void fg_func_forget(struct fg_func *func)
{
    struct fg_domain *domain = func->domain;
    struct fg_user_list *list;
    void *object;

    fg_abandon_function(func);
    object = atomic_exchange(&func->object, NULL);
    fg_engine_lock();
    list = atomic_load(&func->users);
    fg_user_list_publish(func, &fg_no_users);
    fg_user_list_drop(list); /* no callback reads it: the function is gone, so it does not run */
    meet_ops->detach(func);
    fg_func_delete(func);
    fg_engine_unlock();
    if (object)
        fg_domain_drop_object(domain, object);
}

/* Makes the function's list again, after more became known about the function. False: memory is short. */
static bool rematch(struct fg_func *func)
{
    struct fg_user_list *list = fg_users_match(func);

    if (list)
        fg_user_list_replace(func, list);
    return list != NULL;
}

static bool set_irq_locked(struct fg_func *func)
{
    func->irq = true;
    if (!rematch(func))
        func->irq = false;
    return func->irq;
}

bool fg_func_set_irq(struct fg_func *func)
{
    bool is_known, is_set = true;

    fg_engine_lock();
    is_known = func->irq;
    if (!is_known)
        is_set = set_irq_locked(func);
    fg_engine_unlock();
    if (!is_known && is_set)
        fg_sync(func); /* its first users may be those from which it hides calls */
    return is_set;
}
