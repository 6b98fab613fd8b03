/* Tracers: what an instance can record with. A tracer is one file, and one line in the table of tracer.c; one that is
 * the arch's is put there by a call of fg_tracer_add, before any instance is made. */
#ifndef FG_TRACER_H
#define FG_TRACER_H

#include <stdbool.h>

#define FG_MAX_TRACERS 16u

struct fg_instance;

struct fg_tracer {
    const char *name;
    /* Chooses the functions of the instance's ops, before they are registered. NULL: it records nothing, and no
     * function is hooked. */
    void (*init)(struct fg_instance *instance);
    /* Its calls can be plain (struct fg_user) with the instance's settings as they are now: asked again whenever one has
     * changed. NULL: never. */
    bool (*is_plain)(const struct fg_instance *instance);
    /* Optional, what else it needs while an instance has it. Start: before the ops are registered; 0 or a negative errno,
     * and then nothing is left of it. Stop: when they have left. No lock of the engine is held. */
    int (*start)(struct fg_instance *instance);
    void (*stop)(struct fg_instance *instance);
    /* It is told of entries alone: its functions have no hook for ends, and its calls no frames. */
    bool is_entry_only;
    /* Its records name functions from which others were called, traced or not, whatever the settings. */
    bool names_callers;
    /* It tells calls that are made for signals from others, or (no_irqs) does not record them. */
    bool tells_irqs;
    /* It looks for a longest time: the instance's max_latency_ticks, which may be read and set at any time. */
    bool has_max_latency;
};

extern const struct fg_tracer fg_tracer_function_graph, fg_tracer_function, fg_tracer_nop;

/* All tracers in the order in which they came, from 0 on; NULL: there are no more. */
const struct fg_tracer *fg_tracer_at(unsigned number);
/* NULL: there is none of that name. */
const struct fg_tracer *fg_tracer_find(const char *name);
/* One more, which is never taken out. Not while another thread is in here. 0; -EEXIST: there is one of that name;
 * -ENOSPC. */
int fg_tracer_add(const struct fg_tracer *tracer);

#endif
