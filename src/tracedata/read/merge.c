/* See merge.h. A k-way merge with a binary heap, which is put in order when its top has moved. An event
 * of a lane that stays the earliest, the common case, costs two comparisons. */
#include "tracedata/read/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/compiler.h"
#include "tracedata/read/cpus.h"

#define WINDOWS_BYTES (32u << 20) /* of all lanes together, unless each then had less than a few pages */
#define NO_CURSOR UINT32_MAX
#define WINDOW_MAX_BYTES (256u << 10)
#define WINDOW_MIN_PAGES 4u

static bool has_selected_task(const struct fg_name_table *names, uint32_t lane)
{
    uint32_t low = 0, high = names->nr_known_tasks;

    if (names->select_unknown)
        return true;
    while (low < high) { /* the lane's first task: they are sorted by lane */
        uint32_t middle = low + (high - low) / 2;

        if (names->tasks[middle].lane < lane)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < names->nr_known_tasks && names->tasks[low].lane == lane; low++)
        if (names->tasks[low].selected)
            return true;
    return false;
}

uint32_t fg_merge_window_bytes(const struct fg_trace_file *file)
{
    uint32_t page_bytes = file->head.page_bytes; /* 0 of a .fg */
    uint32_t window_bytes = WINDOWS_BYTES / 2 / (file->nr_lanes ? file->nr_lanes : 1);

    if (!page_bytes)
        return 0;
    if (window_bytes > WINDOW_MAX_BYTES)
        window_bytes = WINDOW_MAX_BYTES;
    if (window_bytes < WINDOW_MIN_PAGES * page_bytes)
        window_bytes = WINDOW_MIN_PAGES * page_bytes;
    return window_bytes - window_bytes % page_bytes;
}

/* Whether an idle lane's event is one that the stage needs. */
static inline bool is_for_stage(const struct fg_merge_stage *stage, const struct fg_event *event)
{
    uint32_t func;

    if (fg_likely(event->type == FG_EVENT_funcgraph_exit))
        return false;
    if (event->type != FG_EVENT_funcgraph_entry || !fg_event_is_whole(event))
        return false;
    func = fg_event_graph(event)->func;
    return func < stage->nr_wakes && (stage->wakes[func] & stage->wake_bits);
}

/* Moves a lane to its next event; @latest as in fg_merge_stage. */
static inline int advance(struct fg_merge *merge, struct fg_cursor *cursor, struct fg_event *latest)
{
    struct fg_merge_stage *stage = merge->stage;
    bool is_idle = stage && stage->wakes && cursor->is_idle;
    int error;

    if (stage && !is_idle)
        return stage->advance(stage, cursor, false, latest, merge->reason);
    error = fg_cursor_advance(cursor, merge->reason);
    if (fg_likely(!is_idle) || error || cursor->at_end || !is_for_stage(stage, &cursor->head))
        return error;
    return stage->advance(stage, cursor, true, latest, merge->reason);
}

static int open_rows_or_pages(struct fg_merge *merge, uint32_t lane, uint32_t window_bytes)
{
    struct fg_row_pass *pass = merge->file->recorded ? &merge->pass : NULL;
    const struct fg_merge_stage *stage = merge->stage;
    uint64_t from_ns = stage && !stage->below ? stage->from_ns : 0;

    if (!has_selected_task(merge->names, lane)) {
        merge->cursors[lane].at_end = true;
        return 0;
    }
    return fg_cursor_open(&merge->cursors[lane], merge->file, pass, lane, from_ns, window_bytes,
                          merge->reason);
}

static int open_cpus(struct fg_merge *merge, uint32_t buffer, uint32_t window_bytes)
{
    const struct fg_trace_file *file = merge->file;
    uint32_t *lanes = malloc((file->nr_cpus + (size_t)1) * sizeof(*lanes)), n = 0;
    int error = -ENOMEM;

    for (uint32_t cpu = 0; cpu < file->nr_cpus && lanes; cpu++)
        if (has_selected_task(merge->names, buffer * file->nr_cpus + cpu))
            lanes[n++] = buffer * file->nr_cpus + cpu;
    if (lanes)
        error = fg_cpus_open(&merge->cursors[buffer], file, &merge->threads, lanes, n, window_bytes,
                             merge->reason);
    free(lanes);
    return error;
}

