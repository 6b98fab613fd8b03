/* See columns.h. */
#include "tracedata/view/columns.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/text/call_text.h"

/* Of each array: a cache line, as Apache Arrow recommends. */
#define ALIGNMENT 64u

/* More than an event has, in a `.fg` or in a page of trace.dat. */
#define EVENT_MAX_BYTES (64u << 10)

static void *array_new(size_t items, size_t item_bytes)
{
    size_t bytes = (items * item_bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);

    return aligned_alloc(ALIGNMENT, bytes);
}

int fg_columns_init(struct fg_columns *columns, size_t capacity)
{
    *columns = (struct fg_columns){.capacity = capacity};
#define X(name, type, format, text)                                                                          \
    columns->name = array_new(capacity, sizeof(type));                                                       \
    if (columns->name == NULL)                                                                               \
        return -ENOMEM;
    FG_COLUMNS(X)
#undef X
    columns->data_offsets = array_new(capacity + 1, sizeof(*columns->data_offsets));
    columns->data = array_new(FG_COLUMNS_DATA_BYTES + EVENT_MAX_BYTES, 1);
    if (columns->data_offsets == NULL || columns->data == NULL)
        return -ENOMEM;
    columns->data_offsets[0] = 0;
    return 0;
}

void fg_columns_free(struct fg_columns *columns)
{
#define X(name, type, format, text) free(columns->name);
    FG_COLUMNS(X)
#undef X
    free(columns->data_offsets);
    free(columns->data);
    *columns = (struct fg_columns){0};
}

/* Shrinks an array, which keeps its place in practice; if it does not, only its alignment is less. */
static void *trim(void *array, size_t items, size_t item_bytes)
{
    void *smaller = realloc(array, (items + 1) * item_bytes);

    return smaller ? smaller : array;
}

void fg_columns_trim(struct fg_columns *columns)
{
    if (columns->data_bytes < FG_COLUMNS_DATA_BYTES / 2)
        columns->data = trim(columns->data, columns->data_bytes, 1);
    if (columns->n > columns->capacity / 2)
        return;
#define X(name, type, format, text) columns->name = trim(columns->name, columns->n, sizeof(type));
    FG_COLUMNS(X)
#undef X
    columns->data_offsets = trim(columns->data_offsets, columns->n + 1, sizeof(*columns->data_offsets));
}

bool fg_columns_is_full(const struct fg_columns *columns)
{
    return columns->n == columns->capacity || columns->data_bytes > FG_COLUMNS_DATA_BYTES;
}

static inline void put_data(struct fg_columns *columns, const void *data, size_t bytes)
{
    memcpy(columns->data + columns->data_bytes, data, bytes);
    columns->data_bytes += bytes;
}

/* Zeros after the values stay: they stand for their end. A record without values may have them too. */
static inline void put_values(struct fg_columns *columns, const uint8_t *values, const uint8_t *end)
{
    if (fg_unlikely(values < end && *values != FG_VALUE_END))
        put_data(columns, values, (size_t)(end - values));
}

/* Fills in what few events have: 0 for most. */
static inline void put_blank(struct fg_columns *columns, size_t i)
{
    columns->start_ns[i] = 0;
    columns->calltime_ns[i] = 0;
    columns->rettime_ns[i] = 0;
    columns->number[i] = 0;
    columns->function[i] = FG_FUNC_UNKNOWN;
    columns->caller[i] = FG_FUNC_UNKNOWN;
    columns->caller_line[i] = 0;
    columns->depth[i] = 0;
    columns->irq[i] = false;
}

static inline bool add_entry(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    struct fg_graph_event entry;

    if (!fg_decode_graph(event, &entry) || entry.depth > FG_RECORD_MAX_DEPTH)
        return false;
    columns->kind[i] = entry.kind == FG_ENTRY_RESUME ? FG_COLUMN_resume : FG_COLUMN_entry;
    columns->function[i] = entry.func;
    columns->depth[i] = entry.depth;
    columns->irq[i] = entry.is_irq;
    columns->start_ns[i] = entry.start_ns;
    if (entry.caller != FG_FUNC_UNKNOWN) {
        columns->caller[i] = entry.caller;
        columns->caller_line[i] = entry.caller_place;
    }
    put_values(columns, entry.values, entry.values_end);
    return true;
}

static inline bool add_exit(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    struct fg_graph_event exit;

    if (!fg_decode_graph(event, &exit) || exit.depth > FG_RECORD_MAX_DEPTH || exit.kind > FG_EXIT_CLOSE)
        return false;
    columns->kind[i] = (uint8_t)(FG_COLUMN_return + exit.kind);
    columns->function[i] = exit.func;
    columns->depth[i] = exit.depth;
    columns->irq[i] = exit.is_irq;
    columns->start_ns[i] = exit.start_ns;
    columns->calltime_ns[i] = exit.calltime_ns;
    columns->rettime_ns[i] = exit.rettime_ns;
    put_values(columns, exit.values, exit.values_end);
    return true;
}

