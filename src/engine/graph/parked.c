/* See parked.h. The table is hashed by frame pointer, in shards, each with its own lock and free blocks.
 * Frames are chained in their buckets: fg_hash_table would cost 40 instructions more for each suspend
 * and its resume. */
#include "engine/graph/parked.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/compiler.h"
#include "engine/base/hash_table.h"

#define NR_SHARDS 64u
#define BLOCK_WORDS 16u /* a frame and a few words of data: enough for nearly all */
#define FIRST_BUCKETS 16u

struct shard {
    atomic_flag lock;
    uint32_t nr_buckets; /* a power of two, or 0 before the first use */
    uint32_t nr_frames;
    struct fg_parked **buckets;
    struct fg_parked *free_blocks;
} __attribute__((aligned(64)));

static struct shard shards[NR_SHARDS];
static _Atomic size_t nr_parked; /* over all shards */

static inline void lock(struct shard *shard)
{
    /* Held for a few instructions only; with the GIL never contended. */
    while (atomic_flag_test_and_set_explicit(&shard->lock, memory_order_acquire))
        fg_pause();
}

static inline struct shard *shard_lock(uintptr_t fp)
{
    struct shard *shard = &shards[fg_hash_uint64(fp) >> 58];

    lock(shard);
    return shard;
}

static inline void shard_unlock(struct shard *shard)
{
    atomic_flag_clear_explicit(&shard->lock, memory_order_release);
}

static inline struct fg_parked **bucket_of(struct shard *shard, uintptr_t fp)
{
    return &shard->buckets[fg_hash_uint64(fp) & (shard->nr_buckets - 1)];
}

static bool shard_grow(struct shard *shard)
{
    uint32_t nr_old = shard->nr_buckets;
    uint32_t nr_new = nr_old ? nr_old * 2 : FIRST_BUCKETS;
    struct fg_parked **old = shard->buckets;
    struct fg_parked **grown = calloc(nr_new, sizeof(*grown));

    if (!grown)
        return nr_old != 0; /* the chains get longer, but stay correct */
    shard->buckets = grown;
    shard->nr_buckets = nr_new;
    for (uint32_t i = 0; i < nr_old; i++) {
        for (struct fg_parked *at = old[i], *next; at; at = next) {
            struct fg_parked **end = bucket_of(shard, at->fp);

            /* Frames with equal frame pointers keep their order: the latest must stay first. */
            while (*end)
                end = &(*end)->next;
            next = at->next;
            at->next = NULL;
            *end = at;
        }
    }
    free(old);
    return true;
}

static struct fg_parked *block_new(struct shard *shard, size_t size_words)
{
    struct fg_parked *block = shard->free_blocks;
    size_t capacity = size_words > BLOCK_WORDS ? size_words : BLOCK_WORDS;

    if (block && capacity == BLOCK_WORDS) {
        shard->free_blocks = block->next;
        return block;
    }
    block = malloc(sizeof(*block) + capacity * sizeof(uint64_t));
    if (block)
        block->capacity_words = (uint32_t)capacity;
    return block;
}

bool fg_parked_put(uintptr_t fp, const uint64_t *words, size_t size_words)
{
    struct shard *shard = shard_lock(fp);
    struct fg_parked *block = NULL;

    if (shard->nr_frames < shard->nr_buckets || shard_grow(shard))
        block = block_new(shard, size_words);
    if (block) {
        struct fg_parked **bucket = bucket_of(shard, fp);

        block->fp = fp;
        block->size_words = (uint32_t)size_words;
        memcpy(block->words, words, size_words * sizeof(uint64_t));
        block->next = *bucket;
        *bucket = block;
        shard->nr_frames++;
        atomic_fetch_add_explicit(&nr_parked, 1, memory_order_relaxed);
    }
    shard_unlock(shard);
    return block != NULL;
}

static struct fg_parked **find(struct shard *shard, uintptr_t fp)
{
    struct fg_parked **at;

    if (!shard->nr_frames)
        return NULL;
    for (at = bucket_of(shard, fp); *at; at = &(*at)->next) {
        if ((*at)->fp == fp)
            return at;
    }
    return NULL;
}

static struct fg_parked *unlink_at(struct shard *shard, struct fg_parked **at)
{
    struct fg_parked *found = *at;

    *at = found->next;
    shard->nr_frames--;
    atomic_fetch_sub_explicit(&nr_parked, 1, memory_order_relaxed);
    return found;
}

struct fg_parked *fg_parked_take(uintptr_t fp)
{
    struct shard *shard = shard_lock(fp);
    struct fg_parked **at = find(shard, fp);
    struct fg_parked *found = at ? unlink_at(shard, at) : NULL;

    shard_unlock(shard);
    return found;
}

void fg_parked_free(struct fg_parked *parked)
{
    struct shard *shard;

    if (parked->capacity_words != BLOCK_WORDS) {
        free(parked);
        return;
    }
    shard = shard_lock(parked->fp);
    parked->next = shard->free_blocks;
    shard->free_blocks = parked;
    shard_unlock(shard);
}

size_t fg_parked_count(void)
{
    return atomic_load_explicit(&nr_parked, memory_order_relaxed);
}

struct fg_parked *fg_parked_take_if(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg)
{
    struct fg_parked *found = NULL;

    for (unsigned i = 0; i < NR_SHARDS && !found; i++) {
        struct shard *shard = &shards[i];

        lock(shard);
        for (uint32_t b = 0; b < shard->nr_buckets && !found; b++) {
            for (struct fg_parked **at = &shard->buckets[b]; *at; at = &(*at)->next) {
                if (matches(*at, arg)) {
                    found = unlink_at(shard, at);
                    break;
                }
            }
        }
        shard_unlock(shard);
    }
    return found;
}

/* Moves the frames of a bucket for which @matches holds to the front of @taken. */
static struct fg_parked *take_from(struct shard *shard, struct fg_parked **at,
                                   bool (*matches)(const struct fg_parked *parked, void *arg), void *arg,
                                   struct fg_parked *taken)
{
    while (*at) {
        struct fg_parked *found;

        if (!matches(*at, arg)) {
            at = &(*at)->next;
            continue;
        }
        found = unlink_at(shard, at);
        found->next = taken;
        taken = found;
    }
    return taken;
}

struct fg_parked *fg_parked_take_all(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg)
{
    struct fg_parked *taken = NULL;

    for (unsigned i = 0; i < NR_SHARDS; i++) {
        lock(&shards[i]);
        for (uint32_t b = 0; b < shards[i].nr_buckets; b++)
            taken = take_from(&shards[i], &shards[i].buckets[b], matches, arg, taken);
        shard_unlock(&shards[i]);
    }
    return taken;
}

static bool any_in(const struct shard *shard, bool (*matches)(const struct fg_parked *parked, void *arg),
                   void *arg)
{
    for (uint32_t b = 0; b < shard->nr_buckets; b++) {
        for (const struct fg_parked *at = shard->buckets[b]; at; at = at->next) {
            if (matches(at, arg))
                return true;
        }
    }
    return false;
}

bool fg_parked_any(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg)
{
    bool found = false;

    for (unsigned i = 0; i < NR_SHARDS && !found; i++) {
        lock(&shards[i]);
        found = any_in(&shards[i], matches, arg);
        shard_unlock(&shards[i]);
    }
    return found;
}

void fg_parked_lock_all(void)
{
    for (unsigned i = 0; i < NR_SHARDS; i++)
        lock(&shards[i]);
}

void fg_parked_unlock_all(void)
{
    for (unsigned i = 0; i < NR_SHARDS; i++)
        shard_unlock(&shards[i]);
}
