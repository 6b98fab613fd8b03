/* See summary_calls.h. */
#include "tracedata/view/summary_calls.h"

#include <errno.h>

#include "engine/ring/record.h"
#include "tracedata/base/folded.h"
#include "tracedata/view/tree_lane.h"

#define NO_FUNCTION UINT32_MAX

static inline uint64_t minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

/* Ends the call at the top of the lane. */
static inline void close_call(struct fg_summary_lane *lane, struct fg_open_call *call)
{
    lane->running[call->func]--;
    call->is_open = false;
}

/* Ends the calls at `depth` and deeper, whose exits were lost. */
static inline void give_up_calls(const struct fg_summary *summary, struct fg_summary_lane *lane,
                                 uint32_t depth)
{
    while (lane->depth > depth) {
        struct fg_open_call *call = &lane->calls[--lane->depth];
        if (call->is_open) {
            close_call(lane, call);
            if (summary->tree)
                fg_tree_end(summary->tree, &lane->tree, lane->depth);
        }
        call->callees_ns = 0;
    }
}

/* The node of the call that begins or ends at `depth`; only if there is a tree. */
static inline struct fg_call_node *node_at(const struct fg_summary *summary,
                                           const struct fg_summary_lane *lane, uint32_t depth)
{
    return &summary->tree->nodes[lane->tree.places[depth].node];
}

/* A stretch of the call at `depth` took `ran_ns`: adds what is the function's own to it, and all of it to the
 * caller's callees. */
static inline void add_self(struct fg_summary *summary, struct fg_summary_lane *lane, uint32_t depth,
                            uint32_t func, uint64_t ran_ns)
{
    uint64_t self_ns = minus(ran_ns, lane->calls[depth].callees_ns);

    summary->functions[func].self_ns += self_ns;
    lane->calls[depth].callees_ns = 0;
    if (depth)
        lane->calls[depth - 1].callees_ns += ran_ns;
    if (summary->tree)
        node_at(summary, lane, depth)->self_ns += self_ns;
}

/* A stretch that ended, of a call whose start or whose callers' starts are not known: adds to the total
 * what was not counted already for calls of the same function within it. */
static int add_unrooted(struct fg_summary *summary, struct fg_summary_lane *lane, uint32_t depth,
                        uint32_t func, uint64_t ran_ns)
{
    uint64_t inside_ns = fg_lane_settle_unrooted(lane, depth, func);
    bool is_inner = lane->running[func] > 0; /* within another call of it that is in progress */
    uint64_t counted_ns = ran_ns > inside_ns || is_inner ? ran_ns : inside_ns;

    if (summary->tree)
        node_at(summary, lane, depth)->total_ns += counted_ns;
    if (is_inner)
        return 0;
    summary->functions[func].total_ns += counted_ns - inside_ns;
    return fg_lane_add_unrooted(lane, depth, func, counted_ns, summary->nr_functions) ? 0 : -ENOMEM;
}

/* Adds the time of the call at `depth`, which has just ended. */
static inline int add_times(struct fg_summary *summary, struct fg_summary_lane *lane, uint32_t depth,
                            uint64_t ran_ns)
{
    const struct fg_open_call *call = &lane->calls[depth];

    if (summary->tree)
        fg_tree_end(summary->tree, &lane->tree, depth);
    add_self(summary, lane, depth, call->func, ran_ns);
    if (!call->is_rooted)
        return add_unrooted(summary, lane, depth, call->func, ran_ns);
    if (lane->nr_unrooted)
        fg_lane_drop_unrooted(lane, depth);
    if (!lane->running[call->func])
        summary->functions[call->func].total_ns += ran_ns;
    if (summary->tree)
        node_at(summary, lane, depth)->total_ns += ran_ns;
    return 0;
}

/* How long calls in progress ran is not known on a clock that does not count nanoseconds. */
int fg_summary_finish_task(struct fg_summary *summary, struct fg_summary_lane *lane)
{
    while (lane->depth) {
        uint32_t depth = lane->depth - 1;
        struct fg_open_call *call = &lane->calls[depth];
        if (call->is_open) {
            close_call(lane, call);
            uint64_t ran_ns =
                summary->merge->file->unit == FG_UNIT_NS ? minus(lane->last_ns, call->began_ns) : 0;
            int error = add_times(summary, lane, depth, minus(ran_ns, lane->wait_ns - call->waited_ns));
            if (error)
                return error;
        }
        call->callees_ns = 0;
        lane->depth--;
    }
    fg_lane_drop_unrooted(lane, 0);
    if (summary->tree)
        fg_tree_settle(summary->tree, &lane->tree, 0, lane->tree.root);
    return 0;
}

