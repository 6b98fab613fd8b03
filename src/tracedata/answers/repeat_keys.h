/* The calls of a run by their arguments: how often each was made, and whether the result was the same. */
#ifndef FG_REPEAT_KEYS_H
#define FG_REPEAT_KEYS_H

#include <stdbool.h>

#include "engine/base/hash_table.h"
#include "tracedata/base/text.h"

#define FG_MOST_KEYS (1u << 20) /* then those that were met once are forgotten */

struct fg_repeat_key {
    uint64_t hash;
    uint64_t calls, hits;
    uint64_t hit_ns;
    uint64_t first_ns; /* when the first call with a result ended */
    uint64_t result;   /* the hash of the first result */
    uint32_t func;
    uint32_t text_at, text_bytes; /* from the second time on; 0: there is none */
    bool has_result, differs;
};

struct fg_repeat_keys {
    struct fg_repeat_key *keys;
    size_t n, capacity;
    struct fg_hash_table table; /* 1 + place */
    struct fg_text texts;
    uint64_t forgotten;
};

void fg_repeat_keys_free(struct fg_repeat_keys *keys);

struct fg_repeat_key *fg_repeat_keys_find(const struct fg_repeat_keys *keys, uint64_t hash);
/* Adds the key if it is not there. @text: kept at the second call. NULL: memory is short. Keys may move. */
struct fg_repeat_key *fg_repeat_keys_count(struct fg_repeat_keys *keys, uint64_t hash, uint32_t func,
                                           const void *text, size_t bytes);

#endif
