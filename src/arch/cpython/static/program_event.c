/* See program_event.h. */
#include "arch/cpython/static/program_event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/fetch/number.h"
#include "engine/core/root.h"

/* The oldest. Events are appended under the engine's lock, and read without it. */
static _Atomic(struct fg_program_event *) first;

static struct fg_program_event *follow(_Atomic(struct fg_program_event *) *link)
{
    /* acquire: pairs with append() in another thread */
    return atomic_load_explicit(link, memory_order_acquire);
}

static struct fg_program_event *event_at(uint32_t number)
{
    struct fg_program_event *event = follow(&first);

    while (event && number--)
        event = follow(&event->next);
    return event;
}

const struct fg_static_event_names *fg_static_names(uint32_t number)
{
    const struct fg_program_event *event;

    if (number < FG_NR_STATIC_EVENTS)
        return &fg_static_events[number];
    event = event_at(number - FG_NR_STATIC_EVENTS);
    return event ? &event->names : NULL;
}

struct fg_event_source *fg_static_source(uint32_t number)
{
    struct fg_program_event *event;

    if (number < FG_NR_STATIC_EVENTS)
        return &fg_static_sources[number];
    event = event_at(number - FG_NR_STATIC_EVENTS);
    return event ? &event->source : NULL;
}

/* ---- declaring */

static void event_free(struct fg_program_event *event)
{
    free((char *)event->names.system);
    free((char *)event->names.name);
    free((char *)event->names.values);
    free(event);
}

/* NULL: no memory. */
static struct fg_program_event *event_new(const struct fg_static_event_names *names,
                                          const struct fg_fetch_program *program)
{
    struct fg_program_event *event = calloc(1, sizeof(*event) + program->image.nr_fields);

    if (!event)
        return NULL;
    event->names = (struct fg_static_event_names){
        .system = strdup(names->system), .name = strdup(names->name), .values = strdup(names->values)};
    event->nr_fields = program->image.nr_fields;
    for (uint32_t i = 0; i < program->image.nr_fields; i++)
        event->types[i] = program->image.fields[i].type;
    if (event->names.system && event->names.name && event->names.values)
        return event;
    event_free(event);
    return NULL;
}

static bool is_same_event(const struct fg_static_event_names *a, const struct fg_static_event_names *b)
{
    return strcmp(a->system, b->system) == 0 && strcmp(a->name, b->name) == 0;
}

/* Appends an event unless there is one of its name. Return: the event of that name. */
static struct fg_program_event *append(struct fg_program_event *added)
{
    _Atomic(struct fg_program_event *) *link = &first;
    struct fg_program_event *event;

    fg_engine_lock();
    while ((event = follow(link)) && !is_same_event(&event->names, &added->names))
        link = &event->next;
    if (!event) {
        event = added;
        /* release: who finds the event sees what it is */
        atomic_store_explicit(link, event, memory_order_release);
    }
    fg_engine_unlock();
    return event;
}

/* The groups of the table are CPython's. */
static bool is_group_taken(const char *system)
{
    for (uint32_t i = 0; i < FG_NR_STATIC_EVENTS; i++) {
        if (strcmp(fg_static_events[i].system, system) == 0)
            return true;
    }
    return false;
}

int fg_program_event_declare(const struct fg_static_event_names *names,
                             const struct fg_fetch_program *program, struct fg_program_event **event)
{
    struct fg_program_event *made;

    if (is_group_taken(names->system))
        return -EPERM;
    made = event_new(names, program);
    if (!made)
        return -ENOMEM;
    *event = append(made);
    if (*event != made)
        event_free(made);
    return strcmp((*event)->names.values, names->values) == 0 ? 0 : -EEXIST;
}

/* ---- hits */

static bool is_signed(enum fg_field_type type)
{
    return type >= FG_FIELD_S8 && type <= FG_FIELD_S64;
}

/* Whether an integer type has a number. What is no integer is a fault anyway. */
static bool fits(struct fg_fetched number, enum fg_field_type type)
{
    unsigned bits = 8 * fg_field_element_bytes(type);

    if (number.kind == FG_FETCHED_UNSIGNED)
        return bits == 64 && !is_signed(type);
    if (number.kind != FG_FETCHED_SIGNED)
        return false;
    if (is_signed(type))
        return bits == 64 ||
               (number.number >= -(INT64_C(1) << (bits - 1)) && number.number < INT64_C(1) << (bits - 1));
    return number.number >= 0 && (bits == 64 || number.number < INT64_C(1) << bits);
}

static struct fg_fetched value_of(PyObject *object, enum fg_field_type type)
{
    struct fg_fetched value = fg_fetched_object(object);

    return type <= FG_FIELD_X64 && !fits(fg_fetched_number(value), type) ? fg_fetched_fault() : value;
}

void fg_program_event_hit(struct fg_program_event *event, PyObject *const *values)
{
    struct fg_fetched fetched[FG_EVENT_MAX_FIELDS];
    struct fg_static_site site = fg_static_site_here();

    for (uint32_t i = 0; i < event->nr_fields; i++)
        fetched[i] = value_of(values[i], event->types[i]);
    fg_static_hit_source(&event->source, &site, fetched, event->nr_fields);
}
