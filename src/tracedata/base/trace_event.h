/* One event of a trace.dat as the reader's parts hand it around, and the decoding of its fields. Offsets
 * come from the table in wire.h. */
#ifndef FG_TRACE_EVENT_H
#define FG_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tracedata/base/wire.h"

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "trace.dat is read as it lies in the file, little-endian"
#endif

#define FG_LOST_UNKNOWN UINT64_MAX
#define FG_FUNC_UNKNOWN UINT32_MAX

struct fg_event {
    uint64_t time_ns;
    uint64_t lost;       /* records lost just before this one in its lane; FG_LOST_UNKNOWN: some */
    const uint8_t *data; /* with the common fields */
    uint32_t size;
    uint32_t type; /* an id of FG_WIRE_EVENTS, or one we do not know */
    int32_t tid;
    uint32_t lane;
    uint32_t buffer, cpu; /* the lane as buffer and number within it */
    uint32_t task;        /* index in the name table */
};

enum fg_event_id {
#define X(event, id, system) FG_EVENT_##event = (id),
    FG_WIRE_EVENTS(X)
#undef X
};

/* fg_offset_EVENT("field"): a constant once inlined, since name and table are literals. */
#define FG_OFFSET_IF(type, field, offset, size, is_signed)                                                   \
    +(__builtin_strcmp(name, #field) == 0 ? (offset) : 0u)
#define X(event, id, system)                                                                                 \
    static inline __attribute__((always_inline)) uint32_t fg_offset_##event(const char *name)                \
    {                                                                                                        \
        return 0 FG_WIRE_FIELDS_##event(FG_OFFSET_IF);                                                       \
    }
FG_WIRE_EVENTS(X)
#undef X

static inline uint16_t fg_load16(const uint8_t *at)
{
    uint16_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint32_t fg_load32(const uint8_t *at)
{
    uint32_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

static inline uint64_t fg_load64(const uint8_t *at)
{
    uint64_t value;
    memcpy(&value, at, sizeof(value));
    return value;
}

/* The function's index; FG_FUNC_UNKNOWN for an address that is none of ours. */
static inline uint32_t fg_function_index(uint32_t address)
{
    return address < FG_WIRE_FUNC_BASE ? FG_FUNC_UNKNOWN : (address - FG_WIRE_FUNC_BASE) / FG_WIRE_FUNC_STEP;
}

/* A funcgraph_entry or funcgraph_exit. */
struct fg_graph_event {
    uint32_t func; /* index */
    uint32_t depth;
    uint32_t kind; /* enum fg_wire_entry_kind or fg_wire_exit_kind */
    uint32_t overrun;
    bool has_start;
    bool is_irq; /* the call was made for a signal */
    uint64_t start_ns;
    uint64_t calltime_ns, rettime_ns; /* exit only */
    /* Entry only: where the call was made; FG_FUNC_UNKNOWN: that was not recorded. */
    uint32_t caller, caller_place;
    const uint8_t *values, *values_end;
};

static inline __attribute__((always_inline)) bool fg_decode_tail(const struct fg_event *event,
                                                                 uint32_t kind_offset, uint32_t tail_offset,
                                                                 struct fg_graph_event *graph)
{
    uint8_t kind = event->data[kind_offset];
    graph->kind = kind & ~(FG_WIRE_HAS_START | FG_WIRE_HAS_CALLER | FG_WIRE_IRQ);
    graph->is_irq = (kind & FG_WIRE_IRQ) != 0;
    graph->has_start = (kind & FG_WIRE_HAS_START) != 0;
    graph->start_ns = 0;
    graph->values = event->data + tail_offset;
    graph->values_end = event->data + event->size;
    if (graph->has_start) {
        if (graph->values_end - graph->values < 8)
            return false;
        graph->start_ns = fg_load64(graph->values);
        graph->values += 8;
    }
    graph->caller = FG_FUNC_UNKNOWN;
    if (kind & FG_WIRE_HAS_CALLER) {
        if (graph->values_end - graph->values < 8)
            return false;
        graph->caller = fg_function_index(fg_load32(graph->values));
        graph->caller_place = fg_load32(graph->values + 4);
        graph->values += 8;
    }
    return true;
}

/* False: the record is too short. */
static inline bool fg_decode_entry(const struct fg_event *event, struct fg_graph_event *graph)
{
    const uint32_t tail = fg_offset_funcgraph_entry("tail[]");
    if (event->size < tail)
        return false;
    graph->func = fg_function_index(fg_load32(event->data + fg_offset_funcgraph_entry("func")));
    graph->depth = fg_load32(event->data + fg_offset_funcgraph_entry("depth"));
    return fg_decode_tail(event, fg_offset_funcgraph_entry("kind"), tail, graph);
}

static inline bool fg_decode_exit(const struct fg_event *event, struct fg_graph_event *graph)
{
    const uint32_t tail = fg_offset_funcgraph_exit("tail[]");
    if (event->size < tail)
        return false;
    graph->func = fg_function_index(fg_load32(event->data + fg_offset_funcgraph_exit("func")));
    graph->depth = fg_load32(event->data + fg_offset_funcgraph_exit("depth"));
    graph->calltime_ns = fg_load64(event->data + fg_offset_funcgraph_exit("calltime"));
    graph->rettime_ns = fg_load64(event->data + fg_offset_funcgraph_exit("rettime"));
    graph->overrun = fg_load16(event->data + fg_offset_funcgraph_exit("overrun"));
    return fg_decode_tail(event, fg_offset_funcgraph_exit("kind"), tail, graph);
}

/* A record of the function tracer. `caller` is FG_FUNC_UNKNOWN if it was not recorded. */
struct fg_function_event {
    uint32_t func, caller;
    const uint8_t *values, *values_end;
};

static inline bool fg_decode_function(const struct fg_event *event, struct fg_function_event *function)
{
    const uint32_t tail = fg_offset_function("tail[]");
    if (event->size < tail)
        return false;
    function->func = fg_function_index(fg_load32(event->data + fg_offset_function("ip")));
    function->caller = fg_function_index(fg_load32(event->data + fg_offset_function("parent_ip")));
    function->values = event->data + tail;
    function->values_end = event->data + event->size;
    return true;
}

/* Calls of the function tracer's that came again and again. `last_ns`: the last of them. */
struct fg_repeats_event {
    uint32_t func, caller, count;
    uint64_t last_ns;
};

static inline bool fg_decode_repeats(const struct fg_event *event, struct fg_repeats_event *repeats)
{
    const uint8_t *data = event->data;
    if (event->size < fg_offset_func_repeats("bottom_delta_ts") + 4)
        return false;
    repeats->func = fg_function_index(fg_load32(data + fg_offset_func_repeats("ip")));
    repeats->caller = fg_function_index(fg_load32(data + fg_offset_func_repeats("parent_ip")));
    repeats->count = fg_load16(data + fg_offset_func_repeats("count"));
    repeats->last_ns =
        event->time_ns - ((uint64_t)fg_load16(data + fg_offset_func_repeats("top_delta_ts")) << 32 |
                          fg_load32(data + fg_offset_func_repeats("bottom_delta_ts")));
    return true;
}

/* The one number of a recorder_wait or an overrun event. */
static inline bool fg_decode_number(const struct fg_event *event, uint32_t offset, uint64_t *number)
{
    if (event->size < offset + sizeof(*number))
        return false;
    *number = fg_load64(event->data + offset);
    return true;
}

/* What the call (or the part of it that ended here) took; 0 where the clock seems to run backwards. */
static inline uint64_t fg_duration_ns(const struct fg_graph_event *exit)
{
    return exit->rettime_ns > exit->calltime_ns ? exit->rettime_ns - exit->calltime_ns : 0;
}

#endif
