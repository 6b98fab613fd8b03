/* Calls from events: the rows of call_columns.h. */
#include <errno.h>
#include <stdlib.h>

#include "engine/core/array.h"
#include "engine/core/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/base/values.h"
#include "tracedata/text/call_text.h"
#include "tracedata/view/call_columns.h"
#include "tracedata/view/call_stack.h"

#define TEXT_BYTES (8u << 20) /* with so many bytes of texts, columns have enough rows */
#define NO_TASK UINT32_MAX

struct fg_calls {
    struct fg_merge *merge;
    struct fg_call_columns *columns;
    struct fg_suspended_calls suspended;
    struct fg_call_stack *stacks; /* by lane; of a kernel's trace by thread, which move between lanes */
    size_t nr_stacks, stacks_capacity;
    struct fg_hash_table threads; /* of a kernel's trace -> number of the stack plus 1 */
    uint64_t nr_calls;
    size_t nr_finished; /* at the end: stacks, then suspended calls */
    bool at_end;
};

int fg_calls_new(struct fg_merge *merge, struct fg_calls **calls)
{
    struct fg_calls *made = calloc(1, sizeof(*made));
    size_t nr_lanes = merge->file->kernel ? 0 : merge->file->nr_lanes;

    if (!made)
        return -ENOMEM;
    made->merge = merge;
    if (fg_array_reserve_zeroed(&made->stacks, &made->stacks_capacity, nr_lanes) < 0) {
        free(made);
        return -ENOMEM;
    }
    made->nr_stacks = nr_lanes;
    for (size_t i = 0; i < nr_lanes; i++)
        made->stacks[i].task = NO_TASK;
    *calls = made;
    return 0;
}

void fg_calls_free(struct fg_calls *calls)
{
    if (!calls)
        return;
    for (size_t i = 0; i < calls->nr_stacks; i++)
        fg_call_stack_free(&calls->stacks[i]);
    free(calls->stacks);
    fg_hash_clear(&calls->threads);
    fg_suspended_calls_free(&calls->suspended);
    free(calls);
}

/* ---- rows */

static inline uint32_t function_of(const struct fg_calls *calls, uint32_t func)
{
    uint32_t nr_functions = calls->merge->names->nr_functions;

    return func < nr_functions ? func : nr_functions;
}

/* What a row has besides the call. */
struct row_end {
    uint64_t end_ns;
    uint32_t task, depth;
    enum fg_call_end ended;
    const struct fg_graph_event *exit; /* its result; or NULL */
};

static void put_result(struct fg_text *text, const struct row_end *end)
{
    const uint8_t *values = end->exit ? end->exit->values : NULL;
    struct fg_value value;

    if (!end->exit || values >= end->exit->values_end ||
        (end->ended != FG_CALL_return && end->ended != FG_CALL_raise) ||
        !fg_value_next(&values, end->exit->values_end, &value))
        return;
    if (end->ended == FG_CALL_raise && (value.tag == FG_VALUE_OBJECT || value.tag == FG_VALUE_SIZED))
        fg_text_escaped(text, value.text, value.text_bytes, 0);
    else
        fg_value_print(text, &value, false);
}

static int put_row(struct fg_calls *calls, const struct fg_call *call, const struct row_end *end)
{
    struct fg_call_columns *columns = calls->columns;
    size_t i = columns->n;

    if (fg_call_columns_reserve(columns, i + 1) < 0)
        return -ENOMEM;
    columns->id[i] = call->id;
    columns->parent[i] = call->parent;
    columns->begin_ns[i] = call->begin_ns;
    columns->end_ns[i] = end->end_ns;
    columns->duration_ns[i] = call->is_whole && end->ended != FG_CALL_open ? (int64_t)call->ran_ns : -1;
    columns->self_ns[i] = call->self_ns;
    columns->function[i] = call->func;
    columns->caller[i] = call->caller;
    columns->caller_line[i] = call->caller_line;
    columns->task[i] = end->task;
    columns->depth[i] = end->depth;
    columns->resumes[i] = call->resumes;
    columns->ended[i] = (uint8_t)end->ended;
    fg_text_put(&columns->arguments.text, call->arguments.data, call->arguments.bytes);
    put_result(&columns->result.text, end);
    if (columns->arguments.text.failed || columns->result.text.failed)
        return -ENOMEM;
    columns->arguments.offsets[i + 1] = (int32_t)columns->arguments.text.bytes;
    columns->result.offsets[i + 1] = (int32_t)columns->result.text.bytes;
    columns->n++;
    return 0;
}

