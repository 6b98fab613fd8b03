/* See perfetto.h. The numbers of fields are those of Perfetto's trace_packet.proto, track_event.proto and
 * debug_annotation.proto. */
#include "tracedata/export/perfetto.h"

#include <stdlib.h>

#include "engine/base/hash_table.h"
#include "engine/core/func_flags.h"
#include "engine/ring/record.h"
#include "tracedata/base/values.h"
#include "tracedata/export/protobuf.h"

enum trace_field { TRACE_PACKET = 1 };

enum packet_field {
    PACKET_TIMESTAMP = 8,
    PACKET_SEQUENCE = 10,
    PACKET_TRACK_EVENT = 11,
    PACKET_CLOCK = 58,
};

enum event_field {
    EVENT_ANNOTATION = 4,
    EVENT_TYPE = 9,
    EVENT_NAME = 10,
    EVENT_TRACK = 11,
    EVENT_FLOW = 47,
};

enum event_type { TYPE_SLICE_BEGIN = 1, TYPE_SLICE_END = 2, TYPE_INSTANT = 3 };

enum annotation_field {
    ANNOTATION_NAME = 1,
    ANNOTATION_BOOL = 2,
    ANNOTATION_INT = 4,
    ANNOTATION_DOUBLE = 5,
    ANNOTATION_STRING = 6,
    ANNOTATION_STRING_NUMBER = 17,
};

static const char *const what_names[] = {
#define X(name, value) [(value)] = #name,
    FG_SLICE_WHATS(X)
#undef X
};

void fg_perfetto_free(struct fg_perfetto *perfetto)
{
    fg_await_chains_free(&perfetto->chains);
    fg_text_free(&perfetto->event);
    fg_text_free(&perfetto->note);
    fg_text_free(&perfetto->value);
}

/* ---- annotations */

static struct fg_text *begin_note(struct fg_perfetto *perfetto, uint64_t name)
{
    perfetto->note.bytes = 0;
    fg_pb_uint(&perfetto->note, ANNOTATION_NAME, name);
    return &perfetto->note;
}

static void end_note(struct fg_perfetto *perfetto)
{
    fg_pb_text(&perfetto->event, EVENT_ANNOTATION, &perfetto->note);
}

static void put_string(struct fg_perfetto *perfetto, uint64_t name, const char *text, size_t bytes)
{
    fg_pb_bytes(begin_note(perfetto, name), ANNOTATION_STRING, text, bytes);
    end_note(perfetto);
}

static void put_int(struct fg_perfetto *perfetto, uint64_t name, int64_t value)
{
    fg_pb_uint(begin_note(perfetto, name), ANNOTATION_INT, (uint64_t)value);
    end_note(perfetto);
}

static void put_bool(struct fg_perfetto *perfetto, uint64_t name, bool value)
{
    fg_pb_uint(begin_note(perfetto, name), ANNOTATION_BOOL, value);
    end_note(perfetto);
}

static void put_double(struct fg_perfetto *perfetto, uint64_t name, double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    fg_pb_fixed64(begin_note(perfetto, name), ANNOTATION_DOUBLE, bits);
    end_note(perfetto);
}

/* A whole text is itself, all that has no type in an annotation is what a report prints. */
static void put_value(struct fg_perfetto *perfetto, uint64_t name, const struct fg_value *value)
{
    struct fg_text *text = &perfetto->value;

    text->bytes = 0;
    switch (value->tag) {
    case FG_VALUE_TRUE:
    case FG_VALUE_FALSE:
        put_bool(perfetto, name, value->tag == FG_VALUE_TRUE);
        return;
    case FG_VALUE_INT8:
    case FG_VALUE_INT64:
        put_int(perfetto, name, value->integer);
        return;
    case FG_VALUE_FLOAT:
        put_double(perfetto, name, value->real);
        return;
    case FG_VALUE_STR:
        if (fg_text_escaped(text, value->text, value->text_bytes, 0) >= value->length)
            break;
        text->bytes = 0;
        fg_value_print(text, value, false);
        break;
    default:
        fg_value_print(text, value, false);
        break;
    }
    put_string(perfetto, name, text->data, text->bytes);
}

static uint64_t argument_name(const struct fg_perfetto_names *names, uint32_t function, uint32_t place)
{
    if (function < names->nr_functions) {
        uint32_t first = names->first_argument[function], end = names->first_argument[function + 1];

        if (place < end - first)
            return names->arguments[first + place];
    }
    return FG_PERFETTO_ARG0 + (place < FG_PERFETTO_NR_ARGS ? place : FG_PERFETTO_NR_ARGS - 1);
}

