/* The code of a process, and what a return address looks like: it is the address after a call instruction. */
#ifndef FG_INJECT_UNWIND_CODE_H
#define FG_INJECT_UNWIND_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "inject/unwind/memory.h"

struct fg_range {
    uint64_t low, high; /* [low, high) */
};

/* One executable segment of an executable or a library. */
struct fg_segment {
    uint64_t low, high;             /* [low, high) */
    uint64_t image_low, image_high; /* the whole image, with the tables for unwinding */
    uint64_t index, index_bytes;    /* its .eh_frame_hdr; 0: it has none */
};

struct fg_code {
    const struct fg_segment *segments; /* in the order of their addresses */
    size_t nr_segments;
    uint64_t signal_return; /* what signal handlers return to; 0: not known */
};

/* Return: the segment that an address is in, or NULL. */
const struct fg_segment *fg_code_segment(const struct fg_code *code, uint64_t address);

/**
 * fg_code_is_after_call() - Whether the instruction before an address can be a call.
 *
 * A relative call leads to the image that it is in: to a function, or to the image's linkage table. Code
 * outside of all segments, as a JIT compiler makes it, may call anything.
 */
bool fg_code_is_after_call(const struct fg_code *code, struct fg_memory *memory, uint64_t address);

#endif
