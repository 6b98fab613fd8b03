/* The pool of sub-buffers: which task owns which, taking the next one, waiting for the reader. The caller
 * of each function here holds the ring's lock. */
#ifndef FG_RING_POOL_H
#define FG_RING_POOL_H

#include "engine/writer/ring.h"

/* When a writer waited for the recorder. */
struct fg_ring_wait {
    uint64_t begin, end; /* ticks; begin 0: there was no wait */
};

/**
 * fg_ring_take() - Give a cursor a free sub-buffer, by the ring's mode.
 * @wait: filled in if the writer had to wait; zeroed by the caller
 *
 * Return: false if there is none: the record is lost.
 * Context: may release the ring's lock while it waits.
 */
bool fg_ring_take(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                  struct fg_ring_wait *wait);

/**
 * fg_ring_retire() - Take the cursor's sub-buffer, if it has one, and queue it for the reader.
 */
void fg_ring_retire(struct fg_ring *ring, struct fg_ring_cursor *cursor);

/**
 * fg_ring_set_room() - Close each task's sub-buffer to further records, or open it again.
 *
 * A task whose sub-buffer is closed calls fg_ring_switch() for each record.
 *
 * Context: ring's lock held.
 */
void fg_ring_set_room(struct fg_ring *ring, bool has_room);

/* Queues all shared sub-buffers for the reader. */
void fg_ring_retire_shared(struct fg_ring *ring);

/**
 * fg_ring_find_shared() - Find the shared sub-buffer of a task.
 * @cursor: set to write after its last record, as long as the caller holds the ring's lock
 *
 * Return: false if it has none.
 */
bool fg_ring_find_shared(struct fg_ring *ring, const struct fg_task *task, struct fg_ring_cursor *cursor);

/**
 * fg_ring_take_shared() - Give a task a new shared sub-buffer, by the ring's mode, and queue its old one.
 * @cursor: as for fg_ring_find_shared()
 * @wait: as for fg_ring_take()
 *
 * Return: false if there is none: the record is lost.
 * Context: may release the ring's lock while it waits.
 */
bool fg_ring_take_shared(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         struct fg_ring_wait *wait);

/**
 * fg_ring_put_full() - Queue a sub-buffer of whole records for the reader.
 * @task: the task that wrote them
 * @lost: how many records of the task were lost before these
 *
 * Without a free sub-buffer the ring's mode decides: the oldest one is overwritten, or the records are
 * lost and reported as lost.
 */
void fg_ring_put_full(struct fg_ring *ring, uint32_t task, const void *records, uint64_t bytes,
                      uint64_t lost);

/**
 * fg_ring_put_loss() - Report records that the task lost after its newest record here.
 *
 * The header's total counts them already.
 */
void fg_ring_put_loss(struct fg_ring *ring, uint32_t task, uint64_t lost);

#endif
