/* See parked.h. The table is in shards, each with its lock and its free blocks. */
#include "engine/graph/parked.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/compiler.h"
#include "engine/core/hash_table.h"

#define NR_SHARDS 64u
#define BLOCK_WORDS 16u /* fits a frame and a few words of data: nearly all */

struct shard {
    atomic_flag lock;
    /* by fg_hash_uint64(fp): struct fg_parked, the latest first (`next`) */
    struct fg_hash_table frames;
    struct fg_parked *free_blocks; /* linked by `next` */
} __attribute__((aligned(64)));

static struct shard shards[NR_SHARDS];
static _Atomic size_t nr_parked; /* over all shards */

static inline void lock(struct shard *shard)
{
    /* Held for a few instructions only; with the GIL never contended. */
    while (atomic_flag_test_and_set_explicit(&shard->lock, memory_order_acquire))
        fg_pause();
}

/* The table takes its index from the low bits of the hash, so the shard comes from the high ones. */
static inline struct shard *shard_lock(uint64_t hash)
{
    struct shard *shard = &shards[hash >> 58];

    lock(shard);
    return shard;
}

static inline void shard_unlock(struct shard *shard)
{
    atomic_flag_clear_explicit(&shard->lock, memory_order_release);
}

static inline struct fg_parked *frames_at(const struct fg_hash_slot *slot)
{
    return (struct fg_parked *)(uintptr_t)slot->value;
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

static void block_free(struct shard *shard, struct fg_parked *block)
{
    if (block->capacity_words != BLOCK_WORDS) {
        free(block);
        return;
    }
    block->next = shard->free_blocks;
    shard->free_blocks = block;
}

/* A stale frame, whose generator went without a report, may have the same frame pointer: the new frame
 * comes before it. */
static bool insert(struct shard *shard, uint64_t hash, struct fg_parked *block)
{
    struct fg_hash_slot *slot = fg_hash_first(&shard->frames, hash);

    block->next = slot ? frames_at(slot) : NULL;
    if (!slot)
        return fg_hash_add(&shard->frames, hash, (uintptr_t)block) == 0;
    slot->value = (uintptr_t)block;
    return true;
}

bool fg_parked_put(uintptr_t fp, const uint64_t *words, size_t size_words)
{
    uint64_t hash = fg_hash_uint64(fp);
    struct shard *shard = shard_lock(hash);
    struct fg_parked *block = block_new(shard, size_words);
    bool is_put = block && insert(shard, hash, block);

    if (is_put) {
        block->fp = fp;
        block->size_words = (uint32_t)size_words;
        memcpy(block->words, words, size_words * sizeof(uint64_t));
        atomic_fetch_add_explicit(&nr_parked, 1, memory_order_relaxed);
    } else if (block) {
        block_free(shard, block);
    }
    shard_unlock(shard);
    return is_put;
}

/* Takes out the frame that comes after `before` in the slot; before NULL: the first one. */
static struct fg_parked *unlink_after(struct shard *shard, struct fg_hash_slot *slot,
                                      struct fg_parked *before)
{
    struct fg_parked *found = before ? before->next : frames_at(slot);

    if (before)
        before->next = found->next;
    else if (found->next)
        slot->value = (uintptr_t)found->next;
    else
        fg_hash_remove(&shard->frames, slot);
    atomic_fetch_sub_explicit(&nr_parked, 1, memory_order_relaxed);
    return found;
}

struct fg_parked *fg_parked_take(uintptr_t fp)
{
    uint64_t hash = fg_hash_uint64(fp);
    struct shard *shard = shard_lock(hash);
    struct fg_hash_slot *slot = fg_hash_first(&shard->frames, hash);
    struct fg_parked *found = slot ? unlink_after(shard, slot, NULL) : NULL;

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
    shard = shard_lock(fg_hash_uint64(parked->fp));
    block_free(shard, parked);
    shard_unlock(shard);
}

size_t fg_parked_count(void)
{
    return atomic_load_explicit(&nr_parked, memory_order_relaxed);
}

typedef bool (*match_fn)(const struct fg_parked *parked, void *arg);

/* The first frame of a slot for which `matches` holds, and in *before the one before it. NULL: there is
 * none. */
static struct fg_parked *find_in(const struct fg_hash_slot *slot, match_fn matches, void *arg,
                                 struct fg_parked **before)
{
    *before = NULL;
    for (struct fg_parked *at = frames_at(slot); at; *before = at, at = at->next) {
        if (matches(at, arg))
            return at;
    }
    return NULL;
}

/* Takes frames of a shard for which `matches` holds, at most `most`, and puts them before `taken`. */
static struct fg_parked *take_from(struct shard *shard, match_fn matches, void *arg, size_t most,
                                   struct fg_parked *taken)
{
    size_t i = 0, n = 0;

    lock(shard);
    while (i < shard->frames.nr_slots && n < most) {
        struct fg_hash_slot *slot = &shard->frames.slots[i];
        struct fg_parked *before, *found = find_in(slot, matches, arg, &before);

        if (!found) {
            i++;
            continue;
        }
        /* Frames of another slot may move up into this one: it is looked at again. */
        unlink_after(shard, slot, before);
        found->next = taken;
        taken = found;
        n++;
    }
    shard_unlock(shard);
    return taken;
}

struct fg_parked *fg_parked_take_if(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg)
{
    struct fg_parked *found = NULL;

    for (unsigned i = 0; i < NR_SHARDS && !found; i++)
        found = take_from(&shards[i], matches, arg, 1, NULL);
    return found;
}

struct fg_parked *fg_parked_take_all(bool (*matches)(const struct fg_parked *parked, void *arg), void *arg)
{
    struct fg_parked *taken = NULL;

    for (unsigned i = 0; i < NR_SHARDS; i++)
        taken = take_from(&shards[i], matches, arg, SIZE_MAX, taken);
    return taken;
}

static bool any_in(const struct shard *shard, match_fn matches, void *arg)
{
    for (size_t i = 0; i < shard->frames.nr_slots; i++) {
        struct fg_parked *before;

        if (find_in(&shard->frames.slots[i], matches, arg, &before))
            return true;
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
