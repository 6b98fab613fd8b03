/* Merges all lanes of a trace to one stream of events in order of time, in constant memory. */
#ifndef FG_MERGE_H
#define FG_MERGE_H

#include "tracedata/read/cursor_heap.h"
#include "tracedata/read/name_table.h"
#include "tracedata/read/thread_table.h"

/* The latest event's in a lane. */
struct fg_merge_task {
    uint32_t task;
    int32_t tid;
};

/* What stands between the lanes and their merge, and leaves events out. What it keeps of a cursor it finds by
 * cursor->number, below fg_trace_file_nr_cursors(). */
struct fg_merge_stage {
    struct fg_merge_stage *below; /* where its events come from; NULL: the lanes themselves */
    /* Moves a lane to its next event that is not left out, or to its end: as fg_cursor_advance().
     * @is_at_next: the cursor is at an event about which nothing was decided yet.
     * @latest: the event that the lane was at, if it is still in use: it gets other data if the call moves
     * the cursor more than once. The data stays valid until the next call. */
    int (*advance)(struct fg_merge_stage *stage, struct fg_cursor *cursor, bool is_at_next,
                   struct fg_event *latest, char reason[FG_REASON_BYTES]);
    /* The stage need not be called for a lane that it has set idle, up to the next entry of a function with
     * one of these bits. NULL: it is called for each event. */
    const uint8_t *wakes; /* by function */
    /* The stage needs no event before this time: lanes of a `.fg` may begin at the chunk that has it. */
    uint64_t from_ns;
    uint32_t nr_wakes;
    uint8_t wake_bits;
};

/* For a stage: moves a lane to the next event that comes in. The data of the event before it is no longer
 * valid. */
static inline int fg_merge_stage_pull(const struct fg_merge_stage *stage, struct fg_cursor *cursor,
                                      bool is_at_next, char reason[FG_REASON_BYTES])
{
    if (stage->below)
        return stage->below->advance(stage->below, cursor, is_at_next, NULL, reason);
    return is_at_next ? 0 : fg_cursor_advance(cursor, reason);
}

struct fg_merge {
    const struct fg_trace_file *file;
    struct fg_merge_stage *stage; /* or NULL: all events are read */
    struct fg_name_table *names;
    struct fg_merge_task *tasks; /* by lane */
    struct fg_cursor *cursors;   /* of each lane; of a kernel's trace of each buffer (cpus.h) */
    uint32_t nr_cursors;
    struct fg_cursor_heap heap;
    struct fg_row_pass pass;        /* of a .fg */
    struct fg_reading *reading;     /* while it is open, the file's */
    struct fg_thread_table threads; /* of a kernel's trace */
    bool top_moved;                 /* heap[0] has moved on since the heap was put in order */
    uint32_t peeked;                /* in the heap: what fg_merge_peek_buffer() showed */
    int error;                      /* met after the latest event; the next call returns it */
    char reason[FG_REASON_BYTES];
};

/* Return: 0; -EINVAL, and merge->reason says why; or another negative errno. The merge must be closed in
 * any case. */
int fg_merge_open(struct fg_merge *merge, const struct fg_trace_file *file, struct fg_name_table *names);
/* The same for the events that @stage leaves; it stays the caller's. */
int fg_merge_open_selected(struct fg_merge *merge, const struct fg_trace_file *file,
                           struct fg_name_table *names, struct fg_merge_stage *stage);
void fg_merge_close(struct fg_merge *merge);

/* Takes the next event of a selected task. Return: 1; 0 at the end; or an error as above. The event's data
 * stays valid until its lane moves again: by fg_merge_skip(), or when the lane's next event is taken. */
int fg_merge_next(struct fg_merge *merge, struct fg_event *event);

/* The event after the latest one in its lane; NULL if it belongs to another task. Not of a kernel's trace. */
const struct fg_event *fg_merge_peek(const struct fg_merge *merge);

/* Skips the event that fg_merge_peek() showed. */
void fg_merge_skip(struct fg_merge *merge);

/* The next event of this buffer, of whatever task and lane; NULL: there is none, or the lane of the latest
 * event is damaged there. */
const struct fg_event *fg_merge_peek_buffer(struct fg_merge *merge, uint32_t buffer);

/* Skips the event that fg_merge_peek_buffer() showed. The latest event's data is no longer valid then. */
void fg_merge_skip_peeked(struct fg_merge *merge);

/* How much of a lane of a trace.dat is read at once. */
uint32_t fg_merge_window_bytes(const struct fg_trace_file *file);

/* To be called for a record that is too short for its event's fields or has an impossible one: fills in
 * merge->reason. Returns -EINVAL. */
int fg_merge_damaged(struct fg_merge *merge, const struct fg_event *event);

#endif
