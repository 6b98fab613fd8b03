/* What the records of a kernel's trace are. The kernel tells it in texts: a `format` for each event, and
 * kallsyms. Python reads these texts, and hands in what is here; with that, a record becomes an event of
 * trace_event.h:
 *
 *     kernel's record        role, and places of fields      event
 *     +------------------+   +-------------------------+     +-----------------------+
 *     | common_type 11   |-->| 11: ENTRY, func at 8,   |---->| struct fg_graph_data: |
 *     | func, depth, ... |   |     depth at 16, ...    |     | func (index), depth   |
 *     +------------------+   +-------------------------+     +-----------------------+
 *
 * An event without a role stays as it is (FG_EVENT_KERNEL). */
#ifndef FG_KERNEL_H
#define FG_KERNEL_H

#include "tracedata/base/trace_event.h"
#include "tracedata/read/dat/dat_head.h"

enum fg_kernel_role { FG_KERNEL_OTHER, FG_KERNEL_ENTRY, FG_KERNEL_EXIT, FG_KERNEL_FUNCTION };

/* X(name, role that must have it (OTHER: none), the kernel's name). The fields that are read. */
#define FG_KERNEL_FIELDS(X)                                                                                  \
    X(FUNC, ENTRY, "func")                                                                                   \
    X(DEPTH, ENTRY, "depth")                                                                                 \
    X(RETADDR, OTHER, "retaddr")                                                                             \
    X(ARGS, OTHER, "args")                                                                                   \
    X(CALLTIME, EXIT, "calltime")                                                                            \
    X(RETTIME, EXIT, "rettime")                                                                              \
    X(OVERRUN, OTHER, "overrun")                                                                             \
    X(RETVAL, OTHER, "retval")                                                                               \
    X(IP, FUNCTION, "ip")                                                                                    \
    X(PARENT_IP, FUNCTION, "parent_ip")

enum fg_kernel_field {
#define X(id, role, name) FG_KERNEL_FIELD_##id,
    FG_KERNEL_FIELDS(X)
#undef X
        FG_KERNEL_NR_FIELDS
};

/* Where a field lies. bytes 0: the event has no such field. Of ARGS: those of one argument; it takes the rest
 * of the record. */
struct fg_kernel_place {
    uint16_t offset;
    uint8_t bytes; /* 0, 1, 2, 4 or 8 */
};

struct fg_kernel_event {
    uint16_t id;
    uint8_t role;   /* enum fg_kernel_role */
    uint32_t bytes; /* a record has so many at least */
    char *name;
    struct fg_kernel_place places[FG_KERNEL_NR_FIELDS];
};

/* An address in the trace, and the function that it lies in. */
struct fg_kernel_address {
    uint64_t address;
    uint32_t function, offset;
};

struct fg_kernel {
    struct fg_dat_time time;
    struct fg_kernel_event *events;
    uint32_t nr_events;
    size_t events_capacity;
    uint32_t *by_id;                     /* 1 + index in events; 0: no such event */
    struct fg_kernel_address *addresses; /* sorted; NULL until they are known: then no record has a role */
    size_t nr_addresses;
};

#define FG_KERNEL_NR_IDS 65536u
#define FG_KERNEL_ARGS_MAX 16u /* a kernel records 6 at most */

/* The data of an event made of a record. */
struct fg_kernel_record {
    union {
        struct fg_graph_data graph;
        struct fg_flat_data call;
        /* values: FG_VALUE_WORD each: tag, size, word; FG_VALUE_MORE */
        uint8_t bytes[sizeof(struct fg_graph_data) + FG_KERNEL_ARGS_MAX * 10 + 1];
    };
};

/* Return: NULL if memory is short. */
struct fg_kernel *fg_kernel_new(const struct fg_dat_time *time);
void fg_kernel_free(struct fg_kernel *kernel); /* NULL is let through */

/**
 * fg_kernel_add_event() - Describe an event. Its id has no event so far.
 * @event: all but `bytes`; the name is copied
 *
 * Return: 0; -EINVAL: the role lacks a field, a field has an impossible size, or the id is taken; -ENOMEM.
 */
int fg_kernel_add_event(struct fg_kernel *kernel, const struct fg_kernel_event *event);

/* Takes over the addresses, which the caller has sorted. From now on records become events. */
void fg_kernel_set_addresses(struct fg_kernel *kernel, struct fg_kernel_address *addresses, size_t n);

/* NULL: the head has no such event. */
static inline const struct fg_kernel_event *fg_kernel_event(const struct fg_kernel *kernel, uint32_t id)
{
    uint32_t index = id < FG_KERNEL_NR_IDS ? kernel->by_id[id] : 0;

    return index ? &kernel->events[index - 1] : NULL;
}

/* The value of a field of a record that is long enough; 0 if there is no such field. */
static inline uint64_t fg_kernel_number(const uint8_t *record, struct fg_kernel_place place)
{
    uint64_t value = 0;

    memcpy(&value, record + place.offset, place.bytes); /* little-endian */
    return value;
}

/* The trace's time of a time in a page. */
uint64_t fg_kernel_time(const struct fg_kernel *kernel, uint64_t time);

/* Makes an event of a record, with head's data, size and type. @made stays as long as they are used. False:
 * the record is too short. */
bool fg_kernel_convert(const struct fg_kernel *kernel, struct fg_kernel_record *made, struct fg_event *head);

#endif
