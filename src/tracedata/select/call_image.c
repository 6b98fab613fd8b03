/* See call_image.h. */
#include "tracedata/select/call_image.h"

#include <string.h>

#include "engine/ring/record.h"
#include "tracedata/base/values.h"

#define NS_OF_US 1000.0

enum {
#define X(field, name, type, offset, fault) field##_AT = (offset),
    FG_CALL_FIELDS(X)
#undef X
};

struct image {
    uint8_t *bytes;
    uint32_t end;
};

static bool has_room(const struct image *image, size_t bytes)
{
    return bytes <= FG_CALL_IMAGE_BYTES - image->end;
}

static void put(struct image *image, const void *data, size_t bytes)
{
    memcpy(image->bytes + image->end, data, bytes);
    image->end += (uint32_t)bytes;
}

static void put_byte(struct image *image, uint8_t byte)
{
    image->bytes[image->end++] = byte;
}

static void put_text(struct image *image, const struct fg_value *value, uint8_t tag)
{
    uint16_t bytes = (uint16_t)value->text_bytes;

    put_byte(image, tag);
    put(image, &value->length, 8);
    put(image, &bytes, 2);
    put(image, value->text, bytes);
}

/* A tag, a number, and a type's name. */
static void put_type(struct image *image, uint8_t tag, uint64_t number, const char *type, size_t bytes)
{
    put_byte(image, tag);
    put(image, &number, 8);
    put_byte(image, (uint8_t)bytes);
    put(image, type, bytes);
}

/* What has parts: a container by its type and length, an instance by its type. */
static void put_open(struct image *image, const struct fg_value *value)
{
    struct fg_value whole = fg_value_without_parts(value);

    put_type(image, (uint8_t)whole.tag, value->length, whole.text, whole.text_bytes);
}

static uint64_t characters_of(const struct fg_value *value)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < value->text_bytes; i++)
        n += ((uint8_t)value->text[i] & 0xc0) != 0x80;
    return n;
}

/* As readers have it: an error number is below zero. */
static void put_word(struct image *image, const struct fg_value *value)
{
    int64_t error = fg_word_error(value);

    if (error) {
        put_byte(image, FG_VALUE_INT64);
        put(image, &error, sizeof(error));
        return;
    }
    image->end += (uint32_t)fg_value_put_word(image->bytes + image->end, value->word, value->size_bytes);
}

/* @from to @end: the value as it was recorded. */
static void put_value(struct image *image, const struct fg_value *value, const uint8_t *from,
                      const uint8_t *end)
{
    struct fg_value named = *value;

    switch ((enum fg_value_tag)value->tag) {
    case FG_VALUE_SHOWN:
        put_text(image, value, FG_VALUE_TEXT);
        break;
    case FG_VALUE_MEMBER:
        named.length = characters_of(value);
        put_text(image, &named, FG_VALUE_TEXT);
        break;
    case FG_VALUE_OPEN:
        put_open(image, value);
        break;
    case FG_VALUE_WORD:
        put_word(image, value);
        break;
    case FG_VALUE_HIDDEN:
    case FG_VALUE_FAULT:
    case FG_VALUE_MORE:
        put_byte(image, FG_VALUE_UNBOUND);
        break;
    default:
        put(image, from, (size_t)(end - from));
    }
}

/* Adds the next value, to which the field at @at refers from then on. Return: false: none is left. */
static bool add_value(struct image *image, uint32_t at, const uint8_t **data, const uint8_t *end)
{
    const uint8_t *from = *data;
    uint16_t refers[2] = {(uint16_t)image->end, 0};
    struct fg_value value;

    if (from >= end || !fg_value_next(data, end, &value))
        return false;
    /* No value takes more room than it had when it was recorded, and what a type's name and a length take. */
    if (!has_room(image, (size_t)(*data - from) + 32))
        return false;
    put_value(image, &value, from, *data);
    refers[1] = (uint16_t)(image->end - refers[0]);
    memcpy(image->bytes + at, refers, sizeof(refers));
    return true;
}

static void put_real(uint8_t *at, uint64_t ns)
{
    double us = (double)ns / NS_OF_US;

    memcpy(at, &us, sizeof(us));
}