static int open_cursor(struct fg_merge *merge, uint32_t number, uint32_t window_bytes)
{
    struct fg_cursor *cursor = &merge->cursors[number];
    int error = merge->file->kernel ? open_cpus(merge, number, window_bytes)
                                    : open_rows_or_pages(merge, number, window_bytes);

    cursor->number = number;
    if (!error && merge->stage && !cursor->at_end)
        error = merge->stage->advance(merge->stage, cursor, true, NULL, merge->reason);
    return error;
}

int fg_merge_open(struct fg_merge *merge, const struct fg_trace_file *file, struct fg_name_table *names)
{
    return fg_merge_open_selected(merge, file, names, NULL);
}

static int allocate(struct fg_merge *merge)
{
    const struct fg_trace_file *file = merge->file;
    uint32_t nr_cursors = fg_trace_file_nr_cursors(file);

    merge->tasks = malloc((file->nr_lanes + (size_t)1) * sizeof(*merge->tasks));
    merge->cursors = calloc(nr_cursors + (size_t)1, sizeof(*merge->cursors));
    merge->heap.cursors = calloc(nr_cursors + (size_t)1, sizeof(*merge->heap.cursors));
    if (!merge->tasks || !merge->cursors || !merge->heap.cursors)
        return -ENOMEM;
    merge->nr_cursors = nr_cursors;
    for (uint32_t lane = 0; lane < file->nr_lanes; lane++)
        merge->tasks[lane] = (struct fg_merge_task){.task = UINT32_MAX};
    return 0;
}

int fg_merge_open_selected(struct fg_merge *merge, const struct fg_trace_file *file,
                           struct fg_name_table *names, struct fg_merge_stage *stage)
{
    uint32_t window_bytes = fg_merge_window_bytes(file);
    int error;

    *merge = (struct fg_merge){.file = file, .names = names, .stage = stage, .reading = file->reading};
    fg_reading_open(merge->reading);
    error = allocate(merge);
    if (!error && file->recorded)
        error = fg_row_pass_begin(&merge->pass, file->recorded);
    merge->pass.reading = merge->reading;
    for (uint32_t i = 0; i < merge->nr_cursors && !error; i++) {
        error = open_cursor(merge, i, window_bytes);
        if (!error && !merge->cursors[i].at_end)
            merge->heap.cursors[merge->heap.n++] = &merge->cursors[i];
    }
    if (!error)
        fg_cursor_heap_make(&merge->heap);
    return error;
}

void fg_merge_close(struct fg_merge *merge)
{
    for (uint32_t i = 0; i < merge->nr_cursors; i++)
        if (merge->file->kernel)
            fg_cpus_close(&merge->cursors[i]);
        else
            fg_cursor_close(&merge->cursors[i]);
    fg_reading_close(merge->reading);
    merge->reading = NULL;
    fg_row_pass_end(&merge->pass);
    fg_thread_table_free(&merge->threads);
    free(merge->tasks);
    free(merge->cursors);
    free((void *)merge->heap.cursors);
    merge->tasks = NULL;
    merge->cursors = NULL;
    merge->nr_cursors = 0;
    merge->heap = (struct fg_cursor_heap){0};
}

static int find_task(struct fg_merge *merge, struct fg_merge_task *latest, const struct fg_event *event)
{
    latest->task = fg_name_table_find_task(merge->names, event->lane, event->tid, event->time_ns);
    latest->tid = event->tid;
    return latest->task == UINT32_MAX ? -ENOMEM : 0;
}

