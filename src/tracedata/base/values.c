/* See values.h. */
#include "tracedata/base/values.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/core/value_style.h"
#include "engine/ring/record.h"

static bool take(const uint8_t **data, const uint8_t *end, void *into, size_t bytes)
{
    if ((size_t)(end - *data) < bytes)
        return false;
    memcpy(into, *data, bytes);
    *data += bytes;
    return true;
}

static bool take_text(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    uint8_t bytes;
    if (!take(data, end, &bytes, 1) || (size_t)(end - *data) < bytes)
        return false;
    value->text = (const char *)*data;
    value->text_bytes = bytes;
    *data += bytes;
    return true;
}

static bool take_wide_text(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    uint16_t bytes;
    if (!take(data, end, &bytes, 2) || (size_t)(end - *data) < bytes)
        return false;
    value->text = (const char *)*data;
    value->text_bytes = bytes;
    *data += bytes;
    return true;
}

/* The type's name, then a text, which has a tag of its own. */
static bool take_shown(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    uint8_t tag;
    if (!take_text(data, end, value))
        return false;
    value->type = value->text;
    value->type_bytes = (uint8_t)value->text_bytes;
    if (!take(data, end, &tag, 1) || !take(data, end, &value->length, 8))
        return false;
    return tag == FG_VALUE_STR ? take_text(data, end, value)
                               : tag == FG_VALUE_TEXT && take_wide_text(data, end, value);
}

bool fg_value_token(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    uint8_t tag, negative;
    int8_t small;
    uint32_t bits;
    if (!take(data, end, &tag, 1))
        return false;
    value->tag = tag;
    switch ((enum fg_value_tag)tag) {
    case FG_VALUE_NONE:
    case FG_VALUE_TRUE:
    case FG_VALUE_FALSE:
    case FG_VALUE_UNBOUND:
    case FG_VALUE_MORE:
    case FG_VALUE_CLOSE:
    case FG_VALUE_HIDDEN:
    case FG_VALUE_FAULT:
        return true;
    case FG_VALUE_INT8:
        if (!take(data, end, &small, 1))
            return false;
        value->integer = small;
        return true;
    case FG_VALUE_INT64:
        return take(data, end, &value->integer, 8);
    case FG_VALUE_FLOAT:
        return take(data, end, &value->real, 8);
    case FG_VALUE_BIGINT:
        if (!take(data, end, &negative, 1) || !take(data, end, &bits, 4))
            return false;
        value->negative = negative != 0;
        value->length = bits;
        return true;
    case FG_VALUE_STR:
    case FG_VALUE_BYTES:
    case FG_VALUE_SIZED:
        return take(data, end, &value->length, 8) && take_text(data, end, value);
    case FG_VALUE_TEXT:
    case FG_VALUE_DATA:
        value->tag = tag == FG_VALUE_TEXT ? FG_VALUE_STR : FG_VALUE_BYTES;
        return take(data, end, &value->length, 8) && take_wide_text(data, end, value);
    case FG_VALUE_OBJECT:
        return take(data, end, &value->address, 8) && take_text(data, end, value);
    case FG_VALUE_WORD:
        return take(data, end, &value->size_bytes, 1) && take(data, end, &value->word, 8);
    case FG_VALUE_SHOWN:
        return take_shown(data, end, value);
    case FG_VALUE_MEMBER:
    case FG_VALUE_NAME:
        return take_text(data, end, value);
    case FG_VALUE_OPEN:
        return take(data, end, &value->form, 1) && take(data, end, &value->length, 8) &&
               take_text(data, end, value);
    case FG_VALUE_END:
    case FG_VALUE_DISCARDED:
        break;
    }
    return false;
}

/* Passes over the parts of a value that has begun. */
static bool take_parts(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    struct fg_value part;
    unsigned depth = 1;
    value->parts = *data;
    while (depth) {
        value->parts_end = *data;
        if (!fg_value_token(data, end, &part))
            return false;
        depth += part.tag == FG_VALUE_OPEN;
        depth -= part.tag == FG_VALUE_CLOSE;
    }
    return true;
}

bool fg_value_next(const uint8_t **data, const uint8_t *end, struct fg_value *value)
{
    if (!fg_value_token(data, end, value) || value->tag == FG_VALUE_CLOSE || value->tag == FG_VALUE_NAME)
        return false;
    return value->tag != FG_VALUE_OPEN || take_parts(data, end, value);
}

