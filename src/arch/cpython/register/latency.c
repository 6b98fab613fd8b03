/* See latency.h. */
#include "arch/cpython/register/latency.h"

#include <errno.h>
#include <stdio.h>

#include "arch/cpython/base/lock.h"
#include "arch/cpython/register/users.h"
#include "engine/core/root.h"
#include "engine/tracer/instance_start.h"
#include "engine/users/users.h"
#include "engine/writer/ring_buffer.h"

/* In the same order as fg_latency_tracers. */
static struct state {
    void *owner; /* the interpreter that enabled the tracer; NULL: disabled. Guarded by FG_LOCK_CONTROL */
    int own;     /* handle of the tracer's own instance, which records the inside of sections; 0: none */
} states[FG_MAX_LATENCY_TRACERS];

static struct state *state_of(const struct fg_latency_tracer *tracer)
{
    int i = 0;

    while (fg_latency_tracers[i] != tracer)
        i++;
    return &states[i];
}

/* Makes @to the owner if @from is. Return: true if it was. */
static bool change_owner(const struct fg_latency_tracer *tracer, void *from, void *to)
{
    struct state *state = state_of(tracer);
    bool has_changed;

    fg_lock(FG_LOCK_CONTROL);
    has_changed = state->owner == from;
    if (has_changed)
        state->owner = to;
    fg_unlock(FG_LOCK_CONTROL);
    return has_changed;
}

static void unregister_user(const struct fg_latency_user *user)
{
    if (user->hook && fg_call_hook_is_installed(user->hook))
        fg_call_hook_remove(user->hook);
    else
        fg_cpython_unregister(user->ops);
}

static void unregister_users(const struct fg_latency_tracer *tracer, int n)
{
    while (n--)
        unregister_user(&tracer->users[n]);
}

/* Installs the user's call hook where possible; otherwise registers it as a user of the function graph. */
static int register_user(const struct fg_latency_user *user)
{
    struct fg_pattern_error wrong;
    int error;

    if (user->hook && fg_call_hook_install(user->hook, user->function))
        return 0;
    error = fgraph_edit_filter(user->ops, FGRAPH_FILTER, &user->function, 1, true, &wrong);
    fg_user_of(user->ops)->filter.c_calls = user->c_calls;
    return error ? error : fg_cpython_register(user->ops);
}

/* True if call hooks serve for all of the first @n users. */
static bool has_hooks(const struct fg_latency_tracer *tracer, int n)
{
    int i = 0;

    while (i < n && tracer->users[i].hook && fg_call_hook_is_installed(tracer->users[i].hook))
        i++;
    return i == n;
}

