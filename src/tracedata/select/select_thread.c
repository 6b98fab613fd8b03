/* See select_thread.h. */
#include "tracedata/select/select_thread.h"

#include <stdlib.h>

#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/calls/call_events.h"

/* A call: what is known of it from its function and the calls around it. */
struct call {
    uint32_t nr_shown; /* of the calls around it */
    bool is_inside;    /* it, or a call around it, is a root, or has the values that are wanted */
    bool is_shown;     /* it counts as a level */
    bool is_long;      /* it runs long enough */
    bool is_held;
    uint64_t held; /* the number of its beginning among the held events */
};

static inline struct fg_select_threads *threads_of(struct fg_call_assembler *calls)
{
    return (struct fg_select_threads *)(void *)calls;
}

static inline struct fg_pending *held_of(const struct fg_stretch *stretch)
{
    return ((struct fg_select_thread *)(void *)stretch->thread)->held;
}

static inline uint8_t marks_of(const struct fg_selection *selection, uint32_t func)
{
    return func < selection->nr_functions ? selection->functions[func] : 0;
}

/* By its function. */
static inline bool is_requested(const struct fg_selection *selection, uint8_t marks, bool is_inside)
{
    return (!selection->has_names || (marks & FG_SELECT_NAMED)) && (!selection->has_roots || is_inside);
}

/* Levels are counted among the calls that are shown, if some are left out for their names. */
static inline bool counts_shown(const struct fg_select_rules *rules)
{
    return rules->selection->has_names || rules->selection->has_roots || rules->selection->values;
}

static inline bool is_in_window(const struct fg_selection *selection, const struct fg_event *event)
{
    return event->time_ns >= selection->from && event->time_ns <= selection->to;
}

static const struct fg_call_consumer consumer;

static inline struct call *call_at(const struct fg_call_assembler *calls, struct fg_call_level *level)
{
    return level ? fg_call_of(calls, level) : NULL;
}

/* ---- durations */

static void decide(const struct fg_stretch *stretch, struct call *call, bool is_long)
{
    if (call->is_held)
        fg_pending_decide(held_of(stretch), call->held, is_long ? FG_VERDICT_SHOW : FG_VERDICT_DROP);
    call->is_held = false;
}

/* The calls around this stretch run long enough. What is held of the outermost goes first. */
static void set_long(struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    struct fg_call_level *level = fg_innermost_level(&consumer, stretch->thread);

    for (; level && !call_at(calls, level)->is_long;
         level = fg_enclosing_level(&consumer, stretch->thread, level)) {
        call_at(calls, level)->is_long = true;
        decide(stretch, call_at(calls, level), true);
    }
}

/* The call has run for at most this long, but its end is not in the trace. */
static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    const struct fg_select_rules *rules = &threads_of(calls)->rules;
    const struct fg_call_level *level = stretch->level;
    struct call *call = stretch->call;
    uint64_t began_ns = level->entered_ns + (stretch->thread->wait_ns - level->waited_ns);
    uint64_t ran_ns = rules->has_times ? fg_minus(until_ns, began_ns) : 0;

    (void)gap, (void)goes_on;
    if (call->is_long)
        return 0;
    if (ran_ns >= rules->selection->longer_ns)
        set_long(calls, stretch);
    decide(stretch, call, ran_ns >= rules->selection->longer_ns);
    return 0;
}

/* ---- calls */

/* Whether the call is chosen by its values, or shown for the sake of one that is. */
static bool has_values(const struct fg_selected_values *values, const struct fg_stretch *stretch,
                       struct call *call)
{
    const struct fg_select_thread *thread = (const struct fg_select_thread *)(const void *)stretch->thread;
    uint8_t mark = fg_call_marks_at(&values->marks, stretch->thread->number, thread->nr_events);

    call->is_inside |= (mark & FG_CALL_CHOSEN) != 0;
    return (mark & FG_CALL_SHOWN) || (values->has_callees && call->is_inside);
}

