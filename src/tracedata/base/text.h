/* A growing piece of text, made for printing millions of lines: plain appends, no format strings on the hot
 * path. An allocation that fails sets `failed` and drops what does not fit; the owner asks once, when all is
 * written. */
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

/* Makes room for `bytes` more. */
bool fg_text_grow(struct fg_text *text, size_t bytes);

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

/* A string literal. */
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

/* Decimal digits of `value`; returns how many. `digits` has room for 20. */
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

/* Decimal, right-aligned in at least `width` characters with `fill` in front. */
static inline void fg_text_u64(struct fg_text *text, uint64_t value, unsigned width, char fill)
{
    char digits[20];
    unsigned count = fg_digits(value, digits);
    if (count < width)
        fg_text_fill(text, fill, width - count);
    fg_text_put(text, digits, count);
}

void fg_text_i64(struct fg_text *text, int64_t value);
void fg_text_hex(struct fg_text *text, uint64_t value);      /* with 0x in front */
void fg_text_byte(struct fg_text *text, unsigned char byte); /* as \xff */

/* Text from a traced program, made harmless for a terminal: control characters, bidirectional overrides and
 * bytes that are no UTF-8 appear as escapes; with a `quote` (else 0), that and the backslash do too. An
 * incomplete character at the end was cut by the recording and is left out. Returns how many characters of
 * `data` were printed. */
size_t fg_text_escaped(struct fg_text *text, const char *data, size_t bytes, char quote);

#endif
