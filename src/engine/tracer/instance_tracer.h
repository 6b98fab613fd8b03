/* The tracer of an instance: starting and stopping it, and keeping the instance's user in step with it.
 *
 * The caller is between fg_instance_change_begin() and fg_instance_change_end(), or nobody else
 * knows the instance. */
#ifndef FG_INSTANCE_TRACER_H
#define FG_INSTANCE_TRACER_H

#include "engine/graph/user.h"
#include "engine/tracer/instance.h"

/**
 * fg_instance_change_begin() - Keep other threads from changing the instance until
 * fg_instance_change_end().
 *
 * Return: 0, or -EBUSY: another thread changes or stops it now.
 */
int fg_instance_change_begin(struct fg_instance *instance);
void fg_instance_change_end(struct fg_instance *instance);

/**
 * fg_instance_run() - Start a tracer and register the instance's user.
 *
 * Return: 0; or the tracer's error: the instance then has the nop tracer; or an error of fgraph_register().
 * Context: no lock held.
 */
int fg_instance_run(struct fg_instance *instance, const struct fg_tracer *tracer);

/**
 * fg_instance_halt() - Unregister the instance's user and stop its tracer.
 *
 * Context: no lock held.
 */
void fg_instance_halt(struct fg_instance *instance);

/**
 * fg_instance_update_slot() - Register the instance's user, or unregister it, by whether it needs its slot.
 *
 * Return: 0 or an error of fgraph_register().
 * Context: no lock held.
 */
int fg_instance_update_slot(struct fg_instance *instance);

/**
 * fg_instance_apply_filter() - Give the user the filter that it needs for @own_filter and its
 * tracer's settings.
 * @own_filter: not changed
 *
 * Return: 0 or an error of fg_user_set_filter(); then nothing has changed.
 * Context: no lock held.
 */
int fg_instance_apply_filter(struct fg_instance *instance, const struct fg_filter *own_filter);

/**
 * fg_instance_update_plain() - Ask the tracer again whether calls are plain with the present settings.
 *
 * Context: takes the engine's lock.
 */
void fg_instance_update_plain(struct fg_instance *instance);

#endif