/* Finds out what a call is. */
static inline void place_call(struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    struct fg_select_threads *threads = threads_of(calls);
    const struct fg_select_rules *rules = &threads->rules;
    const struct fg_selection *selection = rules->selection;
    const struct call *around = call_at(calls, fg_innermost_level(&consumer, stretch->thread));
    struct call *call = stretch->call;
    uint8_t marks = marks_of(selection, stretch->level->func);

    *call = (struct call){.nr_shown = around ? around->nr_shown + around->is_shown : 0,
                          .is_inside = (!selection->values && (marks & FG_SELECT_ROOT)) ||
                                       (around && around->is_inside)};
    threads->depth = counts_shown(rules) ? call->nr_shown : stretch->depth;
    call->is_shown = (selection->values ? has_values(selection->values, stretch, call)
                                        : is_requested(selection, marks, call->is_inside)) &&
                     (!selection->max_depth || threads->depth < selection->max_depth);
}

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    struct fg_select_threads *threads = threads_of(calls);
    const struct fg_selection *selection = threads->rules.selection;
    struct call *call = stretch->call;

    (void)graph;
    place_call(calls, stretch);
    if (stretch->level->is_late || !call->is_shown || !is_in_window(selection, event))
        return 0;
    if (!selection->longer_ns) {
        threads->verdict = FG_VERDICT_SHOW;
        return 0;
    }
    threads->verdict = FG_VERDICT_OPEN;
    call->is_held = true;
    return fg_pending_add(held_of(stretch), event, threads->depth, FG_VERDICT_OPEN, &call->held);
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *event)
{
    struct fg_select_threads *threads = threads_of(calls);
    const struct fg_select_rules *rules = &threads->rules;
    struct call *call = stretch->call;
    bool is_long = call->is_long || stretch->ran_ns >= rules->selection->longer_ns;

    (void)exit;
    threads->depth = counts_shown(rules) ? call->nr_shown : stretch->depth;
    if (is_long)
        set_long(calls, stretch);
    decide(stretch, call, is_long);
    if (call->is_shown && is_long && is_in_window(rules->selection, event))
        threads->verdict = FG_VERDICT_SHOW;
    return 0;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct fg_select_thread),
    .links_levels = true,
    .begin = begin,
    .end = end,
    .give_up = give_up,
};

void fg_select_threads_init(struct fg_select_threads *threads, struct fg_select_rules rules)
{
    threads->rules = rules;
    fg_call_assembler_init(&threads->calls, &consumer, NULL, rules.has_times);
}

void fg_select_threads_free(struct fg_select_threads *threads)
{
    fg_call_assembler_free(&threads->calls);
}

struct fg_select_thread *fg_select_thread_of(struct fg_select_threads *threads, uint32_t number)
{
    return (struct fg_select_thread *)(void *)fg_call_thread(&consumer, &threads->calls, number);
}

void fg_select_thread_finish(struct fg_select_threads *threads, struct fg_select_thread *thread)
{
    fg_calls_finish_thread(&threads->calls, &thread->thread, FG_GAP_THREAD);
}

static int judge_call(struct fg_select_threads *threads, struct fg_select_thread *thread,
                      const struct fg_event *event, uint32_t *depth)
{
    int error;

    if (threads->rules.selection->hides_calls)
        return FG_VERDICT_DROP;
    if (!fg_event_is_sound(event))
        return FG_VERDICT_SHOW; /* who reads it tells of the damage */
    threads->verdict = FG_VERDICT_DROP;
    error = fg_calls_add_call(&consumer, &threads->calls, &thread->thread, event);
    thread->nr_events++;
    *depth = threads->depth;
    return error ? error : threads->verdict;
}

/* ---- all other events */