/* ---- stacks */

static inline uint64_t minus(uint64_t from, uint64_t what)
{
    return from > what ? from - what : 0;
}

static struct fg_call *call_of(struct fg_calls *calls, struct fg_call_level *level)
{
    return level->suspended ? &calls->suspended.calls[level->suspended - 1].call : &level->call;
}

/* A stretch of the call at `depth` took `ran_ns`. */
static inline void add_stretch(struct fg_call_stack *stack, struct fg_call *call, uint32_t depth,
                               uint64_t ran_ns)
{
    call->ran_ns += ran_ns;
    call->self_ns += minus(ran_ns, stack->levels[depth].callees_ns);
    stack->levels[depth].callees_ns = 0;
    if (depth)
        stack->levels[depth - 1].callees_ns += ran_ns;
}

/* Ends the calls at `depth` and deeper, whose ends are not in the trace. @ran: they count as running until
 * the task's last event. */
static int give_up_calls(struct fg_calls *calls, struct fg_call_stack *stack, uint32_t depth, bool ran)
{
    int error = 0;

    while (!error && stack->depth > depth) {
        struct fg_call_level *level = &stack->levels[--stack->depth];
        struct row_end end = {
            .end_ns = stack->last_ns, .task = stack->number, .depth = stack->depth, .ended = FG_CALL_open};

        if (level->is_open) {
            uint64_t ran_ns = ran ? minus(stack->last_ns, level->entered_ns) : 0;

            add_stretch(stack, call_of(calls, level), stack->depth,
                        minus(ran_ns, stack->wait_ns - level->waited_ns));
            if (level->suspended) /* it may go on */
                calls->suspended.calls[level->suspended - 1].holder = 0;
            else
                error = put_row(calls, &level->call, &end);
        }
        level->is_open = false;
        level->callees_ns = 0;
    }
    return error;
}

static int finish_stack(struct fg_calls *calls, struct fg_call_stack *stack)
{
    return give_up_calls(calls, stack, 0, calls->merge->file->unit == FG_UNIT_NS);
}

static uint64_t parent_of(struct fg_calls *calls, struct fg_call_stack *stack, uint32_t depth)
{
    bool is_known = depth && stack->depth >= depth && stack->levels[depth - 1].is_open;

    return is_known ? call_of(calls, &stack->levels[depth - 1])->id : 0;
}

/* ---- events */

/* 1 + the place of a suspended call, which goes on at this depth now; 0: there is none. If it went on
 * elsewhere, its suspend is not in the trace, or the trace is damaged: it is there no longer. */
static size_t resume_call(struct fg_calls *calls, const struct fg_call_stack *stack, uint32_t depth,
                          uint64_t start_ns, uint32_t func)
{
    int32_t pid = calls->merge->names->tasks[stack->task].pid;
    size_t found = fg_suspended_find(&calls->suspended, start_ns, func, pid);
    struct fg_suspended_call *call;

    if (!found)
        return 0;
    call = &calls->suspended.calls[found - 1];
    if (call->holder)
        calls->stacks[call->holder - 1].levels[call->holder_depth].is_open = false;
    call->holder = 1 + (size_t)(stack - calls->stacks);
    call->holder_depth = depth;
    return found;
}

static int begin_call(struct fg_calls *calls, struct fg_call_stack *stack, const struct fg_event *event,
                      const struct fg_graph_event *entry, struct fg_call_level *level)
{
    struct fg_text arguments = level->call.arguments;

    arguments.bytes = 0;
    level->call = (struct fg_call){
        .id = ++calls->nr_calls,
        .parent = parent_of(calls, stack, entry->depth),
        .begin_ns = entry->kind == FG_WIRE_RESUME && entry->has_start ? entry->start_ns : event->time_ns,
        .func = level->func,
        .caller = function_of(calls, entry->caller),
        .caller_line = entry->caller == FG_FUNC_UNKNOWN ? 0 : entry->caller_place,
        .resumes = entry->kind == FG_WIRE_RESUME,
        .is_whole = entry->kind != FG_WIRE_RESUME,
        .arguments = arguments,
    };
    if (fg_unlikely(entry->values < entry->values_end && *entry->values != FG_VALUE_END))
        fg_put_arguments(&level->call.arguments, calls->merge->names, entry->func, entry->values,
                         entry->values_end);
    return level->call.arguments.failed ? -ENOMEM : 0;
}

