/* Turning latency tracers on and off. */
#include "latency_registration.h"

#include <errno.h>

#include "arch/cpython/lock.h"
#include "registration.h"

#define MAX_TRACERS 8

/* Which interpreter has turned it on, in the order of the table; NULL: it is off. Under FG_LOCK_CONTROL. */
static void *owners[MAX_TRACERS];

static void **owner_of(const struct fg_latency_tracer *tracer)
{
    int i = 0;

    while (fg_latency_tracers[i] != tracer)
        i++;
    return &owners[i];
}

/* True: it was `is`, and is `becomes` now. */
static bool change_owner(const struct fg_latency_tracer *tracer, void *is, void *becomes)
{
    void **owner = owner_of(tracer);
    bool has_changed;

    fg_lock(FG_LOCK_CONTROL);
    has_changed = *owner == is;
    if (has_changed)
        *owner = becomes;
    fg_unlock(FG_LOCK_CONTROL);
    return has_changed;
}

static void unregister_users(const struct fg_latency_tracer *tracer, int n)
{
    while (n--)
        fg_binding_unregister(tracer->users[n].ops);
}

static int register_user(const struct fg_latency_user *user)
{
    struct fg_pattern_error wrong;
    int error = fgraph_edit_filter(user->ops, FGRAPH_FILTER, &user->pattern, 1, true, &wrong);

    return error ? error : fg_binding_register(user->ops);
}

/* All or none. */
static int register_users(const struct fg_latency_tracer *tracer)
{
    int error = 0;

    for (int i = 0; i < FG_LATENCY_MAX_USERS && tracer->users[i].ops; i++) {
        error = register_user(&tracer->users[i]);
        if (error) {
            unregister_users(tracer, i);
            break;
        }
    }
    return error;
}

static int nr_users(const struct fg_latency_tracer *tracer)
{
    int n = 0;

    while (n < FG_LATENCY_MAX_USERS && tracer->users[n].ops)
        n++;
    return n;
}

static int start(const struct fg_latency_tracer *tracer, struct fg_interp *interp, const char **why)
{
    int error = tracer->start ? tracer->start(interp, why) : 0;

    if (error)
        return error;
    error = register_users(tracer);
    if (error && tracer->stop)
        tracer->stop();
    return error;
}

int fg_binding_latency_start(const struct fg_latency_tracer *tracer, const char **why)
{
    struct fg_interp *interp = fg_engine_here();
    int error;

    *why = NULL;
    if (!interp)
        return -EIO;
    if (!change_owner(tracer, NULL, interp))
        return -EBUSY;
    fg_latency_reset(tracer->latency);
    error = start(tracer, interp, why);
    if (error)
        change_owner(tracer, interp, NULL);
    return error;
}

int fg_binding_latency_stop(const struct fg_latency_tracer *tracer)
{
    struct fg_interp *interp = fg_interp_known();

    if (!interp || *owner_of(tracer) != interp)
        return -EINVAL;
    unregister_users(tracer, nr_users(tracer));
    if (tracer->stop)
        tracer->stop();
    change_owner(tracer, interp, NULL);
    return 0;
}

bool fg_binding_latency_is_on(const struct fg_latency_tracer *tracer)
{
    return *owner_of(tracer) != NULL;
}

void fg_binding_latency_stop_all(void)
{
    for (int i = 0; fg_latency_tracers[i]; i++)
        fg_binding_latency_stop(fg_latency_tracers[i]);
}
