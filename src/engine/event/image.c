/* See image.h. */
#include "engine/event/image.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "engine/hist/hist_term.h"
#include "engine/ring/record.h"

/* Each text or tagged value has at least so much room, however many fields there are: a number fits. */
#define MIN_ROOM 10u
#define TAGGED_HEAD 10u /* tag, u64, length */
#define NUMBER_DIGITS 24u

static const char fault[] = "(fault)";

int fg_image_lay_out(struct fg_image_form *form)
{
    uint32_t at = FG_EVENT_PLAIN_FIELDS_AT, room = 0, bit;

    for (uint32_t i = 0; i < form->nr_fields; i++) {
        struct fg_field *field = &form->fields[i];

        field->offset = (uint16_t)at;
        at += fg_field_element_bytes(field->type) * (field->count ? field->count : 1);
        room += fg_field_has_text(field->type) ? MIN_ROOM : 0;
        if (at + room > FG_EVENT_MAX_BYTES)
            return -E2BIG;
    }
    form->faults_at = (uint16_t)at;
    bit = at * 8;
    for (uint32_t i = 0; i < form->nr_fields; i++)
        bit = fg_field_place_faults(&form->fields[i], bit);
    at = (bit + 7) / 8;
    if (at + room > FG_EVENT_MAX_BYTES)
        return -E2BIG;
    form->fixed_bytes = (uint16_t)at;
    for (uint32_t i = 0; i < form->nr_fields; i++) {
        room -= fg_field_has_text(form->fields[i].type) ? MIN_ROOM : 0;
        form->later_room[i] = (uint16_t)room;
    }
    return 0;
}

/* ---- texts */

/* How many of the bytes fit, without a cut character of UTF-8. */
static uint32_t whole_characters(const char *text, uint32_t bytes, uint32_t room)
{
    if (bytes <= room)
        return bytes;
    while (room && ((uint8_t)text[room] & 0xc0) == 0x80)
        room--;
    return room;
}

/* With the NUL. Not for the path of each hit: values without a type alone become texts. */
static int print_number(char *text, const struct fg_loaded *value)
{
    switch (value->kind) {
    case FG_LOADED_SIGNED:
        return snprintf(text, NUMBER_DIGITS, "%lld", (long long)value->number);
    case FG_LOADED_UNSIGNED:
        return snprintf(text, NUMBER_DIGITS, "%llu", (unsigned long long)value->number);
    default:
        return snprintf(text, NUMBER_DIGITS, "%.12g", value->real);
    }
}

static uint32_t put_text(uint8_t *at, uint32_t room, uint16_t most, const struct fg_loaded *value)
{
    char digits[NUMBER_DIGITS];
    const char *text = fault;
    uint32_t bytes = sizeof(fault) - 1;

    if (value->kind == FG_LOADED_TEXT) {
        text = value->text;
        bytes = value->bytes;
    } else if (fg_hist_is_number(value) && value->kind != FG_LOADED_OBJECT) {
        bytes = (uint32_t)print_number(digits, value);
        text = digits;
    }
    if (most && most < room)
        room = most + 1u;
    bytes = whole_characters(text, bytes, room - 1);
    if (bytes)
        memcpy(at, text, bytes);
    at[bytes] = 0;
    return bytes + 1;
}

/* ---- tagged values */

static uint32_t put_tag(uint8_t *at, uint8_t tag)
{
    at[0] = tag;
    return 1;
}

static uint32_t put_word(uint8_t *at, const void *word)
{
    memcpy(at + 1, word, 8);
    return 9;
}

static uint32_t put_integer(uint8_t *at, const struct fg_loaded *value)
{
    int64_t number = (int64_t)value->number;

    if (value->kind == FG_LOADED_UNSIGNED && number < 0) {
        at[0] = FG_VALUE_WORD;
        at[1] = sizeof(number);
        memcpy(at + 2, &number, sizeof(number));
        return 10;
    }
    if (value->tag == FG_VALUE_TRUE || value->tag == FG_VALUE_FALSE)
        return put_tag(at, value->tag);
    if (number == (int8_t)number) {
        at[0] = FG_VALUE_INT8;
        at[1] = (uint8_t)number;
        return 2;
    }
    at[0] = FG_VALUE_INT64;
    return put_word(at, &number);
}

