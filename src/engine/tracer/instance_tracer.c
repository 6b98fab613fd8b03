/* See instance_tracer.h. */
#include "engine/tracer/instance_tracer.h"

#include <errno.h>

#include "engine/tracer/instance_symbols.h"
#include "engine/users/users.h"

int fg_instance_change_begin(struct fg_instance *instance)
{
    return atomic_exchange(&instance->changing, true) ? -EBUSY : 0;
}

void fg_instance_change_end(struct fg_instance *instance)
{
    atomic_store(&instance->changing, false);
}

/* The user has @own_filter while the tracer records calls, and otherwise one that
 * matches no function. */
static int effective_filter(const struct fg_instance *instance, const struct fg_filter *own_filter,
                            struct fg_filter *filter)
{
    int error = fg_instance_records_calls(instance) ? fg_filter_copy(filter, own_filter)
                                                    : fg_filter_make_none(filter);

    filter->no_brief = instance->no_brief;
    if (!error && instance->tracer->reports_irqs)
        filter->irqs = instance->no_irqs ? FG_IRQS_HIDDEN : FG_IRQS_MARKED;
    return error;
}

int fg_instance_apply_filter(struct fg_instance *instance, const struct fg_filter *own_filter)
{
    struct fg_filter filter;
    int error = effective_filter(instance, own_filter, &filter);

    if (!error) {
        error = fg_user_set_filter(&instance->ops, &filter);
        fg_filter_clear(&filter);
    }
    return error;
}

/* The user's is_plain is read under the engine's lock, when lists of users are published. */
void fg_instance_update_plain(struct fg_instance *instance)
{
    const struct fg_tracer *tracer = instance->tracer;
    bool is_plain = tracer->is_plain && tracer->is_plain(instance);

    atomic_store(&instance->is_plain, is_plain);
    fg_engine_lock();
    fg_user_of(&instance->ops)->is_plain = is_plain;
    fg_engine_unlock();
}

/* The user is not registered. */
static void choose_functions(struct fg_instance *instance)
{
    struct fgraph_ops *ops = &instance->ops;

    ops->entryfunc = NULL;
    ops->retfunc = NULL;
    ops->suspendfunc = NULL;
    ops->resumefunc = NULL;
    fg_user_of(ops)->readyfunc = NULL;
    ops->name = *instance->ring.instance ? instance->ring.instance : instance->tracer->name;
    fg_user_of(ops)->is_entry_only = instance->tracer->is_entry_only;
    fg_user_of(ops)->sees_native = instance->tracer->sees_native;
    if (instance->tracer->init)
        instance->tracer->init(instance);
    fg_instance_update_plain(instance);
}

static void stop_tracer(struct fg_instance *instance)
{
    if (instance->tracer->stop)
        instance->tracer->stop(instance);
    instance->tracer = &fg_tracer_nop;
    instance->tracer_data = NULL;
    atomic_store(&instance->max_latency_ticks, 0);
}

static int start_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error;

    instance->tracer = tracer;
    error = tracer->start ? tracer->start(instance) : 0;
    if (error)
        instance->tracer = &fg_tracer_nop;
    return error;
}

/* Takes a slot only if it is needed: any number of idle instances can exist. */
static int register_user(struct fg_instance *instance)
{
    struct fg_filter filter;
    int error = effective_filter(instance, &instance->filter, &filter);

    if (error)
        return error;
    choose_functions(instance);
    fg_user_set_filter(&instance->ops, &filter); /* cannot fail: the user is not registered */
    return fg_instance_needs_slot(instance) ? fgraph_register(&instance->ops) : 0;
}

int fg_instance_update_slot(struct fg_instance *instance)
{
    bool has_slot = fg_user_slot(&instance->ops) >= 0;

    if (has_slot == fg_instance_needs_slot(instance))
        return 0;
    return has_slot ? fgraph_unregister(&instance->ops) : fgraph_register(&instance->ops);
}

int fg_instance_run(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error, refused;

    fg_instance_put_first(instance);
    refused = start_tracer(instance, tracer);
    error = register_user(instance);
    if (error)
        stop_tracer(instance);
    return error ? error : refused;
}

void fg_instance_halt(struct fg_instance *instance)
{
    if (fgraph_unregister(&instance->ops) != 0)
        fg_users_synchronize(); /* it has no slot; a mark may be on its way into the ring */
    stop_tracer(instance);
}
