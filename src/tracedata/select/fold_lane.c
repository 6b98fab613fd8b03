/* See fold_lane.h. */
#include "tracedata/select/fold_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/base/values.h"

void fg_fold_lane_free(struct fg_fold_lane *lane)
{
    free(lane->imports);
    free(lane->open);
    *lane = (struct fg_fold_lane){0};
}

static inline struct fg_fold_import *innermost(const struct fg_fold_lane *lane)
{
    return &lane->imports[lane->nr_imports - 1];
}

/* ---- folded calls in progress: they tell an end without a beginning, which counts as a call too */

#define NO_CALL UINT32_MAX

/* All functions that the trace does not name are one, as in the summary. */
static inline uint32_t open_function(const struct fg_fold_rules *rules, const struct fg_graph_event *call)
{
    return call->func < rules->nr_functions ? call->func : rules->nr_functions;
}

static int open_call(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                     const struct fg_graph_event *entry)
{
    int error = fg_array_reserve(&lane->open, &lane->open_capacity, entry->depth + (size_t)1);

    if (error)
        return error;
    for (; lane->open_depth < entry->depth; lane->open_depth++)
        lane->open[lane->open_depth] = NO_CALL;
    lane->open[entry->depth] = open_function(rules, entry);
    lane->open_depth = entry->depth + 1;
    return 0;
}

/* No call at this depth or deeper is in progress. */
static void forget_calls(struct fg_fold_lane *lane, uint32_t depth)
{
    if (lane->open_depth > depth)
        lane->open_depth = depth;
}

/* Return: whether the beginning of the call was folded too. */
static bool close_call(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                       const struct fg_graph_event *exit)
{
    bool is_open = exit->depth < lane->open_depth && lane->open[exit->depth] == open_function(rules, exit);

    forget_calls(lane, exit->depth);
    return is_open;
}

/* Counts as the summary does. */
static int fold_call(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                     const struct fg_event *event, const struct fg_graph_event *call)
{
    struct fg_folded *folded = &innermost(lane)->folded;

    if (event->type == FG_EVENT_funcgraph_entry) {
        folded->calls += call->kind != FG_ENTRY_RESUME;
        folded->resumes += call->kind == FG_ENTRY_RESUME;
        return open_call(lane, rules, call);
    }
    folded->calls += !close_call(lane, rules, call) && call->kind != FG_EXIT_CLOSE;
    folded->exceptions += call->kind == FG_EXIT_RAISE;
    return 0;
}

/* ---- imports */

/* The name is the first argument of the first call that has it, as long as nothing of the import is shown. */
static int name_import(const struct fg_fold_rules *rules, struct fg_fold_import *import,
                       const struct fg_graph_event *entry)
{
    const uint8_t *values = entry->values;
    struct fg_value name;

    if (import->is_named || !(fg_fold_marks(rules, entry->func) & FG_FOLD_NAMES) ||
        !fg_value_next(&values, entry->values_end, &name) || name.tag != FG_VALUE_STR)
        return 0;
    import->is_named = true;
    import->index = fg_name_table_import(rules->names, name.text, name.text_bytes);
    return import->index == UINT32_MAX ? -ENOMEM : 0;
}

/* Whether a call that is not in an import begins one. A generator of the machinery that is resumed does
 * not. */
static bool is_beginning(const struct fg_fold_rules *rules, const struct fg_event *event,
                         const struct fg_graph_event *call)
{
    return event->type == FG_EVENT_funcgraph_entry && call->kind == FG_ENTRY_START &&
           (fg_fold_marks(rules, call->func) & FG_FOLD_MACHINERY);
}

static int begin_import(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                        const struct fg_event *event, const struct fg_graph_event *entry,
                        uint32_t shown_depth, struct fg_fold_place *place)
{
    struct fg_fold_import made = {
        .func = entry->func,
        .depth = entry->depth,
        .shown_depth = shown_depth,
        .index = fg_name_table_import(rules->names, NULL, 0),
        .own_depth = FG_FOLD_NO_DEPTH,
    };
    int error = made.index == UINT32_MAX ? -ENOMEM : name_import(rules, &made, entry);

    if (!error)
        error = fg_array_reserve(&lane->imports, &lane->capacity, lane->nr_imports + 1);
    if (!error)
        error = open_call(lane, rules, entry);
    if (error)
        return error;
    lane->imports[lane->nr_imports++] = made;
    lane->tid = event->tid;
    place->import = made;
    return FG_FOLD_BEGIN;
}