/* Registers all users, or none. */
static int register_users(const struct fg_latency_tracer *tracer, bool is_cheap)
{
    int error = 0;

    for (int i = 0; i < FG_LATENCY_MAX_USERS && tracer->users[i].ops; i++) {
        if ((tracer->users[i].is_late && has_hooks(tracer, i)) || (tracer->users[i].c_calls && is_cheap))
            continue;
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

/* ---- the function graph inside sections */

static int add_graph(struct fg_filter *filter, const char *graph)
{
    struct fg_pattern_error wrong;

    return graph ? fg_filter_add(filter, FGRAPH_GRAPH, &graph, 1, &wrong) : 0;
}

static int start_own(const struct fg_latency_tracer *tracer, struct fg_interp *interp, size_t bytes)
{
    struct fg_instance_config config = {
        .tracer = &fg_tracer_function_graph,
        .ring = {.buffer_bytes = bytes, .mode = FG_RING_OVERWRITE},
        .scope = interp,
    };
    struct state *state = state_of(tracer);
    int error = add_graph(&config.filter, tracer->graph);

    snprintf(config.ring.instance, sizeof(config.ring.instance), "%s", tracer->name);
    if (error || fg_hooks_hold() != 0) {
        fg_filter_clear(&config.filter);
        return error ? error : -EIO;
    }
    error = fg_instance_start(&config, &state->own);
    if (error)
        state->own = 0;
    fg_hooks_release();
    return error;
}

/* Return: 0, or -EINVAL: no such instance. */
static int look_inside(const struct fg_latency_tracer *tracer, int handle)
{
    struct fg_instance *instance = fg_instance_get(handle);

    atomic_store(&tracer->latency->inside, instance);
    return instance ? 0 : -EINVAL;
}

static int start_inside(const struct fg_latency_tracer *tracer, struct fg_interp *interp,
                        struct fg_latency_output output)
{
    int error = output.inside_bytes ? start_own(tracer, interp, output.inside_bytes) : 0;

    if (error || (!output.inside_bytes && !output.inside))
        return error;
    return look_inside(tracer, output.inside_bytes ? state_of(tracer)->own : output.inside);
}

/* Call after the detector has stopped. */
static void stop_inside(const struct fg_latency_tracer *tracer)
{
    struct fg_instance *instance = atomic_exchange(&tracer->latency->inside, NULL);
    struct state *state = state_of(tracer);

    if (state->own)
        fg_instance_stop(state->own);
    state->own = 0;
    if (instance)
        fg_instance_put(instance);
    fg_hooks_stop_if_unused();
}

/* ---- texts in an instance's buffer */

/* Opens the buffer now: a detector may have to write where other locks are held. */
static int start_marking(const struct fg_latency_tracer *tracer, int handle)
{
    struct fg_instance *instance = handle ? fg_instance_get(handle) : NULL;

    if (!instance)
        return handle ? -EINVAL : 0;
    fg_ring_is_ready(&instance->ring);
    fg_instance_put(instance);
    tracer->latency->name = tracer->name;
    atomic_store(&tracer->latency->instance, handle);
    return 0;
}

/* ---- enabling and disabling */

static void stop_detector(const struct fg_latency_tracer *tracer)
{
    unregister_users(tracer, nr_users(tracer));
    if (tracer->stop)
        tracer->stop();
}

static int start_detector(const struct fg_latency_tracer *tracer, struct fg_interp *interp, bool is_cheap,
                          const char **why)
{
    int error = tracer->start ? tracer->start(interp, why) : 0;

    if (error)
        return error;
    error = register_users(tracer, is_cheap);
    if (error && tracer->stop)
        tracer->stop();
    return error;
}

static int start(const struct fg_latency_tracer *tracer, struct fg_interp *interp,
                 struct fg_latency_output output, const char **why)
{
    int error = start_detector(tracer, interp, output.is_cheap, why);

    if (error)
        return error;
    error = start_inside(tracer, interp, output);
    if (!error)
        error = start_marking(tracer, output.instance);
    if (error) {
        stop_detector(tracer);
        stop_inside(tracer);
    }
    return error;
}

int fg_cpython_latency_start(const struct fg_latency_tracer *tracer, struct fg_latency_output output,
                             const char **why)
{
    struct fg_interp *interp = fg_engine_here();
    int error;

    *why = NULL;
    if (!interp)
        return -EIO;
    if (fg_is_killed())
        return -ENODEV;
    if (!change_owner(tracer, NULL, interp))
        return -EBUSY;
    fg_latency_reset(tracer->latency);
    error = start(tracer, interp, output, why);
    if (error)
        change_owner(tracer, interp, NULL);
    return error;
}

int fg_cpython_latency_stop(const struct fg_latency_tracer *tracer)
{
    struct fg_interp *interp = fg_interp_known();

    if (!interp || state_of(tracer)->owner != interp)
        return -EINVAL;
    stop_detector(tracer);
    stop_inside(tracer);
    atomic_store(&tracer->latency->instance, 0);
    change_owner(tracer, interp, NULL);
    return 0;
}

void fg_cpython_latency_stop_of(int handle)
{
    for (int i = 0; fg_latency_tracers[i]; i++) {
        if (handle && atomic_load(&fg_latency_tracers[i]->latency->instance) == handle)
            fg_cpython_latency_stop(fg_latency_tracers[i]);
    }
}

bool fg_cpython_latency_is_on(const struct fg_latency_tracer *tracer)
{
    return state_of(tracer)->owner != NULL;
}

void fg_cpython_latency_stop_all(void)
{
    for (int i = 0; fg_latency_tracers[i]; i++)
        fg_cpython_latency_stop(fg_latency_tracers[i]);
}
