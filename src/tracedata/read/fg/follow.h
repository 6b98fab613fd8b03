/* Follows a `.fg` file that still grows: the events of each chunk as it arrives.
 *
 * The order is that of the chunks: each task's events are in order of time, those of several tasks are not. A
 * task's chunk arrives when it is full, or when the task's recording ends.
 *
 * Times are by the line from ticks to nanoseconds that is known when a chunk arrives. Each further pair of
 * clocks in the file moves it a little. */
#ifndef FG_FOLLOW_H
#define FG_FOLLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "tracedata/base/text.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/fg/convert.h"
#include "tracedata/read/fg/recorded.h"
#include "tracedata/spool/contents.h"

/* A task of which events came. The numbers of tasks count from 0, in the order of their first events. */
struct fg_follow_task {
    uint32_t ring;  /* place in contents.rings */
    uint32_t place; /* in that ring's tasks */
    bool was_damaged;
    uint64_t last_time; /* no event of the task is earlier */
    /* what fg_convert keeps for a task */
    struct fg_convert_wait *waits;
    size_t nr_waits, waits_capacity;
    uint64_t overrun, lost;
};

struct fg_follow {
    int fd;                      /* the caller's */
    uint64_t from;               /* chunks before this offset were read by others */
    struct fg_spool_index index; /* of the chunks since the last poll */
    size_t place;                /* in it: the next one */
    struct fg_contents contents;
    struct fg_chunk_reader chunks;
    struct fg_convert convert; /* of the current chunk */
    uint32_t *functions;       /* of the current chunk's ring: function id -> index, or FG_FUNC_UNKNOWN */
    const uint64_t *at, *end;  /* its next records */
    uint32_t current;          /* its task */
    uint64_t nr_events;
    struct fg_follow_task *tasks;
    size_t nr_tasks, tasks_capacity;
    struct fg_hash_table by_place; /* ring and place -> number plus 1 */
    uint64_t damaged_at;           /* offset of the first damaged chunk; 0: there was none */
};

/* Begins after the chunk that ends at @from; 0: with the first one. Return: 0, or an error as of
 * fg_recorded_open(). It must be closed in any case. */
int fg_follow_open(struct fg_follow *follow, int fd, uint64_t from);
void fg_follow_close(struct fg_follow *follow);

/* Takes the next event of the chunks that are known: all but its lane, buffer and cpu. event->task is the
 * task's number. Return: 1; 0: there is none; or a negative errno. */
int fg_follow_next(struct fg_follow *follow, struct fg_event *event);

/* Looks for new chunks, when fg_follow_next() has returned 0. Return: 1; 0: there are none; or a negative
 * errno. */
int fg_follow_poll(struct fg_follow *follow);

/* True if the file has its footer: nothing is appended to it any more. */
bool fg_follow_has_ended(const struct fg_follow *follow);

/* Appends a JSON object like the trace's own (trace_meta.h): the functions from index @first_function on,
 * the tasks from number @first_task on, the kinds of events from number @first_event on, the processes and
 * the buffers. A task's lane is its buffer's number, and "cpus" is 1. */
void fg_follow_describe(const struct fg_follow *follow, size_t first_function, size_t first_task,
                        size_t first_event, struct fg_text *json);

#endif