static int add_entry(struct fg_calls *calls, struct fg_call_stack *stack, const struct fg_event *event)
{
    struct fg_graph_event entry;
    struct fg_call_level *level;
    int error;

    if (!fg_decode_entry(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(calls->merge, event);
    error = fg_call_stack_reserve(stack, entry.depth);
    if (!error)
        error = give_up_calls(calls, stack, entry.depth, false);
    if (error)
        return error;
    level = &stack->levels[entry.depth];
    level->func = function_of(calls, entry.func);
    level->suspended = 0;
    if (entry.kind == FG_WIRE_RESUME && entry.has_start)
        level->suspended = resume_call(calls, stack, entry.depth, entry.start_ns, level->func);
    if (level->suspended)
        call_of(calls, level)->resumes++;
    else
        error = begin_call(calls, stack, event, &entry, level);
    level->is_open = true;
    level->entered_ns = event->time_ns;
    level->waited_ns = stack->wait_ns;
    level->callees_ns = 0;
    stack->depth = entry.depth + 1;
    return error;
}

/* The end of a call whose beginning, or resume, is not in the trace. */
static int find_call(struct fg_calls *calls, struct fg_call_stack *stack, const struct fg_graph_event *exit,
                     struct fg_call_level *level, size_t suspended)
{
    uint64_t callees_ns = level->is_open ? 0 : level->callees_ns;
    uint64_t begin_ns = exit->has_start ? exit->start_ns : exit->calltime_ns;
    int error = give_up_calls(calls, stack, exit->depth, false);

    level->callees_ns = callees_ns;
    level->suspended = suspended;
    level->func = function_of(calls, exit->func);
    if (suspended) {
        call_of(calls, level)->resumes += exit->kind != FG_WIRE_CLOSE;
        return error;
    }
    fg_text_free(&level->call.arguments);
    level->call = (struct fg_call){
        .id = ++calls->nr_calls,
        .parent = parent_of(calls, stack, exit->depth),
        .begin_ns = begin_ns,
        .func = level->func,
        .caller = calls->merge->names->nr_functions,
        .is_whole = exit->kind != FG_WIRE_CLOSE && begin_ns == exit->calltime_ns,
    };
    return error;
}

/* Keeps a call until it goes on. Return: 0; 1: another one has its start, in a trace that is damaged;
 * -ENOMEM. */
static int suspend_call(struct fg_calls *calls, struct fg_call_stack *stack, struct fg_call_level *level,
                        const struct fg_graph_event *exit, int32_t pid)
{
    struct fg_suspended_call *suspended;

    if (!level->suspended) {
        if (fg_suspended_find(&calls->suspended, exit->start_ns, level->func, pid))
            return 1;
        level->suspended = fg_suspended_add(&calls->suspended, &level->call, exit->start_ns, pid);
        if (!level->suspended)
            return -ENOMEM;
    }
    suspended = &calls->suspended.calls[level->suspended - 1];
    suspended->holder = 0;
    suspended->last_ns = stack->last_ns;
    suspended->number = stack->number;
    suspended->depth = exit->depth;
    return 0;
}

/* The call has ended, or was suspended. */
static int end_call(struct fg_calls *calls, struct fg_call_stack *stack, struct fg_call_level *level,
                    const struct fg_graph_event *exit, int32_t pid)
{
    static const uint8_t ends[] = {
        [FG_WIRE_RETURN] = FG_CALL_return, [FG_WIRE_RAISE] = FG_CALL_raise, [FG_WIRE_CLOSE] = FG_CALL_close};
    struct row_end end = {
        .end_ns = stack->last_ns, .task = stack->number, .depth = exit->depth, .exit = exit};
    int error = 1;

    if (exit->kind == FG_WIRE_SUSPEND && exit->has_start)
        error = suspend_call(calls, stack, level, exit, pid);
    if (error < 1)
        return error;
    end.ended = exit->kind == FG_WIRE_SUSPEND || exit->kind > FG_WIRE_CLOSE ? FG_CALL_open : ends[exit->kind];
    error = put_row(calls, call_of(calls, level), &end);
    if (level->suspended)
        fg_suspended_remove(&calls->suspended, level->suspended - 1);
    return error;
}

static int add_exit(struct fg_calls *calls, struct fg_call_stack *stack, const struct fg_event *event)
{
    struct fg_graph_event exit;
    struct fg_call_level *level;
    int32_t pid = calls->merge->names->tasks[event->task].pid;
    uint32_t func;
    int error;

    if (!fg_decode_exit(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH)
        return fg_merge_damaged(calls->merge, event);
    error = fg_call_stack_reserve(stack, exit.depth);
    if (!error)
        error = give_up_calls(calls, stack, exit.depth + 1, false);
    if (error)
        return error;
    func = function_of(calls, exit.func);
    level = &stack->levels[exit.depth];
    if (stack->depth != exit.depth + 1 || !level->is_open || level->func != func) {
        size_t suspended = exit.has_start ? resume_call(calls, stack, exit.depth, exit.start_ns, func) : 0;

        error = find_call(calls, stack, &exit, level, suspended);
    }
    if (error)
        return error;
    level->is_open = false;
    stack->depth = exit.depth;
    add_stretch(stack, call_of(calls, level), exit.depth, fg_duration_ns(&exit));
    return end_call(calls, stack, level, &exit, pid);
}

/* The stack of the event's thread; NULL: memory is short. A lane's idle task is a thread of its own. */
static struct fg_call_stack *kernel_stack_of(struct fg_calls *calls, const struct fg_event *event)
{
    uint64_t key =
        event->tid ? (uint64_t)event->buffer << 32 | (uint32_t)event->tid : UINT64_C(1) << 63 | event->lane;
    uint64_t hash = fg_hash_uint64(key), number = fg_hash_find(&calls->threads, hash);

    if (!number) {
        number = calls->nr_stacks + 1;
        if (fg_array_reserve_zeroed(&calls->stacks, &calls->stacks_capacity, number) < 0 ||
            fg_hash_add(&calls->threads, hash, number) < 0)
            return NULL;
        calls->nr_stacks++;
        calls->stacks[number - 1].task = event->task;
    }
    return &calls->stacks[number - 1];
}

static int add_event(struct fg_calls *calls, const struct fg_event *event)
{
    bool is_kernel = calls->merge->file->kernel != NULL;
    struct fg_call_stack *stack = is_kernel ? kernel_stack_of(calls, event) : &calls->stacks[event->lane];
    int error = stack ? 0 : -ENOMEM;

    if (!error && stack->task != event->task && !is_kernel)
        error = finish_stack(calls, stack);
    if (error)
        return error;
    stack->task = event->task;
    stack->number = calls->merge->names->tasks[event->task].number;
    stack->last_ns = event->time_ns;
    if (fg_likely(event->type == FG_EVENT_funcgraph_entry))
        return add_entry(calls, stack, event);
    if (fg_likely(event->type == FG_EVENT_funcgraph_exit))
        return add_exit(calls, stack, event);
    if (!fg_event_is_whole(event))
        return fg_merge_damaged(calls->merge, event);
    if (event->type == FG_EVENT_recorder_wait)
        stack->wait_ns += fg_event_recorder_wait(event)->duration_ns;
    return 0;
}

/* ---- the whole */

/* After the last event: the calls that are still open, a stack or a suspended call at a time. */
static int finish_next(struct fg_calls *calls)
{
    size_t place = calls->nr_finished++;
    const struct fg_suspended_call *suspended;

    if (place < calls->nr_stacks)
        return finish_stack(calls, &calls->stacks[place]);
    suspended = &calls->suspended.calls[place - calls->nr_stacks];
    if (!suspended->is_used)
        return 0;
    return put_row(calls, &suspended->call,
                   &(struct row_end){.end_ns = suspended->last_ns,
                                     .task = suspended->number,
                                     .depth = suspended->depth,
                                     .ended = FG_CALL_open});
}

static bool is_full(const struct fg_call_columns *columns, size_t size)
{
    return columns->n >= size || columns->arguments.text.bytes > TEXT_BYTES ||
           columns->result.text.bytes > TEXT_BYTES;
}

int fg_calls_fill(struct fg_calls *calls, struct fg_call_columns *columns, size_t size)
{
    struct fg_event event;
    int result = 1;

    calls->columns = columns;
    while (!calls->at_end && !is_full(columns, size)) {
        result = fg_merge_next(calls->merge, &event);
        calls->at_end = result == 0;
        if (result > 0)
            result = add_event(calls, &event);
        if (result < 0)
            return result;
    }
    while (calls->at_end && !is_full(columns, size)) {
        if (calls->nr_finished >= calls->nr_stacks + calls->suspended.n)
            return 0;
        result = finish_next(calls);
        if (result < 0)
            return result;
    }
    return 1;
}
