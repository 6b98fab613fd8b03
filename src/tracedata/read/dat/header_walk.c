/* See header_walk.h. */
#include "tracedata/read/dat/header_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "tracedata/base/trace_event.h"

#define NAME_MAX_BYTES 4096

void fg_walk_read(struct fg_header_walk *walk, void *into, size_t bytes)
{
    memset(into, 0, bytes);
    if (!walk->error)
        walk->error = fg_input_read(&walk->input, walk->offset, into, bytes, walk->reason);
    walk->offset += bytes;
}

uint16_t fg_walk_u16(struct fg_header_walk *walk)
{
    uint8_t bytes[2];

    fg_walk_read(walk, bytes, sizeof(bytes));
    return fg_load16(bytes);
}

uint32_t fg_walk_u32(struct fg_header_walk *walk)
{
    uint8_t bytes[4];

    fg_walk_read(walk, bytes, sizeof(bytes));
    return fg_load32(bytes);
}

uint64_t fg_walk_u64(struct fg_header_walk *walk)
{
    uint8_t bytes[8];

    fg_walk_read(walk, bytes, sizeof(bytes));
    return fg_load64(bytes);
}

void fg_walk_skip(struct fg_header_walk *walk, uint64_t bytes)
{
    if (walk->error)
        return;
    if (bytes > walk->input.bytes - walk->offset)
        walk->error =
            fg_refuse(walk->reason, "truncated: it ends at byte %" PRIu64 ", in the middle of its header",
                      walk->input.bytes);
    else
        walk->offset += bytes;
}

void fg_walk_text(struct fg_header_walk *walk, char *text, size_t room)
{
    size_t length = 0;
    char c = 1;

    while (c && !walk->error) {
        fg_walk_read(walk, &c, 1);
        if (length + 1 < room)
            text[length++] = c;
    }
    text[length] = 0;
}

void fg_walk_name(struct fg_header_walk *walk, struct fg_text *names)
{
    size_t begin = names->bytes;
    char c = 1;

    while (c && !walk->error) {
        fg_walk_read(walk, &c, 1);
        if (!walk->error)
            fg_text_char(names, c);
        if (names->bytes - begin > NAME_MAX_BYTES && !walk->error)
            walk->error = fg_refuse(walk->reason, "damaged: a name has over %d bytes", NAME_MAX_BYTES);
    }
    if (names->failed && !walk->error)
        walk->error = -ENOMEM;
}

void fg_walk_expect(struct fg_header_walk *walk, const char *expected, size_t bytes)
{
    char found[16];
    uint64_t offset = walk->offset;

    fg_walk_read(walk, found, bytes);
    if (!walk->error && memcmp(found, expected, bytes) != 0)
        walk->error =
            fg_refuse(walk->reason, "damaged: no \"%s\" section at byte %" PRIu64, expected, offset);
}
