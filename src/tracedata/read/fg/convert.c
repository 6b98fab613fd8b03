/* See convert.h. */
#include "tracedata/read/fg/convert.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/base/function_address.h"
#include "tracedata/spool/record_check.h"

static inline uint32_t function_in(const uint32_t *functions, size_t count, uint32_t func)
{
    return fg_likely(func < count) ? functions[func] : FG_FUNC_UNKNOWN;
}

static inline uint32_t function_index(const struct fg_convert *convert, uint32_t func)
{
    return function_in(convert->functions, convert->nr_functions, func);
}

/* Function id 0 is no caller. */
static inline uint32_t caller_index(const struct fg_convert *convert, uint32_t caller)
{
    return caller ? function_index(convert, caller) : FG_FUNC_UNKNOWN;
}

/* The time of an event on a clock that does not count nanoseconds. */
FG_NOINLINE static uint64_t time_in_unit(const struct fg_convert *convert, uint64_t ticks, uint64_t ns)
{
    if (convert->unit == FG_UNIT_TICKS)
        return ticks;
    return convert->unit == FG_UNIT_COUNT ? fg_ranks_take(convert->ranks, (struct fg_rank){ns, convert->lane})
                                          : ns / FG_JIFFY_NS;
}

static inline __attribute__((always_inline)) void *
event_begin(struct fg_convert *convert, struct fg_event *event, uint64_t ticks, uint32_t type, size_t bytes)
{
    uint64_t ns = fg_time_scale_ns(&convert->scale, ticks);

    convert->current ^= 1;
    event->time_ns = fg_likely(convert->unit == FG_UNIT_NS) ? ns : time_in_unit(convert, ticks, ns);
    event->type = type;
    event->size = (uint32_t)bytes;
    event->tid = convert->tid;
    event->data = convert->events[convert->current];
    return convert->events[convert->current];
}

/* Begins an event at `ticks` with `rest_bytes` after its data. Return: its data, of @data_type. */
#define EVENT(convert, event, name, data_type, ticks, rest_bytes)                                            \
    ((data_type *)event_begin(convert, event, ticks, FG_EVENT_##name, sizeof(data_type) + (rest_bytes)))

static int wait_add(struct fg_convert *convert, uint64_t begin, uint64_t end)
{
    struct fg_convert_wait last = {0};

    if (convert->nr_waits)
        last = convert->waits[convert->nr_waits - 1];
    if (end < begin || begin < last.end)
        return 0; /* damage: keep the list in order */
    if (fg_array_reserve(&convert->waits, &convert->waits_capacity, convert->nr_waits + 1) < 0)
        return -ENOMEM;
    convert->waits[convert->nr_waits++] = (struct fg_convert_wait){
        .begin = begin,
        .end = end,
        .total = last.total + (end - begin),
    };
    return 0;
}

/* Ticks of the waits within a call. A writer reads the clock for a record, and may then have to wait for
 * room for it. So a wait can lie before the record of an earlier event, and both of its ends must be
 * compared. */
static uint64_t waited_within(const struct fg_convert *convert, uint64_t calltime, uint64_t rettime)
{
    const struct fg_convert_wait *waits = convert->waits;
    size_t low = 0, end = convert->nr_waits, high;

    while (end > 0 && waits[end - 1].end > rettime)
        end--;
    for (high = end; low < high;) {
        size_t middle = low + (high - low) / 2;

        if (waits[middle].begin < calltime)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == end)
        return 0;
    return waits[end - 1].total - (low ? waits[low - 1].total : 0);
}

static inline uint64_t calltime_without_waits(const struct fg_convert *convert, uint64_t calltime,
                                              uint64_t rettime)
{
    if (fg_likely(convert->nr_waits == 0 || convert->waits[convert->nr_waits - 1].end <= calltime))
        return calltime;
    return calltime + waited_within(convert, calltime, rettime);
}

/* The parts of a record's payload. */
struct payload {
    const uint64_t *fixed;
    const uint64_t *start; /* or NULL */
    const void *values;
    uint32_t values_bytes;
};

static inline struct payload record_payload(const struct fg_record *record, enum fg_record_kind kind)
{
    const uint64_t *words = (const uint64_t *)(record + 1), *end = words + fg_record_words(record->info) - 2;
    struct payload payload = {.fixed = words};

    words += fg_record_fixed_words(kind);
    if (record->info & FG_RECORD_HAS_START)
        payload.start = words++;
    payload.values = words;
    if (record->info & FG_RECORD_HAS_VALUES)
        payload.values_bytes = (uint32_t)((end - words) * (ptrdiff_t)sizeof(*words));
    return payload;
}

/* Begins the event of a call's entry or end: with its values, and what all of them have. */
static inline __attribute__((always_inline)) struct fg_graph_data *
graph_begin(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record, uint32_t type,
            uint32_t kind, const struct payload *payload)
{
    struct fg_graph_data *graph =
        event_begin(convert, event, record->time, type, sizeof(*graph) + payload->values_bytes);

    *graph = (struct fg_graph_data){
        .func = function_index(convert, record->func),
        .depth = fg_record_depth(record->info),
        .kind = (uint8_t)kind,
        .is_irq = (record->info & FG_RECORD_IRQ) != 0,
        .caller = FG_FUNC_UNKNOWN,
    };
    if (payload->start) {
        graph->has_start = true;
        graph->start_ns = fg_time_scale_ns(&convert->scale, *payload->start);
    }
    if (payload->values_bytes)
        memcpy(graph + 1, payload->values, payload->values_bytes);
    return graph;
}

/* The rest makes events. Each kind of FG_RECORD_KINDS has its function, which returns as
 * fg_convert_record(). */

static int convert_ENTRY(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_ENTRY);

    graph_begin(convert, event, record, FG_EVENT_funcgraph_entry, FG_ENTRY_START, &payload);
    return 1;
}

static int convert_RESUME(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_RESUME);

    graph_begin(convert, event, record, FG_EVENT_funcgraph_entry, FG_ENTRY_RESUME, &payload);
    return 1;
}

