/* See code.h. */
#include "inject/unwind/code.h"

#include <string.h>

const struct fg_segment *fg_code_segment(const struct fg_code *code, uint64_t address)
{
    size_t low = 0, high = code->nr_segments;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct fg_segment *segment = &code->segments[middle];

        if (address < segment->low)
            high = middle;
        else if (address >= segment->high)
            low = middle + 1;
        else
            return segment;
    }
    return NULL;
}

/* Calls, by the Intel SDM (volume 2, CALL and tables 2-2 and 2-3): E8 rel32, or FF /2 with the bytes that
 * addressing takes. Prefixes may be before that. */
enum { RELATIVE_BYTES = 5, MAX_BYTES = 7, CALL = 0xe8, INDIRECT = 0xff };

static bool is_relative(const struct fg_code *code, uint64_t address, const uint8_t *end)
{
    const struct fg_segment *from = fg_code_segment(code, address - 1), *to;
    int32_t distance;

    if (end[-RELATIVE_BYTES] != CALL)
        return false;
    memcpy(&distance, end - sizeof(distance), sizeof(distance));
    to = fg_code_segment(code, address + (uint64_t)(int64_t)distance);
    return from == NULL || (to != NULL && to->image_low == from->image_low);
}

/* Return: length of an indirect call that begins here, without prefixes; 0: it is none. */
static size_t indirect_bytes(const uint8_t *start)
{
    enum { WITH_SIB = 4, NO_BASE = 5 };
    uint8_t mode = start[1] >> 6, rm = start[1] & 7;
    size_t sib = mode != 3 && rm == WITH_SIB;
    uint8_t base = sib ? start[2] & 7 : rm;

    if (start[0] != INDIRECT || (start[1] >> 3 & 7) != 2)
        return 0;
    switch (mode) {
    case 0:
        return 2 + sib + (base == NO_BASE ? 4 : 0);
    case 1:
        return 2 + sib + 1;
    case 2:
        return 2 + sib + 4;
    default:
        return 2;
    }
}

bool fg_code_is_after_call(const struct fg_code *code, struct fg_memory *memory, uint64_t address)
{
    uint8_t before[MAX_BYTES + 1] = {0}; /* one more: a length is known by up to three bytes */
    size_t bytes;

    if (address < MAX_BYTES || !fg_memory_read(memory, address - MAX_BYTES, before, MAX_BYTES))
        return false;
    if (is_relative(code, address, before + MAX_BYTES))
        return true;
    for (bytes = 2; bytes <= MAX_BYTES; bytes++) {
        if (indirect_bytes(before + MAX_BYTES - bytes) == bytes)
            return true;
    }
    return false;
}
