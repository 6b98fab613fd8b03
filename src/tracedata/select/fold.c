/* See fold.h.
 *
 * What the stage makes of a lane's events waits until the lane is moved to it: at most the beginning of an
 * import, and the event after it. The latter may be the cursor's own, so the cursor does not move while it
 * waits. */
#include "tracedata/select/fold.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

#define MAX_QUEUED 2u
/* While the data of an event is in use, the next two may be made. */
#define NR_MADE 3u

struct made {
    uint8_t *data;
    size_t capacity;
};

struct stage_lane {
    struct fg_fold_lane lane;
    struct fg_event queue[MAX_QUEUED];
    unsigned nr_queued;
    struct made made[NR_MADE], kept;
    unsigned latest_made;
    struct fg_event again; /* to be taken in once more, before the cursor moves */
    bool has_again;
    uint64_t lost;    /* before the next event that is shown */
    uint64_t last_ns; /* of the event that was taken in last */
    bool at_end;
    int error; /* met there */
    char *reason;
};

struct fg_fold {
    struct fg_merge_stage stage;
    struct fg_fold_rules rules;
    struct stage_lane *lanes;
    uint32_t nr_lanes;
};

static void free_lane(struct stage_lane *lane)
{
    fg_fold_lane_free(&lane->lane);
    for (unsigned i = 0; i < NR_MADE; i++)
        free(lane->made[i].data);
    free(lane->kept.data);
    free(lane->reason);
}

void fg_fold_free(struct fg_fold *fold)
{
    if (!fold)
        return;
    for (uint32_t i = 0; fold->lanes && i < fold->nr_lanes; i++)
        free_lane(&fold->lanes[i]);
    free(fold->lanes);
    free(fold);
}

/* ---- events that are made */

static uint8_t *make_data(struct stage_lane *lane, size_t bytes)
{
    struct made *made = &lane->made[++lane->latest_made % NR_MADE];

    return fg_array_reserve(&made->data, &made->capacity, bytes + 1) < 0 ? NULL : made->data;
}

static void enqueue(struct stage_lane *lane, const struct fg_event *event)
{
    struct fg_event *last = &lane->queue[lane->nr_queued++];

    *last = *event;
    last->lost = fg_add_lost(event->lost, lane->lost);
    lane->lost = 0;
}

/* Copies a call, to be shown at another depth; @extra_bytes of zeros follow. */
static int enqueue_call(struct stage_lane *lane, const struct fg_event *event, uint32_t depth,
                        size_t extra_bytes)
{
    struct fg_event shown = *event;
    uint8_t *data = make_data(lane, event->size + extra_bytes);

    if (!data)
        return -ENOMEM;
    memcpy(data, event->data, event->size);
    memset(data + event->size, 0, extra_bytes);
    ((struct fg_graph_data *)(void *)data)->depth = depth;
    shown.data = data;
    shown.size += (uint32_t)extra_bytes;
    enqueue(lane, &shown);
    return 0;
}

/* Makes the event that was made last one of the import. */
static void set_function(const struct stage_lane *lane, uint32_t index)
{
    ((struct fg_graph_data *)(void *)lane->made[lane->latest_made % NR_MADE].data)->func = index;
}

static int enqueue_end(struct stage_lane *lane, const struct fg_event *event,
                       const struct fg_fold_import *import)
{
    size_t extra_bytes = 1 + sizeof(import->folded); /* a tag 0 ends the values */
    int error = enqueue_call(lane, event, import->shown_depth, extra_bytes);

    if (error)
        return error;
    set_function(lane, import->index);
    memcpy(lane->made[lane->latest_made % NR_MADE].data + event->size + 1, &import->folded,
           sizeof(import->folded));
    return 0;
}

/* The counts of an import whose end is not in the trace. */
static int enqueue_counts(struct stage_lane *lane, const struct fg_event *like,
                          const struct fg_fold_import *import)
{
    struct fg_folded_event counts = {
        .func = import->index, .depth = import->shown_depth, .folded = import->folded};
    struct fg_event event = *like;
    uint8_t *data = make_data(lane, sizeof(counts));

    if (!data)
        return -ENOMEM;
    memcpy(data, &counts, sizeof(counts));
    event.type = FG_EVENT_FOLDED;
    event.time_ns = lane->last_ns;
    event.tid = lane->lane.tid;
    event.lost = 0;
    event.data = data;
    event.size = sizeof(counts);
    enqueue(lane, &event);
    return 0;
}

/* ---- the lane */

/* The lane has no further event, or cannot be read any further. */
static void end_lane(struct stage_lane *lane, int error, const char *reason)
{
    lane->at_end = true;
    lane->error = error;
    if (error)
        lane->reason = strdup(reason);
}

/* Keeps the data of an event that is still in use, before the cursor moves once more. */
static int keep(struct stage_lane *lane, struct fg_event *latest)
{
    if (!latest)
        return 0;
    if (fg_array_reserve(&lane->kept.data, &lane->kept.capacity, latest->size + (size_t)1) < 0)
        return -ENOMEM;
    memcpy(lane->kept.data, latest->data, latest->size);
    latest->data = lane->kept.data;
    return 0;
}

static int begin_import(struct stage_lane *lane, const struct fg_event *event,
                        const struct fg_fold_import *import)
{
    int error = enqueue_call(lane, event, import->shown_depth, 0);

    if (!error)
        set_function(lane, import->index);
    return error;
}

