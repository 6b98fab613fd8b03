/* Entries and exits of calls in a trace.dat, decoded: wire.h has their images. */
#ifndef FG_DAT_GRAPH_H
#define FG_DAT_GRAPH_H

#include "tracedata/base/trace_event.h"

/**
 * fg_dat_graph_decode() - Decode the image of an entry or exit.
 * @event: has type, data and size of the image; its data and size become those of what is made
 * @made: room for a struct fg_graph_data and @event->size bytes of values, aligned to 8 bytes
 *
 * An image that is too short stays as it is: it is too short for a struct fg_graph_data, too.
 */
void fg_dat_graph_decode(struct fg_event *event, void *made);

#endif
