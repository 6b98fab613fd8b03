/* A growing text, for printing millions of lines: appends without format strings.
 *
 * When an allocation fails, `failed` is set and what does not fit is dropped. The owner looks at `failed`
 * once, after the last append. A text of zeros is an empty one. */
#ifndef FG_TEXT_H
#define FG_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct fg_text {
    char *data;
    size_t bytes;
    size_t capacity;
    bool failed;
};

void fg_text_free(struct fg_text *text);

/* The slow path of fg_text_reserve(). */
bool fg_text_grow(struct fg_text *text, size_t bytes);

/* Makes room for `bytes` more; false, and `failed` is set, if memory is short. */
static inline bool fg_text_reserve(struct fg_text *text, size_t bytes)
{
    return text->capacity - text->bytes >= bytes || fg_text_grow(text, bytes);
}

static inline void fg_text_put(struct fg_text *text, const char *data, size_t bytes)
{
    if (!bytes || !fg_text_reserve(text, bytes))
        return;
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
}

/* Appends a string literal. */
#define fg_text_lit(text, literal) fg_text_put(text, "" literal, sizeof(literal) - 1)

static inline void fg_text_puts(struct fg_text *text, const char *string)
{
    fg_text_put(text, string, strlen(string));
}

static inline void fg_text_char(struct fg_text *text, char c)
{
    if (fg_text_reserve(text, 1))
        text->data[text->bytes++] = c;
}

static inline void fg_text_fill(struct fg_text *text, char c, size_t count)
{
    if (!count || !fg_text_reserve(text, count))
        return;
    memset(text->data + text->bytes, c, count);
    text->bytes += count;
}

/* Writes the decimal digits of `value` to `digits`, which has room for 20; returns how many there are. */
static inline unsigned fg_digits(uint64_t value, char *digits)
{
    char reversed[20];
    unsigned count = 0;
    do {
        reversed[count++] = (char)('0' + value % 10);
        value /= 10;
    } while (value);
    for (unsigned i = 0; i < count; i++)
        digits[i] = reversed[count - 1 - i];
    return count;
}

/* Decimal, padded on the left with `fill` to at least `width` characters. */
static inline void fg_text_u64(struct fg_text *text, uint64_t value, unsigned width, char fill)
{
    char digits[20];
    unsigned count = fg_digits(value, digits);
    if (count < width)
        fg_text_fill(text, fill, width - count);
    fg_text_put(text, digits, count);
}

void fg_text_i64(struct fg_text *text, int64_t value);
void fg_text_hex(struct fg_text *text, uint64_t value);      /* 0x2a */
void fg_text_byte(struct fg_text *text, unsigned char byte); /* \xff */

/**
 * fg_text_escaped() - Append text from a traced program so that it is harmless for a terminal.
 * @quote: a quotation mark to escape too, together with the backslash; or 0
 *
 * Control characters, bidirectional overrides and bytes that are not UTF-8 become escapes. An incomplete
 * character at the end was cut by the recording and is left out.
 *
 * Return: how many characters of @data were printed.
 */
size_t fg_text_escaped(struct fg_text *text, const char *data, size_t bytes, char quote);

#endif
