/* The kinds of events of a trace: the system, name and fields of each. An event of number n has the type
 * FG_EVENT_FIRST_DYNAMIC + n; its data is an image as field.h has it, with addresses for function ids. */
#ifndef FG_EVENT_TABLE_H
#define FG_EVENT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/hash_table.h"
#include "engine/ring/field.h"
#include "engine/ring/record.h"
#include "tracedata/base/function_address.h"
#include "tracedata/base/trace_event.h"

/* An image that a record has room for. */
#define FG_EVENT_IMAGE_BYTES (FG_EVENT_RETURN_FIELDS_AT + FG_EVENT_MAX_FIELD_BYTES)

/* A damaged file may have any number of kinds. Events of those beyond the limit are of a kind that the trace
 * does not name. It bounds the format texts of a trace.dat: one may be 500 times as long as its symbol. */
#define FG_EVENT_MAX_TYPES 8192u
_Static_assert(FG_EVENT_FIRST_DYNAMIC + FG_EVENT_MAX_TYPES <= FG_EVENT_unknown_event, "types have 16 bits");

struct fg_event_field {
    const char *name; /* not ended by a NUL */
    uint32_t name_bytes;
    struct fg_field at;
};

struct fg_event_type {
    const char *system, *name, *fields_text; /* one allocation, at system */
    struct fg_event_field *fields;
    uint32_t nr_fields;     /* without the faults */
    struct fg_field faults; /* their bytes, in an array; count 0: it has none */
    uint16_t fields_at;     /* FG_EVENT_..._FIELDS_AT */
    uint16_t fixed_end;     /* where texts and tagged values begin in the image */
    bool has_symbols;       /* a field is a SYMBOL */
    uint64_t hash;
};

struct fg_event_table {
    struct fg_event_type *types;
    size_t nr_types, capacity;
    struct fg_hash_table by_hash; /* fg_event_type.hash -> number plus 1 */
};

/* What says what a kind of event is, in a ring's symbol (ring_layout.h) and in a trace's JSON. */
struct fg_event_words {
    const char *system, *name;
    const char *fields; /* "TYPE NAME COUNT OFFSET;..." */
    uint32_t fields_at;
};

/**
 * fg_event_table_take() - Take in a kind of event, unless it is there already.
 *
 * Return: its number; -EINVAL: @words describe no event, or there are FG_EVENT_MAX_TYPES; -ENOMEM.
 */
int64_t fg_event_table_take(struct fg_event_table *table, const struct fg_event_words *words);
/* As fg_event_table_take(), with the next number even if such a kind is there. */
int64_t fg_event_table_append(struct fg_event_table *table, const struct fg_event_words *words);
void fg_event_table_free(struct fg_event_table *table);

/* The kind of an event of this type; NULL: the table has none. */
static inline const struct fg_event_type *fg_event_table_find(const struct fg_event_table *table,
                                                              uint32_t type)
{
    return type - FG_EVENT_FIRST_DYNAMIC < table->nr_types ? &table->types[type - FG_EVENT_FIRST_DYNAMIC]
                                                           : NULL;
}

/* As in the kernel, its texts print without quotes. An array is a stack, which ends before the first 0. */
static inline bool fg_event_is_synthetic(const struct fg_event_type *type)
{
    return strcmp(type->system, "synthetic") == 0;
}

/* A function that the image names before its fields: its index, or FG_FUNC_UNKNOWN. */
static inline uint32_t fg_event_function_at(const struct fg_event *event, uint32_t offset)
{
    return event->size >= offset + sizeof(uint64_t) ? fg_function_index(fg_load64(event->data + offset))
                                                    : FG_FUNC_UNKNOWN;
}

/* The function at which the event was hit. */
static inline uint32_t fg_event_probed(const struct fg_event_type *type, const struct fg_event *event)
{
    return type->fields_at == FG_EVENT_PLAIN_FIELDS_AT ? FG_FUNC_UNKNOWN : fg_event_function_at(event, 8);
}

/* The function that it returns to. */
static inline uint32_t fg_event_return_to(const struct fg_event_type *type, const struct fg_event *event)
{
    return type->fields_at == FG_EVENT_RETURN_FIELDS_AT ? fg_event_function_at(event, 16) : FG_FUNC_UNKNOWN;
}

#endif
