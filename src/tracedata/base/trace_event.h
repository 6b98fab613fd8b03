/* One event of a trace, as cursor, merge and view pass it on, and access to its data. It looks like no file:
 *
 *     types of FG_EVENTS            their struct below, then the rest: values (record.h), text, bytes
 *     events that programs define   their image (field.h), with addresses (function_address.h) for function
 *                                   ids
 *     others of a kernel's trace    the kernel's record */
#ifndef FG_TRACE_EVENT_H
#define FG_TRACE_EVENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* X(name, type, its data). Those that are in a trace.dat have the type there,
 * which for the kernel's own events is the kernel's. */
#define FG_EVENTS(X)                                                                                         \
    X(funcgraph_entry, 11, struct fg_graph_data)                                                             \
    X(funcgraph_exit, 10, struct fg_graph_data)                                                              \
    X(function, 1, struct fg_flat_data)                                                                      \
    X(kernel_stack, 4, struct fg_stack_data)                                                                 \
    X(func_repeats, 20, struct fg_repeats_data)                                                              \
    X(print, 5, struct fg_print_data)                                                                        \
    X(raw_data, 19, struct fg_raw_data)                                                                      \
    X(recorder_wait, 2001, struct fg_wait_data)                                                              \
    X(overrun, 2002, struct fg_overrun_data)
/* An event of a kind that the trace does not name: nothing is known of it. */
#define FG_EVENT_unknown_event 65535

/* FG_EVENT_funcgraph_entry and so on. */
enum fg_event_type_number {
#define X(name, type, data) FG_EVENT_##name = (type),
    FG_EVENTS(X)
#undef X
};

/* The events that programs and their users define have the types from here on: see event_table.h. */
#define FG_EVENT_FIRST_DYNAMIC 3000u
/* An event of a kernel's trace that is none of FG_EVENTS has this type + its number in the kernel. Its data
 * is the kernel's record. */
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
    const uint8_t *data; /* of the types of FG_EVENTS aligned to 8 bytes */
    uint32_t size;       /* of these types 0 if the record in the file was too short for the event's fields */
    uint32_t type;       /* of FG_EVENTS, one that a later version knows, or from FG_EVENT_FIRST_DYNAMIC on */
    int32_t tid;
    uint32_t lane;
    uint32_t buffer, cpu; /* the lane's buffer, and its number there */
    /* Whose calls nest. Of a funcgraph trace the lane: where another task begins in a lane, the calls of the
     * one before are over. Of a kernel's trace a thread (read/thread_table.h): its task differs by lane. So
     * calls are over if the thread's next event is of another task in the same lane. */
    uint32_t thread;
    uint32_t task; /* index in the name table */
};

/* How a stretch of a call began, and how it ended. */
enum fg_entry_kind { FG_ENTRY_START, FG_ENTRY_RESUME };
enum fg_exit_kind { FG_EXIT_RETURN, FG_EXIT_RAISE, FG_EXIT_SUSPEND, FG_EXIT_CLOSE };

/* A funcgraph_entry or funcgraph_exit; values follow, up to the end of the data. */
struct fg_graph_data {
    uint32_t func; /* index, or FG_FUNC_UNKNOWN */
    uint32_t depth;
    uint8_t kind; /* enum fg_entry_kind or fg_exit_kind */
    uint8_t has_start;
    uint8_t is_irq;      /* the interpreter made the call for a signal */
    uint8_t caller_kind; /* enum fg_graph_caller */
    uint16_t overrun;    /* exit only, as are the next two times */
    uint64_t start_ns;   /* when the call first began, if it has_start: it names the call */
    uint64_t calltime_ns, rettime_ns;
    uint32_t caller;       /* entry only: the function that made the call, or FG_FUNC_UNKNOWN */
    uint32_t caller_place; /* the line at which it did; in native code the offset */
};

/* Of a call: its caller was not recorded; it is a function, maybe unknown; no function made the call. */
enum fg_graph_caller { FG_CALLER_NOT_RECORDED, FG_CALLER_FUNCTION, FG_CALLER_NONE };

