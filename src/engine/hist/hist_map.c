/* See hist_map.h. */
#define _GNU_SOURCE
#include "engine/hist/hist_map.h"

#include <string.h>
#include <sys/mman.h>

#include "engine/base/compiler.h"

#define LINE 64u

uint32_t fg_hist_map_size(uint64_t least)
{
    uint32_t size = FG_HIST_SIZE_MIN;

    if (least <= FG_HIST_SIZE_MIN / 2 || least > FG_HIST_SIZE_MAX)
        return 0;
    while (size < least)
        size *= 2;
    return size;
}

static size_t round_up(size_t bytes, size_t unit)
{
    return (bytes + unit - 1) / unit * unit;
}

/* The slots begin on a page: emptying gives whole pages back to the system. */
struct fg_hist_map *fg_hist_map_new(uint32_t size, uint32_t key_words, uint32_t words)
{
    size_t slots_at = round_up(sizeof(struct fg_hist_map), 4096);
    size_t slot_bytes = sizeof(_Atomic uint64_t) * 2 * size;
    /* Elements share no cache line: threads that count for different keys do not disturb each other. */
    size_t element_bytes = round_up(sizeof(struct fg_hist_element) + 8u * (key_words + words), LINE);
    size_t bytes = slots_at + slot_bytes + element_bytes * size;
    struct fg_hist_map *map =
        (struct fg_hist_map *)mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (map == MAP_FAILED)
        return NULL;
    map->mapping_bytes = bytes;
    map->slots_at = slots_at;
    map->nr_slots = 2 * size;
    map->size = size;
    map->key_words = key_words;
    map->element_bytes = (uint32_t)element_bytes;
    map->slots = (_Atomic uint64_t *)((uint8_t *)map + slots_at);
    map->elements = (uint8_t *)map + slots_at + slot_bytes;
    atomic_init(&map->nr_owners, 1);
    return map;
}

void fg_hist_map_share(struct fg_hist_map *map)
{
    atomic_fetch_add(&map->nr_owners, 1);
}

void fg_hist_map_free(struct fg_hist_map *map)
{
    if (map && atomic_fetch_sub(&map->nr_owners, 1) == 1)
        munmap(map, map->mapping_bytes);
}

static struct fg_hist_element *element_at(const struct fg_hist_map *map, uint32_t number)
{
    return (struct fg_hist_element *)(map->elements + (size_t)(number - 1) * map->element_bytes);
}

/* ---- elements that no slot has */

/* The count in the high half tells this list from one that lost its first element and got it back. */
static uint32_t take_given_back(struct fg_hist_map *map)
{
    /* acquire: pairs with give_back(); whoever gave it back has written to it */
    uint64_t head = atomic_load_explicit(&map->given_back, memory_order_acquire), next;

    do {
        if (!(uint32_t)head)
            return 0;
        next = (head >> 32) + 1;
        /* Another thread may take the element now. Then this is not its next one, and the swap fails. */
        next =
            next << 32 | atomic_load_explicit(&element_at(map, (uint32_t)head)->next, memory_order_relaxed);
    } while (!atomic_compare_exchange_weak_explicit(&map->given_back, &head, next, memory_order_acq_rel,
                                                    memory_order_acquire));
    return (uint32_t)head;
}

static void give_back(struct fg_hist_map *map, uint32_t number)
{
    uint64_t head = atomic_load_explicit(&map->given_back, memory_order_relaxed), first;

    do {
        atomic_store_explicit(&element_at(map, number)->next, (uint32_t)head, memory_order_relaxed);
        first = ((head >> 32) + 1) << 32 | number;
        /* release: pairs with the acquire in take_given_back() */
    } while (!atomic_compare_exchange_weak_explicit(&map->given_back, &head, first, memory_order_release,
                                                    memory_order_relaxed));
}

/* Returns the number of an element that is nobody's; 0: there is none. The first look keeps `used` from
 * wrapping in a table that stays full. */
