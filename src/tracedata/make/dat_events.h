/* Events that programs and their users define, in a trace.dat: their format texts, and their records.
 *
 * A record is the event's image (field.h) with a gap, so that a reader which knows the fields reads it as the
 * image that it is:
 *
 *     +------------------------+ 0
 *     | up to the fixed fields |
 *     +------------------------+ fixed_end
 *     | views                  |  of each field that trace-cmd cannot read in the image
 *     +------------------------+ fixed_end + view_bytes
 *     | the rest of the image  |  to which the fields refer: further behind by view_bytes
 *     +------------------------+
 *     | texts of the views     |
 *     +------------------------+
 *
 * The view of a value is an s64 if every one of its values in the trace is such a number. Any other view is
 * what a report prints, as a string (__data_loc): of floats, objects, values, and arrays of texts. */
#ifndef FG_DAT_EVENTS_H
#define FG_DAT_EVENTS_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/event_table.h"
#include "tracedata/base/text.h"
#include "tracedata/make/dat_event_format.h"
#include "tracedata/read/fg/recorded.h"

/* A record is never longer, so that it always fits into a page. Texts for which it has no room are cut. */
#define FG_DAT_EVENT_BYTES 4000u

struct fg_dat_events {
    const struct fg_event_table *types;
    struct fg_dat_event *events;            /* by number of the kind */
    const struct fg_event_type **by_system; /* all kinds, those of a system together */
    struct fg_text text;                    /* of the current view */
    uint8_t record[FG_DAT_EVENT_BYTES];     /* the current one */
};

/* Reads the trace, if it has values in events, unless all are to be texts. Return: 0 or a negative errno.
 * fg_dat_events_free() is to be called in either case. */
int fg_dat_events_init(struct fg_dat_events *events, struct fg_row_pass *pass, bool values_are_texts);
void fg_dat_events_free(struct fg_dat_events *events);

/* How many systems there are besides @system, and how many events that has. */
uint32_t fg_dat_events_nr_others(const struct fg_dat_events *events, const char *system);
uint32_t fg_dat_events_count(const struct fg_dat_events *events, const char *system);

/* Append the formats of this system; name, number of events and formats of each of the others. */
void fg_dat_events_put_system(struct fg_text *text, const struct fg_dat_events *events, const char *system);
void fg_dat_events_put_others(struct fg_text *text, const struct fg_dat_events *events, const char *system);

/* The record of an event of any kind, *bytes long. It stays as it is until the next call. NULL: memory is
 * short. */
const uint8_t *fg_dat_events_record(struct fg_dat_events *events, const struct fg_event *event,
                                    uint32_t *bytes);

#endif
