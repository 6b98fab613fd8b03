/* See cursor.h. */
#include "inject/unwind/cursor.h"

#include <string.h>

bool fg_cursor_is_at_end(const struct fg_cursor *cursor)
{
    return cursor->damaged || cursor->at >= cursor->end;
}

uint64_t fg_cursor_fixed(struct fg_cursor *cursor, size_t bytes)
{
    uint64_t number = 0;

    if (fg_cursor_is_at_end(cursor) || cursor->end - cursor->at < bytes ||
        !fg_memory_read(cursor->memory, cursor->at, &number, bytes)) {
        cursor->damaged = true;
        return 0;
    }
    cursor->at += bytes;
    return number;
}

int64_t fg_cursor_signed(struct fg_cursor *cursor, size_t bytes)
{
    unsigned unused = 64 - 8 * (unsigned)bytes;

    return (int64_t)(fg_cursor_fixed(cursor, bytes) << unused) >> unused;
}

/* Return: the number; *bits: how many bits it was written with. */
static uint64_t leb(struct fg_cursor *cursor, unsigned *bits)
{
    uint64_t number = 0, byte;

    *bits = 0;
    do {
        byte = fg_cursor_fixed(cursor, 1);
        if (*bits >= 64) {
            cursor->damaged = true;
            return 0;
        }
        number |= (byte & 0x7f) << *bits;
        *bits += 7;
    } while (byte & 0x80);
    return number;
}

uint64_t fg_cursor_uleb(struct fg_cursor *cursor)
{
    unsigned bits;

    return leb(cursor, &bits);
}

int64_t fg_cursor_sleb(struct fg_cursor *cursor)
{
    unsigned bits;
    uint64_t number = leb(cursor, &bits);

    if (bits < 64 && number >> (bits - 1) & 1)
        number |= UINT64_MAX << bits;
    return (int64_t)number;
}

static uint64_t number_of(struct fg_cursor *cursor, uint8_t format)
{
    switch (format) {
    case 0x00: /* as wide as an address */
    case 0x04:
    case 0x0c:
        return fg_cursor_fixed(cursor, 8);
    case 0x01:
        return fg_cursor_uleb(cursor);
    case 0x02:
        return fg_cursor_fixed(cursor, 2);
    case FG_ENCODING_UDATA4:
        return fg_cursor_fixed(cursor, 4);
    case 0x09:
        return (uint64_t)fg_cursor_sleb(cursor);
    case 0x0a:
        return (uint64_t)fg_cursor_signed(cursor, 2);
    case FG_ENCODING_SDATA4:
        return (uint64_t)fg_cursor_signed(cursor, 4);
    default:
        cursor->damaged = true;
        return 0;
    }
}

uint64_t fg_cursor_pointer(struct fg_cursor *cursor, uint8_t encoding)
{
    uint64_t start = cursor->at, number = number_of(cursor, encoding & FG_ENCODING_FORMAT);

    switch (encoding & ~FG_ENCODING_FORMAT) {
    case 0:
        return number;
    case FG_ENCODING_PCREL:
        return start + number;
    default:
        cursor->damaged = true;
        return 0;
    }
}

void fg_cursor_skip(struct fg_cursor *cursor, uint64_t bytes)
{
    if (cursor->damaged || bytes > cursor->end - cursor->at)
        cursor->damaged = true;
    else
        cursor->at += bytes;
}