static uint32_t put_counted(uint8_t *at, uint32_t room, uint32_t most, uint8_t tag, uint64_t number,
                            const struct fg_loaded *value)
{
    uint32_t bytes;

    if (room < TAGGED_HEAD)
        return put_tag(at, FG_VALUE_UNBOUND);
    room -= TAGGED_HEAD;
    bytes = whole_characters(value->text, value->bytes, room < most ? room : most);
    at[0] = tag;
    memcpy(at + 1, &number, sizeof(number));
    at[9] = (uint8_t)bytes;
    if (bytes)
        memcpy(at + TAGGED_HEAD, value->text, bytes);
    return TAGGED_HEAD + bytes;
}

/* A str's length is that of its text here: the field may have kept only its beginning. */
static uint64_t count_characters(const struct fg_loaded *value)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < value->bytes; i++)
        n += ((uint8_t)value->text[i] & 0xc0) != 0x80;
    return n;
}

/* @at has MIN_ROOM. */
static uint32_t put_tagged(uint8_t *at, uint32_t room, const struct fg_loaded *value)
{
    switch (value->kind) {
    case FG_LOADED_SIGNED:
    case FG_LOADED_UNSIGNED:
        return put_integer(at, value);
    case FG_LOADED_FLOAT:
        at[0] = FG_VALUE_FLOAT;
        return put_word(at, &value->real);
    case FG_LOADED_TEXT:
        if (value->tag == FG_VALUE_BYTES)
            return put_counted(at, room, FG_VALUE_MAX_TEXT, FG_VALUE_BYTES, value->bytes, value);
        return put_counted(at, room, FG_VALUE_MAX_TEXT, FG_VALUE_STR, count_characters(value), value);
    case FG_LOADED_OBJECT:
        return put_counted(at, room, FG_VALUE_MAX_TYPE,
                           value->tag == FG_VALUE_SIZED ? FG_VALUE_SIZED : FG_VALUE_OBJECT, value->number,
                           value);
    default:
        return put_tag(at, value->tag == FG_VALUE_NONE ? FG_VALUE_NONE : FG_VALUE_UNBOUND);
    }
}

/* ---- fields */

static void put_stack(uint8_t *at, uint32_t count, const struct fg_loaded *value)
{
    uint32_t n = value->kind == FG_LOADED_STACK ? value->bytes / 4u : 0;

    for (uint32_t i = 0; i < count; i++) {
        uint64_t address = 0;

        if (i < n)
            memcpy(&address, value->text + 4 * i, 4);
        memcpy(at + 8 * i, &address, sizeof(address));
    }
}

/* True if a field with a fixed size that is no array can have it. */
static bool has_fixed(enum fg_field_type type, const struct fg_loaded *value)
{
    bool is_text = value->kind == FG_LOADED_TEXT && (type == FG_FIELD_BOOL || type == FG_FIELD_CHAR);

    return is_text || fg_hist_has_number(value);
}

static void put_fixed(uint8_t *at, enum fg_field_type type, const struct fg_loaded *value)
{
    double real = fg_hist_real(value);
    uint64_t number = fg_hist_integer(value);

    if (value->kind == FG_LOADED_TEXT && type == FG_FIELD_BOOL)
        number = value->bytes > 0;
    if (value->kind == FG_LOADED_TEXT && type == FG_FIELD_CHAR && value->bytes)
        number = (uint8_t)value->text[0];
    if (type == FG_FIELD_BOOL)
        number = number != 0 || real != 0;
    if (type == FG_FIELD_F64)
        memcpy(at, &real, sizeof(real));
    else
        memcpy(at, &number, fg_field_element_bytes(type)); /* little-endian */
}

uint32_t fg_image_make(const struct fg_image_form *form, const struct fg_loaded *values, uint8_t *image)
{
    uint32_t end = form->fixed_bytes;

    memset(image + form->faults_at, 0, (size_t)form->fixed_bytes - form->faults_at);
    for (uint32_t i = 0; i < form->nr_fields; i++) {
        const struct fg_field *field = &form->fields[i];
        uint8_t *at = image + field->offset;
        uint32_t room, bytes, place;

        if (field->count) {
            put_stack(at, field->count, &values[i]);
            continue;
        }
        if (!fg_field_has_text(field->type)) {
            put_fixed(at, field->type, &values[i]);
            if (!has_fixed(field->type, &values[i]))
                fg_field_set_fault(image, field, 0);
            continue;
        }
        room = FG_EVENT_MAX_BYTES - end - form->later_room[i];
        if (field->type == FG_FIELD_STRING)
            bytes = put_text(image + end, room, form->most_bytes[i], &values[i]);
        else
            bytes = put_tagged(image + end, room, &values[i]);
        place = end | bytes << 16;
        memcpy(at, &place, sizeof(place));
        end += bytes;
    }
    return end;
}
