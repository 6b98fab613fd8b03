/* See fprobe_live.h. */
#include "engine/probe/fprobe_live.h"

#include <stdlib.h>

/* Under the engine's lock. */
static struct {
    uint32_t nr; /* places in the table */
    struct fg_live *free;
    uint64_t registrations;
} places;

_Atomic(struct fg_live *) fg_live_chunks[FG_LIVE_MAX / FG_LIVE_CHUNK];

static struct fg_live *chunk_add(void)
{
    struct fg_live *chunk = places.nr < FG_LIVE_MAX ? calloc(FG_LIVE_CHUNK, sizeof(*chunk)) : NULL;

    if (!chunk)
        return NULL;
    for (uint32_t i = 0; i < FG_LIVE_CHUNK; i++) {
        chunk[i].idx = places.nr + i;
        chunk[i].next_free = i + 1 < FG_LIVE_CHUNK ? &chunk[i + 1] : NULL;
    }
    /* release: fg_live_fprobe sees the places as they are */
    atomic_store_explicit(&fg_live_chunks[places.nr / FG_LIVE_CHUNK], chunk, memory_order_release);
    places.nr += FG_LIVE_CHUNK;
    return chunk;
}

struct fg_live *fg_live_take(void)
{
    struct fg_live *live = places.free ? places.free : chunk_add();

    if (live)
        places.free = live->next_free;
    return live;
}

uint64_t fg_live_new_word(const struct fg_live *live)
{
    return ++places.registrations << FG_LIVE_REGISTRATION_SHIFT | (uint64_t)live->idx << FG_LIVE_IDX_SHIFT;
}

void fg_live_put(struct fg_live *live, uint64_t word, struct fprobe *fp)
{
    /* release, twice: fg_live_fprobe */
    atomic_store_explicit(&live->fp, fp, memory_order_release);
    atomic_store_explicit(&live->word, word, memory_order_release);
}

void fg_live_give_back(struct fg_live *live)
{
    atomic_store_explicit(&live->word, 0, memory_order_release);
    live->next_free = places.free;
    places.free = live;
}
