/* See static_events.h. */
#include "arch/cpython/register/static_events.h"

#include <errno.h>

#include "arch/cpython/fetch/run.h"
#include "arch/cpython/register/late_sources.h"
#include "arch/cpython/register/users.h"

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    return fg_fetch_run(program, regs, func, entry_data, image);
}

static const struct fg_fetch_ops fetch_ops = {fetch, NULL};

void fg_cpython_static_probe_init(struct fg_source_probe *probe, struct fg_event *event,
                                  const struct fg_fetch_program *program)
{
    probe->event = event;
    probe->ops = &fetch_ops;
    probe->program = program;
}

/* Exceptions come through the hooks of functions. Each probe keeps these installed. */
static bool needs_hooks(const struct fg_event_source *source)
{
    return source->ops == &fg_raise_source;
}

int fg_cpython_static_attach(enum fg_static_event which, struct fg_source_probe *probe)
{
    struct fg_event_source *source = &fg_static_sources[which];
    int error;

    if (probe->source)
        return 0;
    probe->scope = fg_engine_here();
    if (!probe->scope || (needs_hooks(source) && fg_hooks_hold() != 0))
        return -EIO;
    error = fg_event_source_attach(source, probe);
    if (error && needs_hooks(source))
        fg_hooks_release();
    if (error)
        return error;
    error = fg_late_sources_follow();
    if (error)
        fg_cpython_static_detach(probe);
    return error;
}

void fg_cpython_static_detach(struct fg_source_probe *probe)
{
    const struct fg_event_source *source = probe->source;

    fg_event_source_detach(probe);
    if (source && needs_hooks(source))
        fg_hooks_release();
    fg_late_sources_follow();
}
