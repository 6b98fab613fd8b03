/* See static_event.h. */
#include "arch/cpython/static/static_event.h"

#include <string.h>

#include "arch/cpython/base/tstate.h"
#include "arch/cpython/fetch/event_values.h"
#include "arch/cpython/read/code.h"

const struct fg_static_event_names fg_static_events[FG_NR_STATIC_EVENTS] = {
#define X(id, system, name, source, values) {system, name, values},
    FG_STATIC_EVENTS(X)
#undef X
};

struct fg_event_source fg_static_sources[FG_NR_STATIC_EVENTS] = {
#define X(id, system, name, source, values) {.ops = source},
    FG_STATIC_EVENTS(X)
#undef X
};

static uint32_t nr_values(enum fg_static_event event)
{
    uint32_t n = 1;

    for (const char *at = fg_static_events[event].values; *at; at++)
        n += *at == ' ';
    return n;
}

/* Some sources run in all interpreters. One that has not started funcgraph has no records of functions. */
static struct fg_interp *interp_here(void)
{
    struct fg_interp *interp = fg_interp_known();

    return interp && interp->is_ready ? interp : NULL;
}

struct fg_static_site fg_static_site_of(fg_pyframe *frame)
{
    struct fg_static_site site = {.frame = frame};

    if (!frame || !interp_here())
        return site;
    site.func = fg_code_func(fg_pyframe_code(frame));
    if (!site.func)
        site.func = fg_code_discover(frame);
    return site;
}

struct fg_static_site fg_static_site_here(void)
{
    return fg_static_site_of(fg_complete_pyframe(fg_current_pyframe(fg_tstate())));
}

struct fg_fetched fg_static_function(const struct fg_static_site *site)
{
    return (struct fg_fetched){.kind = FG_FETCHED_FUNCTION, .word = site->func ? site->func->id : 0};
}

struct fg_fetched fg_static_line(const struct fg_static_site *site)
{
    return fg_fetched_signed(site->frame ? fg_pyframe_line(site->frame) : 0);
}

struct fg_fetched fg_static_text(const char *text)
{
    return (struct fg_fetched){.kind = FG_FETCHED_TEXT, .text = text, .n = (uint32_t)strlen(text)};
}

void fg_static_hit_source(struct fg_event_source *source, const struct fg_static_site *site,
                          const struct fg_fetched *values, uint32_t n)
{
    struct fg_event_values hit = {
        .regs = {&fg_event_values_regs_ops, site->frame, NULL, NULL}, .n = n, .values = values};
    struct fg_event_site at = {
        .func = site->func ? site->func->id : 0, .regs = &hit.regs, .only = site->only};

    if (interp_here())
        fg_event_source_hit(source, interp_here(), &at);
}

void fg_static_hit(enum fg_static_event event, const struct fg_static_site *site,
                   const struct fg_fetched *values)
{
    fg_static_hit_source(&fg_static_sources[event], site, values, nr_values(event));
}
