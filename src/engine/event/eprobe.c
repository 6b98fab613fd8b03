/* See eprobe.h. */
#include "engine/event/eprobe.h"

#include <errno.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "engine/trigger/hit.h"

static struct fg_loaded load(const struct fg_eprobe_value *value, const struct fg_hit *hit)
{
    if (!value->text)
        return fg_hist_term_run(&value->term, hit);
    return (struct fg_loaded){.kind = FG_LOADED_TEXT,
                              .text = value->text,
                              .bytes = (uint16_t)strnlen(value->text, FG_EVENT_MAX_BYTES)};
}

static void at_hit(struct fg_event_listener *listener, const struct fg_event_site *site, const uint8_t *image,
                   uint32_t bytes)
{
    const struct fg_eprobe *probe = fg_container_of(listener, struct fg_eprobe, listener);
    struct fg_loaded values[FG_EVENT_MAX_FIELDS];
    struct fg_hit_room room;
    struct fg_hit hit;

    if (!fg_derived_event_is_enabled(probe->made) ||
        (probe->filter && !fg_event_filter_matches(probe->filter, image, bytes)))
        return;
    fg_hit_fill(&hit, &room, probe->needs, site, image, bytes);
    for (uint32_t i = 0; i < probe->nr_values; i++)
        values[i] = load(&probe->values[i], &hit);
    fg_derived_event_hit(probe->made, site, values);
}

int fg_eprobe_init(struct fg_eprobe *probe)
{
    if (probe->nr_values != probe->made->form.nr_fields)
        return -EINVAL;
    probe->needs = 0;
    for (uint32_t i = 0; i < probe->nr_values; i++) {
        const struct fg_eprobe_value *value = &probe->values[i];

        if (value->text)
            continue;
        if (fg_hist_term_check(&value->term))
            return -EINVAL;
        probe->needs |= fg_hist_term_needs(&value->term);
    }
    probe->listener.hit = at_hit;
    return 0;
}
