/* The fields of an event: how they lie in its image.
 *
 * An image is the event as trace.dat has it: the common fields, the place of the probe, then the fields,
 * packed as the kernel packs those of its probes:
 *
 *     +---------------------------+ 0
 *     | struct fg_event_common    |
 *     +---------------------------+ 8
 *     | u64 __probe_ip            |  at an entry; at a return u64 __probe_func, u64 __probe_ret_ip
 *     +---------------------------+ 16 or 24
 *     | fields, not aligned       |
 *     +---------------------------+
 *     | faults                    |  a bit for each number: it could not be read, and is 0
 *     +---------------------------+ fixed_bytes
 *     | texts and tagged values   |  what the fields of those types refer to
 *     +---------------------------+ bytes
 *
 * It is made on the stack at each hit, and is what filters, triggers and histograms read. What goes into the
 * ring is the part that starts with the fields. */
#ifndef FG_FIELD_H
#define FG_FIELD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(type, name in a definition, bytes in the image). STRING, OBJECT and VALUE are a u32 there: offset in the
 * image in the low half, bytes in the high half, of:
 *   STRING       UTF-8 with a NUL at its end, which the bytes include
 *   OBJECT       a tagged value of record.h: FG_VALUE_OBJECT or FG_VALUE_SIZED
 *   VALUE        any tagged value: the field's definition names no type
 * SYMBOL is a function's id. A field that could not be read is "(fault)", FG_VALUE_UNBOUND, or 0 with its bit
 * set among the faults. */
#define FG_FIELD_TYPES(X)                                                                                    \
    X(U8, "u8", 1)                                                                                           \
    X(U16, "u16", 2)                                                                                         \
    X(U32, "u32", 4)                                                                                         \
    X(U64, "u64", 8)                                                                                         \
    X(S8, "s8", 1)                                                                                           \
    X(S16, "s16", 2)                                                                                         \
    X(S32, "s32", 4)                                                                                         \
    X(S64, "s64", 8)                                                                                         \
    X(X8, "x8", 1)                                                                                           \
    X(X16, "x16", 2)                                                                                         \
    X(X32, "x32", 4)                                                                                         \
    X(X64, "x64", 8)                                                                                         \
    X(F64, "f64", 8)                                                                                         \
    X(BOOL, "bool", 1)                                                                                       \
    X(CHAR, "char", 1)                                                                                       \
    X(STRING, "string", 4)                                                                                   \
    X(SYMBOL, "symbol", 8)                                                                                   \
    X(OBJECT, "object", 4)                                                                                   \
    X(VALUE, "value", 4)

enum fg_field_type {
#define X(type, name, bytes) FG_FIELD_##type,
    FG_FIELD_TYPES(X)
#undef X
        FG_NR_FIELD_TYPES
};

struct fg_field {
    uint16_t offset;    /* in the image */
    uint8_t type;       /* enum fg_field_type, of each element */
    uint8_t count;      /* 0: no array; else the number of its elements */
    uint16_t fault_bit; /* of its first element, counted from the image's first bit; 0: it has none */
};

/* The faults of a kind of event are its last field: u8s, which no report shows. */
#define FG_FIELD_FAULTS "__faults"

struct fg_event_common {
    uint16_t type; /* the event's number in this process */
    uint8_t flags;
    uint8_t preempt_count;
    int32_t pid; /* the thread's id */
};

/* Where the fields of an image begin: after the common fields, after __probe_ip, or after __probe_func and
 * __probe_ret_ip. So it says what stands in parentheses before them in a report. */
#define FG_EVENT_PLAIN_FIELDS_AT 8u
#define FG_EVENT_ENTRY_FIELDS_AT 16u
#define FG_EVENT_RETURN_FIELDS_AT 24u

#define FG_EVENT_MAX_FIELDS 128u
/* An image has at most so many bytes: what a record (record.h) holds, and the parts before the fields. */
#define FG_EVENT_MAX_BYTES 960u

/* A field's value, as filters and histograms take it. */
enum fg_loaded_kind {
    FG_LOADED_NONE, /* it could not be read, or is None */
    FG_LOADED_SIGNED,
    FG_LOADED_UNSIGNED,
    FG_LOADED_FLOAT,
    FG_LOADED_TEXT,   /* text and bytes; without the NUL */
    FG_LOADED_OBJECT, /* number: its address, or for a container its length; text: its type's name */
    FG_LOADED_STACK,  /* text: the ids of functions, u32 each, the innermost first. No field has this kind */
};

struct fg_loaded {
    enum fg_loaded_kind kind;
    uint16_t bytes; /* of the text */
    uint8_t tag;    /* of a tagged value: enum fg_value_tag; 0: it comes from another field */
    union {
        uint64_t number; /* a signed one in two's complement */
        double real;
    };
    const char *text; /* in the image; not ended by a NUL for a VALUE */
};

uint32_t fg_field_element_bytes(enum fg_field_type type);

/* The type of this name in a definition, or -1. */
int fg_field_type_by_name(const char *name);

/* The opposite. */
const char *fg_field_type_name(enum fg_field_type type);

/* True if elements of the type refer to a text or tagged value. */
static inline bool fg_field_has_text(enum fg_field_type type)
{
    return type == FG_FIELD_STRING || type == FG_FIELD_OBJECT || type == FG_FIELD_VALUE;
}

/**
 * fg_field_place_faults() - Give a field its bits among the faults.
 * @bit: the first that no field before it has
 *
 * Texts and tagged values tell their faults themselves, and so does an array of functions, which ends at a 0.
 *
 * Return: the first bit that the next field can have.
 */
uint32_t fg_field_place_faults(struct fg_field *field, uint32_t bit);

static inline void fg_field_set_fault(uint8_t *image, const struct fg_field *field, uint32_t index)
{
    uint32_t bit = field->fault_bit + index;

    if (field->fault_bit)
        image[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static inline bool fg_field_is_fault(const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                                     uint32_t index)
{
    uint32_t bit = field->fault_bit + index;

    return field->fault_bit && bit / 8 < bytes && (image[bit / 8] >> bit % 8 & 1);
}

/**
 * fg_field_load() - Read a field of an image.
 * @index: of the element; 0 if the field is no array
 *
 * A field outside of the image, one that refers outside of it, and a number that could not be read are
 * FG_LOADED_NONE.
 */
struct fg_loaded fg_field_load(const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                               uint32_t index);

#endif
