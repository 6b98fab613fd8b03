/* One event of a trace, as cursor, merge and view pass it on, and access to its data:
 *
 *     entries and exits of calls    struct fg_graph_data, then values (record.h)
 *     other events of wire.h        as it has them
 *     events that programs define   their image (field.h), with addresses for function ids
 *     others of a kernel's trace    the kernel's record */
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
    const uint8_t *data; /* of a call's entry and exit aligned to 8 bytes */
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

/* The data of a funcgraph_entry or funcgraph_exit; values follow, up to the end of the data. */
struct fg_graph_data {
    uint32_t func; /* index, or FG_FUNC_UNKNOWN */
    uint32_t depth;
    uint8_t kind; /* enum fg_wire_entry_kind or fg_wire_exit_kind */
    uint8_t has_start;
    uint8_t is_irq;      /* the interpreter made the call for a signal */
    uint8_t caller_kind; /* enum fg_graph_caller */
    uint16_t overrun;    /* exit only, as are the next two times */
    uint64_t start_ns;   /* when the call first began, if it has_start: it names the call */
    uint64_t calltime_ns, rettime_ns;
    uint32_t caller;       /* entry only: the function that made the call, or FG_FUNC_UNKNOWN */
    uint32_t caller_place; /* the line at which it did; in native code the offset */
};

/* Of an entry: its caller was not recorded; it is a function, maybe unknown; no function made the call. */
enum fg_graph_caller { FG_CALLER_NOT_RECORDED, FG_CALLER_FUNCTION, FG_CALLER_NONE };

static inline bool fg_event_is_call(uint32_t type)
{
    return type == FG_EVENT_funcgraph_entry || type == FG_EVENT_funcgraph_exit;
}

/* The data of a whole entry or exit. */
static inline const struct fg_graph_data *fg_event_graph(const struct fg_event *event)
{
    return (const struct fg_graph_data *)(const void *)event->data;
}

/* The values of a whole entry or exit: up to fg_event_end(). */
static inline const uint8_t *fg_graph_values(const struct fg_event *event)
{
    return event->data + sizeof(struct fg_graph_data);
}

static inline const uint8_t *fg_event_end(const struct fg_event *event)
{
    return event->data + event->size;
}

/* False for a record that is too short for its event's fields. A record of an unknown type has none. */
static inline bool fg_event_is_whole(const struct fg_event *event)
{
    if (fg_event_is_call(event->type))
        return event->size >= sizeof(struct fg_graph_data);
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

/* fg_event_function(event) and so on: the fields of a whole record of that type, not an entry or exit. */
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

/* The address of a function; FG_WIRE_FUNC_UNKNOWN of FG_FUNC_UNKNOWN. */
static inline uint32_t fg_function_address(uint32_t index)
{
    return FG_WIRE_FUNC_BASE + FG_WIRE_FUNC_STEP * index;
}
_Static_assert((uint32_t)(FG_WIRE_FUNC_BASE + FG_WIRE_FUNC_STEP * FG_FUNC_UNKNOWN) == FG_WIRE_FUNC_UNKNOWN,
               "the address of an unknown function is that before the first one's");

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

static inline __attribute__((always_inline)) bool fg_decode_graph(const struct fg_event *event,
                                                                  struct fg_graph_event *graph)
{
    const struct fg_graph_data *data = fg_event_graph(event);

    if (event->size < sizeof(*data))
        return false;
    graph->func = data->func;
    graph->depth = data->depth;
    graph->kind = data->kind;
    graph->overrun = data->overrun;
    graph->has_start = data->has_start;
    graph->is_irq = data->is_irq;
    graph->start_ns = data->start_ns;
    graph->calltime_ns = data->calltime_ns;
    graph->rettime_ns = data->rettime_ns;
    graph->caller = data->caller;
    graph->caller_place = data->caller_place;
    graph->values = (const uint8_t *)(data + 1);
    graph->values_end = event->data + event->size;
    return true;
}

/* False: the record is too short. */
static inline bool fg_decode_entry(const struct fg_event *event, struct fg_graph_event *graph)
{
    return fg_decode_graph(event, graph);
}

/* False: the record is too short. */
static inline bool fg_decode_exit(const struct fg_event *event, struct fg_graph_event *graph)
{
    return fg_decode_graph(event, graph);
}

/* The time of the last of the calls that a whole func_repeats record counts. */
static inline uint64_t fg_last_repeat_ns(const struct fg_event *event)
{
    const struct fg_wire_func_repeats *repeats = fg_event_func_repeats(event);

    return event->time_ns - ((uint64_t)repeats->top_delta_ts << 32 | repeats->bottom_delta_ts);
}

/* How long the stretch of the call that ended here took; 0 if its times are in the wrong order. */
static inline uint64_t fg_graph_duration_ns(const struct fg_graph_data *exit)
{
    return exit->rettime_ns > exit->calltime_ns ? exit->rettime_ns - exit->calltime_ns : 0;
}

/* The same of a decoded one. */
static inline uint64_t fg_duration_ns(const struct fg_graph_event *exit)
{
    return exit->rettime_ns > exit->calltime_ns ? exit->rettime_ns - exit->calltime_ns : 0;
}

#endif