static inline uint32_t row_of(const struct fg_summary *summary, uint32_t func)
{
    if (fg_likely(func < summary->nr_functions))
        return func;
    return summary->nr_functions + fg_is_import(summary->merge->names, func);
}

/* A function's number in the tree: there each import is one of its own. */
static inline uint32_t tree_function(const struct fg_summary *summary, uint32_t func)
{
    return func < summary->nr_functions || fg_is_import(summary->merge->names, func) ? func
                                                                                     : summary->nr_functions;
}

/* Adds the calls that were folded into an import. @node: the import's, if there is a tree. */
static inline void add_folded(struct fg_summary *summary, const struct fg_event *event,
                              struct fg_call_node *node)
{
    const struct fg_folded folded = fg_event_folded(event);
    struct fg_function_summary *row = &summary->functions[summary->nr_functions + 1];

    row->calls += folded.calls;
    row->resumes += folded.resumes;
    row->exceptions += folded.exceptions;
    if (!node)
        return;
    node->calls += folded.calls;
    node->resumes += folded.resumes;
    node->exceptions += folded.exceptions;
}

/* An import's end is not in the trace. */
static void add_unfinished_import(struct fg_summary *summary, const struct fg_summary_lane *lane,
                                  const struct fg_event *event)
{
    uint32_t depth = ((const struct fg_folded_event *)event->data)->depth;

    if (depth < lane->depth && lane->calls[depth].is_open)
        add_folded(summary, event, summary->tree ? node_at(summary, lane, depth) : NULL);
}

static inline void count_begin(struct fg_summary *summary, const struct fg_summary_lane *lane, uint32_t depth,
                               uint32_t func, bool is_resumed)
{
    summary->functions[func].calls += !is_resumed;
    summary->functions[func].resumes += is_resumed;
    if (summary->tree) {
        node_at(summary, lane, depth)->calls += !is_resumed;
        node_at(summary, lane, depth)->resumes += is_resumed;
    }
}