/* A call as the function tracer records it. Of a `function` values follow. */
struct fg_flat_data {
    uint32_t func;         /* index, or FG_FUNC_UNKNOWN */
    uint32_t caller;       /* likewise */
    uint32_t caller_place; /* the line, in native code the offset; 0: it was not recorded */
    uint32_t caller_kind;  /* enum fg_graph_caller: one of the last two */
};

/* The latest call came `count` more times, the last of them `last_ns` before this event. */
struct fg_repeats_data {
    struct fg_flat_data call;
    uint64_t last_ns;
    uint64_t count;
};

/* The callers of the call before it, the nearest first. */
struct fg_stack_data {
    uint32_t nr_callers;
    uint32_t callers[]; /* indices */
};

/* A text that the program put in. */
struct fg_print_data {
    uint32_t func;    /* the index of the function that did it, or FG_FUNC_UNKNOWN */
    uint32_t is_mark; /* no function did it: it is a write to trace_marker */
    char text[];      /* up to a NUL, or to the end of the data */
};

/* What the kernel calls the maker of a text that no function put in. */
#define FG_MARK_NAME "tracing_mark_write"

struct fg_raw_data {
    uint32_t id;
    uint8_t bytes[];
};

struct fg_wait_data {
    uint64_t duration_ns;
};

struct fg_overrun_data {
    uint64_t total; /* calls that the task did not trace so far */
};

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

/* False: the record in the file was too short for the event's fields. An unknown type has none. */
static inline bool fg_event_is_whole(const struct fg_event *event)
{
    if (fg_event_is_call(event->type))
        return event->size >= sizeof(struct fg_graph_data);
    switch (event->type) {
#define X(name, type, data_type)                                                                             \
    case type:                                                                                               \
        return event->size >= sizeof(data_type);
        FG_EVENTS(X)
#undef X
    default:
        return true;
    }
}

/* fg_event_function(event) and so on: the data of a whole event of that type. */
#define X(name, type, data_type)                                                                             \
    static inline const data_type *fg_event_##name(const struct fg_event *event)                             \
    {                                                                                                        \
        return (const data_type *)(const void *)event->data;                                                 \
    }
FG_EVENTS(X)
#undef X

/* The call of a whole `function` or `func_repeats`. */
static inline const struct fg_flat_data *fg_event_flat(const struct fg_event *event)
{
    return fg_event_function(event);
}
_Static_assert(offsetof(struct fg_repeats_data, call) == 0, "repeats begin with their call");

/* The name of a type of FG_EVENTS, or NULL. */
static inline const char *fg_event_name(uint32_t type)
{
    switch (type) {
#define X(name, type, data_type)                                                                             \
    case type:                                                                                               \
        return #name;
        FG_EVENTS(X)
#undef X
    default:
        return NULL;
    }
}

/* The length of a whole print's text. */
static inline size_t fg_print_bytes(const struct fg_event *event)
{
    return strnlen(fg_event_print(event)->text, event->size - sizeof(struct fg_print_data));
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

/* A copy of an entry's or exit's data with the place of its values, for the text and for folding. The
 * text holds a call's entry while it looks at the next event, and the first entry of a line that stands
 * for several calls. The values lie behind struct fg_graph_data in the event, so a copy of that alone
 * would lose them. What reads one event at a time needs no copy: fg_event_graph(), fg_graph_values(). */
struct fg_graph_event {
    uint32_t func; /* index */
    uint32_t depth;
    uint32_t kind; /* enum fg_entry_kind or fg_exit_kind */
    uint32_t overrun;
    bool has_start;
    bool is_irq; /* the interpreter made the call for a signal */
    uint64_t start_ns;
    uint64_t calltime_ns, rettime_ns; /* exit only */
    /* Entry only: the place of the call; caller is FG_FUNC_UNKNOWN if it was not recorded. */
    uint32_t caller, caller_place;
    const uint8_t *values, *values_end;
};

/* False: the record is too short. */
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