bool fg_value_next_attribute(const struct fg_value *value, const uint8_t **at, struct fg_value *name,
                             const uint8_t **begin, struct fg_value *part)
{
    if (value->tag != FG_VALUE_OPEN || value->form != FG_FORM_CALL)
        return false;
    while (*at < value->parts_end && **at != FG_VALUE_NAME) /* arguments of an exception */
        if (!fg_value_next(at, value->parts_end, part))
            return false;
    if (!fg_value_token(at, value->parts_end, name))
        return false;
    *begin = *at;
    return fg_value_next(at, value->parts_end, part);
}

size_t fg_values_bytes(const uint8_t *values, const uint8_t *end)
{
    const uint8_t *at = values, *whole = values;
    struct fg_value value;

    while (fg_value_next(&at, end, &value))
        whole = at;
    return (size_t)(whole - values);
}

bool fg_values_are_discarded(const uint8_t *at, const uint8_t *end)
{
    return at < end && *at == FG_VALUE_DISCARDED;
}

struct fg_value fg_value_without_parts(const struct fg_value *value)
{
    static const char *const types[] = {[FG_FORM_CALL] = "",
                                        [FG_FORM_LIST] = "list",
                                        [FG_FORM_TUPLE] = "tuple",
                                        [FG_FORM_SET] = "set",
                                        [FG_FORM_DICT] = "dict"};
    struct fg_value whole = *value;

    if (value->tag != FG_VALUE_OPEN)
        return whole;
    whole.parts = whole.parts_end = NULL;
    whole.tag = value->form == FG_FORM_CALL ? FG_VALUE_OBJECT : FG_VALUE_SIZED;
    if (!value->text_bytes && value->form < sizeof(types) / sizeof(*types)) {
        whole.text = types[value->form];
        whole.text_bytes = (uint32_t)strlen(whole.text);
    }
    if (whole.tag == FG_VALUE_OBJECT)
        whole.address = 0;
    return whole;
}

void fg_values_clear_addresses(uint8_t *values, size_t bytes)
{
    const uint8_t *at = values, *end = values + bytes;
    struct fg_value token;
    uint8_t *begin = values;

    for (; at < end && fg_value_token(&at, end, &token); begin = values + (at - values))
        if (token.tag == FG_VALUE_OBJECT)
            memset(begin + 1, 0, sizeof(token.address));
}

/* As Python's repr: the fewest digits that read back as the same double, and an exponent below 1e-4 and
 * from 1e16 on. */
static void print_float(struct fg_text *text, double real)
{
    if (isnan(real)) {
        fg_text_lit(text, "nan");
        return;
    }
    if (signbit(real))
        fg_text_char(text, '-');
    real = fabs(real);
    if (isinf(real)) {
        fg_text_lit(text, "inf");
        return;
    }
    char digits[32];
    /* Any 15 digits survive the conversion to a double and back, so fewer need not be tried; trailing
     * zeros are cut below. Denormal numbers have fewer digits. */
    for (int precision = real < DBL_MIN ? 0 : 14; precision <= 16; precision++) {
        snprintf(digits, sizeof(digits), "%#.*e", precision, real);
        if (strtod(digits, NULL) == real)
            break;
    }
    /* "d.dddde+xx" (with "#" there is always a point): split it into its exponent and its digits without
     * trailing zeros. */
    char *exponent_text = strchr(digits, 'e');
    int exponent = atoi(exponent_text + 1);
    memmove(digits + 1, digits + 2, (size_t)(exponent_text - digits - 2));
    int count = (int)(exponent_text - digits) - 1;
    while (count > 1 && digits[count - 1] == '0')
        count--;

    if (exponent < -4 || exponent >= 16) {
        fg_text_char(text, digits[0]);
        if (count > 1) {
            fg_text_char(text, '.');
            fg_text_put(text, digits + 1, (size_t)count - 1);
        }
        fg_text_lit(text, "e");
        fg_text_char(text, exponent < 0 ? '-' : '+');
        fg_text_u64(text, (uint64_t)abs(exponent), 2, '0');
    } else if (exponent < 0) {
        fg_text_lit(text, "0.");
        fg_text_fill(text, '0', (size_t)(-exponent - 1));
        fg_text_put(text, digits, (size_t)count);
    } else {
        int whole = count < exponent + 1 ? count : exponent + 1;
        fg_text_put(text, digits, (size_t)whole);
        fg_text_fill(text, '0', (size_t)(exponent + 1 - whole));
        fg_text_char(text, '.');
        if (count > whole)
            fg_text_put(text, digits + whole, (size_t)(count - whole));
        else
            fg_text_char(text, '0');
    }
}

