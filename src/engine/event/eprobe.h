/* An event on the fields of another event: each hit of that one which a filter accepts makes it. */
#ifndef FG_EPROBE_H
#define FG_EPROBE_H

#include <stdint.h>

#include "engine/event/derived_event.h"
#include "engine/event/event.h"
#include "engine/hist/hist_term.h"

struct fg_eprobe_value {
    struct fg_hist_term term; /* of the other event's hit */
    const char *text;         /* not NULL: this text instead */
};

/* All of it is the caller's, and stays while it listens. */
struct fg_eprobe {
    struct fg_event_listener listener;
    struct fg_derived_event *made;
    struct fg_event_filter *filter; /* of the other event's fields; NULL: all hits */
    uint32_t needs;
    uint32_t nr_values; /* as many as the event has fields */
    struct fg_eprobe_value *values;
};

/**
 * fg_eprobe_init() - Prepare a probe whose other members are filled in.
 *
 * Then fg_event_listen() attaches probe->listener to the other event.
 *
 * Return: 0; -EINVAL: a value is no term, or there are not as many as the event has fields.
 */
int fg_eprobe_init(struct fg_eprobe *probe);

#endif
