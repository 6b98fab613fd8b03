/* Walks a header from front to back. The first error stays, and all later steps do nothing: numbers are 0. */
#ifndef FG_HEADER_WALK_H
#define FG_HEADER_WALK_H

#include "tracedata/base/text.h"
#include "tracedata/read/dat/input.h"

struct fg_header_walk {
    struct fg_input input;
    uint64_t offset;
    int error;
    char *reason; /* FG_REASON_BYTES */
};

void fg_walk_read(struct fg_header_walk *walk, void *into, size_t bytes);
uint16_t fg_walk_u16(struct fg_header_walk *walk);
uint32_t fg_walk_u32(struct fg_header_walk *walk);
uint64_t fg_walk_u64(struct fg_header_walk *walk);
void fg_walk_skip(struct fg_header_walk *walk, uint64_t bytes);

/* Reads a text up to its NUL; what does not fit in `room` is left out. */
void fg_walk_text(struct fg_header_walk *walk, char *text, size_t room);

/* Appends a text with its NUL. */
void fg_walk_name(struct fg_header_walk *walk, struct fg_text *names);

/* Expects these bytes, at most 16, with the NUL of `expected`. */
void fg_walk_expect(struct fg_header_walk *walk, const char *expected, size_t bytes);

#endif
