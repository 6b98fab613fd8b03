/* The table of registrations: which fprobes are registered and enabled, for callbacks to read
 * without a lock.
 *
 * Each registration has a word, which no other registration ever has:
 *
 *     number of the registration:43 | index in this table:20 | disabled:1
 *
 * The table has, at that index, the word of the registration that holds the place now. Lists of functions
 * (fprobe_list.h) and frames (fprobe_call.c) keep the word they were made for. An fprobe that was
 * unregistered, or registered again, has no word in the table or another one. So neither an old list nor
 * an old frame leads to it. */
#ifndef FG_FPROBE_LIVE_H
#define FG_FPROBE_LIVE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fprobe;

#define FG_LIVE_DISABLED ((uint64_t)1)
#define FG_LIVE_IDX_SHIFT 1
#define FG_LIVE_IDX_BITS 20
#define FG_LIVE_REGISTRATION_SHIFT (FG_LIVE_IDX_SHIFT + FG_LIVE_IDX_BITS)
#define FG_LIVE_CHUNK 1024u
#define FG_LIVE_MAX (1u << FG_LIVE_IDX_BITS)

/* A place in the table. */
struct fg_live {
    _Atomic uint64_t word; /* of the registration that has the place, with FG_LIVE_DISABLED; 0: none */
    _Atomic(struct fprobe *) fp;
    uint32_t idx;
    struct fg_live *next_free;
};

/* The table. Chunks are added under the engine's lock and never freed. */
extern _Atomic(struct fg_live *) fg_live_chunks[FG_LIVE_MAX / FG_LIVE_CHUNK];

/**
 * fg_live_take() - Take a free place for a registration, which is not live yet.
 *
 * Return: the place; NULL: no memory, or the table is full.
 * Context: engine's lock held.
 */
struct fg_live *fg_live_take(void);

/* A word that no registration has had, for one at this place. Engine's lock held. */
uint64_t fg_live_new_word(const struct fg_live *live);

/* Makes a registration live: callbacks call the fprobe from now on. Engine's lock held. */
void fg_live_put(struct fg_live *live, uint64_t word, struct fprobe *fp);

/* Gives the place back: no callback calls the fprobe from now on. Engine's lock held. */
void fg_live_give_back(struct fg_live *live);

/* A word that leads to no fprobe, ever, in place of @word: the first registration has number 1. */
static inline uint64_t fg_live_no_word(uint64_t word)
{
    return (word & (((uint64_t)1 << FG_LIVE_REGISTRATION_SHIFT) - 1)) | FG_LIVE_DISABLED;
}

/* True while the registration lives, enabled or not. Engine's lock held. */
static inline bool fg_live_is_registered(const struct fg_live *live, uint64_t word)
{
    return (atomic_load_explicit(&live->word, memory_order_relaxed) & ~FG_LIVE_DISABLED) == word;
}

static inline void fg_live_set_enabled(struct fg_live *live, uint64_t word, bool enabled)
{
    atomic_store_explicit(&live->word, word | (enabled ? 0 : FG_LIVE_DISABLED), memory_order_release);
}

/* True while the registration lives and is enabled. */
static inline bool fg_live_has_word(const struct fg_live *live, uint64_t word)
{
    /* acquire: pairs with fg_live_put */
    return atomic_load_explicit(&live->word, memory_order_acquire) == word;
}

/* The fprobe of a registration that lives and is enabled, or NULL. It stays until the caller
 * leaves the guard. */
static inline struct fprobe *fg_live_fprobe(uint64_t word)
{
    uint32_t idx = (uint32_t)(word >> FG_LIVE_IDX_SHIFT) & (FG_LIVE_MAX - 1);
    struct fg_live *live = atomic_load_explicit(&fg_live_chunks[idx / FG_LIVE_CHUNK], memory_order_acquire) +
                           idx % FG_LIVE_CHUNK;
    struct fprobe *fp;

    if (!fg_live_has_word(live, word))
        return NULL;
    /* acquire: a thread that reads the fprobe of the place's next registration also sees that the
     * word is gone */
    fp = atomic_load_explicit(&live->fp, memory_order_acquire);
    return fg_live_has_word(live, word) ? fp : NULL;
}

#endif