/* A record of the function tracer: it has no duration, and its callers are unknown. */
static int judge_function(const struct fg_select_rules *rules, const struct fg_event *event)
{
    const struct fg_selection *selection = rules->selection;
    uint8_t marks;

    if (!fg_event_is_whole(event))
        return FG_VERDICT_SHOW;
    marks = marks_of(selection, fg_event_flat(event)->func);
    return !selection->hides_calls && !selection->longer_ns && !selection->values &&
                   is_requested(selection, marks, marks & FG_SELECT_ROOT)
               ? FG_VERDICT_SHOW
               : FG_VERDICT_DROP;
}

static int compare_types(const void *key, const void *item)
{
    uint32_t type = *(const uint32_t *)key, there = ((const struct fg_selected_event *)item)->type;

    return type < there ? -1 : type > there;
}

/* Of our own events a filter sees the common fields alone. */
static bool matches(const struct fg_event_filter *filter, const struct fg_event *event)
{
    const struct fg_event_common common = {.type = (uint16_t)event->type, .pid = event->tid};

    if (event->type < FG_EVENT_FIRST_DYNAMIC)
        return fg_event_filter_matches(filter, (const uint8_t *)&common, sizeof(common));
    return fg_event_filter_matches(filter, event->data, event->size);
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
        if (!chosen->filter || matches(chosen->filter, event))
            return FG_VERDICT_SHOW;
    return FG_VERDICT_DROP;
}

/* Counts of an import whose end is not in the trace: of a call in progress. */
static int judge_folded(const struct fg_select_threads *threads, const struct fg_select_thread *thread,
                        const struct fg_event *event)
{
    const struct fg_selection *selection = threads->rules.selection;
    uint32_t depth = ((const struct fg_folded_event *)event->data)->depth;
    struct fg_call_level *level;

    if (depth >= thread->thread.depth)
        return FG_VERDICT_DROP;
    level = fg_level_at(&consumer, &thread->thread, depth);
    if (!level->is_open || !call_at(&threads->calls, level)->is_shown || selection->hides_calls)
        return FG_VERDICT_DROP;
    return !selection->longer_ns || call_at(&threads->calls, level)->is_long ? FG_VERDICT_SHOW
                                                                             : FG_VERDICT_DROP;
}

static int judge(struct fg_select_threads *threads, struct fg_select_thread *thread,
                 const struct fg_event *event, uint32_t *depth)
{
    const struct fg_select_rules *rules = &threads->rules;
    int verdict;

    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
    case FG_EVENT_funcgraph_exit:
        return judge_call(threads, thread, event, depth);
    case FG_EVENT_function:
    case FG_EVENT_func_repeats:
        verdict = judge_function(rules, event);
        break;
    case FG_EVENT_kernel_stack:
        verdict = thread->shows_latest ? FG_VERDICT_SHOW : FG_VERDICT_DROP;
        break;
    case FG_EVENT_FOLDED:
        verdict = judge_folded(threads, thread, event);
        break;
    case FG_EVENT_recorder_wait:
        if (fg_event_is_whole(event))
            thread->thread.wait_ns += fg_event_recorder_wait(event)->duration_ns;
        /* fall through */
    default:
        verdict = judge_other(rules->selection, event);
    }
    return is_in_window(rules->selection, event) ? verdict : FG_VERDICT_DROP;
}

int fg_select_thread_judge(struct fg_select_threads *threads, struct fg_select_thread *thread,
                           const struct fg_event *event, uint32_t *depth)
{
    const struct fg_selection *selection = threads->rules.selection;
    int verdict, error = fg_calls_enter(&threads->calls, &thread->thread, event);
    uint64_t number;

    if (error)
        return error;
    verdict = judge(threads, thread, event, depth);
    thread->thread.last_ns = event->time_ns;
    thread->shows_latest = verdict == FG_VERDICT_SHOW;
    if (verdict == FG_VERDICT_SHOW && selection->longer_ns) {
        error = fg_pending_add(thread->held, event, *depth, FG_VERDICT_SHOW, &number);
        return error ? error : verdict;
    }
    if (verdict == FG_VERDICT_DROP && event->time_ns >= selection->from)
        thread->held->lost[event->lane] = fg_add_lost(thread->held->lost[event->lane], event->lost);
    return verdict;
}