/* An entry with the place that the call was made from. */
static int convert_CALL_AT(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_CALL_AT);
    uint32_t caller = (uint32_t)*payload.fixed;
    struct fg_graph_data *graph;

    payload.start = NULL; /* it begins now */
    graph = graph_begin(convert, event, record, FG_EVENT_funcgraph_entry, FG_ENTRY_START, &payload);

    graph->caller_kind = caller ? FG_CALLER_FUNCTION : FG_CALLER_NONE;
    graph->caller = caller_index(convert, caller);
    graph->caller_place = (uint32_t)(*payload.fixed >> 32);
    return 1;
}

static inline uint16_t overrun_field(const struct fg_convert *convert)
{
    return (uint16_t)(convert->overrun < UINT16_MAX ? convert->overrun : UINT16_MAX);
}

static inline int convert_end(struct fg_convert *convert, struct fg_event *event,
                              const struct fg_record *record, enum fg_record_kind record_kind,
                              enum fg_exit_kind kind)
{
    struct payload payload = record_payload(record, record_kind);
    uint64_t calltime = calltime_without_waits(convert, payload.fixed[0], record->time);
    struct fg_graph_data *graph =
        graph_begin(convert, event, record, FG_EVENT_funcgraph_exit, kind, &payload);

    graph->calltime_ns = fg_time_scale_ns(&convert->scale, calltime);
    graph->rettime_ns = fg_time_scale_ns(&convert->scale, record->time);
    graph->overrun = overrun_field(convert);
    return 1;
}

static int convert_RETURN(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    return convert_end(convert, event, record, FG_RECORD_RETURN, FG_EXIT_RETURN);
}

static int convert_RAISE(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    return convert_end(convert, event, record, FG_RECORD_RAISE, FG_EXIT_RAISE);
}

static int convert_SUSPEND(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    return convert_end(convert, event, record, FG_RECORD_SUSPEND, FG_EXIT_SUSPEND);
}

static int convert_CLOSE(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    return convert_end(convert, event, record, FG_RECORD_CLOSE, FG_EXIT_CLOSE);
}

/* A call as the function tracer records it: @caller has the function's id, and the place above it. */
static struct fg_flat_data flat_data(const struct fg_convert *convert, uint32_t func, uint64_t caller)
{
    return (struct fg_flat_data){
        .func = function_index(convert, func),
        .caller = caller_index(convert, (uint32_t)caller),
        .caller_place = (uint32_t)(caller >> 32),
        .caller_kind = (uint32_t)caller ? FG_CALLER_FUNCTION : FG_CALLER_NONE,
    };
}

static int convert_FUNCTION(struct fg_convert *convert, struct fg_event *event,
                            const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_FUNCTION);
    struct fg_flat_data *call =
        EVENT(convert, event, function, struct fg_flat_data, record->time, payload.values_bytes);

    *call = flat_data(convert, record->func, payload.fixed[0]);
    memcpy(call + 1, payload.values, payload.values_bytes);
    return 1;
}

static int convert_STACK(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_STACK);
    const uint32_t *ids = payload.values;
    uint32_t most = payload.values_bytes / sizeof(*ids), n = 0;
    struct fg_stack_data *stack;

    while (n < most && ids[n])
        n++;
    stack = EVENT(convert, event, kernel_stack, struct fg_stack_data, record->time,
                  n * sizeof(stack->callers[0]));
    stack->nr_callers = n;
    for (uint32_t i = 0; i < n; i++)
        stack->callers[i] = function_index(convert, ids[i]);
    return 1;
}

