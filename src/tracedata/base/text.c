/* See text.h. */
#include "tracedata/base/text.h"

#include <stdlib.h>

#include "engine/base/array.h"

#define LEAST_BYTES 4096u

void fg_text_free(struct fg_text *text)
{
    free(text->data);
    *text = (struct fg_text){0};
}

bool fg_text_grow(struct fg_text *text, size_t bytes)
{
    size_t needed = text->bytes + bytes;

    if (needed < LEAST_BYTES)
        needed = LEAST_BYTES;
    if (bytes > SIZE_MAX - text->bytes || fg_array_reserve(&text->data, &text->capacity, needed) < 0) {
        text->failed = true;
        return false;
    }
    return true;
}

void fg_text_i64(struct fg_text *text, int64_t value)
{
    if (value < 0)
        fg_text_char(text, '-');
    fg_text_u64(text, value < 0 ? -(uint64_t)value : (uint64_t)value, 0, ' ');
}

static const char hex_digits[] = "0123456789abcdef";

void fg_text_hex(struct fg_text *text, uint64_t value)
{
    unsigned digits = 1;
    while (digits < 16 && value >> (4 * digits))
        digits++;
    fg_text_lit(text, "0x");
    while (digits-- > 0)
        fg_text_char(text, hex_digits[value >> (4 * digits) & 15]);
}

/* The length of the UTF-8 character at `data`, and its code point. 0: not UTF-8. -1: cut short. Lone
 * surrogates, which a Python str may hold, are let through here. */
static int utf8_length(const unsigned char *data, size_t bytes, uint32_t *code)
{
    static const uint32_t smallest[] = {0, 0, 0x80, 0x800, 0x10000};
    int length = data[0] < 0x80       ? 1
                 : data[0] >> 5 == 6  ? 2
                 : data[0] >> 4 == 14 ? 3
                 : data[0] >> 3 == 30 ? 4
                                      : 0;
    if (length < 2) {
        *code = data[0];
        return length;
    }
    *code = data[0] & (0x7fu >> length);
    for (int i = 1; i < length; i++) {
        if ((size_t)i == bytes)
            return -1;
        if (data[i] >> 6 != 2)
            return 0;
        *code = *code << 6 | (data[i] & 63);
    }
    return *code < smallest[length] || *code > 0x10ffff ? 0 : length;
}

/* C0 and C1 controls, format characters that reorder or hide text, and lone surrogates. names.py has these,
 * too. */
static bool is_unprintable(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0xad || code == 0x61c ||
           (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
           (code >= 0x2060 && code <= 0x206f) || (code >= 0xd800 && code <= 0xdfff) || code == 0xfeff;
}

void fg_text_byte(struct fg_text *text, unsigned char byte)
{
    fg_text_lit(text, "\\x");
    fg_text_char(text, hex_digits[byte >> 4]);
    fg_text_char(text, hex_digits[byte & 15]);
}

static void put_escape(struct fg_text *text, uint32_t code)
{
    if (code == '\n')
        fg_text_lit(text, "\\n");
    else if (code == '\r')
        fg_text_lit(text, "\\r");
    else if (code == '\t')
        fg_text_lit(text, "\\t");
    else if (code < 0x100)
        fg_text_byte(text, (unsigned char)code);
    else {
        fg_text_lit(text, "\\u");
        for (int shift = 12; shift >= 0; shift -= 4)
            fg_text_char(text, hex_digits[code >> shift & 15]);
    }
}

size_t fg_text_escaped(struct fg_text *text, const char *data, size_t bytes, char quote)
{
    const unsigned char *at = (const unsigned char *)data, *end = at + bytes;
    size_t characters = 0;
    for (; at < end; characters++) {
        uint32_t code;
        int length = utf8_length(at, (size_t)(end - at), &code);
        if (length == -1)
            break;
        if (length == 0) {
            fg_text_byte(text, *at++);
            continue;
        }
        if (is_unprintable(code)) {
            put_escape(text, code);
        } else {
            if (quote && (code == (unsigned char)quote || code == '\\'))
                fg_text_char(text, '\\');
            fg_text_put(text, (const char *)at, (size_t)length);
        }
        at += length;
    }
    return characters;
}
