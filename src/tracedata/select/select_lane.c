/* See select_lane.h. */
#include "tracedata/select/select_lane.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/core/array.h"
#include "engine/ring/record.h"
#include "tracedata/base/folded.h"

void fg_select_lane_free(struct fg_select_lane *lane)
{
    free(lane->calls);
    *lane = (struct fg_select_lane){0};
}

static inline uint8_t marks_of(const struct fg_selection *selection, uint32_t func)
{
    return func < selection->nr_functions ? selection->functions[func] : 0;
}

static inline bool is_requested(const struct fg_selection *selection, uint8_t marks, bool is_inside)
{
    return (!selection->has_names || (marks & FG_SELECT_NAMED)) && (!selection->has_roots || is_inside);
}

/* Levels are counted among the calls that are shown, if some are left out for their names. */
static inline bool counts_shown(const struct fg_select_rules *rules)
{
    return rules->selection->has_names || rules->selection->has_roots;
}

static inline bool is_in_window(const struct fg_selection *selection, const struct fg_event *event)
{
    return event->time_ns >= selection->from && event->time_ns <= selection->to;
}

/* The innermost call in progress, or NULL. */
static inline struct fg_selected_call *top_call(const struct fg_select_lane *lane)
{
    return lane->nr_calls ? &lane->calls[lane->nr_calls - 1] : NULL;
}

/* ---- durations */

/* The innermost call in progress runs long enough, and so do all calls around it. */
static void set_long(struct fg_select_lane *lane)
{
    for (size_t i = lane->nr_calls; i-- && !lane->calls[i].is_long;) {
        struct fg_selected_call *call = &lane->calls[i];

        call->is_long = true;
        if (call->is_held)
            fg_pending_decide(lane->held, call->held, FG_VERDICT_SHOW);
        call->is_held = false;
    }
}

/* Calls at `depth` and deeper have ended at @time_ns at the latest, but their ends are not in the trace. */
static void give_up_calls(struct fg_select_lane *lane, const struct fg_select_rules *rules, uint32_t depth,
                          uint64_t time_ns)
{
    for (; lane->nr_calls && top_call(lane)->depth >= depth; lane->nr_calls--) {
        struct fg_selected_call *call = top_call(lane);
        uint64_t began_ns = call->began_ns + (lane->wait_ns - call->waited_ns);
        uint64_t ran_ns = !rules->counts_time && time_ns > began_ns ? time_ns - began_ns : 0;

        if (call->is_long)
            continue;
        if (ran_ns >= rules->selection->longer_ns)
            set_long(lane);
        else if (call->is_held)
            fg_pending_decide(lane->held, call->held, FG_VERDICT_DROP);
    }
}

void fg_select_lane_finish(struct fg_select_lane *lane, const struct fg_select_rules *rules)
{
    give_up_calls(lane, rules, 0, lane->last_ns);
    lane->wait_ns = 0;
}

/* ---- calls */

/* Fills in what a call is by its function and the calls around it, which are those in progress. */
static void place_call(const struct fg_select_lane *lane, const struct fg_select_rules *rules,
                       const struct fg_graph_event *graph, struct fg_selected_call *call, uint32_t *depth)
{
    const struct fg_selection *selection = rules->selection;
    const struct fg_selected_call *around = top_call(lane);
    uint8_t marks = marks_of(selection, graph->func);

    call->func = graph->func;
    call->depth = graph->depth;
    call->nr_shown = around ? around->nr_shown + around->is_shown : 0;
    call->is_inside = (marks & FG_SELECT_ROOT) || (around && around->is_inside);
    *depth = counts_shown(rules) ? call->nr_shown : graph->depth;
    call->is_shown = is_requested(selection, marks, call->is_inside) &&
                     (!selection->max_depth || *depth < selection->max_depth);
}

static int judge_entry(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                       const struct fg_event *event, const struct fg_graph_event *entry, uint32_t *depth)
{
    struct fg_selected_call *call, made = {.began_ns = event->time_ns, .waited_ns = lane->wait_ns};
    int error;

    give_up_calls(lane, rules, entry->depth, event->time_ns);
    error = fg_array_reserve(&lane->calls, &lane->capacity, lane->nr_calls + 1);
    if (error)
        return error;
    place_call(lane, rules, entry, &made, depth);
    call = &lane->calls[lane->nr_calls++];
    *call = made;
    if (!call->is_shown || !is_in_window(rules->selection, event))
        return FG_VERDICT_DROP;
    if (!rules->selection->longer_ns)
        return FG_VERDICT_SHOW;
    call->is_held = true;
    error = fg_pending_add(lane->held, event, *depth, FG_VERDICT_OPEN, &call->held);
    return error ? error : FG_VERDICT_OPEN;
}

/* Takes the call that ends off the calls in progress, or makes up one whose beginning is not in the trace. */
static struct fg_selected_call take_call(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                                         const struct fg_event *event, const struct fg_graph_event *exit,
                                         uint32_t *depth)
{
    struct fg_selected_call *top, unknown = {0};

    give_up_calls(lane, rules, exit->depth + 1, event->time_ns);
    top = top_call(lane);
    if (top && top->depth == exit->depth && top->func == exit->func) {
        *depth = counts_shown(rules) ? top->nr_shown : exit->depth;
        return lane->calls[--lane->nr_calls];
    }
    give_up_calls(lane, rules, exit->depth, event->time_ns);
    place_call(lane, rules, exit, &unknown, depth);
    return unknown;
}

