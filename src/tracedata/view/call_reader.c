/* Calls from events: the rows of call_columns.h. */
#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "tracedata/base/values.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/text/call_text.h"
#include "tracedata/view/call_columns.h"

#define TEXT_BYTES (8u << 20) /* with so many bytes of texts, columns have enough rows */

struct call {
    uint64_t id, parent, begin_ns;
    uint64_t ran_ns, self_ns; /* of the stretches that have ended */
    uint32_t func, caller, caller_line, resumes;
    uint32_t task; /* the number of that in which its latest stretch ended */
    bool is_whole; /* all its stretches are in the trace */
    struct fg_text arguments;
};

struct fg_call_reader {
    struct fg_call_assembler calls;
    struct fg_merge *merge;
    struct fg_call_columns *columns;
    uint64_t nr_calls;
    uint64_t *chosen; /* NULL: all calls are */
    size_t nr_chosen, nr_put;
    size_t nr_finished; /* at the end: threads, then calls with a name */
    bool has_texts;
    bool at_end;
};

static inline struct fg_call_reader *reader_of(struct fg_call_assembler *calls)
{
    return (struct fg_call_reader *)(void *)calls;
}

static int compare_numbers(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

static inline bool is_chosen(const struct fg_call_reader *reader, uint64_t number)
{
    return fg_likely(!reader->chosen) ||
           bsearch(&number, reader->chosen, reader->nr_chosen, sizeof(number), compare_numbers);
}

/* ---- rows */

/* What a row has besides the call. */
struct row_end {
    uint64_t end_ns;
    uint32_t depth;
    enum fg_call_end ended;
    const struct fg_event *exit; /* its result; or NULL */
};

static int put_row(struct fg_call_reader *reader, const struct call *call, const struct row_end *end)
{
    struct fg_call_columns *columns = reader->columns;
    size_t i = columns->n;

    if (!is_chosen(reader, call->id))
        return 0;
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
    columns->task[i] = call->task;
    columns->depth[i] = end->depth;
    columns->resumes[i] = call->resumes;
    columns->ended[i] = (uint8_t)end->ended;
    if (reader->has_texts) {
        fg_text_put(&columns->arguments.text, call->arguments.data, call->arguments.bytes);
        if (end->exit && (end->ended == FG_CALL_return || end->ended == FG_CALL_raise))
            fg_put_result(&columns->result.text, end->exit, end->ended == FG_CALL_raise);
    }
    if (columns->arguments.text.failed || columns->result.text.failed)
        return -ENOMEM;
    columns->arguments.offsets[i + 1] = (int32_t)columns->arguments.text.bytes;
    columns->result.offsets[i + 1] = (int32_t)columns->result.text.bytes;
    columns->n++;
    reader->nr_put++;
    return 0;
}

/* ---- what becomes of calls */

static const struct fg_call_consumer consumer;

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    struct fg_call_reader *reader = reader_of(calls);
    const struct fg_call_level *level = stretch->level;
    struct fg_call_level *parent = fg_parent_level(&consumer, stretch);
    struct call *call = stretch->call;
    struct fg_text arguments = call->arguments;
    const uint8_t *values = fg_graph_values(event), *values_end = fg_event_end(event);

    arguments.bytes = 0;
    *call = (struct call){
        .id = ++reader->nr_calls,
        .parent = parent ? ((const struct call *)fg_call_of(calls, parent))->id : 0,
        .begin_ns = fg_begins_ns(level, graph, ((const struct fg_event *)event)->time_ns),
        .func = level->func,
        .caller = level->is_late ? calls->names->nr_functions : fg_known_function(calls, graph->caller),
        .caller_line = level->is_late || graph->caller == FG_FUNC_UNKNOWN ? 0 : graph->caller_place,
        .resumes = level->is_resumed,
        .is_whole = fg_begins_whole(level, graph),
        .arguments = arguments,
    };
    if (reader->has_texts && fg_unlikely(!level->is_late && values < values_end && *values != FG_VALUE_END) &&
        is_chosen(reader, call->id))
        fg_put_arguments(&call->arguments, reader->merge->names, graph->func, values, values_end);
    return call->arguments.failed ? -ENOMEM : 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    (void)calls, (void)event;
    ((struct call *)stretch->call)->resumes += fg_is_resume(stretch->level, graph);
    return 0;
}