bool fg_fold_lane_leave(struct fg_fold_lane *lane, struct fg_fold_place *place)
{
    if (lane->nr_imports == 0)
        return false;
    place->import = lane->imports[--lane->nr_imports];
    return true;
}

/* ---- steps */

/* The call is within one of the program's own, or is it. */
static int show_own(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                    const struct fg_event *event, const struct fg_graph_event *call,
                    struct fg_fold_place *place)
{
    struct fg_fold_import *import = innermost(lane);

    place->depth = import->shown_depth + 1 + (call->depth - import->own_depth);
    import->is_named = true;
    if (is_beginning(rules, event, call))
        return begin_import(lane, rules, event, call, place->depth, place);
    if (event->type == FG_EVENT_funcgraph_exit && call->depth == import->own_depth)
        import->own_depth = FG_FOLD_NO_DEPTH;
    return FG_FOLD_SHOW;
}

/* The call is below the machinery's outermost one. */
static int fold_or_show(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                        const struct fg_event *event, const struct fg_graph_event *call,
                        struct fg_fold_place *place)
{
    struct fg_fold_import *import = innermost(lane);
    int error;

    if (fg_fold_marks(rules, call->func) & FG_FOLD_OWN) {
        forget_calls(lane, call->depth);
        import->own_depth = call->depth;
        return show_own(lane, rules, event, call, place);
    }
    error = event->type == FG_EVENT_funcgraph_entry ? name_import(rules, import, call) : 0;
    if (!error)
        error = fold_call(lane, rules, event, call);
    return error ? error : FG_FOLD_SKIP;
}

static bool is_end_of(const struct fg_fold_import *import, const struct fg_event *event,
                      const struct fg_graph_event *call)
{
    return event->type == FG_EVENT_funcgraph_exit && call->depth == import->depth &&
           call->func == import->func;
}

/* Forgets a call of the program's own whose end is not in the trace. */
static void leave_own(struct fg_fold_import *import, const struct fg_event *event,
                      const struct fg_graph_event *call)
{
    bool is_exit = event->type == FG_EVENT_funcgraph_exit;

    if (import->own_depth != FG_FOLD_NO_DEPTH && call->depth < import->own_depth + !is_exit)
        import->own_depth = FG_FOLD_NO_DEPTH;
}

/* A call, while an import is in progress. */
static int take_inside(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                       const struct fg_event *event, const struct fg_graph_event *call,
                       struct fg_fold_place *place)
{
    struct fg_fold_import *import = innermost(lane);

    leave_own(import, event, call);
    if (import->own_depth != FG_FOLD_NO_DEPTH)
        return show_own(lane, rules, event, call, place);
    if (call->depth > import->depth)
        return fold_or_show(lane, rules, event, call, place);
    fg_fold_lane_leave(lane, place);
    if (!is_end_of(&place->import, event, call))
        return FG_FOLD_LEAVE;
    forget_calls(lane, call->depth);
    return FG_FOLD_END;
}

static int take_outside(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                        const struct fg_event *event, const struct fg_graph_event *call,
                        struct fg_fold_place *place)
{
    if (!is_beginning(rules, event, call))
        return FG_FOLD_PASS;
    lane->open_depth = 0;
    return begin_import(lane, rules, event, call, call->depth, place);
}

int fg_fold_lane_take(struct fg_fold_lane *lane, const struct fg_fold_rules *rules,
                      const struct fg_event *event, struct fg_fold_place *place)
{
    struct fg_graph_event call;
    bool is_call;

    if (lane->nr_imports && lane->tid != event->tid) {
        fg_fold_lane_leave(lane, place);
        return FG_FOLD_LEAVE;
    }
    is_call = fg_event_is_call(event->type) && fg_decode_graph(event, &call);
    if (is_call && call.depth <= FG_RECORD_MAX_DEPTH)
        return lane->nr_imports ? take_inside(lane, rules, event, &call, place)
                                : take_outside(lane, rules, event, &call, place);
    if (lane->nr_imports)
        innermost(lane)->is_named = true;
    return FG_FOLD_PASS;
}
