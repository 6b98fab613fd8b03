/* See latency.h. */
#define _GNU_SOURCE
#include "engine/tracer/latency.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/tracer/instance.h"
#include "engine/tracer/instance_mark.h"
#include "engine/writer/ring_copy.h"

#define MIN_NAMED_NS 100000 /* naming takes a microsecond or more: at most a hundredth of this */
#define NAMED_SHARE 16u     /* anything shorter than the maximum divided by this is not named */

static uint64_t ticks_of(uint64_t ns)
{
    return (uint64_t)((double)ns / fg_clock_ns_per_tick());
}

/* Sets the thread's id and name: the arch's name for it, or else the kernel's. */
static void name_thread(struct fg_latency_section *section)
{
    struct fg_task *task = fg_task_self;

    section->tid = task ? task->tid : (int)syscall(SYS_gettid);
    if (task)
        fg_process()->task_name(task, section->task, sizeof(section->task));
    if (!section->task[0])
        prctl(PR_GET_NAME, section->task);
}

struct fg_latency_section *fg_latency_section_new(uint64_t begin, uint64_t end)
{
    struct fg_latency_section *section = calloc(1, sizeof(*section));

    if (!section)
        return NULL;
    section->begin = begin;
    section->end = end;
    name_thread(section);
    return section;
}

void fg_latency_section_free(struct fg_latency_section *section)
{
    if (section && section->frozen)
        munmap(section->frozen, section->frozen_bytes);
    free(section);
}

void fg_latency_section_add(struct fg_latency_section *section, uint64_t time, uint64_t duration,
                            const char *prefix, const char *text)
{
    struct fg_latency_event *event;

    if (section->nr_events == FG_LATENCY_MAX_EVENTS) {
        section->nr_left_out++;
        return;
    }
    event = &section->events[section->nr_events++];
    event->time = time;
    event->duration = duration;
    snprintf(event->text, sizeof(event->text), "%s%s", prefix, text);
}

bool fg_latency_is_worth_naming(const struct fg_latency *latency, uint64_t ticks)
{
    uint64_t max = atomic_load_explicit(&latency->max_ticks, memory_order_relaxed);
    uint64_t thresh = atomic_load_explicit(&latency->thresh_ticks, memory_order_relaxed);

    return ticks > (thresh ? thresh : max) / NAMED_SHARE && fg_clock_duration_ns(ticks) > MIN_NAMED_NS;
}

static uint64_t length_of(const struct fg_latency_section *section)
{
    return section->end - section->begin;
}

bool fg_latency_section_shows(const struct fg_latency_section *section, uint64_t ticks)
{
    return ticks > length_of(section) / NAMED_SHARE;
}

/* Sets the maximum. False: another thread's section was longer meanwhile. */
static bool claim_max(struct fg_latency *latency, uint64_t ticks)
{
    uint64_t max = atomic_load(&latency->max_ticks);

    do {
        if (!fg_latency_reports(latency, ticks))
            return false;
    } while (!atomic_compare_exchange_weak(&latency->max_ticks, &max, ticks));
    return true;
}

static bool is_max(const struct fg_latency *latency, uint64_t ticks)
{
    return ticks == atomic_load(&latency->max_ticks);
}

/* Threads may claim the maximum one after the other and come here in another order: the maximum's section
 * stays. A section that was put belongs to whichever thread takes it next, and is not looked at any more. */
static void put(struct fg_latency *latency, struct fg_latency_section *section)
{
    for (;;) {
        uint64_t ticks = length_of(section);
        struct fg_latency_section *other = atomic_exchange(&latency->section, section);

        if (!other || is_max(latency, ticks) || !is_max(latency, length_of(other))) {
            fg_latency_section_free(other);
            return;
        }
        section = other;
    }
}