static inline void add_stretch(const struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    struct call *call = stretch->call;

    call->ran_ns += stretch->ran_ns;
    call->self_ns += stretch->self_ns;
    call->task = fg_task_number(calls, stretch->thread);
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    (void)graph, (void)event;
    add_stretch(calls, stretch);
    return 0;
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *event)
{
    struct row_end row = {.end_ns = ((const struct fg_event *)event)->time_ns,
                          .depth = stretch->depth,
                          .ended = fg_call_end_of(exit->kind),
                          .exit = event};
    struct call *call = stretch->call;
    int error;

    add_stretch(calls, stretch);
    error = put_row(reader_of(calls), call, &row);
    if (stretch->level->named)
        fg_text_free(&call->arguments);
    return error;
}

static int put_open(struct fg_call_assembler *calls, struct call *call, uint64_t end_ns, uint32_t depth)
{
    return put_row(reader_of(calls), call,
                   &(struct row_end){.end_ns = end_ns, .depth = depth, .ended = FG_CALL_open});
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct call *call = stretch->call;
    int error;

    (void)gap, (void)until_ns;
    add_stretch(calls, stretch);
    call->is_whole = false;
    if (goes_on)
        return 0;
    error = put_open(calls, call, stretch->thread->last_ns, stretch->depth);
    if (stretch->level->named)
        fg_text_free(&call->arguments);
    return error;
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    int error = put_open(calls, call, named->last_ns, named->depth);

    fg_text_free(&((struct call *)call)->arguments);
    return error;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct fg_call_thread),
    .names_calls = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .function_of = fg_known_function,
};

/* ---- the whole */

int fg_call_reader_new(struct fg_merge *merge, bool has_texts, struct fg_call_reader **reader)
{
    struct fg_call_reader *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->has_texts = has_texts;
    fg_call_assembler_init(&made->calls, &consumer, merge->names, merge->file->unit == FG_UNIT_NS);
    *reader = made;
    return 0;
}

void fg_call_reader_choose(struct fg_call_reader *reader, uint64_t *numbers, size_t n)
{
    reader->chosen = numbers;
    reader->nr_chosen = n;
}

static void free_arguments(struct fg_call_assembler *calls, void *call)
{
    (void)calls;
    fg_text_free(&((struct call *)call)->arguments);
}

void fg_call_reader_free(struct fg_call_reader *reader)
{
    if (!reader)
        return;
    fg_calls_each(&reader->calls, free_arguments);
    fg_call_assembler_free(&reader->calls);
    free(reader->chosen);
    free(reader);
}

/* After the last event: the calls that are still open, those of a thread or one with a name at a time. */
static int finish_next(struct fg_call_reader *reader)
{
    struct fg_call_assembler *calls = &reader->calls;
    size_t place = reader->nr_finished++;

    if (place < calls->nr_threads)
        return fg_calls_finish_thread(calls, fg_call_thread_at(&consumer, calls, (uint32_t)place),
                                      FG_GAP_TRACE);
    return fg_calls_finish_named(calls, place - calls->nr_threads);
}

/* The calls that are left are of no interest. */
static bool has_all(const struct fg_call_reader *reader)
{
    return reader->chosen && reader->nr_put == reader->nr_chosen;
}

static bool is_full(const struct fg_call_columns *columns, size_t size)
{
    return columns->n >= size || columns->arguments.text.bytes > TEXT_BYTES ||
           columns->result.text.bytes > TEXT_BYTES;
}

int fg_call_reader_fill(struct fg_call_reader *reader, struct fg_call_columns *columns, size_t size)
{
    int result;

    reader->columns = columns;
    while (!reader->at_end && !is_full(columns, size)) {
        if (has_all(reader))
            return 0;
        result = fg_calls_add_next(&consumer, &reader->calls, reader->merge);
        reader->at_end = result == 0;
        if (result < 0)
            return result;
    }
    while (reader->at_end && !is_full(columns, size)) {
        if (reader->nr_finished >= reader->calls.nr_threads + reader->calls.named.n)
            return 0;
        result = finish_next(reader);
        if (result < 0)
            return result;
    }
    return 1;
}