static void put_arguments(struct fg_perfetto *perfetto, uint32_t function, const uint8_t *data,
                          const uint8_t *end)
{
    struct fg_value value;

    for (uint32_t place = 0; fg_value_next(&data, end, &value); place++)
        put_value(perfetto, argument_name(&perfetto->names, function, place), &value);
}

/* What a call returned, yielded or raised. */
static void put_outcome(struct fg_perfetto *perfetto, enum fg_slice_what what, const uint8_t *data,
                        const uint8_t *end)
{
    struct fg_value value;
    uint64_t name = what == FG_SLICE_raise     ? FG_PERFETTO_exception
                    : what == FG_SLICE_suspend ? FG_PERFETTO_yielded
                                               : FG_PERFETTO_result;

    if (!fg_value_next(&data, end, &value))
        return;
    if (what == FG_SLICE_raise && (value.tag == FG_VALUE_OBJECT || value.tag == FG_VALUE_SIZED)) {
        perfetto->value.bytes = 0; /* the exception's type */
        fg_text_escaped(&perfetto->value, value.text, value.text_bytes, 0);
        put_string(perfetto, name, perfetto->value.data, perfetto->value.bytes);
    } else {
        put_value(perfetto, name, &value);
    }
}

/* ---- packets */

static uint64_t thread_track(uint32_t thread)
{
    return thread + (uint64_t)FG_PERFETTO_FIRST_TRACK;
}

static void begin_event(struct fg_perfetto *perfetto, uint64_t track, enum event_type type)
{
    perfetto->event.bytes = 0;
    fg_pb_uint(&perfetto->event, EVENT_TYPE, type);
    fg_pb_uint(&perfetto->event, EVENT_TRACK, track);
}

/* Times that go on count from the one before; others (of calls whose begin is not in the trace) are whole. */
static void put_packet(struct fg_perfetto *perfetto, uint64_t time_ns, struct fg_text *packets)
{
    size_t length_at, begin, bytes;

    if (!fg_text_reserve(packets, 64 + perfetto->event.bytes))
        return;
    fg_pb_varint(packets, TRACE_PACKET << 3 | FG_PB_BYTES);
    length_at = packets->bytes;
    begin = packets->bytes += perfetto->event.bytes < 90 ? 1 : 5;
    if (time_ns >= perfetto->last_ns) {
        fg_pb_uint(packets, PACKET_TIMESTAMP, time_ns - perfetto->last_ns);
        perfetto->last_ns = time_ns;
    } else {
        fg_pb_uint(packets, PACKET_TIMESTAMP, time_ns);
        fg_pb_uint(packets, PACKET_CLOCK, perfetto->clock);
    }
    fg_pb_uint(packets, PACKET_SEQUENCE, FG_PERFETTO_SEQUENCE);
    fg_pb_text(packets, PACKET_TRACK_EVENT, &perfetto->event);
    bytes = packets->bytes - begin;
    for (size_t at = length_at; at < begin; at++, bytes >>= 7) /* a varint of 1 or 5 bytes */
        packets->data[at] = (char)((bytes & 0x7f) | (at + 1 < begin ? 0x80 : 0));
}

static const uint8_t *event_data(const struct fg_columns *columns, uint32_t event, const uint8_t **end)
{
    static const uint8_t none;

    if (event >= columns->n) {
        *end = &none;
        return &none;
    }
    *end = columns->data + columns->data_offsets[event + 1];
    return columns->data + columns->data_offsets[event];
}

static uint64_t function_name(const struct fg_perfetto_names *names, uint32_t function)
{
    return (function < names->nr_functions ? function : names->nr_functions) + (uint64_t)1;
}

static void put_caller(struct fg_perfetto *perfetto, uint32_t caller, uint32_t line)
{
    if (caller == FG_FUNC_UNKNOWN)
        return;
    fg_pb_uint(begin_note(perfetto, FG_PERFETTO_caller), ANNOTATION_STRING_NUMBER,
               function_name(&perfetto->names, caller));
    end_note(perfetto);
    if (line)
        put_int(perfetto, FG_PERFETTO_caller_line, line);
}