/* Maps the file of a copy. Its descriptor is not kept: the program may close any descriptor. */
static void map_copy(struct fg_latency_section *section, int fd)
{
    struct stat file;
    void *copy;

    if (fstat(fd, &file) != 0 || !file.st_size)
        return;
    copy = mmap(NULL, (size_t)file.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (copy == MAP_FAILED)
        return;
    section->frozen = copy;
    section->frozen_bytes = (size_t)file.st_size;
}

/* Copies the instance's records of the section. Without memory the section has none. */
static void freeze(struct fg_latency_section *section, struct fg_instance *instance)
{
    const struct fg_ring_copy_options options = {.begin = section->begin, .end = section->end};
    int fd = memfd_create("funcgraph", MFD_CLOEXEC);

    if (fd < 0)
        return;
    if (fg_ring_copy(&instance->ring, fd, &options) >= 0)
        map_copy(section, fd);
    close(fd);
}

static uint64_t us_of(uint64_t ticks)
{
    return fg_clock_duration_ns(ticks) / 1000;
}

/* The thread may be preempted between the section's end and here: the text has the time of the end. */
static void mark_text(const struct fg_latency *latency, int handle, const struct fg_latency_section *section,
                      const char *text)
{
    char mark[3 * FG_LATENCY_TEXT_BYTES];

    snprintf(mark, sizeof(mark), "%s: %s", latency->name, text);
    fg_instance_mark_at(handle, section->end, mark, strlen(mark));
}

static void report_event(const struct fg_latency *latency, int handle,
                         const struct fg_latency_section *section, const struct fg_latency_event *event)
{
    unsigned long long since = us_of(event->time - section->begin), took = us_of(event->duration);
    char text[FG_LATENCY_TEXT_BYTES + 64];

    if (strncmp(event->text, FG_LATENCY_STACK, strlen(FG_LATENCY_STACK)) == 0)
        snprintf(text, sizeof(text), " %s", event->text);
    else if (took)
        snprintf(text, sizeof(text), "%8llu us: %s (%llu us)", since, event->text, took);
    else
        snprintf(text, sizeof(text), "%8llu us: %s", since, event->text);
    mark_text(latency, handle, section, text);
}

/* A text for the section, one for its slowest call, and one for each of its events. All stand at the
 * section's end. */
static void mark_section(const struct fg_latency *latency, int handle,
                         const struct fg_latency_section *section)
{
    char text[2 * FG_LATENCY_TEXT_BYTES + 64];

    snprintf(text, sizeof(text), "latency: %llu us, started at: %s, ended at: %s",
             (unsigned long long)us_of(length_of(section)), section->started_at, section->ended_at);
    mark_text(latency, handle, section, text);
    if (*section->slowest) {
        snprintf(text, sizeof(text), "slowest call: %s (%llu us)", section->slowest,
                 (unsigned long long)us_of(section->slowest_ticks));
        mark_text(latency, handle, section, text);
    }
    for (uint32_t i = 0; i < section->nr_events; i++)
        report_event(latency, handle, section, &section->events[i]);
}

void fg_latency_keep(struct fg_latency *latency, struct fg_latency_section *section)
{
    if (!claim_max(latency, length_of(section))) {
        fg_latency_section_free(section);
        return;
    }
    atomic_fetch_add(&latency->nr_sections, 1);
    if (atomic_load(&latency->inside))
        freeze(section, atomic_load(&latency->inside));
    if (atomic_load(&latency->instance))
        mark_section(latency, atomic_load(&latency->instance), section);
    put(latency, section);
}

struct fg_latency_section *fg_latency_take(struct fg_latency *latency)
{
    return atomic_exchange(&latency->section, NULL);
}

void fg_latency_give_back(struct fg_latency *latency, struct fg_latency_section *section)
{
    struct fg_latency_section *none = NULL;

    if (!section || atomic_compare_exchange_strong(&latency->section, &none, section))
        return;
    if (is_max(latency, length_of(section)))
        put(latency, section);
    else
        fg_latency_section_free(section);
}

uint64_t fg_latency_max_ns(const struct fg_latency *latency)
{
    return fg_clock_duration_ns(atomic_load(&latency->max_ticks));
}

void fg_latency_set_max_ns(struct fg_latency *latency, uint64_t ns)
{
    atomic_store(&latency->max_ticks, ticks_of(ns));
}

uint64_t fg_latency_thresh_ns(const struct fg_latency *latency)
{
    return fg_clock_duration_ns(atomic_load(&latency->thresh_ticks));
}

void fg_latency_set_thresh_ns(struct fg_latency *latency, uint64_t ns)
{
    atomic_store(&latency->thresh_ticks, ticks_of(ns));
}

void fg_latency_reset(struct fg_latency *latency)
{
    atomic_store(&latency->max_ticks, 0);
    atomic_store(&latency->thresh_ticks, 0);
    atomic_store(&latency->nr_sections, 0);
    fg_latency_section_free(fg_latency_take(latency));
}
