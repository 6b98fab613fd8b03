/* Events of a trace.dat, decoded: wire.h has their images. */
#ifndef FG_DAT_EVENT_H
#define FG_DAT_EVENT_H

#include "tracedata/base/trace_event.h"

/**
 * fg_dat_event_decode() - Decode the image of an event of FG_EVENTS.
 * @event: has type, data and size of the image; its data and size become those of what is made
 * @made: room for a struct fg_graph_data and @event->size bytes, aligned to 8 bytes
 *
 * The size becomes 0 if the image is too short. An event of another type stays as it is.
 */
void fg_dat_event_decode(struct fg_event *event, void *made);

#endif