static void add_mark(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    const struct fg_print_data *print = fg_event_print(event);

    columns->kind[i] = FG_COLUMN_mark;
    columns->function[i] = print->func;
    put_data(columns, print->text, fg_print_bytes(event));
}

/* Raw data is a mark, too: the text of it. */
static bool add_raw(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    struct fg_text text = {0};

    fg_put_raw_data(&text, event);
    columns->kind[i] = FG_COLUMN_mark;
    put_data(columns, text.data, text.bytes < EVENT_MAX_BYTES ? text.bytes : EVENT_MAX_BYTES);
    fg_text_free(&text);
    return !text.failed;
}

static void add_stack(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    const struct fg_stack_data *stack = fg_event_kernel_stack(event);

    columns->kind[i] = FG_COLUMN_stack;
    put_data(columns, stack->callers, stack->nr_callers * sizeof(stack->callers[0]));
}

static void put_flat(struct fg_columns *columns, size_t i, const struct fg_flat_data *call)
{
    columns->function[i] = call->func;
    columns->caller[i] = call->caller;
    columns->caller_line[i] = call->caller_place;
}

static void add_function(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    const struct fg_flat_data *call = fg_event_function(event);

    columns->kind[i] = FG_COLUMN_function;
    put_flat(columns, i, call);
    put_values(columns, (const uint8_t *)(call + 1), fg_event_end(event));
}

static void add_repeats(struct fg_columns *columns, size_t i, const struct fg_event *event)
{
    const struct fg_repeats_data *repeats = fg_event_func_repeats(event);

    columns->kind[i] = FG_COLUMN_repeats;
    put_flat(columns, i, &repeats->call);
    columns->number[i] = repeats->count;
}

static void add_event(struct fg_columns *columns, size_t i, const struct fg_event *event,
                      const struct fg_event_type *type)
{
    columns->kind[i] = FG_COLUMN_event;
    columns->number[i] = event->type - FG_EVENT_FIRST_DYNAMIC;
    columns->function[i] = fg_event_probed(type, event);
    columns->caller[i] = fg_event_return_to(type, event);
    put_data(columns, event->data, event->size);
}

/* The events of which there are few. */
FG_NOINLINE static bool add_rare(struct fg_columns *columns, size_t i, const struct fg_event *event,
                                 const struct fg_event_table *types)
{
    const struct fg_event_type *type = fg_event_table_find(types, event->type);

    if (!fg_event_is_whole(event))
        return false;
    columns->kind[i] = FG_COLUMN_other;
    switch (event->type) {
    case FG_EVENT_function:
        add_function(columns, i, event);
        break;
    case FG_EVENT_kernel_stack:
        add_stack(columns, i, event);
        break;
    case FG_EVENT_func_repeats:
        add_repeats(columns, i, event);
        break;
    case FG_EVENT_print:
        add_mark(columns, i, event);
        break;
    case FG_EVENT_raw_data:
        return add_raw(columns, i, event);
    case FG_EVENT_recorder_wait:
        columns->kind[i] = FG_COLUMN_wait;
        columns->number[i] = fg_event_recorder_wait(event)->duration_ns;
        break;
    case FG_EVENT_overrun:
        columns->kind[i] = FG_COLUMN_overrun;
        columns->number[i] = fg_event_overrun(event)->total;
        break;
    default:
        if (type) {
            add_event(columns, i, event, type);
        } else if (event->type >= FG_EVENT_KERNEL) {
            columns->number[i] = event->type - FG_EVENT_KERNEL;
            put_data(columns, event->data, event->size);
        }
        break;
    }
    return true;
}

static inline __attribute__((always_inline)) int add(struct fg_columns *columns, const struct fg_event *event,
                                                     uint32_t task, const struct fg_event_table *types)
{
    size_t i = columns->n;
    bool whole;

    columns->time_ns[i] = event->time_ns;
    columns->lost[i] = event->lost;
    columns->task[i] = task;
    put_blank(columns, i);
    if (event->size > EVENT_MAX_BYTES)
        whole = false;
    else if (event->type == FG_EVENT_funcgraph_entry)
        whole = add_entry(columns, i, event);
    else if (event->type == FG_EVENT_funcgraph_exit)
        whole = add_exit(columns, i, event);
    else
        whole = add_rare(columns, i, event, types);
    if (!whole) {
        columns->data_bytes = (size_t)columns->data_offsets[i];
        return -EINVAL;
    }
    columns->n = i + 1;
    columns->data_offsets[i + 1] = (int32_t)columns->data_bytes;
    return 0;
}

int fg_columns_add(struct fg_columns *columns, const struct fg_event *event, uint32_t task,
                   const struct fg_event_table *types)
{
    return add(columns, event, task, types);
}

int fg_columns_fill(struct fg_columns *columns, struct fg_merge *merge)
{
    const struct fg_event_table *types = fg_trace_file_events(merge->file);
    struct fg_event event;

    while (!fg_columns_is_full(columns)) {
        int result = fg_merge_next(merge, &event);

        if (result <= 0)
            return result;
        if (add(columns, &event, merge->names->tasks[event.task].number, types) < 0)
            return fg_merge_damaged(merge, &event);
    }
    return 1;
}
