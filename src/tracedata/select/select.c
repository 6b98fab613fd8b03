/* See select.h. */
#include "tracedata/select/select.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "tracedata/select/select_thread.h"

/* Data of the events that were handed out last. An event must stay valid while the next one is looked at. */
struct shown {
    uint8_t *data;
    size_t capacity;
};

/* What is kept of a cursor. */
struct stage_lane {
    struct fg_pending held;
    uint32_t threads; /* the latest of them: number of the thread plus 1 */
    struct shown shown[2];
    unsigned latest;
    bool at_end; /* of the cursor; held events may be left */
    int error;   /* met there */
    char *reason;
};

struct fg_select {
    struct fg_merge_stage stage;
    struct fg_select_threads threads;
    struct stage_lane *lanes; /* by cursor */
    uint32_t nr_lanes;
    uint64_t *lost; /* by lane of the trace, see fg_pending */
};

void fg_select_free(struct fg_select *select)
{
    if (!select)
        return;
    for (uint32_t i = 0; select->lanes && i < select->nr_lanes; i++) {
        struct stage_lane *lane = &select->lanes[i];

        fg_pending_free(&lane->held);
        free(lane->shown[0].data);
        free(lane->shown[1].data);
        free(lane->reason);
    }
    fg_select_threads_free(&select->threads);
    free(select->lanes);
    free(select->lost);
    free(select);
}

/* Makes an event the cursor's current one: with a copy of its data, in which a call has its depth. */
static int show(struct stage_lane *lane, struct fg_cursor *cursor, const struct fg_event *event,
                uint32_t depth)
{
    struct shown *shown = &lane->shown[lane->latest = !lane->latest];

    if (fg_array_reserve(&shown->data, &shown->capacity, event->size + (size_t)1) < 0)
        return -ENOMEM;
    memcpy(shown->data, event->data, event->size);
    if (fg_event_is_call(event->type) && fg_event_is_whole(event))
        ((struct fg_graph_data *)(void *)shown->data)->depth = depth;
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
    for (uint32_t next = lane->threads; next;) {
        struct fg_select_thread *thread = fg_select_thread_of(&select->threads, next - 1);

        fg_select_thread_finish(&select->threads, thread);
        next = thread->next;
    }
}

/* Moves the cursor to the next event that is to be judged. Return: false: the lane has ended. */
static bool move(struct fg_select *select, struct stage_lane *lane, struct fg_cursor *cursor, bool is_at_next,
                 char reason[FG_REASON_BYTES])
{
    const struct fg_selection *selection = select->threads.rules.selection;
    int error = fg_merge_stage_pull(&select->stage, cursor, is_at_next, reason);
    bool is_over = !error && !cursor->at_end && cursor->head.time_ns > selection->to;
    const struct fg_pending *held = &lane->held;

    if (!error && !cursor->at_end && !(is_over && held->first == held->end))
        return true;
    end_lane(select, lane, error, reason);
    return false;
}

/* The event's thread, which is of this cursor. NULL: memory is short. */
static struct fg_select_thread *thread_of(struct fg_select *select, struct stage_lane *lane,
                                          const struct fg_event *event)
{
    struct fg_select_thread *thread = fg_select_thread_of(&select->threads, event->thread);

    if (thread && fg_unlikely(!thread->held)) {
        thread->held = &lane->held;
        thread->next = lane->threads;
        lane->threads = event->thread + 1;
    }
    return thread;
}

static int advance(struct fg_merge_stage *stage, struct fg_cursor *cursor, bool is_at_next,
                   struct fg_event *latest, char reason[FG_REASON_BYTES])
{
    (void)latest; /* what is shown is a copy */
    struct fg_select *select = (struct fg_select *)stage;
    struct stage_lane *lane = &select->lanes[cursor->number];

    for (;; is_at_next = false) {
        const struct fg_pending_event *held = fg_pending_take(&lane->held);
        struct fg_select_thread *thread;
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
        thread = thread_of(select, lane, &cursor->head);
        verdict = thread ? fg_select_thread_judge(&select->threads, thread, &cursor->head, &depth) : -ENOMEM;
        if (verdict < 0)
            return verdict;
        if (verdict == FG_VERDICT_SHOW && !select->threads.rules.selection->longer_ns) {
            uint64_t *lost = &select->lost[cursor->head.lane];

            cursor->head.lost = fg_add_lost(cursor->head.lost, *lost);
            *lost = 0;
            return show(lane, cursor, &cursor->head, depth);
        }
    }
}

/* Whether it depends on the calls in progress what is shown of an event. */
static bool needs_callers(const struct fg_selection *selection)
{
    return selection->has_names || selection->has_roots || selection->longer_ns || selection->values;
}

int fg_select_new(const struct fg_selection *selection, const struct fg_trace_file *file,
                  struct fg_select **select)
{
    struct fg_select *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->stage.advance = advance;
    made->stage.from_ns = needs_callers(selection) ? 0 : selection->from;
    fg_select_threads_init(&made->threads, (struct fg_select_rules){.selection = selection,
                                                                    .has_times = file->unit == FG_UNIT_NS});
    made->nr_lanes = fg_trace_file_nr_cursors(file);
    made->lanes = calloc(made->nr_lanes + (size_t)1, sizeof(*made->lanes));
    made->lost = calloc(file->nr_lanes + (size_t)1, sizeof(*made->lost));
    if (!made->lanes || !made->lost) {
        fg_select_free(made);
        return -ENOMEM;
    }
    for (uint32_t i = 0; i < made->nr_lanes; i++)
        made->lanes[i].held.lost = made->lost;
    *select = made;
    return 0;
}

struct fg_merge_stage *fg_select_stage(struct fg_select *select)
{
    return &select->stage;
}
