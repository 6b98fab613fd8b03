/* See field.h. */
#include "engine/ring/field.h"

#include <string.h>

#include "engine/ring/record.h"

static const struct {
    const char *name;
    uint8_t bytes;
} types[] = {
#define X(type, name, bytes) {name, bytes},
    FG_FIELD_TYPES(X)
#undef X
};

uint32_t fg_field_element_bytes(enum fg_field_type type)
{
    return types[type].bytes;
}

int fg_field_type_by_name(const char *name)
{
    for (int i = 0; i < FG_NR_FIELD_TYPES; i++) {
        if (strcmp(types[i].name, name) == 0)
            return i;
    }
    return -1;
}

const char *fg_field_type_name(enum fg_field_type type)
{
    return types[type].name;
}

uint32_t fg_field_place_faults(struct fg_field *field, uint32_t bit)
{
    if (fg_field_has_text(field->type) || (field->type == FG_FIELD_SYMBOL && field->count))
        return bit;
    field->fault_bit = (uint16_t)bit;
    return bit + (field->count ? field->count : 1);
}

static struct fg_loaded signed_number(int64_t number)
{
    return (struct fg_loaded){.kind = FG_LOADED_SIGNED, .number = (uint64_t)number};
}

static struct fg_loaded unsigned_number(uint64_t number)
{
    return (struct fg_loaded){.kind = FG_LOADED_UNSIGNED, .number = number};
}

static struct fg_loaded real_number(const uint8_t *at)
{
    struct fg_loaded loaded = {.kind = FG_LOADED_FLOAT};

    memcpy(&loaded.real, at, sizeof(loaded.real));
    return loaded;
}

/* The length of an integer type is a power of two, at most 8. */
static uint64_t load_unsigned(const uint8_t *at, uint32_t bytes)
{
    uint64_t number = 0;

    memcpy(&number, at, bytes); /* little-endian */
    return number;
}

static int64_t load_signed(const uint8_t *at, uint32_t bytes)
{
    unsigned shift = 64 - 8 * bytes;

    return (int64_t)(load_unsigned(at, bytes) << shift) >> shift;
}

/* A tagged value with a u64, a length byte and a text after its tag. */
static struct fg_loaded counted_text(enum fg_loaded_kind kind, const uint8_t *at, uint32_t bytes)
{
    struct fg_loaded loaded = {.kind = kind};

    if (bytes < 10 || at[9] > bytes - 10)
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    loaded.number = load_unsigned(at + 1, 8);
    loaded.text = (const char *)at + 10;
    loaded.bytes = at[9];
    return loaded;
}

/* The text is what counts of a str or bytes, not its length. */
static struct fg_loaded counted_string(const uint8_t *at, uint32_t bytes)
{
    struct fg_loaded loaded = counted_text(FG_LOADED_TEXT, at, bytes);

    loaded.number = 0;
    return loaded;
}

/* The same of one whose bytes are counted in two. */
static struct fg_loaded long_string(const uint8_t *at, uint32_t bytes)
{
    uint32_t text_bytes = bytes < 11 ? 0 : (uint32_t)load_unsigned(at + 9, 2);

    if (bytes < 11 || text_bytes > bytes - 11)
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    return (struct fg_loaded){
        .kind = FG_LOADED_TEXT, .text = (const char *)at + 11, .bytes = (uint16_t)text_bytes};
}

static struct fg_loaded load_tagged(uint8_t tag, const uint8_t *at, uint32_t bytes)
{
    switch (tag) {
    case FG_VALUE_TRUE:
        return signed_number(1);
    case FG_VALUE_FALSE:
        return signed_number(0);
    case FG_VALUE_INT8:
        return bytes < 2 ? (struct fg_loaded){0} : signed_number((int8_t)at[1]);
    case FG_VALUE_INT64:
        return bytes < 9 ? (struct fg_loaded){0} : signed_number(load_signed(at + 1, 8));
    case FG_VALUE_FLOAT:
        return bytes < 9 ? (struct fg_loaded){0} : real_number(at + 1);
    case FG_VALUE_WORD:
        return bytes < 10 ? (struct fg_loaded){0} : unsigned_number(load_unsigned(at + 2, 8));
    case FG_VALUE_STR:
    case FG_VALUE_BYTES:
        return counted_string(at, bytes);
    case FG_VALUE_TEXT:
    case FG_VALUE_DATA:
        return long_string(at, bytes);
    case FG_VALUE_SIZED:
    case FG_VALUE_OBJECT:
        return counted_text(FG_LOADED_OBJECT, at, bytes);
    default: /* None, an int beyond 64 bits, nothing at all */
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    }
}

static struct fg_loaded load_value(const uint8_t *at, uint32_t bytes)
{
    uint8_t tag = bytes ? at[0] : FG_VALUE_END;
    struct fg_loaded loaded = load_tagged(tag, at, bytes);

    loaded.tag = tag;
    return loaded;
}

static struct fg_loaded load_referred(const uint8_t *image, uint32_t bytes, const uint8_t *at,
                                      enum fg_field_type type)
{
    uint32_t offset = (uint32_t)load_unsigned(at, 2), length = (uint32_t)load_unsigned(at + 2, 2);

    if (offset > bytes || length > bytes - offset)
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    if (type != FG_FIELD_STRING)
        return load_value(image + offset, length);
    return (struct fg_loaded){
        .kind = FG_LOADED_TEXT,
        .text = (const char *)image + offset,
        .bytes = (uint16_t)strnlen((const char *)image + offset, length),
    };
}

struct fg_loaded fg_field_load(const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                               uint32_t index)
{
    uint32_t size = types[field->type].bytes, offset = field->offset + index * size;
    const uint8_t *at = image + offset;

    if (offset > bytes || size > bytes - offset || fg_field_is_fault(image, bytes, field, index))
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    switch ((enum fg_field_type)field->type) {
    case FG_FIELD_STRING:
    case FG_FIELD_OBJECT:
    case FG_FIELD_VALUE:
        return load_referred(image, bytes, at, field->type);
    case FG_FIELD_S8:
    case FG_FIELD_S16:
    case FG_FIELD_S32:
    case FG_FIELD_S64:
        return signed_number(load_signed(at, size));
    case FG_FIELD_F64:
        return real_number(at);
    default:
        return unsigned_number(load_unsigned(at, size));
    }
}
