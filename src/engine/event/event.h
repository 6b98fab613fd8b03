/* Events of this process: kinds of them, and which instances want each.
 *
 * An event is a kind: a system, a name and fields. It is hit by a probe (probe_event.h) or by the program,
 * which make an image (field.h) of it. An instance that wants events of that kind has a file of the event,
 * as the kernel's events/SYSTEM/NAME of an instance. The event has a list of its files, which a hit reads
 * without a lock. Adding a file publishes a copy. What is unpublished is freed when no callback can read it.
 * */
#ifndef FG_EVENT_H
#define FG_EVENT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/ring/field.h"
#include "engine/tracer/instance.h"
#include "engine/trigger/event_file.h"
#include "engine/trigger/event_record.h"

struct fg_event {
    char *system, *name;
    char *fields;                           /* as in the symbol (ring_layout.h) */
    uint32_t fields_at;                     /* where the fields begin in an image */
    uint32_t number;                        /* in this process; never reused */
    _Atomic(struct fg_event_files *) files; /* NULL: there are none. Changed under the engine's lock */
    struct fg_event *next;                  /* of the process's; under the engine's lock */
};

/* Called at each hit of an event, inside the guard, with the whole image: an event on that event. */
struct fg_event_listener {
    void (*hit)(struct fg_event_listener *listener, const struct fg_event_site *site, const uint8_t *image,
                uint32_t bytes);
};

/**
 * fg_event_new() - Make a kind of event, which no instance wants yet.
 * @fields: `TYPE NAME COUNT OFFSET` of each field, joined by ';'
 * @fields_at: where they begin in an image
 *
 * Return: 0 or -ENOMEM. Names may be given twice: whoever makes events sees to it that they are not.
 */
int fg_event_new(const char *system, const char *name, const char *fields, uint32_t fields_at,
                 struct fg_event **event);

/**
 * fg_event_free() - Remove an event with all its files.
 *
 * Nothing hits it any longer, and nobody else enables it.
 *
 * Context: no lock of the engine held; waits for callbacks.
 */
void fg_event_free(struct fg_event *event);

/**
 * fg_event_set() - Say what an instance wants of an event.
 * @handle: the instance's
 * @want: it replaces what the instance wanted before, so that each hit sees one of both. On success the
 *   filter is the event's to free; the triggers stay the caller's, and must stay until something else is
 *   wanted.
 *
 * When it returns, no hit sees what was wanted before. The switch must stay as the triggers must.
 *
 * Return: 0; -EINVAL: no such instance; -ENOMEM; -ENOSPC: no slot is free; -EBUSY: another thread changes
 * the instance.
 * Context: no lock of the engine held.
 */
int fg_event_set(struct fg_event *event, int handle, const struct fg_event_request *want);
bool fg_event_is_recorded(struct fg_event *event, int handle);

/**
 * fg_event_set_tids() - Limit an instance to hits of all its events in some threads.
 * @tids: the threads; NULL: all. On success the instance's to free
 *
 * Triggers do not run at other hits either.
 *
 * Return: 0; -EINVAL: no such instance; -EBUSY: another thread changes the instance.
 * Context: no lock of the engine held.
 */
int fg_event_set_tids(int handle, struct fg_tids *tids);
/* True if any instance wants something of it, or somebody listens to it. */
bool fg_event_is_used(struct fg_event *event);

/**
 * fg_event_watch_instances() - Have events end with their instances. Before the first of them.
 * @stopping: NULL, or also to be called when an instance stops
 */
void fg_event_watch_instances(void (*stopping)(struct fg_instance *instance));

/**
 * fg_event_take_slot() - Have an instance ready for records that hits write.
 *
 * Return: 0 or a negative errno, as fgraph_register().
 * Context: the caller may change the instance (instance_tracer.h).
 */
int fg_event_take_slot(struct fg_instance *instance);
/* Undoes it. Context: no lock of the engine held. */
void fg_event_leave_slot(int handle);

/**
 * fg_event_listen() - Have a listener called at each hit of an event.
 *
 * Return: 0; -ENOMEM.
 * Context: no lock of the engine held.
 */
int fg_event_listen(struct fg_event *event, struct fg_event_listener *listener);
/* When it returns, the listener is not called any longer, unless the caller is in a callback. */
void fg_event_unlisten(struct fg_event *event, const struct fg_event_listener *listener);
bool fg_event_has_listeners(struct fg_event *event);

/* Calls @visit for each trigger that an instance has on any event, until it returns true. Then returns true.
 * The engine's lock is held meanwhile. */
bool fg_event_find_trigger(bool (*visit)(const struct fg_trigger *trigger, const void *arg), const void *arg);

/* True if a hit has any effect. Inside the guard. */
static inline bool fg_event_is_enabled(struct fg_event *event)
{
    return atomic_load_explicit(&event->files, memory_order_relaxed) != NULL;
}

/**
 * fg_event_hit() - Give an event to all who want it.
 * @image: its fields are filled in; the common ones are filled in here
 *
 * Context: inside the guard of site->task, the calling thread's.
 */
void fg_event_hit(struct fg_event *event, const struct fg_event_site *site, uint8_t *image, uint32_t bytes);

#endif
