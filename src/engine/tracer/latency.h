/* What the latency tracers share: the longest section so far and its details (the kernel's
 * tracing_max_latency, tracing_thresh and max buffer).
 *
 * At the end of each section a detector calls fg_latency_reports(). Only if that is true, which is
 * rare, it makes a struct fg_latency_section and hands it to fg_latency_keep(). */
#ifndef FG_LATENCY_H
#define FG_LATENCY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/core/task.h"

struct fg_instance;

#define FG_LATENCY_TEXT_BYTES 256u
#define FG_LATENCY_MAX_EVENTS 64u

/* A text that begins with this belongs to the previous event: it names a place further in. */
#define FG_LATENCY_STACK "=> "

/* Something that happened in a section. */
struct fg_latency_event {
    uint64_t time;     /* ticks */
    uint64_t duration; /* ticks; 0: a point */
    char text[FG_LATENCY_TEXT_BYTES];
};

struct fg_latency_section {
    uint64_t begin, end; /* ticks */
    int tid;             /* the thread's */
    char task[FG_TASK_NAME_BYTES];
    char started_at[FG_LATENCY_TEXT_BYTES], ended_at[FG_LATENCY_TEXT_BYTES];
    char slowest[FG_LATENCY_TEXT_BYTES]; /* the call that took longest by itself; "": not known */
    uint64_t slowest_ticks;              /* so long */
    uint32_t nr_events, nr_left_out;     /* events, in order of time; those that found no room */
    struct fg_latency_event events[FG_LATENCY_MAX_EVENTS];
    /* A copy of the ring of the instance that recorded the section: a ring-buffer file in
     * memory, or NULL. */
    void *frozen;
    size_t frozen_bytes;
};

struct fg_latency {
    _Atomic uint64_t max_ticks;
    _Atomic uint64_t
        thresh_ticks; /* not 0: keep each section of at least this length, not only a longer one */
    _Atomic uint64_t nr_sections;
    /* The section of max_ticks. A reader takes it out and puts it back. There is no lock: detectors run
     * where other locks are held, and the process may fork at any time. */
    _Atomic(struct fg_latency_section *) section;
    /* Records what runs inside sections; NULL: there is no such instance. Set while it lives and a
     * detector runs. */
    _Atomic(struct fg_instance *) inside;
    /* Handle of the instance whose buffer gets a text for each section that is kept; 0: none. */
    _Atomic int instance;
    const char *name; /* the tracer's; set before `instance` */
};

/* True if a section of this length is to be kept. */
static inline bool fg_latency_reports(const struct fg_latency *latency, uint64_t ticks)
{
    uint64_t thresh = atomic_load_explicit(&latency->thresh_ticks, memory_order_relaxed);

    if (fg_unlikely(thresh))
        return ticks >= thresh;
    return fg_unlikely(ticks > atomic_load_explicit(&latency->max_ticks, memory_order_relaxed));
}

/**
 * fg_latency_is_worth_naming() - True if something of this length deserves a line in a section's report.
 *
 * The name of what ran has to be read when it ends, before anybody knows the section's length, and that
 * takes a microsecond or more.
 */
bool fg_latency_is_worth_naming(const struct fg_latency *latency, uint64_t ticks);

/**
 * fg_latency_section_new() - Make a section of the calling thread.
 * @begin: ticks
 * @end: ticks
 *
 * Return: the section, for fg_latency_keep() or fg_latency_section_free(); NULL: no memory.
 */
struct fg_latency_section *fg_latency_section_new(uint64_t begin, uint64_t end);
void fg_latency_section_free(struct fg_latency_section *section);

/**
 * fg_latency_section_add() - Add an event, or count it as left out if there is no room.
 * @prefix: with @text, the event's text; cut off at FG_LATENCY_TEXT_BYTES
 */
void fg_latency_section_add(struct fg_latency_section *section, uint64_t time, uint64_t duration,
                            const char *prefix, const char *text);

/* True if something of this length deserves an event in the section. */
bool fg_latency_section_shows(const struct fg_latency_section *section, uint64_t ticks);

/**
 * fg_latency_keep() - Make a section the kept one, unless another thread kept a longer one meanwhile.
 * @section: taken over
 */
void fg_latency_keep(struct fg_latency *latency, struct fg_latency_section *section);

/* A reader takes the kept section, or NULL, and gives it back. If there is another by then the
 * section is freed. */
struct fg_latency_section *fg_latency_take(struct fg_latency *latency);
void fg_latency_give_back(struct fg_latency *latency, struct fg_latency_section *section);

/* Nanoseconds. Like the kernel's file, the maximum can be set to the length that a section has to exceed;
 * 0 starts again. The kept section stays until there is another. */
uint64_t fg_latency_max_ns(const struct fg_latency *latency);
void fg_latency_set_max_ns(struct fg_latency *latency, uint64_t ns);
uint64_t fg_latency_thresh_ns(const struct fg_latency *latency);
void fg_latency_set_thresh_ns(struct fg_latency *latency, uint64_t ns);
/* Sets everything to zero, and frees the kept section. */
void fg_latency_reset(struct fg_latency *latency);

#endif