/* The event is to be taken in again after the counts. */
static int leave_import(struct stage_lane *lane, const struct fg_event *event,
                        const struct fg_fold_import *import)
{
    lane->again = *event;
    lane->has_again = true;
    return enqueue_counts(lane, event, import);
}

/* Does what was decided about an event. Return: 0 or -ENOMEM. */
static int follow(struct stage_lane *lane, const struct fg_event *event, int step,
                  const struct fg_fold_place *place)
{
    switch (step) {
    case FG_FOLD_PASS:
        enqueue(lane, event);
        return 0;
    case FG_FOLD_SHOW:
        return enqueue_call(lane, event, place->depth, 0);
    case FG_FOLD_SKIP:
        lane->lost = fg_add_lost(lane->lost, event->lost);
        return 0;
    case FG_FOLD_BEGIN:
        return begin_import(lane, event, &place->import);
    case FG_FOLD_END:
        return enqueue_end(lane, event, &place->import);
    case FG_FOLD_LEAVE:
        return leave_import(lane, event, &place->import);
    default:
        return step;
    }
}

/* The import whose beginning waits may have got its name. */
static void name_beginning(const struct stage_lane *lane, int step, const struct fg_fold_place *place)
{
    bool is_over = step == FG_FOLD_END || step == FG_FOLD_LEAVE;

    set_function(lane, is_over ? place->import.index : lane->lane.imports[lane->lane.nr_imports - 1].index);
}

/* Takes in events, from the cursor's on, until something waits to which the lane can move, or the lane has
 * ended. After the beginning of an import it reads on: an event that is shown in it, or its end, comes
 * next. */
static int fill(struct fg_fold *fold, struct stage_lane *lane, struct fg_cursor *cursor,
                struct fg_event *latest, char reason[FG_REASON_BYTES])
{
    bool has_begun = false;

    for (;; latest = NULL) {
        struct fg_fold_place place = {0};
        int step = fg_fold_lane_take(&lane->lane, &fold->rules, &cursor->head, &place), error;

        if (has_begun && step >= 0)
            name_beginning(lane, step, &place);
        error = follow(lane, &cursor->head, step, &place);
        if (error)
            return error;
        if (step != FG_FOLD_LEAVE)
            lane->last_ns = cursor->head.time_ns;
        has_begun |= step == FG_FOLD_BEGIN;
        if (step != FG_FOLD_SKIP && step != FG_FOLD_BEGIN)
            return 0;
        error = keep(lane, latest);
        if (error)
            return error;
        error = fg_merge_stage_pull(&fold->stage, cursor, false, reason);
        if (error || cursor->at_end) {
            end_lane(lane, error, reason);
            return 0;
        }
    }
}

/* Moves the cursor to the next event that waits, or to the end of the lane. Return: 0, or the error there. */
static int dequeue(struct stage_lane *lane, struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    struct fg_fold_place place;

    if (!lane->nr_queued && fg_fold_lane_leave(&lane->lane, &place) &&
        enqueue_counts(lane, &cursor->head, &place.import) < 0)
        return -ENOMEM;
    cursor->at_end = !lane->nr_queued;
    if (lane->nr_queued) {
        cursor->head = lane->queue[0];
        lane->queue[0] = lane->queue[--lane->nr_queued];
        return 0;
    }
    if (lane->reason)
        snprintf(reason, FG_REASON_BYTES, "%s", lane->reason);
    return lane->error;
}

/* Moves the cursor to the event that is taken in next. */
static int pull(struct fg_fold *fold, struct stage_lane *lane, struct fg_cursor *cursor, bool is_at_next,
                char reason[FG_REASON_BYTES])
{
    if (!lane->has_again)
        return fg_merge_stage_pull(&fold->stage, cursor, is_at_next, reason);
    cursor->head = lane->again;
    lane->has_again = false;
    return 0;
}

/* The lane is idle while its events stay as they are. */
static int advance(struct fg_merge_stage *stage, struct fg_cursor *cursor, bool is_at_next,
                   struct fg_event *latest, char reason[FG_REASON_BYTES])
{
    struct fg_fold *fold = (struct fg_fold *)stage;
    struct stage_lane *lane = &fold->lanes[cursor->number];
    int error;

    cursor->is_idle = false;
    if (lane->nr_queued || lane->at_end)
        return dequeue(lane, cursor, reason);
    error = pull(fold, lane, cursor, is_at_next, reason);
    if (error || cursor->at_end) {
        end_lane(lane, error, reason);
        return dequeue(lane, cursor, reason);
    }
    if (fg_fold_lane_is_outside(&lane->lane, &fold->rules, &cursor->head)) {
        cursor->is_idle = true;
        return 0;
    }
    error = fill(fold, lane, cursor, latest, reason);
    return error ? error : dequeue(lane, cursor, reason);
}

int fg_fold_new(const struct fg_fold_rules *rules, const struct fg_trace_file *file, struct fg_fold **fold)
{
    struct fg_fold *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->stage.advance = advance;
    made->stage.wakes = rules->functions;
    made->stage.nr_wakes = rules->nr_functions;
    made->stage.wake_bits = FG_FOLD_MACHINERY;
    made->rules = *rules;
    made->nr_lanes = fg_trace_file_nr_cursors(file);
    made->lanes = calloc(made->nr_lanes + (size_t)1, sizeof(*made->lanes));
    if (!made->lanes) {
        fg_fold_free(made);
        return -ENOMEM;
    }
    *fold = made;
    return 0;
}

struct fg_merge_stage *fg_fold_stage(struct fg_fold *fold)
{
    return &fold->stage;
}
