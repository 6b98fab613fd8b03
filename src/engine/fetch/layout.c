/* See layout.h. */
#include "engine/fetch/layout.h"

#include <errno.h>
#include <stdlib.h>

static const uint16_t fields_at[] = {
    [FG_FETCH_AT_ENTRY] = FG_EVENT_ENTRY_FIELDS_AT,
    [FG_FETCH_AT_RETURN] = FG_EVENT_RETURN_FIELDS_AT,
    [FG_FETCH_AT_NO_FUNCTION] = FG_EVENT_PLAIN_FIELDS_AT,
};

int fg_fetch_layout_new(struct fg_fetch_layout *layout, uint32_t n, enum fg_fetch_place place,
                        struct fg_fetch_too_long *too_long)
{
    *layout = (struct fg_fetch_layout){
        .nr_fields = n, .is_return = place == FG_FETCH_AT_RETURN, .fields_at = fields_at[place]};
    if (n > FG_EVENT_MAX_FIELDS) {
        *too_long = (struct fg_fetch_too_long){"an event has too many fields", n, FG_EVENT_MAX_FIELDS};
        return -E2BIG;
    }
    layout->fields = calloc(n + 1, sizeof(*layout->fields));
    layout->names = calloc(n + 1, sizeof(*layout->names));
    layout->later_text = calloc(n + 1, sizeof(*layout->later_text));
    layout->counts = calloc(1, sizeof(*layout->counts));
    if (layout->fields && layout->names && layout->later_text && layout->counts)
        return 0;
    fg_fetch_layout_clear(layout);
    return -ENOMEM;
}

int fg_fetch_lay_out(struct fg_fetch_layout *layout, struct fg_fetch_too_long *too_long)
{
    uint32_t end = layout->fields_at, bit, later = 0;

    for (uint32_t i = 0; i < layout->nr_fields; i++) {
        layout->fields[i].offset = (uint16_t)end;
        end += fg_fetch_fixed_bytes(&layout->fields[i]);
    }
    layout->faults_at = (uint16_t)end;
    bit = end * 8;
    for (uint32_t i = 0; i < layout->nr_fields; i++)
        bit = fg_field_place_faults(&layout->fields[i], bit);
    end = (bit + 7) / 8;
    for (uint32_t i = layout->nr_fields; i-- > 0;) {
        layout->later_text[i] = (uint16_t)later;
        later += fg_fetch_nr_texts(&layout->fields[i]) * FG_FETCH_MIN_TEXT;
    }
    layout->fixed_bytes = (uint16_t)end;
    if (end + later <= FG_EVENT_MAX_BYTES)
        return 0;
    *too_long = (struct fg_fetch_too_long){"the event is too long", end + later, FG_EVENT_MAX_BYTES};
    return -E2BIG;
}

void fg_fetch_layout_clear(struct fg_fetch_layout *layout)
{
    free(layout->fields);
    free(layout->names);
    free(layout->later_text);
    free(layout->counts);
    *layout = (struct fg_fetch_layout){0};
}
