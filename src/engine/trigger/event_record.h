/* Writing an event into an instance's ring. */
#ifndef FG_EVENT_RECORD_H
#define FG_EVENT_RECORD_H

#include <stdint.h>

#include "engine/core/regs.h"
#include "engine/core/task.h"
#include "engine/tracer/instance.h"

struct fg_event;

/* Who hits an event, and where. */
struct fg_event_site {
    struct fg_task *task;
    uint32_t func;                  /* the function's id, or 0 */
    struct fg_caller caller;        /* at a return: who called it; func 0: not known */
    const struct ftrace_regs *regs; /* or NULL */
    int only;                       /* the handle of the one instance whose event is hit; 0: of all */
    /* Of an event that another one makes (derived_event.h): the event, and the site of the other one. */
    const struct fg_event *made;
    const struct fg_event_site *maker;
};

/**
 * fg_event_record() - Write an event.
 * @number: of its kind
 * @fields: @bytes of its image, from the first field on
 *
 * If the instance has the option `stacktrace`, the functions in progress follow. A record that finds no
 * room is lost, and counted.
 *
 * Context: inside the guard.
 */
void fg_event_record(struct fg_instance *instance, uint32_t number, const struct fg_event_site *site,
                     const uint8_t *fields, uint32_t bytes);

/**
 * fg_event_record_stack() - Write the functions in progress where an event was hit, the innermost first.
 *
 * A record that finds no room is lost, and counted.
 *
 * Context: inside the guard.
 */
void fg_event_record_stack(struct fg_instance *instance, const struct fg_event_site *site);

#endif