static int convert_REPEATS(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_REPEATS);

    *EVENT(convert, event, func_repeats, struct fg_repeats_data, record->time, 0) = (struct fg_repeats_data){
        .call = flat_data(convert, record->func, payload.fixed[0]),
        .count = payload.fixed[1] < UINT16_MAX ? payload.fixed[1] : UINT16_MAX,
    };
    return 1;
}

static int convert_WAIT(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    uint64_t begin = *record_payload(record, FG_RECORD_WAIT).fixed;
    uint64_t ticks = record->time > begin ? record->time - begin : 0;

    EVENT(convert, event, recorder_wait, struct fg_wait_data, record->time, 0)->duration_ns =
        fg_time_scale_span(&convert->scale, ticks);
    if (!fg_record_depth(record->info) && wait_add(convert, begin, record->time) < 0)
        return -ENOMEM;
    return 1;
}

static int convert_OVERRUN(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    convert->overrun = *record_payload(record, FG_RECORD_OVERRUN).fixed;
    EVENT(convert, event, overrun, struct fg_overrun_data, record->time, 0)->total = convert->overrun;
    return 1;
}

static int convert_LOST(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    (void)event;
    convert->lost += *record_payload(record, FG_RECORD_LOST).fixed;
    return 0;
}

/* The data ends in a whole word, as the kernel's does: a page of trace.dat has no other lengths. */
static void convert_raw(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record,
                        const uint8_t *data, size_t bytes)
{
    size_t after_id = bytes < FG_MARK_ID_BYTES ? 0 : bytes - FG_MARK_ID_BYTES;
    size_t padding = -after_id % sizeof(uint32_t);
    struct fg_raw_data *raw =
        EVENT(convert, event, raw_data, struct fg_raw_data, record->time, after_id + padding);

    raw->id = 0;
    memcpy(&raw->id, data, bytes - after_id);
    memset(raw->bytes + after_id, 0, padding);
    memcpy(raw->bytes, data + FG_MARK_ID_BYTES, after_id);
}

/* A length beyond the record's end is damage. */
static void convert_text(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record,
                         const uint8_t *text, size_t bytes)
{
    struct fg_print_data *print = EVENT(convert, event, print, struct fg_print_data, record->time, bytes);

    *print = (struct fg_print_data){
        .func = caller_index(convert, record->func),
        .is_mark = record->func == 0,
    };
    memcpy(print->text, text, bytes);
}

static int convert_MARK(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    const uint64_t *length = record_payload(record, FG_RECORD_MARK).fixed;
    size_t room = (size_t)(fg_record_words(record->info) - 3) * FG_RECORD_WORD_BYTES;
    size_t bytes = (uint32_t)*length < room ? (uint32_t)*length : room;
    const uint8_t *data = (const uint8_t *)(length + 1);

    if (*length & FG_MARK_RAW)
        convert_raw(convert, event, record, data, bytes);
    else
        convert_text(convert, event, record, data, bytes);
    return 1;
}

/* The type of an EVENT record, by its number in the process. */
static uint16_t event_type(const struct fg_convert *convert, uint32_t number)
{
    if (number >= convert->nr_event_numbers || convert->event_numbers[number] == 0)
        return FG_EVENT_unknown_event;
    return (uint16_t)(FG_EVENT_FIRST_DYNAMIC + convert->event_numbers[number] - 1);
}

static uint64_t caller_address(const struct fg_convert *convert, uint32_t caller)
{
    return caller ? fg_function_address(function_index(convert, caller)) : 0;
}

/* Replaces function ids by addresses. */
static void set_symbol_fields(const struct fg_convert *convert, const struct fg_event_type *type,
                              uint8_t *image, uint32_t bytes)
{
    for (uint32_t i = 0; i < type->nr_fields; i++) {
        const struct fg_field *field = &type->fields[i].at;
        uint32_t items = field->count ? field->count : 1;

        if (field->type != FG_FIELD_SYMBOL || field->offset + items * sizeof(uint64_t) > bytes)
            continue;
        for (uint32_t item = 0; item < items; item++) {
            uint8_t *at = image + field->offset + item * sizeof(uint64_t);
            uint64_t id = fg_load64(at);
            uint64_t address;

            if (!id && fg_event_is_synthetic(type))
                break; /* the end of a stack */
            address = id <= UINT32_MAX ? caller_address(convert, (uint32_t)id) : FG_FUNC_ADDRESS_UNKNOWN;
            memcpy(at, &address, sizeof(address));
        }
    }
}