static void print_length(struct fg_text *text, uint64_t length)
{
    fg_text_char(text, '(');
    fg_text_u64(text, length, 0, ' ');
    fg_text_char(text, ')');
}

/* As Python: double quotes only around a text with single quotes and without double quotes. */
static char quote_for(const struct fg_value *value)
{
    bool has_single = memchr(value->text, '\'', value->text_bytes) != NULL;
    return has_single && !memchr(value->text, '"', value->text_bytes) ? '"' : '\'';
}

static void print_str(struct fg_text *text, const struct fg_value *value)
{
    char quote = quote_for(value);
    fg_text_char(text, quote);
    uint64_t shown = fg_text_escaped(text, value->text, value->text_bytes, quote);
    fg_text_char(text, quote);
    if (shown < value->length) {
        fg_text_lit(text, "...");
        print_length(text, value->length);
    }
}

static void print_bytes(struct fg_text *text, const struct fg_value *value)
{
    char quote = quote_for(value);
    fg_text_char(text, 'b');
    fg_text_char(text, quote);
    for (uint32_t i = 0; i < value->text_bytes; i++) {
        unsigned char byte = (unsigned char)value->text[i];
        if (byte < 0x80)
            fg_text_escaped(text, value->text + i, 1, quote);
        else /* a byte is no character, whatever bytes follow */
            fg_text_byte(text, byte);
    }
    fg_text_char(text, quote);
    if (value->text_bytes < value->length) {
        fg_text_lit(text, "...");
        print_length(text, value->length);
    }
}

static void print_integer(struct fg_text *text, int64_t integer, bool hex)
{
    if (!hex) {
        fg_text_i64(text, integer);
        return;
    }
    if (integer < 0)
        fg_text_char(text, '-');
    fg_text_hex(text, integer < 0 ? -(uint64_t)integer : (uint64_t)integer);
}

static unsigned unused_bits(const struct fg_value *word)
{
    return word->size_bytes - 1u < 7 ? 64 - 8u * word->size_bytes : 0;
}

int64_t fg_word_error(const struct fg_value *value)
{
    unsigned unused = unused_bits(value);
    uint64_t word = value->word << unused >> unused;
    uint64_t below_zero = (UINT64_MAX >> unused) - word + 1;

    return word && below_zero <= 4095 ? -(int64_t)below_zero : 0;
}

static void print_word(struct fg_text *text, const struct fg_value *value, bool hex)
{
    unsigned unused = unused_bits(value);
    int64_t error = hex ? 0 : fg_word_error(value);

    if (error)
        fg_text_i64(text, error);
    else
        fg_text_hex(text, value->word << unused >> unused);
}

/* ---- what has parts */

/* A level of parts that are being printed. */
struct level {
    struct fg_value value;
    uint64_t n; /* values in it so far */
    bool is_cut, has_name;
};

static const struct {
    const char *open, *close;
} brackets[] = {
    [FG_FORM_CALL] = {"(", ")"}, [FG_FORM_LIST] = {"[", "]"}, [FG_FORM_TUPLE] = {"(", ")"},
    [FG_FORM_SET] = {"{", "}"},  [FG_FORM_DICT] = {"{", "}"},
};

static bool is_in_call(const struct level *level)
{
    return level->value.form != FG_FORM_CALL && level->value.text_bytes;
}

static void begin_level(struct fg_text *text, struct level *level, const struct fg_value *value)
{
    *level = (struct level){.value = *value};
    if (level->value.form >= sizeof(brackets) / sizeof(brackets[0])) /* of a later version */
        level->value.form = FG_FORM_CALL;
    if (value->form == FG_FORM_SET && !value->length) { /* {} is a dict */
        level->value.form = FG_FORM_CALL;
        if (!value->text_bytes)
            fg_text_lit(text, "set");
    }
    fg_text_escaped(text, value->text, value->text_bytes, 0);
    if (is_in_call(level))
        fg_text_char(text, '(');
    fg_text_puts(text, brackets[level->value.form].open);
}

static void end_level(struct fg_text *text, const struct level *level)
{
    uint32_t form = level->value.form;
    bool is_one = form == FG_FORM_TUPLE && level->n == 1 && !level->is_cut;
    fg_text_puts(text, is_one ? ",)" : brackets[form].close);
    if (is_in_call(level))
        fg_text_char(text, ')');
    if (level->is_cut && form != FG_FORM_CALL)
        print_length(text, level->value.length);
}

/* What stands before a part. */
static void print_separator(struct fg_text *text, struct level *level)
{
    if (level->has_name)
        level->has_name = false;
    else if (level->value.form == FG_FORM_DICT && level->n % 2)
        fg_text_lit(text, ": ");
    else if (level->n)
        fg_text_lit(text, ", ");
    level->n++;
}