static int judge_exit(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                      const struct fg_event *event, const struct fg_graph_event *exit, uint32_t *depth)
{
    struct fg_selected_call call = take_call(lane, rules, event, exit, depth);
    bool is_long = call.is_long || fg_duration_ns(exit) >= rules->selection->longer_ns;

    if (is_long)
        set_long(lane); /* the calls around it: what is held of them goes first */
    if (call.is_held)
        fg_pending_decide(lane->held, call.held, is_long ? FG_VERDICT_SHOW : FG_VERDICT_DROP);
    return call.is_shown && is_long && is_in_window(rules->selection, event) ? FG_VERDICT_SHOW
                                                                             : FG_VERDICT_DROP;
}

static int judge_call(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                      const struct fg_event *event, uint32_t *depth)
{
    bool is_entry = event->type == FG_EVENT_funcgraph_entry;
    struct fg_graph_event graph = {.kind = 0}; /* gcc cannot see that decoding fills it in */
    bool is_whole = is_entry ? fg_decode_entry(event, &graph) : fg_decode_exit(event, &graph);

    if (rules->selection->hides_calls)
        return FG_VERDICT_DROP;
    if (!is_whole || graph.depth > FG_RECORD_MAX_DEPTH)
        return FG_VERDICT_SHOW; /* who reads it tells of the damage */
    *depth = graph.depth;
    return is_entry ? judge_entry(lane, rules, event, &graph, depth)
                    : judge_exit(lane, rules, event, &graph, depth);
}

/* ---- all other events */

/* A record of the function tracer: it has no duration, and its callers are unknown. */
static int judge_function(const struct fg_select_rules *rules, const struct fg_event *event)
{
    const struct fg_selection *selection = rules->selection;
    uint32_t address;
    uint8_t marks;

    if (!fg_event_is_whole(event))
        return FG_VERDICT_SHOW;
    address =
        event->type == FG_EVENT_function ? fg_event_function(event)->ip : fg_event_func_repeats(event)->ip;
    marks = marks_of(selection, fg_function_index(address));
    return !selection->hides_calls && !selection->longer_ns &&
                   is_requested(selection, marks, marks & FG_SELECT_ROOT)
               ? FG_VERDICT_SHOW
               : FG_VERDICT_DROP;
}

static int compare_types(const void *key, const void *item)
{
    uint32_t type = *(const uint32_t *)key, there = ((const struct fg_selected_event *)item)->type;

    return type < there ? -1 : type > there;
}

static int judge_other(const struct fg_selection *selection, const struct fg_event *event)
{
    const struct fg_selected_event *chosen;

    if (!selection->chooses_events)
        return FG_VERDICT_SHOW;
    if (!selection->nr_events)
        return FG_VERDICT_DROP;
    chosen = bsearch(&event->type, selection->events, selection->nr_events, sizeof(*selection->events),
                     compare_types);
    for (; chosen && chosen > selection->events && chosen[-1].type == event->type; chosen--)
        ;
    for (; chosen && chosen < selection->events + selection->nr_events && chosen->type == event->type;
         chosen++)
        if (!chosen->filter || fg_event_filter_matches(chosen->filter, event->data, event->size))
            return FG_VERDICT_SHOW;
    return FG_VERDICT_DROP;
}

/* Counts of an import whose end is not in the trace: of a call in progress. */
static int judge_folded(const struct fg_select_lane *lane, const struct fg_selection *selection,
                        const struct fg_event *event)
{
    uint32_t depth = ((const struct fg_folded_event *)event->data)->depth;

    for (size_t i = lane->nr_calls; i-- && lane->calls[i].depth >= depth;)
        if (lane->calls[i].depth == depth && lane->calls[i].is_shown && !selection->hides_calls)
            return !selection->longer_ns || lane->calls[i].is_long ? FG_VERDICT_SHOW : FG_VERDICT_DROP;
    return FG_VERDICT_DROP;
}

static int judge(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                 const struct fg_event *event, uint32_t *depth)
{
    int verdict;

    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
    case FG_EVENT_funcgraph_exit:
        return judge_call(lane, rules, event, depth);
    case FG_EVENT_function:
    case FG_EVENT_func_repeats:
        verdict = judge_function(rules, event);
        break;
    case FG_EVENT_kernel_stack:
        verdict = lane->shows_latest ? FG_VERDICT_SHOW : FG_VERDICT_DROP;
        break;
    case FG_EVENT_FOLDED:
        verdict = judge_folded(lane, rules->selection, event);
        break;
    case FG_EVENT_recorder_wait:
        if (fg_event_is_whole(event))
            lane->wait_ns += fg_event_recorder_wait(event)->duration_ns;
        /* fall through */
    default:
        verdict = judge_other(rules->selection, event);
    }
    return is_in_window(rules->selection, event) ? verdict : FG_VERDICT_DROP;
}

int fg_select_lane_judge(struct fg_select_lane *lane, const struct fg_select_rules *rules,
                         const struct fg_event *event, uint32_t *depth)
{
    uint64_t number;
    int verdict, error;

    if (lane->has_task && lane->tid != event->tid)
        fg_select_lane_finish(lane, rules);
    lane->has_task = true;
    lane->tid = event->tid;
    verdict = judge(lane, rules, event, depth);
    lane->last_ns = event->time_ns;
    lane->shows_latest = verdict == FG_VERDICT_SHOW;
    if (verdict == FG_VERDICT_SHOW && rules->selection->longer_ns) {
        error = fg_pending_add(lane->held, event, *depth, FG_VERDICT_SHOW, &number);
        return error ? error : verdict;
    }
    if (verdict == FG_VERDICT_DROP && event->time_ns >= rules->selection->from)
        lane->held->lost[event->lane] = fg_add_lost(lane->held->lost[event->lane], event->lost);
    return verdict;
}
