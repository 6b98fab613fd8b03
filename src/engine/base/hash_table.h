/* A hash table, and the hash functions of all tables.
 *
 * The table maps a 64-bit hash to a value that is not 0: a pointer, or 1 + an index into the owner's
 * array. It is open-addressed with linear probing, and holds no keys: several values may have the same
 * hash, and the owner compares keys.
 *
 *     slot = fg_hash_first(&table, hash);
 *     while (slot && !is_same(&things[slot->value - 1], key))
 *         slot = fg_hash_next(&table, slot);
 *
 * The hash of a 64-bit number or a pointer is one-to-one. For such keys equal hashes mean equal keys, and
 * fg_hash_find() needs no comparison. A zeroed table is empty. The table takes no lock. */
#ifndef FG_HASH_TABLE_H
#define FG_HASH_TABLE_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "engine/base/compiler.h"

/* ---- hash functions */

/* One-to-one. Aligned addresses are alike in their lowest bits, small numbers in their high bits. The
 * multiplication (2^64 / golden ratio, Knuth 6.4) carries differences in the low bits upwards. The shift
 * brings them back down, to the bits that select a slot. */
static inline uint64_t fg_hash_uint64(uint64_t key)
{
    uint64_t hash = key * UINT64_C(0x9e3779b97f4a7c15);

    return hash ^ hash >> 32;
}

/* One-to-one, as above. */
static inline uint64_t fg_hash_pointer(const void *key)
{
    return fg_hash_uint64((uintptr_t)key);
}

#define FG_HASH_BYTES_BEGIN UINT64_C(0xcbf29ce484222325)

/* FNV-1a. To hash several pieces, begin with FG_HASH_BYTES_BEGIN and pass each result to
 * the next call. */
static inline uint64_t fg_hash_bytes(uint64_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = (const unsigned char *)data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * UINT64_C(0x100000001b3);
    return hash;
}

static inline uint64_t fg_hash_string(const char *text)
{
    return fg_hash_bytes(FG_HASH_BYTES_BEGIN, text, strlen(text));
}

/* ---- the table */

struct fg_hash_slot {
    uint64_t hash;
    uint64_t value; /* 0: the slot is empty */
};

struct fg_hash_table {
    struct fg_hash_slot *slots;
    size_t nr_slots; /* a power of two, or 0 before the first value */
    size_t n;
};

/* The slow path of fg_hash_reserve(): makes the table larger. */
FG_COLD int fg_hash_grow(struct fg_hash_table *table);

static inline size_t fg_hash_mask(const struct fg_hash_table *table)
{
    return table->nr_slots - 1;
}

/**
 * fg_hash_reserve() - Make room for one more value.
 *
 * At most half of the slots are taken: runs stay short, and each search ends at an empty slot.
 *
 * Return: 0: the next fg_hash_add() cannot fail; -ENOMEM: nothing has changed.
 */
static inline int fg_hash_reserve(struct fg_hash_table *table)
{
    return fg_likely((table->n + 1) * 2 <= table->nr_slots) ? 0 : fg_hash_grow(table);
}

/**
 * fg_hash_add() - Add a value; other values may have the same hash.
 * @table: its slots may move: slots that were found before are no longer valid
 * @hash: the hash of the value's key
 * @value: not 0
 *
 * Return: 0; -ENOMEM: nothing has changed.
 */
static inline int fg_hash_add(struct fg_hash_table *table, uint64_t hash, uint64_t value)
{
    int error = fg_hash_reserve(table);
    size_t at = (size_t)hash;

    if (error)
        return error;
    while (table->slots[at & fg_hash_mask(table)].value)
        at++;
    table->slots[at & fg_hash_mask(table)] = (struct fg_hash_slot){hash, value};
    table->n++;
    return 0;
}

/* Moves later values of the same run into the gap, so that no search ends there too early. */
void fg_hash_close_gap(struct fg_hash_table *table, size_t gap);

/* Removes a slot's value. Later values may move up: slots that were found before are no longer valid. A
 * loop over table->slots must look at the same slot again. */
static inline void fg_hash_remove(struct fg_hash_table *table, struct fg_hash_slot *slot)
{
    size_t gap = (size_t)(slot - table->slots);

    table->n--;
    if (table->slots[(gap + 1) & fg_hash_mask(table)].value)
        fg_hash_close_gap(table, gap);
    else
        slot->value = 0;
}

/* Frees the slots; the table is then empty. What the values point to stays the owner's. */
void fg_hash_clear(struct fg_hash_table *table);

/* Returns the first slot with @hash at or after @at; NULL: there is none. The loop ends because a table
 * is never full. */
static inline struct fg_hash_slot *fg_hash_from(const struct fg_hash_table *table, size_t at, uint64_t hash)
{
    for (;; at++) {
        struct fg_hash_slot *slot = &table->slots[at & fg_hash_mask(table)];

        if (!slot->value)
            return NULL;
        if (slot->hash == hash)
            return slot;
    }
}

/* Returns the first slot with @hash; NULL: there is none. */
static inline struct fg_hash_slot *fg_hash_first(const struct fg_hash_table *table, uint64_t hash)
{
    return table->n ? fg_hash_from(table, (size_t)hash, hash) : NULL;
}

/* Returns the next slot with the same hash; NULL: there is none. */
static inline struct fg_hash_slot *fg_hash_next(const struct fg_hash_table *table,
                                                const struct fg_hash_slot *slot)
{
    return fg_hash_from(table, (size_t)(slot - table->slots) + 1, slot->hash);
}

/* Returns the value of a key whose hash is one-to-one; 0: there is none. */
static inline uint64_t fg_hash_find(const struct fg_hash_table *table, uint64_t hash)
{
    const struct fg_hash_slot *slot = fg_hash_first(table, hash);

    return slot ? slot->value : 0;
}

#endif