static void print_part_name(struct fg_text *text, struct level *level, const struct fg_value *name)
{
    print_separator(text, level);
    fg_text_escaped(text, name->text, name->text_bytes, 0);
    fg_text_char(text, '=');
    level->has_name = true;
    level->n--;
}

/* A level more than tracers write is left out. */
static void print_parts(struct fg_text *text, const struct fg_value *value, bool hex)
{
    struct level levels[FG_VALUE_MAX_DEPTH + 2];
    const unsigned most = sizeof(levels) / sizeof(levels[0]);
    const uint8_t *data = value->parts;
    struct fg_value part;
    unsigned depth = 0, left_out = 0;

    begin_level(text, &levels[0], value);
    while (fg_value_token(&data, value->parts_end, &part)) {
        struct level *level = &levels[depth];

        if (left_out) {
            left_out += part.tag == FG_VALUE_OPEN;
            left_out -= part.tag == FG_VALUE_CLOSE;
        } else if (part.tag == FG_VALUE_CLOSE) {
            end_level(text, level);
            depth--;
        } else if (part.tag == FG_VALUE_NAME) {
            print_part_name(text, level, &part);
        } else if (part.tag == FG_VALUE_OPEN && depth + 1 == most) {
            print_separator(text, level);
            fg_text_lit(text, "...");
            left_out = 1;
        } else if (part.tag == FG_VALUE_OPEN) {
            print_separator(text, level);
            begin_level(text, &levels[++depth], &part);
        } else {
            level->is_cut |= part.tag == FG_VALUE_MORE;
            print_separator(text, level);
            fg_value_print(text, &part, hex);
        }
    }
    end_level(text, &levels[0]);
}

static void print_shown(struct fg_text *text, const struct fg_value *value)
{
    fg_text_escaped(text, value->type, value->type_bytes, 0);
    fg_text_char(text, '(');
    print_str(text, value);
    fg_text_char(text, ')');
}

void fg_value_print(struct fg_text *text, const struct fg_value *value, bool hex)
{
    switch ((enum fg_value_tag)value->tag) {
    case FG_VALUE_NONE:
        fg_text_lit(text, "None");
        break;
    case FG_VALUE_TRUE:
        fg_text_lit(text, "True");
        break;
    case FG_VALUE_FALSE:
        fg_text_lit(text, "False");
        break;
    case FG_VALUE_INT8:
    case FG_VALUE_INT64:
        print_integer(text, value->integer, hex);
        break;
    case FG_VALUE_BIGINT:
        if (value->negative)
            fg_text_char(text, '-');
        fg_text_lit(text, "int(");
        fg_text_u64(text, value->length, 0, ' ');
        fg_text_lit(text, " bits)");
        break;
    case FG_VALUE_FLOAT:
        print_float(text, value->real);
        break;
    case FG_VALUE_STR:
        print_str(text, value);
        break;
    case FG_VALUE_BYTES:
        print_bytes(text, value);
        break;
    case FG_VALUE_SIZED:
        fg_text_escaped(text, value->text, value->text_bytes, 0);
        print_length(text, value->length);
        break;
    case FG_VALUE_OBJECT:
        fg_text_char(text, '<');
        fg_text_escaped(text, value->text, value->text_bytes, 0);
        fg_text_lit(text, " at ");
        fg_text_hex(text, value->address);
        fg_text_char(text, '>');
        break;
    case FG_VALUE_UNBOUND:
        fg_text_lit(text, "<unbound>");
        break;
    case FG_VALUE_MORE:
        fg_text_lit(text, "...");
        break;
    case FG_VALUE_WORD:
        print_word(text, value, hex);
        break;
    case FG_VALUE_SHOWN:
        print_shown(text, value);
        break;
    case FG_VALUE_MEMBER:
        fg_text_escaped(text, value->text, value->text_bytes, 0);
        break;
    case FG_VALUE_OPEN:
        print_parts(text, value, hex);
        break;
    case FG_VALUE_HIDDEN:
        fg_text_lit(text, "<redacted>");
        break;
    case FG_VALUE_FAULT:
        fg_text_lit(text, "(fault)");
        break;
    case FG_VALUE_TEXT:
    case FG_VALUE_DATA:
    case FG_VALUE_CLOSE:
    case FG_VALUE_NAME: /* no values: fg_value_next() */
    case FG_VALUE_END:
    case FG_VALUE_DISCARDED:
        break;
    }
}
