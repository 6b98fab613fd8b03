/* The symbols that an instance puts into its ring: of the process and of functions. */
#ifndef FG_INSTANCE_SYMBOLS_H
#define FG_INSTANCE_SYMBOLS_H

#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/tracer/instance.h"

/* True if the instance's records name functions that it does not record: its readers need
 * their symbols too. */
static inline bool fg_instance_shows_callers(const struct fg_instance *instance)
{
    return instance->retaddr || instance->stack_trace || instance->tracer->names_callers ||
           instance->nr_events;
}

/**
 * fg_instance_found() - Put the symbol of a function: the foundfunc of the instance's user.
 *
 * Context: engine's lock held.
 */
void fg_instance_found(struct fg_func *func, struct fgraph_ops *ops, bool matched);

/**
 * fg_instance_put_functions() - Put the symbols of all functions that the instance's records may name.
 *
 * Context: takes the engine's lock.
 */
void fg_instance_put_functions(struct fg_instance *instance);

/**
 * fg_instance_name_function() - Put the symbol of a function that a record of an idle instance names.
 * @id: the function's
 *
 * Context: takes the engine's lock. The ring is open.
 */
void fg_instance_name_function(struct fg_instance *instance, uint32_t id);

/**
 * fg_instance_forget_symbols() - Forget which symbols the ring has: its memory is new.
 *
 * Context: takes the engine's lock.
 */
void fg_instance_forget_symbols(struct fg_instance *instance);

/**
 * fg_instance_put_first() - Put the first symbols of each ring: the process's, and those of the events that
 * the instance records.
 *
 * Context: takes the engine's lock.
 */
void fg_instance_put_first(struct fg_instance *instance);

/* What events (engine/event) need to know of instances. */
struct fg_instance_event_ops {
    /* Puts the symbols of the events that the instance records. */
    void (*put_symbols)(struct fg_instance *instance);
    /* The instance stops: it records no events any longer when this returns. No lock held. */
    void (*stopping)(struct fg_instance *instance);
};
/* Once, with what stays the caller's. */
void fg_instance_set_event_ops(const struct fg_instance_event_ops *ops);
/* Tells it that the instance stops. */
void fg_instance_stop_events(struct fg_instance *instance);

/**
 * fg_instance_reopened() - Put all symbols into memory that the first record, or a fork's child, created: the
 * ring's reopened function.
 *
 * Context: takes the engine's lock.
 */
void fg_instance_reopened(struct fg_ring *ring);

#endif
