/* Reading numbers of DWARF out of memory that may be damaged (DWARF 5, 7.6; Linux Standard Base 5.0, "DWARF
 * Extensions", for encodings). */
#ifndef FG_INJECT_UNWIND_CURSOR_H
#define FG_INJECT_UNWIND_CURSOR_H

#include "inject/unwind/memory.h"

struct fg_cursor {
    struct fg_memory *memory;
    uint64_t at, end;
    bool damaged; /* there was less, or something that is not known: all further numbers are 0 */
};

/* Encodings of pointers: the format in the lower bits, what it is relative to above. */
enum {
    FG_ENCODING_UDATA4 = 0x03,
    FG_ENCODING_SDATA4 = 0x0b,
    FG_ENCODING_PCREL = 0x10,
    FG_ENCODING_DATAREL = 0x30,
    FG_ENCODING_FORMAT = 0x0f,
};

bool fg_cursor_is_at_end(const struct fg_cursor *cursor);

/* The next number of 1, 2, 4 or 8 bytes; a signed one is extended. */
uint64_t fg_cursor_fixed(struct fg_cursor *cursor, size_t bytes);
int64_t fg_cursor_signed(struct fg_cursor *cursor, size_t bytes);

/* The next number of the variable length that DWARF calls LEB128. */
uint64_t fg_cursor_uleb(struct fg_cursor *cursor);
int64_t fg_cursor_sleb(struct fg_cursor *cursor);

/**
 * fg_cursor_pointer() - The next pointer.
 * @encoding: absolute, or relative to where it lies
 */
uint64_t fg_cursor_pointer(struct fg_cursor *cursor, uint8_t encoding);

/* Leave bytes out. */
void fg_cursor_skip(struct fg_cursor *cursor, uint64_t bytes);

#endif
