/* Comparing values that have no type: a field of the type `value` holds whatever the hit had, and one of the
 * type `object` an object. Numbers compare with numbers, exactly, whatever their types; texts with texts; an
 * object compares with a text by the name of its type. What does not fit compares as false. */
#include <string.h>

#include "engine/filter/filter_step.h"
#include "engine/filter/text_glob.h"
#include "engine/ring/record.h"

typedef __int128 wide; /* each integer of 64 bits, signed or not */

enum { NO_ORDER = 2 }; /* else -1, 0 or 1 */

bool fg_filter_set_has(const struct fg_filter_step *step, uint64_t number)
{
    uint32_t low = 0, high = step->bytes / 8;

    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        uint64_t found;

        memcpy(&found, step->text + 8 * (size_t)middle, 8);
        if (found == number)
            return true;
        if (found < number)
            low = middle + 1;
        else
            high = middle;
    }
    return false;
}

static int compare_wide(wide a, wide b)
{
    return (a > b) - (a < b);
}

static int compare_reals(double a, double b)
{
    if (a != a || b != b)
        return NO_ORDER;
    return (a > b) - (a < b);
}

/* Converting the integer would round it, so the other one is converted: exactly, as its fraction is cut. */
static int compare_real_with(double real, wide integer)
{
    wide whole;
    int order;

    if (real != real)
        return NO_ORDER;
    if (real >= 0x1p64 || real < -0x1p63)
        return real > 0 ? 1 : -1;
    whole = (wide)real;
    order = compare_wide(whole, integer);
    return order ? order : compare_reals(real, (double)whole);
}

static wide operand_integer(const struct fg_filter_step *step)
{
    return step->operand == FG_EVENT_FILTER_SIGNED ? (wide)(int64_t)step->number : (wide)step->number;
}

static int order_of_real(const struct fg_filter_step *step, double real)
{
    return step->operand == FG_EVENT_FILTER_REAL ? compare_reals(real, step->real)
                                                 : compare_real_with(real, operand_integer(step));
}

static int order_of_integer(const struct fg_filter_step *step, wide integer)
{
    int order;

    if (step->operand != FG_EVENT_FILTER_REAL)
        return compare_wide(integer, operand_integer(step));
    order = compare_real_with(step->real, integer);
    return order == NO_ORDER ? NO_ORDER : -order;
}

static bool has_order(const struct fg_filter_step *step, int order)
{
    switch ((enum fg_event_filter_operation)step->operation) {
    case FG_EVENT_FILTER_EQ:
        return order == 0;
    case FG_EVENT_FILTER_LT:
        return order == -1;
    case FG_EVENT_FILTER_LE:
        return order == -1 || order == 0;
    case FG_EVENT_FILTER_GT:
        return order == 1;
    case FG_EVENT_FILTER_GE:
        return order == 0 || order == 1;
    default:
        return false;
    }
}

bool fg_filter_compare_real(const struct fg_filter_step *step, double real)
{
    return has_order(step, order_of_real(step, real));
}

/* ---- one value of the image */

/* The tagged value to which the field refers; its length is 0 if it lies outside of the image. */
static const uint8_t *referred(const struct fg_field *field, const uint8_t *image, uint32_t bytes,
                               uint32_t *length)
{
    uint16_t refers[2] = {0, 0};

    *length = 0;
    if (field->offset + sizeof(refers) > bytes)
        return image;
    memcpy(refers, image + field->offset, sizeof(refers));
    if (refers[0] > bytes || refers[1] > bytes - refers[0])
        return image;
    *length = refers[1];
    return image + refers[0];
}

/* Whether 2 to the power of @exponent is above @magnitude, which is finite. */
static bool power_is_above(uint32_t exponent, double magnitude)
{
    double power = 1;

    for (uint32_t i = 0; i < exponent && power <= magnitude; i++)
        power *= 2;
    return power > magnitude;
}

/* An int beyond 64 bits: only its sign and the number of its bits are known. It is beyond each int64_t. */
static int order_of_bigint(const struct fg_filter_step *step, const uint8_t *at, uint32_t length)
{
    int sign;
    uint32_t bits;
    double magnitude;

    if (length < 6)
        return NO_ORDER;
    sign = at[1] ? -1 : 1;
    memcpy(&bits, at + 2, sizeof(bits));
    if (step->operand == FG_EVENT_FILTER_SIGNED)
        return sign;
    if (step->operand == FG_EVENT_FILTER_UNSIGNED)
        return sign < 0 || bits > 64 ? sign : NO_ORDER;
    magnitude = step->real * sign;
    return magnitude < 0 || power_is_above(bits - 1, magnitude) ? sign : NO_ORDER;
}

