/* What the latency tracers have in common: the longest section so far, and what was noted of it (the
 * kernel's tracing_max_latency, tracing_thresh and max buffer). A detector asks fg_latency_is_wanted()
 * where a section ends, and only if it says yes, which is rare, makes a struct fg_latency_section and
 * hands it over. */
#ifndef FG_LATENCY_H
#define FG_LATENCY_H

#include "engine/core/compiler.h"
#include "engine/core/task.h"
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_instance;

#define FG_LATENCY_TEXT_BYTES 256u
#define FG_LATENCY_MAX_EVENTS 64u

#define FG_LATENCY_STACK                                                                                     \
    "=> " /* begins the text of an event that belongs to the one before: a place further in */

/* Something that happened in a section. */
struct fg_latency_event {
    uint64_t time;     /* ticks */
    uint64_t duration; /* ticks; 0: a point */
    char text[FG_LATENCY_TEXT_BYTES];
};

struct fg_latency_section {
    uint64_t begin, end; /* ticks */
    int tid;             /* whose time it was */
    char task[FG_TASK_NAME_BYTES];
    char started_at[FG_LATENCY_TEXT_BYTES], ended_at[FG_LATENCY_TEXT_BYTES];
    uint32_t nr_events, nr_left_out; /* in order of time; those without room */
    struct fg_latency_event events[FG_LATENCY_MAX_EVENTS];
    /* The ring of the instance that recorded the inside, as it was then: a ring-buffer file in memory, or
     * NULL. */
    void *frozen;
    size_t frozen_bytes;
};

struct fg_latency {
    _Atomic uint64_t max_ticks;
    _Atomic uint64_t
        thresh_ticks; /* not 0: every section of at least this length is kept, not only a longer one */
    _Atomic uint64_t nr_kept;
    /* The section of max_ticks. Who reads it takes it out and puts it back: no lock, for the detectors
     * run where others are held, and a fork may come at any time. */
    _Atomic(struct fg_latency_section *) section;
    /* Records what runs inside sections; NULL: nobody does. Set while it lives and something is detected. */
    _Atomic(struct fg_instance *) inside;
};

/* A section of so many ticks is to be kept. */
static inline bool fg_latency_is_wanted(const struct fg_latency *latency, uint64_t ticks)
{
    uint64_t thresh = atomic_load_explicit(&latency->thresh_ticks, memory_order_relaxed);

    if (fg_unlikely(thresh))
        return ticks >= thresh;
    return fg_unlikely(ticks > atomic_load_explicit(&latency->max_ticks, memory_order_relaxed));
}

/* What took so many ticks is worth a line in the report of a section that would be kept now: the name of
 * what ran has to be read when it ends, and that is not free. */
bool fg_latency_is_worth_naming(const struct fg_latency *latency, uint64_t ticks);

/* From `begin` to `end`, of this thread; NULL: no memory. */
struct fg_latency_section *fg_latency_section_new(uint64_t begin, uint64_t end);
void fg_latency_section_free(struct fg_latency_section *section);
/* One more event; without room for it it is counted. The text is `prefix` and `text`, as much of it as
 * fits. */
void fg_latency_section_add(struct fg_latency_section *section, uint64_t time, uint64_t duration,
                            const char *prefix, const char *text);

/* What took so many ticks of it is worth an event. */
bool fg_latency_section_shows(const struct fg_latency_section *section, uint64_t ticks);

/* Takes the section over: it is the one that readers see, unless another was longer meanwhile. */
void fg_latency_keep(struct fg_latency *latency, struct fg_latency_section *section);

/* For a reader: the kept section, or NULL; it gives it back, or frees it if there is another by then. */
struct fg_latency_section *fg_latency_take(struct fg_latency *latency);
void fg_latency_give_back(struct fg_latency *latency, struct fg_latency_section *section);

/* Nanoseconds. Setting the maximum only says what a section has to be longer than, as the kernel's file
 * does: 0 begins anew. What was kept stays until there is another. */
uint64_t fg_latency_max_ns(const struct fg_latency *latency);
void fg_latency_set_max_ns(struct fg_latency *latency, uint64_t ns);
uint64_t fg_latency_thresh_ns(const struct fg_latency *latency);
void fg_latency_set_thresh_ns(struct fg_latency *latency, uint64_t ns);
/* As it was at first. */
void fg_latency_reset(struct fg_latency *latency);

#endif