static uint32_t take_element(struct fg_hist_map *map)
{
    uint32_t used;

    if (atomic_load_explicit(&map->used, memory_order_relaxed) < map->size) {
        used = atomic_fetch_add_explicit(&map->used, 1, memory_order_relaxed);
        if (used < map->size)
            return used + 1;
    }
    return take_given_back(map);
}

/* ---- slots */

static uint64_t tag_of(uint64_t hash)
{
    return hash & ~(uint64_t)UINT32_MAX;
}

/* Keys are mostly one or two words: a call of memcmp would cost more than the comparison. */
static inline bool is_key(const struct fg_hist_map *map, uint64_t word, const uint64_t *key, uint64_t hash)
{
    const struct fg_hist_element *element;

    if (tag_of(word) != tag_of(hash))
        return false;
    element = element_at(map, (uint32_t)word);
    for (uint32_t i = 0; i < map->key_words; i++) {
        if (element->words[i] != key[i])
            return false;
    }
    return true;
}

/* Returns the slot with the key, or the empty one where the search for it ends. */
static inline _Atomic uint64_t *probe(const struct fg_hist_map *map, const uint64_t *key, uint64_t hash,
                                      uint64_t *word)
{
    for (uint32_t at = (uint32_t)hash;; at++) {
        _Atomic uint64_t *slot = &map->slots[at & (map->nr_slots - 1)];

        /* acquire: pairs with the release in insert(), so that the key is seen */
        *word = atomic_load_explicit(slot, memory_order_acquire);
        if (!*word || is_key(map, *word, key, hash))
            return slot;
    }
}

struct fg_hist_element *fg_hist_map_find(const struct fg_hist_map *map, const uint64_t *key, uint64_t hash)
{
    uint64_t word;

    probe(map, key, hash, &word);
    return word ? element_at(map, (uint32_t)word) : NULL;
}

static FG_NOINLINE struct fg_hist_element *insert(struct fg_hist_map *map, const uint64_t *key, uint64_t hash)
{
    uint32_t number = take_element(map);
    struct fg_hist_element *element;
    uint64_t word;

    if (!number) {
        /* The last one may have gone to a thread with this key. */
        element = fg_hist_map_find(map, key, hash);
        if (!element)
            atomic_fetch_add_explicit(&map->dropped, 1, memory_order_relaxed);
        return element;
    }
    element = element_at(map, number);
    for (uint32_t i = 0; i < map->key_words; i++)
        element->words[i] = key[i];
    /* Another thread may take the slot first, for this key or for another one. */
    for (;;) {
        _Atomic uint64_t *slot = probe(map, key, hash, &word);

        if (word) {
            give_back(map, number);
            return element_at(map, (uint32_t)word);
        }
        /* release: pairs with the acquire in probe() */
        if (atomic_compare_exchange_strong_explicit(slot, &word, tag_of(hash) | number, memory_order_release,
                                                    memory_order_relaxed))
            return element;
    }
}

struct fg_hist_element *fg_hist_map_get(struct fg_hist_map *map, const uint64_t *key, uint64_t hash)
{
    struct fg_hist_element *element = fg_hist_map_find(map, key, hash);

    return fg_likely(element != NULL) ? element : insert(map, key, hash);
}

/* ---- all of it */

void fg_hist_map_clear(struct fg_hist_map *map)
{
    uint8_t *begin = (uint8_t *)map + map->slots_at;
    size_t bytes = map->mapping_bytes - map->slots_at;

    /* Fails for locked memory (mlockall). */
    if (madvise(begin, bytes, MADV_DONTNEED))
        memset(begin, 0, bytes);
    atomic_store(&map->used, 0);
    atomic_store(&map->given_back, 0);
    atomic_store(&map->dropped, 0);
}

void fg_hist_map_each(const struct fg_hist_map *map,
                      void (*visit)(struct fg_hist_element *element, uint32_t number, void *arg), void *arg)
{
    for (uint32_t i = 0; i < map->nr_slots; i++) {
        /* acquire: as in probe() */
        uint32_t number = (uint32_t)atomic_load_explicit(&map->slots[i], memory_order_acquire);

        if (number)
            visit(element_at(map, number), number - 1, arg);
    }
}