static void write_begin(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                        const struct fg_slices *slices, size_t i, struct fg_text *packets)
{
    uint32_t function = slices->function[i], event = slices->event[i];
    bool is_resume = slices->what[i] != FG_SLICE_begin;

    begin_event(perfetto, thread_track(slices->thread[i]), TYPE_SLICE_BEGIN);
    fg_pb_uint(&perfetto->event, EVENT_NAME, function_name(&perfetto->names, function));
    /* The stretches of one call are a flow: from its first one through those after each resume. */
    if (function < perfetto->names.nr_functions && perfetto->names.func_flags[function] & FG_FUNC_SUSPENDS)
        fg_pb_fixed64(&perfetto->event, EVENT_FLOW,
                      fg_hash_uint64(slices->call_ns[i] ^ (uint64_t)function << 40) | 1);
    put_caller(perfetto, slices->caller[i], slices->caller_line[i]);
    if (slices->flags[i] & FG_SLICE_IRQ)
        put_bool(perfetto, FG_PERFETTO_signal_handler, true);
    if (event < columns->n && columns->lost[event])
        put_int(perfetto, FG_PERFETTO_lost_before, (int64_t)columns->lost[event]);
    if (slices->flags[i] & FG_SLICE_ONLY_END) {
        put_arguments(perfetto, function, slices->data + slices->data_offsets[i],
                      slices->data + slices->data_offsets[i + 1]);
    } else if (!is_resume) {
        const uint8_t *end, *data = event_data(columns, event, &end);

        put_arguments(perfetto, function, data, end);
    }
    put_packet(perfetto, slices->begin_ns[i], packets);
}

static void write_end(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                      const struct fg_slices *slices, size_t i, struct fg_text *packets)
{
    enum fg_slice_what what = slices->what[i];
    const uint8_t *end, *data = event_data(columns, slices->event[i], &end);

    begin_event(perfetto, thread_track(slices->thread[i]), TYPE_SLICE_END);
    if (what != FG_SLICE_return)
        put_string(perfetto, FG_PERFETTO_ended, what_names[what], strlen(what_names[what]));
    put_outcome(perfetto, what, data, end);
    put_packet(perfetto, slices->time_ns[i], packets);
}

static void write_slices(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                         const struct fg_slices *slices, struct fg_text *packets)
{
    for (size_t i = 0; i < slices->n; i++) {
        bool is_begin = slices->what[i] <= FG_SLICE_resume;

        if (slices->what[i] == FG_SLICE_suspended)
            continue;
        if (is_begin || slices->flags[i] & FG_SLICE_ONLY_END)
            write_begin(perfetto, columns, slices, i, packets);
        if (!is_begin)
            write_end(perfetto, columns, slices, i, packets);
    }
}

/* A call whose end the function tracer does not record. */
static void write_function(struct fg_perfetto *perfetto, const struct fg_columns *columns, size_t i,
                           uint32_t thread, struct fg_text *packets)
{
    const uint8_t *end, *data = event_data(columns, (uint32_t)i, &end);

    begin_event(perfetto, thread_track(thread), TYPE_INSTANT);
    fg_pb_uint(&perfetto->event, EVENT_NAME, function_name(&perfetto->names, columns->function[i]));
    put_caller(perfetto, columns->caller[i], columns->caller_line[i]);
    put_arguments(perfetto, columns->function[i], data, end);
    put_packet(perfetto, columns->time_ns[i], packets);
}

/* The tasks of event loops: calls as long as they last, also while they are suspended. */
static void write_tasks(struct fg_perfetto *perfetto, const struct fg_slices *slices, bool at_end,
                        struct fg_text *packets)
{
    struct fg_await_chains *chains = &perfetto->chains;

    chains->nr_functions = perfetto->names.nr_functions;
    chains->func_flags = perfetto->names.func_flags;
    packets->failed |= fg_await_chains_add(chains, slices, at_end) < 0;
    for (size_t i = 0; i < chains->nr_steps; i++) {
        const struct fg_chain_step *step = &chains->steps[i];

        begin_event(perfetto, FG_PERFETTO_FIRST_TASK + step->track,
                    step->is_begin ? TYPE_SLICE_BEGIN : TYPE_SLICE_END);
        if (step->is_begin)
            fg_pb_uint(&perfetto->event, EVENT_NAME, function_name(&perfetto->names, step->func));
        put_packet(perfetto, step->time_ns, packets);
    }
    chains->nr_steps = 0;
}

void fg_perfetto_write(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                       const uint32_t *threads, size_t nr_tasks, const struct fg_slices *slices, bool at_end,
                       struct fg_text *packets)
{
    write_slices(perfetto, columns, slices, packets);
    write_tasks(perfetto, slices, at_end, packets);
    for (size_t i = 0; i < columns->n; i++)
        if (columns->kind[i] == FG_COLUMN_function && columns->task[i] < nr_tasks)
            write_function(perfetto, columns, i, threads[columns->task[i]], packets);
    packets->failed |= perfetto->event.failed | perfetto->note.failed | perfetto->value.failed;
}
