/* Static events that the program declares: they stand after those of the table.
 *
 * An event stays once it is declared: modules are reloaded, and declare it again. It is of the process. As
 * with the other static events, a probe sees the hits of its own interpreter. */
#ifndef FG_CPYTHON_PROGRAM_EVENT_H
#define FG_CPYTHON_PROGRAM_EVENT_H

#include "arch/cpython/fetch/program.h"
#include "arch/cpython/static/static_event.h"

struct fg_program_event {
    struct fg_event_source source; /* it needs no start */
    struct fg_static_event_names names;
    _Atomic(struct fg_program_event *) next; /* the one declared after it */
    uint32_t nr_fields;
    uint8_t types[]; /* enum fg_field_type of each field */
};

/**
 * fg_program_event_declare() - Declare an event, or find it if it is declared.
 * @names: copied
 * @program: a fetch program of its fields, which says their types
 * @event: set to the event
 *
 * Return: 0; -EEXIST: it is declared with other fields; -EPERM: the table has events of this system; -ENOMEM.
 */
int fg_program_event_declare(const struct fg_static_event_names *names,
                             const struct fg_fetch_program *program, struct fg_program_event **event);

/* The names, and the source, of a static event: one of the table, or a declared one with a number from
 * FG_NR_STATIC_EVENTS on. NULL: there is none with this number. */
const struct fg_static_event_names *fg_static_names(uint32_t number);
struct fg_event_source *fg_static_source(uint32_t number);

/* True if a call has any effect. */
static inline bool fg_program_event_is_enabled(struct fg_program_event *event)
{
    return fg_event_source_is_enabled(&event->source);
}

/**
 * fg_program_event_hit() - Hit a declared event.
 * @values: of its fields, in their order. One that does not fit its type is a fault
 *
 * No code of the program runs, and no exception is left set.
 *
 * Context: the thread has its thread state, and no exception is set.
 */
void fg_program_event_hit(struct fg_program_event *event, PyObject *const *values);

#endif
