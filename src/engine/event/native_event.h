/* Probes on native functions that hit an event. */
#ifndef FG_NATIVE_EVENT_H
#define FG_NATIVE_EVENT_H

#include "engine/event/probe_event.h"
#include "engine/fetch/native_program.h"

/* As fg_probe_event_init(). The program lives as long as the probe. */
void fg_native_event_init(struct fg_probe_event *probe, struct fg_event *event,
                          const struct fg_native_program *program);

#endif
