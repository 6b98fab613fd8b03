/* Verdicts about names and classes that are met again and again: which names --redact hides, which classes
 * are ordinary. Each is one word: a hash of what it is about, and the verdict in its lowest bit. It is read
 * and written at once, so threads and interpreters share the table without a lock. A later verdict replaces
 * an earlier one in its place. */
#ifndef FG_CPYTHON_VERDICTS_H
#define FG_CPYTHON_VERDICTS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/base/hash_table.h"

#define FG_VERDICT_PLACES 1024u

struct fg_verdicts {
    _Atomic uint64_t words[FG_VERDICT_PLACES];
};

/* @what and @which together are what the verdict is about. */
static inline uint64_t fg_verdict_key(uint64_t what, uint64_t which)
{
    return fg_hash_uint64(fg_hash_uint64(what) + which) | 1;
}

/* Return: 0 or 1; -1: there is none. */
static inline int fg_verdict_find(const struct fg_verdicts *verdicts, uint64_t key)
{
    uint64_t word = atomic_load_explicit(&verdicts->words[key >> 54], memory_order_relaxed);

    return (word | 1) == key ? (int)(word & 1) : -1;
}

static inline void fg_verdict_keep(struct fg_verdicts *verdicts, uint64_t key, bool verdict)
{
    atomic_store_explicit(&verdicts->words[key >> 54], key - !verdict, memory_order_relaxed);
}

#endif
