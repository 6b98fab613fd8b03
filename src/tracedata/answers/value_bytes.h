/* A hash of recorded values. */
#ifndef FG_VALUE_BYTES_H
#define FG_VALUE_BYTES_H

#include <stdint.h>
#include <string.h>

#include "engine/base/hash_table.h"
#include "tracedata/base/values.h"

/* A hash of bytes, eight at a time. Keys of the answers are compared by it alone, so it has 64 good bits. */
static inline uint64_t fg_hash_values(uint64_t hash, const void *data, size_t bytes)
{
    const uint8_t *at = data;
    uint64_t word = 0;

    hash = fg_hash_uint64(hash + bytes);
    for (; bytes >= 8; bytes -= 8, at += 8) {
        memcpy(&word, at, 8);
        hash = fg_hash_uint64((hash << 27 | hash >> 37) ^ word);
    }
    if (bytes) {
        word = 0;
        memcpy(&word, at, bytes);
        hash = fg_hash_uint64((hash << 27 | hash >> 37) ^ word);
    }
    return fg_hash_uint64(hash ^ hash >> 29);
}

#endif
