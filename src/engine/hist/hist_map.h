/* The table of a histogram: bounded, lock-free, from keys to elements.
 *
 * One mapping, made at once and touched only as used:
 *
 *     +------------------------+
 *     | struct fg_hist_map     |
 *     +------------------------+
 *     | slots                  |  twice as many as elements: probing ends soon, and always
 *     +------------------------+
 *     | elements               |  given out from the first to the last
 *     +------------------------+
 *
 * A slot is one word. It is 0, or has the number of an element (from 1) in its low half. Its high half is
 * a part of the key's hash then. An element is filled in, then published by the compare-and-swap of its
 * slot. So no thread ever waits for another one, nor a handler of a signal for what it interrupted. A thread
 * that was overtaken by one with the same key gives its element back. Slots are not emptied but all at
 * once. */
#ifndef FG_HIST_MAP_H
#define FG_HIST_MAP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FG_HIST_SIZE_MIN 128u
#define FG_HIST_SIZE_MAX 131072u
#define FG_HIST_SIZE_DEFAULT 2048u

/* What counts for one key. Its words are the key's, then the owner's counters, all zeros at first. */
struct fg_hist_element {
    _Atomic uint32_t next; /* in the list of those given back: its number, or 0 */
    uint32_t unused;
    uint64_t words[]; /* the key's are written before its slot has it, and never again */
};

struct fg_hist_map {
    size_t mapping_bytes;
    size_t slots_at;         /* the offset of what is emptied at once: the slots and the elements */
    uint32_t nr_slots, size; /* powers of two */
    uint32_t key_words, element_bytes;
    _Atomic uint64_t *slots;
    uint8_t *elements;
    _Atomic uint32_t nr_owners;                         /* histograms of several events may share it */
    _Atomic bool is_closed;                             /* it is being emptied, and takes no hits */
    _Atomic uint32_t used __attribute__((aligned(64))); /* elements that were ever given out */
    _Atomic uint64_t
        given_back; /* the newest: its number in the low half; how many came so far in the high */
    _Atomic uint64_t dropped;
};

/* The size of a table for at least so many elements; 0: there is none such. */
uint32_t fg_hist_map_size(uint64_t least);

/**
 * fg_hist_map_new() - Make a table.
 * @size: of fg_hist_map_size()
 * @key_words: 8-byte words of a key
 * @words: of an element's counters
 *
 * Return: the table; NULL: memory is short.
 */
struct fg_hist_map *fg_hist_map_new(uint32_t size, uint32_t key_words, uint32_t words);
/* One owner more. */
void fg_hist_map_share(struct fg_hist_map *map);
/* One owner less: the last one frees it. NULL is allowed. */
void fg_hist_map_free(struct fg_hist_map *map);

/* Returns the element of a key; NULL: there is none. Any context. */
struct fg_hist_element *fg_hist_map_find(const struct fg_hist_map *map, const uint64_t *key, uint64_t hash);

/* Returns the element of a key, a new one if there is none; NULL: the table is full, and `dropped` counts it.
 * Any context. */
struct fg_hist_element *fg_hist_map_get(struct fg_hist_map *map, const uint64_t *key, uint64_t hash);

/* Empties the table. Context: no other thread uses it. */
void fg_hist_map_clear(struct fg_hist_map *map);

/* Calls @visit for each element, with its number from 0: lower numbers came first. Elements that come
 * meanwhile may be left out. Any thread. */
void fg_hist_map_each(const struct fg_hist_map *map,
                      void (*visit)(struct fg_hist_element *element, uint32_t number, void *arg), void *arg);

static inline uint64_t fg_hist_map_dropped(struct fg_hist_map *map)
{
    return atomic_load_explicit(&map->dropped, memory_order_relaxed);
}

static inline _Atomic uint64_t *fg_hist_counters(const struct fg_hist_map *map,
                                                 struct fg_hist_element *element)
{
    return (_Atomic uint64_t *)(element->words + map->key_words);
}

#endif
