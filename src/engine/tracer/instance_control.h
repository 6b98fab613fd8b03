/* Changing an instance while it runs. Every change is at once and as a whole: 0, or a negative errno, and then nothing has
 * changed but where it says so. -EBUSY: another thread changes it now, or takes it out.
 *
 * No lock of the engine is held by the caller. Changes wait for callbacks that run now, as users' do (fgraph.h). */
#ifndef FG_INSTANCE_CONTROL_H
#define FG_INSTANCE_CONTROL_H

#include "engine/tracer/instance.h"

/* Another tracer; an empty buffer, as in the kernel. If the tracer refuses to start the instance has nop. -EBUSY also for
 * an instance with a file. */
int fg_instance_set_tracer(struct fg_instance *instance, const struct fg_tracer *tracer);
/* Another size of its buffer. What is recorded stays, as much as there is room for; calls that begin or end meanwhile are
 * counted as lost. -EINVAL: too small or too large; -ENOMEM. Then nothing has changed. */
int fg_instance_set_buffer(struct fg_instance *instance, size_t bytes);
/* Which functions and calls; takes over the filter's contents (and clears it). */
int fg_instance_set_filter(struct fg_instance *instance, struct fg_filter *filter);

/* Settings of the tracers. What is known of calls in progress stays: their ends may be in the trace without their
 * beginnings, and the other way round. */
struct fg_instance_settings {
    uint32_t max_graph_depth;
    uint64_t thresh_us;
#define X(name, option) bool name;
    FG_INSTANCE_FLAGS(X)
#undef X
};
struct fg_instance_settings fg_instance_settings(const struct fg_instance *instance);
int fg_instance_set_settings(struct fg_instance *instance, const struct fg_instance_settings *settings);

/* Off: when this returns nothing is recorded any more, and what is there stays. */
int fg_instance_set_tracing_on(struct fg_instance *instance, bool on);

/* Puts a text into the trace, in the calling thread, as from function `func` (0: none): in several records if it is long.
 * From anywhere, also from a callback. -EINVAL: no such instance; -ENOSPC: there was no room, and it is counted;
 * -ENOMEM. */
int fg_instance_mark(int handle, uint32_t func, const char *text, size_t bytes);

/* Texts that name no instance go there: what records the process as a whole (no name), or is called "top". */
bool fg_instance_is_top(int handle);

/* ---- for instance.c */

/* From here to the end nobody else changes it. 0 or -EBUSY. */
int fg_instance_change_begin(struct fg_instance *instance);
void fg_instance_change_end(struct fg_instance *instance);
/* The tracer begins: it was started, and the user is registered. Then as fg_instance_set_tracer. */
int fg_instance_run(struct fg_instance *instance, const struct fg_tracer *tracer);
/* The user is registered no more, and the tracer stopped. */
void fg_instance_halt(struct fg_instance *instance);
uint64_t fg_instance_thresh_ticks(uint64_t thresh_us);

#endif
