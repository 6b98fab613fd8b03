/* See merge.h. A k-way merge with a binary heap, which is put in order when its top has moved. An event
 * of a lane that stays the earliest, the common case, costs two comparisons. */
#include "tracedata/read/merge.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/core/compiler.h"

#define WINDOWS_BYTES (32u << 20) /* of all lanes together, unless each then had less than a few pages */
#define NO_LANE UINT32_MAX
#define WINDOW_MAX_BYTES (256u << 10)
#define WINDOW_MIN_PAGES 4u

static bool earlier(const struct fg_merge *merge, uint32_t a, uint32_t b)
{
    uint64_t time_a = merge->lanes[a].cursor.head.time_ns, time_b = merge->lanes[b].cursor.head.time_ns;
    return time_a != time_b ? time_a < time_b : a < b;
}

static void sift_down(struct fg_merge *merge, uint32_t index)
{
    uint32_t *heap = merge->heap, moving = heap[index];
    for (;;) {
        uint32_t child = 2 * index + 1;
        if (child >= merge->heap_lanes)
            break;
        if (child + 1 < merge->heap_lanes && earlier(merge, heap[child + 1], heap[child]))
            child++;
        if (!earlier(merge, heap[child], moving))
            break;
        heap[index] = heap[child];
        index = child;
    }
    heap[index] = moving;
}

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
    if (event->type != FG_EVENT_funcgraph_entry || event->size < sizeof(struct fg_wire_funcgraph_entry))
        return false;
    func = fg_function_index(fg_event_funcgraph_entry(event)->func);
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

static int open_lane(struct fg_merge *merge, uint32_t lane, uint32_t window_bytes)
{
    struct fg_cursor *cursor = &merge->lanes[lane].cursor;
    struct fg_row_pass *pass = merge->file->recorded ? &merge->pass : NULL;
    int error = fg_cursor_open(cursor, merge->file, pass, lane, window_bytes, merge->reason);

    merge->lanes[lane].task = UINT32_MAX;
    if (!error && merge->stage && !cursor->at_end)
        error = merge->stage->advance(merge->stage, cursor, true, NULL, merge->reason);
    return error;
}

int fg_merge_open(struct fg_merge *merge, const struct fg_trace_file *file, struct fg_name_table *names)
{
    return fg_merge_open_selected(merge, file, names, NULL);
}

int fg_merge_open_selected(struct fg_merge *merge, const struct fg_trace_file *file,
                           struct fg_name_table *names, struct fg_merge_stage *stage)
{
    *merge = (struct fg_merge){.file = file, .names = names, .stage = stage};
    merge->lanes = calloc(file->nr_lanes + (size_t)1, sizeof(*merge->lanes));
    merge->heap = calloc(file->nr_lanes + (size_t)1, sizeof(*merge->heap));
    if (!merge->lanes || !merge->heap)
        return -ENOMEM;
    int error = file->recorded ? fg_row_pass_begin(&merge->pass, file->recorded) : 0;
    if (error)
        return error;
    uint32_t window_bytes = fg_merge_window_bytes(file);
    for (uint32_t lane = 0; lane < file->nr_lanes; lane++) {
        if (!has_selected_task(names, lane))
            continue;
        error = open_lane(merge, lane, window_bytes);
        if (error)
            return error;
        if (!merge->lanes[lane].cursor.at_end)
            merge->heap[merge->heap_lanes++] = lane;
    }
    for (uint32_t i = merge->heap_lanes / 2; i-- > 0;)
        sift_down(merge, i);
    return 0;
}

void fg_merge_close(struct fg_merge *merge)
{
    for (uint32_t i = 0; merge->lanes && i < merge->file->nr_lanes; i++)
        fg_cursor_close(&merge->lanes[i].cursor);
    fg_row_pass_end(&merge->pass);
    free(merge->lanes);
    free(merge->heap);
    merge->lanes = NULL;
    merge->heap = NULL;
}