/* The image of the event. One that is not known has only its common fields. */
static int convert_EVENT(struct fg_convert *convert, struct fg_event *event, const struct fg_record *record)
{
    struct payload payload = record_payload(record, FG_RECORD_EVENT);
    uint64_t places[2] = {caller_address(convert, record->func),
                          caller_address(convert, (uint32_t)payload.fixed[1])};
    struct fg_event_common common = {.type = event_type(convert, (uint32_t)payload.fixed[0]),
                                     .pid = convert->tid};
    const struct fg_event_type *type = fg_event_table_find(convert->event_types, common.type);
    uint32_t fields_at = type ? type->fields_at : sizeof(common);
    uint32_t bytes = type ? (uint32_t)(payload.fixed[0] >> 32) : 0;
    uint8_t *image = event_begin(convert, event, record->time, common.type, fields_at + bytes);

    memcpy(image, &common, sizeof(common));
    memcpy(image + sizeof(common), places, fields_at - sizeof(common));
    memcpy(image + fields_at, payload.values, bytes);
    if (type && type->has_symbols)
        set_symbol_fields(convert, type, image, fields_at + bytes);
    return 1;
}

void fg_convert_begin_task(struct fg_convert *convert, int32_t tid)
{
    convert->tid = tid;
    convert->nr_waits = 0;
    convert->overrun = 0;
    /* Records that the lane's previous task lost at its end are not lost before this task's first. */
    convert->lost = 0;
}

int fg_convert_record(struct fg_convert *convert, const struct fg_record *record, struct fg_event *event)
{
    switch (fg_record_kind(record->info)) {
#define X(name, value, words, text, bits)                                                                    \
    case FG_RECORD_##name:                                                                                   \
        return convert_##name(convert, event, record);
        FG_RECORD_KINDS(X)
#undef X
    }
    return 0; /* of a kind that this version does not know */
}

static inline uint32_t choose(uint32_t is_end, uint32_t exit, uint32_t entry)
{
    return entry + (exit - entry) * is_end;
}

/* What all events of one call of fg_convert_plain() have in common. */
struct plain_run {
    const struct fg_convert *convert;
    const uint32_t *functions;
    size_t nr_functions;
    struct fg_time_scale scale;
    uint64_t waits_end; /* of the latest wait */
    uint16_t overrun;
};

/* Whether an entry or a return comes next cannot be foreseen, so both take the same way, without a branch: an
 * entry is made as a return of a call that took no time. */
static inline void convert_plain(const struct plain_run *run, const struct fg_record *record, uint32_t is_end,
                                 struct fg_plain_event *event)
{
    struct fg_graph_data *graph = &event->graph;
    uint64_t begin = record[is_end].time; /* the payload of a return; of an entry its own time */

    if (fg_unlikely(run->waits_end > begin))
        begin = calltime_without_waits(run->convert, begin, record->time);
    event->time_ns = fg_time_scale_ns(&run->scale, record->time);
    event->type = choose(is_end, FG_EVENT_funcgraph_exit, FG_EVENT_funcgraph_entry);
    graph->func = function_in(run->functions, run->nr_functions, record->func);
    graph->depth = fg_record_depth(record->info);
    graph->calltime_ns = fg_time_scale_ns(&run->scale, begin);
    graph->rettime_ns = event->time_ns;
    graph->overrun = run->overrun;
}

/* Out of line, so that all that it needs has registers. */
FG_NOINLINE size_t fg_convert_plain(const struct fg_convert *convert, const uint64_t **at,
                                    const uint64_t *end, uint64_t last_time, struct fg_plain_event *made,
                                    size_t most)
{
    const struct plain_run run = {
        .convert = convert,
        .functions = convert->functions,
        .nr_functions = convert->nr_functions,
        .scale = convert->scale,
        .waits_end = convert->nr_waits ? convert->waits[convert->nr_waits - 1].end : 0,
        .overrun = overrun_field(convert),
    };
    const enum fg_clock_unit unit = convert->unit;
    const uint64_t *next = *at;
    size_t n;

    for (n = 0; n < most && next < end; n++) {
        const struct fg_record *record = (const struct fg_record *)next;
        const uint32_t is_end = (record->info & FG_RECORD_RETURN) / FG_RECORD_RETURN; /* if it is plain */

        if (fg_unlikely(!fg_record_is_plain(record->info)))
            break;
        convert_plain(&run, record, is_end, &made[n]);
        if (fg_unlikely(unit != FG_UNIT_NS))
            made[n].time_ns = time_in_unit(convert, record->time, made[n].time_ns);
        if (fg_unlikely(made[n].time_ns < last_time))
            made[n].time_ns = last_time;
        last_time = made[n].time_ns;
        next += fg_record_words(record->info); /* damage can make it longer */
    }
    *at = next;
    return n;
}

void fg_convert_free(struct fg_convert *convert)
{
    free(convert->waits);
    convert->waits = NULL;
}
