/* Triggers: what the hits of an event do in an instance besides being recorded. The same actions are commands
 * of functions (func_command.h). */
#ifndef FG_TRIGGER_H
#define FG_TRIGGER_H

#include <stdint.h>

#include "engine/tracer/instance.h"
#include "engine/trigger/event_record.h"
#include "engine/trigger/trigger_kind.h"

/* The trigger of this name, or -1. */
int fg_trigger_by_name(const char *name);

/**
 * fg_trigger_run() - Do what the trigger does at a hit, if its filter and its count say so.
 *
 * Context: inside the guard.
 */
void fg_trigger_run(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site, const uint8_t *image, uint32_t bytes);

/* As fg_trigger_run(), where nothing but a function was hit: any trigger but HIST, without a filter. */
void fg_trigger_act(struct fg_trigger *trigger, struct fg_instance *instance,
                    const struct fg_event_site *site);

#endif
