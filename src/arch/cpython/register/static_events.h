/* Probes of static events in this interpreter, with the hooks that these need. */
#ifndef FG_CPYTHON_REGISTER_STATIC_EVENTS_H
#define FG_CPYTHON_REGISTER_STATIC_EVENTS_H

#include "arch/cpython/fetch/program.h"
#include "arch/cpython/static/program_event.h"

/* Sets up a probe that is all zeros: @program fetches an image of @event at each hit of a static event. The
 * program lives as long as the probe. */
void fg_cpython_static_probe_init(struct fg_source_probe *probe, struct fg_event *event,
                                  const struct fg_fetch_program *program);

/* As fg_event_source_attach(); @source is a static event's. Also -EOPNOTSUPP: this CPython does not tell;
 * -EIO with an exception: CPython has no free hook. Does nothing if it is attached. */
int fg_cpython_static_attach(struct fg_event_source *source, struct fg_source_probe *probe);
void fg_cpython_static_detach(struct fg_source_probe *probe);

#endif