static uint32_t count_values(const uint8_t *at, const uint8_t *end)
{
    struct fg_value value;
    uint32_t n = 0;

    while (at < end && n < FG_CALL_MOST_ARGUMENTS && fg_value_next(&at, end, &value))
        n++;
    return n;
}

/* Finds the value of which an attribute is. False: it was not recorded, or the call has none. */
static bool find_owner(const struct fg_call_facts *call, int32_t of, struct fg_value *owner)
{
    const uint8_t *at = call->arguments, *outcome = call->outcome;

    if (of < 0)
        return call->raised == (of == FG_CALL_OF_EXCEPTION) && outcome < call->outcome_end &&
               fg_value_next(&outcome, call->outcome_end, owner);
    do {
        if (at >= call->arguments_end || !fg_value_next(&at, call->arguments_end, owner))
            return false;
    } while (of--);
    return true;
}

static bool has_other(const struct fg_call_attribute *attribute, const struct fg_value *name)
{
    uint32_t bytes;

    for (size_t at = 0; at < attribute->others.bytes; at += sizeof(bytes) + bytes) {
        memcpy(&bytes, attribute->others.data + at, sizeof(bytes));
        if (bytes == name->text_bytes &&
            memcmp(attribute->others.data + at + sizeof(bytes), name->text, bytes) == 0)
            return true;
    }
    return false;
}

/* A value lacks the attribute, as all before it: keeps the names that it has. */
static void keep_others(struct fg_call_attribute *attribute, const struct fg_value *owner)
{
    const uint8_t *next = owner->parts, *begin;
    struct fg_value name, part;

    while (attribute->nr_others < FG_CALL_MOST_OTHERS &&
           fg_value_next_attribute(owner, &next, &name, &begin, &part)) {
        uint32_t bytes = (uint32_t)name.text_bytes;

        if (has_other(attribute, &name))
            continue;
        fg_text_put(&attribute->others, (const char *)&bytes, sizeof(bytes));
        fg_text_put(&attribute->others, name.text, bytes);
        attribute->nr_others++;
    }
}

static void add_attribute(struct image *image, uint32_t at, const struct fg_call_facts *call,
                          struct fg_call_attribute *attribute)
{
    struct fg_value owner, name, part;
    const uint8_t *next, *begin;

    if (!find_owner(call, attribute->of, &owner))
        return;
    attribute->has_owner = true;
    next = owner.parts;
    while (fg_value_next_attribute(&owner, &next, &name, &begin, &part))
        if (name.text_bytes == attribute->name_bytes &&
            memcmp(name.text, attribute->name, name.text_bytes) == 0) {
            attribute->is_found = true;
            add_value(image, at, &begin, next);
            return;
        }
    if (!attribute->is_found)
        keep_others(attribute, &owner);
}

uint32_t fg_call_image(uint8_t image[FG_CALL_IMAGE_BYTES], const struct fg_call_facts *call,
                       struct fg_call_attributes *attributes)
{
    const struct fg_event_common common = {.pid = call->tid};
    uint32_t nr_arguments = count_values(call->arguments, call->arguments_end);
    struct image made = {.bytes = image, .end = FG_CALL_ARGUMENTS_AT + 4 * nr_arguments};
    const uint8_t *argument = call->arguments, *outcome = call->outcome;

    memset(image, 0, made.end);
    memcpy(image, &common, sizeof(common));
    image[RAISED_AT] = call->raised;
    put_real(image + DURATION_AT, call->ran_ns);
    put_real(image + OWN_AT, call->self_ns);
    image[FG_CALL_FAULTS_AT] = !call->is_timed;
    for (uint32_t i = 0; i < nr_arguments; i++)
        if (!add_value(&made, FG_CALL_ARGUMENTS_AT + 4 * i, &argument, call->arguments_end))
            break;
    add_value(&made, call->raised ? EXC_AT : RET_AT, &outcome, call->outcome_end);
    for (uint32_t i = 0; i < attributes->n; i++)
        add_attribute(&made, FG_CALL_ATTRIBUTES_AT + 4 * i, call, &attributes->items[i]);
    return made.end;
}