static inline int add_entry(struct fg_summary *summary, struct fg_summary_lane *lane,
                            const struct fg_event *event)
{
    struct fg_graph_event entry;
    if (!fg_decode_entry(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(summary->merge, event);
    uint32_t func = row_of(summary, entry.func), depth = entry.depth;
    if (depth >= lane->capacity && !fg_summary_lane_reserve(lane, depth, summary->nr_functions))
        return -ENOMEM;
    if (lane->depth > depth)
        give_up_calls(summary, lane, depth);
    if (lane->nr_unrooted)
        fg_lane_settle_unrooted(lane, depth, NO_FUNCTION);
    if (summary->tree && fg_tree_begin(summary->tree, lane, depth, tree_function(summary, entry.func)) < 0)
        return -ENOMEM;

    bool is_resumed = entry.kind == FG_WIRE_RESUME;
    count_begin(summary, lane, depth, func, is_resumed);
    lane->calls[depth] = (struct fg_open_call){
        .func = func,
        .is_open = true,
        .is_rooted = depth == 0 || (lane->depth == depth && lane->calls[depth - 1].is_open &&
                                    lane->calls[depth - 1].is_rooted),
        .is_resumed = is_resumed,
        .began_ns = event->time_ns,
        .waited_ns = lane->wait_ns,
    };
    lane->running[func]++;
    lane->depth = depth + 1;
    return 0;
}

/* A call has ended with a stretch that took `ran_ns`. `is_whole`: it cannot have had unknown earlier
 * stretches. */
static inline void end_call(struct fg_summary *summary, struct fg_function_summary *function, uint64_t ran_ns,
                            struct fg_parked_call *parked, bool is_whole)
{
    if (parked) {
        ran_ns += parked->ran_ns;
        fg_parked_calls_remove(&summary->parked, parked);
    } else if (!is_whole) {
        return;
    }
    function->ended++;
    function->ended_ns += ran_ns;
    if (ran_ns < function->min_ns)
        function->min_ns = ran_ns;
    if (ran_ns > function->max_ns)
        function->max_ns = ran_ns;
}

static inline int add_exit(struct fg_summary *summary, struct fg_summary_lane *lane,
                           const struct fg_event *event)
{
    struct fg_graph_event exit;
    if (!fg_decode_exit(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(summary->merge, event);
    uint32_t func = row_of(summary, exit.func), depth = exit.depth;
    if (depth >= lane->capacity && !fg_summary_lane_reserve(lane, depth, summary->nr_functions))
        return -ENOMEM;
    if (lane->depth > depth + 1)
        give_up_calls(summary, lane, depth + 1);

    struct fg_function_summary *function = &summary->functions[func];
    struct fg_open_call *call = &lane->calls[depth];
    bool has_entry = lane->depth == depth + 1 && call->is_open && call->func == func;
    int32_t pid = summary->merge->names->tasks[event->task].pid;
    uint64_t ran_ns = fg_duration_ns(&exit);
    struct fg_parked_call *parked =
        exit.has_start ? fg_parked_calls_find(&summary->parked, exit.start_ns, func, pid) : NULL;
    bool is_whole = !has_entry || !call->is_resumed;
    int error;

    if (has_entry) {
        close_call(lane, call);
        error = add_times(summary, lane, depth, ran_ns);
    } else {
        /* A call in progress at this depth is another one, whose exit was lost, and so was the entry of
         * this one. */
        if (call->is_open)
            fg_lane_settle_unrooted(lane, depth, NO_FUNCTION);
        uint64_t callees_ns = call->is_open ? 0 : call->callees_ns;
        give_up_calls(summary, lane, depth);
        call->callees_ns = callees_ns;
        if (summary->tree &&
            fg_tree_begin_late(summary->tree, lane, depth, tree_function(summary, exit.func)) < 0)
            return -ENOMEM;
        if (exit.kind == FG_WIRE_CLOSE) /* a suspended call may be closed without a resume */
            is_whole = false;
        else
            count_begin(summary, lane, depth, func, parked != NULL);
        add_self(summary, lane, depth, func, ran_ns);
        error = add_unrooted(summary, lane, depth, func, ran_ns);
    }
    lane->depth = depth;
    if (error)
        return error;

    if (fg_unlikely(func > summary->nr_functions))
        add_folded(summary, event, summary->tree ? node_at(summary, lane, depth) : NULL);
    if (exit.kind == FG_WIRE_SUSPEND) {
        if (!exit.has_start)
            return 0;
        if (!parked && is_whole)
            parked = fg_parked_calls_add(&summary->parked, exit.start_ns, func, pid);
        if (!parked)
            return is_whole ? -ENOMEM : 0;
        parked->ran_ns += ran_ns;
        return 0;
    }
    if (exit.kind == FG_WIRE_RAISE) {
        function->exceptions++;
        if (summary->tree)
            node_at(summary, lane, depth)->exceptions++;
    }
    end_call(summary, function, ran_ns, parked, is_whole);
    return 0;
}

/* The function tracer records calls without times: of each its function, and that of its caller. */
static int add_function(struct fg_summary *summary, const struct fg_summary_lane *lane,
                        const struct fg_event *event)
{
    const struct fg_wire_function *call = fg_event_function(event);
    uint32_t func = row_of(summary, fg_function_index(call->ip)), node = lane->tree.root;
    uint32_t caller = fg_function_index(call->parent_ip);

    summary->functions[func].calls++;
    if (!summary->tree)
        return 0;
    if (caller < summary->nr_functions)
        node = fg_call_tree_child(summary->tree, node, caller);
    if (node)
        node = fg_call_tree_child(summary->tree, node, func);
    if (!node)
        return -ENOMEM;
    summary->tree->nodes[node].calls++;
    return 0;
}

int fg_summary_add(struct fg_summary *summary, struct fg_summary_lane *lane, const struct fg_event *event)
{
    switch (event->type) {
    case FG_EVENT_funcgraph_entry:
        return add_entry(summary, lane, event);
    case FG_EVENT_funcgraph_exit:
        return add_exit(summary, lane, event);
    case FG_EVENT_function:
        if (!fg_event_is_whole(event))
            return fg_merge_damaged(summary->merge, event);
        return add_function(summary, lane, event);
    case FG_EVENT_FOLDED:
        add_unfinished_import(summary, lane, event);
        return 0;
    case FG_EVENT_recorder_wait:
        if (!fg_event_is_whole(event))
            return fg_merge_damaged(summary->merge, event);
        lane->wait_ns += fg_event_recorder_wait(event)->duration_ns;
        return 0;
    default:
        if ((size_t)event->type - FG_EVENT_FIRST_DYNAMIC < summary->nr_events)
            summary->events[event->type - FG_EVENT_FIRST_DYNAMIC]++;
        return 0;
    }
}
