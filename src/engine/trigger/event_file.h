/* What instances want of an event: the list that a hit reads (event.h). */
#ifndef FG_EVENT_FILE_H
#define FG_EVENT_FILE_H

#include "engine/tracer/instance.h"
#include "engine/trigger/trigger_kind.h"

/* What an instance wants of an event. */
struct fg_event_request {
    bool records;                       /* the hits are recorded */
    struct fg_event_filter *filter;     /* which hits are; NULL: all */
    const struct fg_event_switch *soft; /* they are while this is on; NULL: always. The caller's */
    struct fg_trigger *const *triggers; /* what all hits do */
    uint32_t nr_triggers;
};

struct fg_event_listener;

/* An event in an instance that wants something of it, or a listener of the event. */
struct fg_event_file {
    const void *owner;                  /* the instance or the listener */
    struct fg_event_listener *listener; /* or NULL */
    struct fg_instance *instance;       /* it stops only after its files are gone; NULL for a listener */
    int handle;                         /* the instance's */
    struct fg_event_request want;       /* the filter is the file's, triggers and switch are not */
    struct fg_event_file *next;         /* of those that are to be freed */
    struct fg_trigger *triggers[];
};

/* A file that goes is replaced by NULL: that needs no memory. */
struct fg_event_files {
    uint32_t n;
    _Atomic(struct fg_event_file *) files[];
};

#endif
