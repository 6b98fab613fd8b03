/* One event of a trace.dat, as cursor, merge and view pass it on, and the decoding of its fields. The
 * fields are those of the table in wire.h. */
#ifndef FG_TRACE_EVENT_H
#define FG_TRACE_EVENT_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "tracedata/base/wire.h"

/* An event of a kernel's trace that is none of wire.h's has this type + its number in the kernel. Its data is
 * the kernel's record. */
#define FG_EVENT_KERNEL 0x10000u

#define FG_LOST_UNKNOWN UINT64_MAX
#define FG_FUNC_UNKNOWN UINT32_MAX

/* Adds numbers of lost records. */
static inline uint64_t fg_add_lost(uint64_t a, uint64_t b)
{
    return a > FG_LOST_UNKNOWN - b ? FG_LOST_UNKNOWN : a + b;
}

struct fg_event {
    uint64_t time_ns;
    uint64_t lost;       /* records lost just before this one in its lane, or FG_LOST_UNKNOWN */
    const uint8_t *data; /* begins with the common fields */
    uint32_t size;
    uint32_t type; /* enum fg_event_id, one that a later version knows, or from FG_EVENT_KERNEL on */
    int32_t tid;
    uint32_t lane;
    uint32_t buffer, cpu; /* the lane's buffer, and its number there */
    /* Whose calls nest. Of a funcgraph trace the lane: where another task begins in a lane, the calls of the
     * one before are over. Of a kernel's trace a thread (read/thread_table.h): its task differs by lane. So
     * calls are over if the thread's next event is of another task in the same lane. */
    uint32_t thread;
    uint32_t task; /* index in the name table */
};

/* False for a record that is too short for its event's fields. A record of an unknown type has none. */
static inline bool fg_event_is_whole(const struct fg_event *event)
{
    switch (event->type) {
#define X(name, id, system, print)                                                                           \
    case id:                                                                                                 \
        return event->size >= sizeof(struct fg_wire_##name);
        FG_WIRE_EVENTS(X)
#undef X
    default:
        return true;
    }
}

/* fg_event_funcgraph_entry(event) and so on: the fields of a whole record of that type. */
#define X(name, id, system, print)                                                                           \
    static inline const struct fg_wire_##name *fg_event_##name(const struct fg_event *event)                 \
    {                                                                                                        \
        return (const struct fg_wire_##name *)event->data;                                                   \
    }
FG_WIRE_EVENTS(X)
#undef X

/* The name of a type of event, or NULL if it is unknown. */
static inline const char *fg_event_name(uint32_t type)
{
    switch (type) {
#define X(name, id, system, print)                                                                           \
    case id:                                                                                                 \
        return #name;
        FG_WIRE_EVENTS(X)
#undef X
    default:
        return NULL;
    }
}

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

/* A function's index from its address; FG_FUNC_UNKNOWN if the address is no function's. */
static inline uint32_t fg_function_index(uint32_t address)
{
    return address < FG_WIRE_FUNC_BASE ? FG_FUNC_UNKNOWN : (address - FG_WIRE_FUNC_BASE) / FG_WIRE_FUNC_STEP;
}

/* Who made a call of the function tracer, and the rest of the record. */
struct fg_flat_caller {
    uint32_t func;  /* index, or FG_FUNC_UNKNOWN */
    uint32_t place; /* the line, in native code the offset; 0: it was not recorded */
    const uint8_t *values, *values_end;
};

static inline struct fg_flat_caller fg_decode_flat_caller(const struct fg_event *event, uint32_t parent_ip,
                                                          const uint8_t *tail)
{
    struct fg_flat_caller caller = {fg_function_index(parent_ip), 0, tail, event->data + event->size};

    if (parent_ip % FG_WIRE_FUNC_STEP == FG_WIRE_FUNC_INSIDE && caller.values_end - tail >= 4) {
        caller.place = fg_load32(tail);
        caller.values += 4;
    }
    return caller;
}

/* A decoded funcgraph_entry or funcgraph_exit. */
struct fg_graph_event {
    uint32_t func; /* index */
    uint32_t depth;
    uint32_t kind; /* enum fg_wire_entry_kind or fg_wire_exit_kind */
    uint32_t overrun;
    bool has_start;
    bool is_irq; /* the interpreter made the call for a signal */
    uint64_t start_ns;
    uint64_t calltime_ns, rettime_ns; /* exit only */
    /* Entry only: the place of the call; caller is FG_FUNC_UNKNOWN if it was not recorded. */
    uint32_t caller, caller_place;
    const uint8_t *values, *values_end;
};

static inline __attribute__((always_inline)) bool
fg_decode_tail(const struct fg_event *event, uint8_t kind, const uint8_t *tail, struct fg_graph_event *graph)
{
    graph->kind = kind & ~(FG_WIRE_HAS_START | FG_WIRE_HAS_CALLER | FG_WIRE_IRQ);
    graph->is_irq = (kind & FG_WIRE_IRQ) != 0;
    graph->has_start = (kind & FG_WIRE_HAS_START) != 0;
    graph->start_ns = 0;
    graph->values = tail;
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
    const struct fg_wire_funcgraph_entry *entry = fg_event_funcgraph_entry(event);

    if (event->size < sizeof(*entry))
        return false;
    graph->func = fg_function_index(entry->func);
    graph->depth = entry->depth;
    return fg_decode_tail(event, entry->kind, entry->tail, graph);
}

/* False: the record is too short. */
static inline bool fg_decode_exit(const struct fg_event *event, struct fg_graph_event *graph)
{
    const struct fg_wire_funcgraph_exit *exit = fg_event_funcgraph_exit(event);

    if (event->size < sizeof(*exit))
        return false;
    graph->func = fg_function_index(exit->func);
    graph->depth = exit->depth;
    graph->calltime_ns = exit->calltime;
    graph->rettime_ns = exit->rettime;
    graph->overrun = exit->overrun;
    return fg_decode_tail(event, exit->kind, exit->tail, graph);
}

/* The time of the last of the calls that a whole func_repeats record counts. */
static inline uint64_t fg_last_repeat_ns(const struct fg_event *event)
{
    const struct fg_wire_func_repeats *repeats = fg_event_func_repeats(event);

    return event->time_ns - ((uint64_t)repeats->top_delta_ts << 32 | repeats->bottom_delta_ts);
}

/* How long the stretch of the call that ended here took; 0 if its times are in the wrong order. */
static inline uint64_t fg_duration_ns(const struct fg_graph_event *exit)
{
    return exit->rettime_ns > exit->calltime_ns ? exit->rettime_ns - exit->calltime_ns : 0;
}

#endif