static inline bool is_latest_task(const struct fg_merge *merge, const struct fg_merge_task *latest,
                                  const struct fg_event *event)
{
    return latest->task != UINT32_MAX && latest->tid == event->tid &&
           event->time_ns <= merge->names->tasks[latest->task].last_ns;
}

/* All that is whole has been read: damage is told now. */
static int end(struct fg_merge *merge)
{
    if (merge->pass.damaged_at == 0)
        return 0;
    snprintf(merge->reason, sizeof(merge->reason),
             "damaged: what lies at byte %" PRIu64 " is not as it was written; its events count as lost",
             merge->pass.damaged_at);
    return -EINVAL;
}

/* Puts the heap in order after its top has moved on. */
static inline void settle(struct fg_merge *merge)
{
    if (!merge->top_moved)
        return;
    merge->top_moved = false;
    fg_cursor_heap_settle(&merge->heap);
}

int fg_merge_next(struct fg_merge *merge, struct fg_event *event)
{
    for (;;) {
        struct fg_cursor *cursor;
        struct fg_merge_task *latest;

        if (merge->error)
            return merge->error;
        settle(merge);
        if (!merge->heap.n)
            return end(merge);
        cursor = merge->heap.cursors[0];
        *event = cursor->head;
        latest = &merge->tasks[event->lane];
        if (!is_latest_task(merge, latest, event)) {
            int error = find_task(merge, latest, event);

            if (error)
                return error;
        }
        event->task = latest->task;
        merge->top_moved = true;
        merge->error = advance(merge, cursor, event);
        if (merge->names->tasks[event->task].selected)
            return 1;
    }
}

const struct fg_event *fg_merge_peek(const struct fg_merge *merge)
{
    const struct fg_cursor *cursor = merge->heap.cursors[0];
    bool same = !merge->error && !cursor->at_end &&
                is_latest_task(merge, &merge->tasks[cursor->head.lane], &cursor->head);

    return same ? &cursor->head : NULL;
}

void fg_merge_skip(struct fg_merge *merge)
{
    merge->error = advance(merge, merge->heap.cursors[0], NULL);
}

/* The cursor below heap[at] with the earliest event of this buffer that is earlier than that of `best`, or
 * `best`. Events of cursors further down are later than those above, so most of the heap is not looked at. */
static uint32_t earliest_of(const struct fg_cursor_heap *heap, uint32_t at, uint32_t buffer, uint32_t best)
{
    if (at >= heap->n || (best != NO_CURSOR && !fg_cursor_is_earlier(heap->cursors[at], heap->cursors[best])))
        return best;
    if (heap->cursors[at]->head.buffer == buffer)
        return at;
    best = earliest_of(heap, 2 * at + 1, buffer, best);
    return earliest_of(heap, 2 * at + 2, buffer, best);
}

const struct fg_event *fg_merge_peek_buffer(struct fg_merge *merge, uint32_t buffer)
{
    if (merge->error)
        return NULL;
    settle(merge);
    merge->peeked = earliest_of(&merge->heap, 0, buffer, NO_CURSOR);
    return merge->peeked == NO_CURSOR ? NULL : &merge->heap.cursors[merge->peeked]->head;
}

void fg_merge_skip_peeked(struct fg_merge *merge)
{
    struct fg_cursor_heap *heap = &merge->heap;
    uint32_t at = merge->peeked;

    merge->error = advance(merge, heap->cursors[at], NULL);
    if (heap->cursors[at]->at_end) {
        heap->cursors[at] = heap->cursors[--heap->n];
        if (at < heap->n)
            fg_cursor_heap_sift_up(heap, at);
    }
    if (at < heap->n)
        fg_cursor_heap_sift_down(heap, at);
}

int fg_merge_damaged(struct fg_merge *merge, const struct fg_event *event)
{
    snprintf(merge->reason, sizeof(merge->reason),
             "damaged: lane %" PRIu32 " at %" PRIu64
             " ns: a %s record is too short, or a field of it is impossible",
             event->lane, event->time_ns, fg_event_name(event->type));
    return -EINVAL;
}