static bool compare_number(const struct fg_filter_step *step, const uint8_t *at, uint32_t length,
                           const struct fg_loaded *loaded)
{
    switch (loaded->kind) {
    case FG_LOADED_SIGNED:
        return has_order(step, order_of_integer(step, (int64_t)loaded->number));
    case FG_LOADED_UNSIGNED:
        return has_order(step, order_of_integer(step, loaded->number));
    case FG_LOADED_FLOAT:
        return has_order(step, order_of_real(step, loaded->real));
    case FG_LOADED_OBJECT:
        return step->field.type == FG_FIELD_OBJECT && has_order(step, order_of_integer(step, loaded->number));
    default:
        return length && at[0] == FG_VALUE_BIGINT && has_order(step, order_of_bigint(step, at, length));
    }
}

static bool has_integer(const struct fg_filter_step *step, const struct fg_loaded *loaded)
{
    bool is_object = loaded->kind == FG_LOADED_OBJECT && step->field.type == FG_FIELD_OBJECT;

    return is_object || loaded->kind == FG_LOADED_SIGNED || loaded->kind == FG_LOADED_UNSIGNED;
}

/* The length of the program's text, of which the image may have only the beginning: characters of a str,
 * bytes of a bytes. */
static uint64_t whole_length(const uint8_t *at)
{
    uint64_t length;

    memcpy(&length, at + 1, sizeof(length));
    return length;
}

static uint64_t length_like(const uint8_t *at, const char *text, uint32_t bytes)
{
    return at[0] == FG_VALUE_STR || at[0] == FG_VALUE_TEXT ? fg_text_characters(text, bytes) : bytes;
}

/* A text of which only the beginning is known is equal if that and the length are. */
static bool is_text(const struct fg_filter_step *step, const uint8_t *at, const struct fg_loaded *loaded)
{
    uint32_t bytes = loaded->bytes;
    bool is_whole =
        loaded->kind == FG_LOADED_OBJECT || whole_length(at) == length_like(at, loaded->text, bytes);

    if (is_whole ? bytes != step->bytes : bytes >= step->bytes)
        return false;
    if (memcmp(loaded->text, step->text, bytes) != 0)
        return false;
    return is_whole || whole_length(at) == length_like(at, step->text, step->bytes);
}

static bool compare_text(const struct fg_filter_step *step, const uint8_t *at, const struct fg_loaded *loaded)
{
    if (loaded->kind != FG_LOADED_TEXT && loaded->kind != FG_LOADED_OBJECT)
        return false;
    if (step->operation == FG_EVENT_FILTER_GLOB)
        return fg_text_glob_match(step->text, step->bytes, loaded->text, loaded->bytes) != step->is_not;
    return is_text(step, at, loaded);
}

/* As bool() of Python would have it, of what the image has. */
static bool is_true(const uint8_t *at, uint32_t length, const struct fg_loaded *loaded)
{
    switch (loaded->kind) {
    case FG_LOADED_SIGNED:
    case FG_LOADED_UNSIGNED:
        return loaded->number != 0;
    case FG_LOADED_FLOAT:
        return loaded->real != 0;
    case FG_LOADED_TEXT:
        return whole_length(at) != 0;
    case FG_LOADED_OBJECT:
        return at[0] == FG_VALUE_OBJECT || loaded->number != 0;
    default:
        return length && at[0] == FG_VALUE_BIGINT;
    }
}

bool fg_filter_compare_value(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes)
{
    struct fg_loaded loaded = fg_field_load(image, bytes, &step->field, 0);
    uint32_t length;
    const uint8_t *at = referred(&step->field, image, bytes, &length);

    switch ((enum fg_event_filter_operation)step->operation) {
    case FG_EVENT_FILTER_NONE:
        return length && at[0] == FG_VALUE_NONE;
    case FG_EVENT_FILTER_TRUE:
        return is_true(at, length, &loaded);
    case FG_EVENT_FILTER_AND:
        return has_integer(step, &loaded) && (loaded.number & step->number) != 0;
    case FG_EVENT_FILTER_IN:
        return has_integer(step, &loaded) && fg_filter_set_has(step, loaded.number);
    default:
        return step->operand == FG_EVENT_FILTER_TEXT ? compare_text(step, at, &loaded)
                                                     : compare_number(step, at, length, &loaded);
    }
}
