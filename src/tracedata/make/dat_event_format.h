/* The format text of an event that a program or its user defined, as the kernel writes those of its
 * probes. */
#ifndef FG_DAT_EVENT_FORMAT_H
#define FG_DAT_EVENT_FORMAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/event_table.h"
#include "tracedata/base/text.h"

/* What stands for a field that trace-cmd cannot read in the image: see dat_events.h. */
struct fg_dat_view {
    uint32_t field; /* in the event's fields */
    uint16_t offset;
    bool is_number;
    bool has_number, has_other; /* what the values in the trace are */
};

struct fg_dat_event {
    struct fg_dat_view *views;
    uint32_t nr_views;
    uint16_t view_bytes;
    bool has_values; /* a view may be of numbers */
};

#define FG_DAT_LOC_BYTES 4u /* of a __data_loc: offset in the low half, bytes in the high half */

/* True if the field may have any kind of value: its view is a number if all of them are. */
static inline bool fg_dat_field_is_value(const struct fg_field *field)
{
    return field->type == FG_FIELD_VALUE && field->count == 0;
}

/* Makes a view for each field that trace-cmd cannot read as it lies in the image. Return: 0 or -ENOMEM; the
 * caller frees event->views. */
int fg_dat_event_find_views(struct fg_dat_event *event, const struct fg_event_type *type);

/* Gives the views their places, once it is known what the values are. */
void fg_dat_event_place_views(struct fg_dat_event *event, const struct fg_event_type *type);

/* Appends a name as one that trace-cmd's parser takes: of letters, digits and '_'. */
void fg_dat_put_word(struct fg_text *text, const char *name, size_t bytes);

/* Appends the format text after its size. */
void fg_dat_event_put_format(struct fg_text *text, const struct fg_event_type *type,
                             const struct fg_dat_event *dat, uint32_t id);

#endif
