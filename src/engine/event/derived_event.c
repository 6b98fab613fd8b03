/* See derived_event.h. */
#include "engine/event/derived_event.h"

#include "engine/base/compiler.h"

static struct fg_derived_event *made_of(const struct fg_hist_sink *sink)
{
    return fg_container_of(sink, struct fg_derived_event, sink);
}

static bool is_enabled(const struct fg_hist_sink *sink)
{
    return fg_derived_event_is_enabled(made_of(sink));
}

static void take(struct fg_hist_sink *sink, const struct fg_event_site *site, const struct fg_loaded *values)
{
    fg_derived_event_hit(made_of(sink), site, values);
}

void fg_derived_event_init(struct fg_derived_event *made)
{
    made->sink = (struct fg_hist_sink){made->form.nr_fields, is_enabled, take};
}

/* Nothing that makes an event can make it again, directly or by others. */
static bool may_make(const struct fg_event *event, const struct fg_event_site *site)
{
    uint32_t n = 0;

    for (; site && site->made; site = site->maker) {
        if (site->made == event || ++n == FG_MADE_EVENT_MAX_CHAIN)
            return false;
    }
    return true;
}

void fg_derived_event_hit(struct fg_derived_event *made, const struct fg_event_site *site,
                          const struct fg_loaded *values)
{
    struct fg_event_site its_site = *site;
    uint8_t image[FG_EVENT_MAX_BYTES];
    struct fg_event *event = atomic_load_explicit(&made->event, memory_order_acquire);

    if (!event)
        return;
    if (fg_unlikely(!may_make(event, site))) {
        atomic_fetch_add_explicit(&made->nmissed, 1, memory_order_relaxed);
        return;
    }
    its_site.made = event;
    its_site.maker = site;
    fg_event_hit(event, &its_site, image, fg_image_make(&made->form, values, image));
}
