/* What the files of the ring buffer's writing side share. Private to them. */
#ifndef FG_RING_INTERNAL_H
#define FG_RING_INTERNAL_H

#include "engine/ring/ring_buffer.h"

static inline struct fg_subbuf *fg_ring_subbuf(const struct fg_ring *ring, uint32_t index)
{
    return (struct fg_subbuf *)(ring->data + (size_t)index * ring->header->subbuf_bytes);
}

/* ring_file.c */
/* Unmaps the file; what the ring is configured with stays. */
void fg_ring_file_forget(struct fg_ring *ring);
/* A forked child's own file. Without one (no room, the session is gone) the child runs on untraced. */
void fg_ring_reopen(struct fg_ring *ring);
/* fg_ring_adopt, with both locks held. */
void fg_ring_adopt_locked(struct fg_ring *ring, struct fg_ring *fresh);

/* ring_buffer.c; the ring's lock is held. */
void fg_ring_retire_all_locked(struct fg_ring *ring);

/* ring_symbols.c; the ring's lock is held. */
void fg_ring_put_task_symbol(struct fg_ring *ring, const struct fg_task *task);

/* ring_pool.c; the ring's lock is held. */
struct fg_ring_wait {
    uint64_t begin, end; /* ticks; begin 0: there was no wait */
};

/* Gives the cursor a sub-buffer by the ring's mode. False: there is none, the record is lost. */
bool fg_ring_take(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                  struct fg_ring_wait *wait);
/* The cursor's sub-buffer leaves it and goes to the reader. */
void fg_ring_retire(struct fg_ring *ring, struct fg_ring_cursor *cursor);
/* A sub-buffer of whole records, before which the task lost so many others, for the reader. By the ring's mode: where none is
 * free the oldest goes for it, or it is lost, and told as such. */
void fg_ring_put_full(struct fg_ring *ring, uint32_t task, const void *records, uint64_t bytes,
                      uint64_t lost);
/* The task lost so many records behind what it has here, and they are among the ring's already. */
void fg_ring_put_loss(struct fg_ring *ring, uint32_t task, uint64_t lost);

#endif
