/* See select.h. */
#include "tracedata/select/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/array.h"
#include "tracedata/select/select_lane.h"

/* Data of the events that were handed out last. An event must stay valid while the next one is looked at. */
struct shown {
    uint8_t *data;
    size_t capacity;
};

struct stage_lane {
    struct fg_select_lane lane;
    struct shown shown[2];
    unsigned latest;
    bool at_end; /* of the cursor; held events may be left */
    int error;   /* met there */
    char *reason;
};

struct fg_select {
    struct fg_merge_stage stage;
    struct fg_select_rules rules;
    struct stage_lane *lanes;
    uint32_t nr_lanes;
};

void fg_select_free(struct fg_select *select)
{
    if (!select)
        return;
    for (uint32_t i = 0; select->lanes && i < select->nr_lanes; i++) {
        struct stage_lane *lane = &select->lanes[i];

        fg_select_lane_free(&lane->lane);
        free(lane->shown[0].data);
        free(lane->shown[1].data);
        free(lane->reason);
    }
    free(select->lanes);
    free(select);
}

/* Makes an event the cursor's current one: with a copy of its data, in which a call has its depth. */
static int show(struct stage_lane *lane, struct fg_cursor *cursor, const struct fg_event *event,
                uint32_t depth)
{
    struct shown *shown = &lane->shown[lane->latest = !lane->latest];
    size_t at = event->type == FG_EVENT_funcgraph_entry  ? offsetof(struct fg_wire_funcgraph_entry, depth)
                : event->type == FG_EVENT_funcgraph_exit ? offsetof(struct fg_wire_funcgraph_exit, depth)
                                                         : SIZE_MAX;

    if (fg_array_reserve(&shown->data, &shown->capacity, event->size + (size_t)1) < 0)
        return -ENOMEM;
    memcpy(shown->data, event->data, event->size);
    if (event->size >= sizeof(depth) && at <= event->size - sizeof(depth))
        memcpy(shown->data + at, &depth, sizeof(depth));
    cursor->head = *event;
    cursor->head.data = shown->data;
    return 0;
}

/* The lane has no further event, or cannot be read any further. */
static void end_lane(struct fg_select *select, struct stage_lane *lane, int error, const char *reason)
{
    lane->at_end = true;
    lane->error = error;
    if (error)
        lane->reason = strdup(reason);
    if (select->rules.has_stacks)
        fg_select_lane_finish(&lane->lane, &select->rules);
}

/* Moves the cursor to the next event that is to be judged. Return: false: the lane has ended. */
static bool move(struct fg_select *select, struct stage_lane *lane, struct fg_cursor *cursor, bool is_at_next,
                 char reason[FG_REASON_BYTES])
{
    const struct fg_selection *selection = select->rules.selection;
    int error = fg_merge_stage_pull(&select->stage, cursor, is_at_next, reason);
    bool is_over = !error && !cursor->at_end && cursor->head.time_ns > selection->to;
    const struct fg_held *held = &lane->lane.held;

    if (!error && !cursor->at_end && !(is_over && held->first == held->end))
        return true;
    end_lane(select, lane, error, reason);
    return false;
}

static int advance(struct fg_merge_stage *stage, struct fg_cursor *cursor, bool is_at_next,
                   struct fg_event *latest, char reason[FG_REASON_BYTES])
{
    (void)latest; /* what is shown is a copy */
    struct fg_select *select = (struct fg_select *)stage;
    struct stage_lane *lane = &select->lanes[cursor->head.lane];

    for (;; is_at_next = false) {
        const struct fg_held_event *held = fg_held_take(&lane->lane.held);
        uint32_t depth = 0;
        int verdict;

        if (held) {
            cursor->at_end = false;
            return show(lane, cursor, &held->event, held->depth);
        }
        if (lane->at_end) {
            cursor->at_end = true;
            if (lane->reason)
                snprintf(reason, FG_REASON_BYTES, "%s", lane->reason);
            return lane->error;
        }
        if (!move(select, lane, cursor, is_at_next, reason))
            continue;
        verdict = fg_select_lane_judge(&lane->lane, &select->rules, &cursor->head, &depth);
        if (verdict < 0)
            return verdict;
        if (verdict == FG_VERDICT_SHOW && !select->rules.selection->longer_ns) {
            cursor->head.lost = fg_add_lost(cursor->head.lost, lane->lane.held.lost);
            lane->lane.held.lost = 0;
            return show(lane, cursor, &cursor->head, depth);
        }
    }
}

int fg_select_new(const struct fg_selection *selection, const struct fg_trace_file *file,
                  struct fg_select **select)
{
    struct fg_select *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->stage.advance = advance;
    made->rules = (struct fg_select_rules){
        .selection = selection, .has_stacks = !file->kernel, .counts_time = file->unit != FG_UNIT_NS};
    made->nr_lanes = file->nr_lanes;
    made->lanes = calloc(file->nr_lanes + (size_t)1, sizeof(*made->lanes));
    if (!made->lanes) {
        fg_select_free(made);
        return -ENOMEM;
    }
    *select = made;
    return 0;
}

struct fg_merge_stage *fg_select_stage(struct fg_select *select)
{
    return &select->stage;
}
