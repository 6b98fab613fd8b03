/* See instances.h. */
#include "arch/cpython/register/instances.h"

#include <errno.h>

#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/ended.h"
#include "arch/cpython/hook/gate.h"
#include "arch/cpython/read/symbols.h"
#include "arch/cpython/register/events.h"
#include "arch/cpython/register/latency.h"
#include "arch/cpython/register/users.h"
#include "arch/cpython/static/print.h"

bool fg_cpython_traces_c_here(void)
{
    return FG_HAVE_MONITORING || PyInterpreterState_Get() == PyInterpreterState_Main();
}

/* Stops the instances of this interpreter that have ended. An instance that another thread changes now is
 * left for the next call. */
static void stop_ended(struct fg_interp *interp)
{
    int handle = 0;

    while ((handle = fg_instance_next(handle, interp))) {
        if (fg_instance_has_ended(handle) && fg_cpython_stop_instance(handle) == -EBUSY)
            fg_ended_note(interp);
    }
}

int fg_cpython_start_instance(struct fg_instance_config *config, bool after_site, int *handle)
{
    struct fg_interp *interp;
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    fg_ended_use(stop_ended);
    interp = fg_interp_known();
    config->scope = interp;
    if (after_site)
        fg_gate_wait_for_site();
    error = fg_symbols_meet_named_c(interp, &config->filter);
    if (!error)
        error = fg_instance_start(config, handle);
    fg_hooks_release();
    return error;
}

/* Hooks belong to an interpreter, so an instance is stopped by the interpreter that started it. */
static bool is_here(int handle)
{
    return handle > 0 && fg_instance_next(handle - 1, fg_interp_known()) == handle;
}

int fg_cpython_stop_instance(int handle)
{
    int error = -EINVAL;

    if (is_here(handle)) {
        fg_cpython_latency_stop_of(handle);
        error = fg_instance_stop(handle);
        fg_cpython_instance_stopped();
    }
    fg_hooks_stop_if_unused();
    return error;
}

void fg_cpython_stop_instances(void)
{
    int handle = 0;

    while ((handle = fg_instance_next(handle, fg_interp_known())))
        fg_instance_stop(handle);
}

/* A tracer that records calls needs the hooks. It also needs the records of the C functions that the
 * filter names. */
int fg_cpython_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error;

    if (tracer->init && fg_hooks_hold() != 0)
        return -EIO;
    error = tracer->init ? fg_symbols_meet_named_c(fg_interp_known(), &instance->filter) : 0;
    if (!error)
        error = fg_instance_set_tracer(instance, tracer);
    if (tracer->init)
        fg_hooks_release();
    else
        fg_hooks_stop_if_unused();
    return error;
}

int fg_cpython_set_filter(struct fg_instance *instance, struct fg_filter *filter)
{
    int error = instance->tracer->init ? fg_symbols_meet_named_c(fg_interp_known(), filter) : 0;

    return error ? error : fg_instance_set_filter(instance, filter);
}

int fg_cpython_mark_top(uint32_t func, const char *text, size_t bytes)
{
    struct fg_interp *interp = fg_interp_known();
    int handle = 0, error = 0;

    while (interp && error != -ENOMEM && (handle = fg_instance_next(handle, interp))) {
        if (fg_instance_is_top(handle))
            error = fg_static_print(handle, func, text, bytes);
    }
    return error == -ENOMEM ? error : 0;
}