static int find_task(struct fg_merge *merge, struct fg_merge_lane *lane, const struct fg_event *event)
{
    lane->task = fg_name_table_find_task(merge->names, event->lane, event->tid, event->time_ns);
    lane->tid = event->tid;
    return lane->task == UINT32_MAX ? -ENOMEM : 0;
}

static bool is_latest_task(const struct fg_merge *merge, const struct fg_merge_lane *lane,
                           const struct fg_event *event)
{
    return lane->task != UINT32_MAX && lane->tid == event->tid &&
           event->time_ns <= merge->names->tasks[lane->task].last_ns;
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
    if (merge->lanes[merge->heap[0]].cursor.at_end)
        merge->heap[0] = merge->heap[--merge->heap_lanes];
    if (merge->heap_lanes > 1)
        sift_down(merge, 0);
}

int fg_merge_next(struct fg_merge *merge, struct fg_event *event)
{
    for (;;) {
        if (merge->error)
            return merge->error;
        settle(merge);
        if (!merge->heap_lanes)
            return end(merge);
        struct fg_merge_lane *lane = &merge->lanes[merge->heap[0]];
        *event = lane->cursor.head;
        if (!is_latest_task(merge, lane, event)) {
            int error = find_task(merge, lane, event);
            if (error)
                return error;
        }
        event->task = lane->task;
        merge->top_moved = true;
        merge->error = advance(merge, &lane->cursor, event);
        if (merge->names->tasks[event->task].selected)
            return 1;
    }
}

const struct fg_event *fg_merge_peek(const struct fg_merge *merge)
{
    const struct fg_merge_lane *lane = &merge->lanes[merge->heap[0]];
    bool same = !merge->error && !lane->cursor.at_end && is_latest_task(merge, lane, &lane->cursor.head);
    return same ? &lane->cursor.head : NULL;
}

void fg_merge_skip(struct fg_merge *merge)
{
    merge->error = advance(merge, &merge->lanes[merge->heap[0]].cursor, NULL);
}

/* The lane below heap[at] with the earliest event of this buffer that is earlier than that of `best`, or
 * `best`. Events of lanes further down are later than those above, so most of the heap is not looked at. */
static uint32_t earliest_of(const struct fg_merge *merge, uint32_t at, uint32_t buffer, uint32_t best)
{
    if (at >= merge->heap_lanes || (best != NO_LANE && !earlier(merge, merge->heap[at], merge->heap[best])))
        return best;
    if (merge->lanes[merge->heap[at]].cursor.head.buffer == buffer)
        return at;
    best = earliest_of(merge, 2 * at + 1, buffer, best);
    return earliest_of(merge, 2 * at + 2, buffer, best);
}

const struct fg_event *fg_merge_peek_buffer(struct fg_merge *merge, uint32_t buffer)
{
    if (merge->error)
        return NULL;
    settle(merge);
    merge->peeked = earliest_of(merge, 0, buffer, NO_LANE);
    return merge->peeked == NO_LANE ? NULL : &merge->lanes[merge->heap[merge->peeked]].cursor.head;
}

void fg_merge_skip_peeked(struct fg_merge *merge)
{
    uint32_t at = merge->peeked;

    merge->error = advance(merge, &merge->lanes[merge->heap[at]].cursor, NULL);
    if (merge->lanes[merge->heap[at]].cursor.at_end) {
        merge->heap[at] = merge->heap[--merge->heap_lanes];
        while (at && at < merge->heap_lanes && earlier(merge, merge->heap[at], merge->heap[(at - 1) / 2])) {
            uint32_t parent = (at - 1) / 2, lane = merge->heap[at];

            merge->heap[at] = merge->heap[parent];
            merge->heap[parent] = lane;
            at = parent;
        }
    }
    if (at < merge->heap_lanes)
        sift_down(merge, at);
}

int fg_merge_damaged(struct fg_merge *merge, const struct fg_event *event)
{
    snprintf(merge->reason, sizeof(merge->reason),
             "damaged: lane %" PRIu32 " at %" PRIu64 " ns: a %s record of %" PRIu32
             " bytes is too short, or a field of it is impossible",
             event->lane, event->time_ns, fg_event_name(event->type), event->size);
    return -EINVAL;
}
