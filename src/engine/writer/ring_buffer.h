/* Writing records into a ring buffer.
 *
 * A task owns one sub-buffer at a time and writes to it without a lock. Taking the next sub-buffer, once
 * in some thousand records, takes the ring's lock. */
#ifndef FG_RING_BUFFER_H
#define FG_RING_BUFFER_H

#include "engine/ring/record.h"
#include "engine/writer/ring.h"

/**
 * fg_ring_close() - Hand every sub-buffer to the reader, mark the file finished and unmap it.
 *
 * Context: takes the ring's locks. No task may write any longer.
 */
void fg_ring_close(struct fg_ring *ring);

/**
 * fg_ring_retire_all() - Hand every sub-buffer to the reader.
 *
 * Context: takes the ring's lock. No task may write until fg_ring_adopt().
 */
void fg_ring_retire_all(struct fg_ring *ring);
/* As fg_ring_retire_all(), with the ring's lock held and for a ring that is open. */
void fg_ring_retire_all_locked(struct fg_ring *ring);
/* Hands each sub-buffer of @memory that a task owns to the reader: @ring itself, or its spare. As above. */
void fg_ring_retire_owners(struct fg_ring *ring, struct fg_ring *memory);

/**
 * fg_ring_put_run_times() - Append how long the threads have run that write here, as the process ends.
 *
 * Context: does nothing if a thread holds the ring's lock: it may wait for the recorder.
 */
void fg_ring_put_run_times(struct fg_ring *ring);

/**
 * fg_ring_set_paused() - Stop recording, keeping what is recorded; or resume.
 *
 * Callbacks in progress may still write one record each.
 *
 * Context: takes the ring's lock.
 */
void fg_ring_set_paused(struct fg_ring *ring, bool paused);

/**
 * fg_ring_set_mode() - Drop or overwrite from now on.
 * @ring: a ring without a file
 *
 * Context: takes the ring's lock.
 */
void fg_ring_set_mode(struct fg_ring *ring, enum fg_ring_mode mode);

/**
 * fg_ring_task_exit() - Hand the sub-buffer of a task that ends to the reader.
 *
 * Context: takes the ring's lock. Called by the task's own thread.
 */
void fg_ring_task_exit(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor);

/**
 * fg_ring_set_killed() - Store the kill switch's message in the file.
 *
 * Context: any thread, any lock may be held: it gives up if the ring's lock is taken.
 */
void fg_ring_set_killed(struct fg_ring *ring, const char *message);

/**
 * fg_ring_switch() - Give a cursor a sub-buffer with room for @bytes: the slow path of fg_ring_reserve().
 *
 * Return: false if the record is lost (and counted), or recording is stopped or paused.
 * Context: takes the ring's lock, may wait for the recorder. Inside the guard.
 */
FG_COLD bool fg_ring_switch(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                            size_t bytes);

/**
 * fg_ring_make_room() - Give a cursor a sub-buffer, for a record that is still to come.
 *
 * The slow path of fg_ring_get_ready(). Without room nothing is lost yet; fg_ring_switch() then does not try
 * again in the same section.
 *
 * Context: as fg_ring_switch(), but not in a handler of a signal.
 */
FG_COLD void fg_ring_make_room(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                               size_t bytes);

/**
 * fg_ring_is_ready() - Open the ring if it is not open yet.
 *
 * Return: false if it takes no records now.
 * Context: takes the ring's lock.
 */
bool fg_ring_is_ready(struct fg_ring *ring);

/**
 * fg_ring_share_begin() - Find room for a record of a task that has no cursor here.
 * @cursor: set to where the record goes; not to be kept
 *
 * For rare records in a ring whose instance has no slot. Unlike fg_ring_reserve() it takes the ring's lock
 * for each record. On success the caller commits the record and calls fg_ring_share_end().
 *
 * Return: false if the record is lost (and counted), or recording is stopped or paused.
 * Context: returns true with the ring's lock held; may wait for the recorder before.
 */
bool fg_ring_share_begin(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         size_t bytes);
void fg_ring_share_end(struct fg_ring *ring);

/* Counts a record that is lost in a handler of a signal, without a lock. */
FG_COLD void fg_ring_lose_in_signal(struct fg_ring *ring, struct fg_task *task,
                                    const struct fg_ring_cursor *cursor);

/* True if the cursor's sub-buffer has room for a record of up to `bytes` at `pos`. Only inside the guard:
 * outside of it another task's fg_ring_switch may take the sub-buffer away (ring_pool.c, revoke_idle). */
static inline bool fg_ring_has_room(const struct fg_ring_cursor *cursor, size_t bytes)
{
    const uint8_t *end = atomic_load_explicit(&cursor->end, memory_order_relaxed);

    return fg_likely((uintptr_t)cursor->pos + bytes <= (uintptr_t)end);
}

/* Room for a record of up to `bytes` in this sub-buffer or the next one. NULL: the record is
 * lost, and counted. The task holds its cursors (fg_task_hold). */
static inline void *fg_ring_reserve(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                                    size_t bytes)
{
    if (!fg_ring_has_room(cursor, bytes) && !fg_ring_switch(ring, task, cursor, bytes))
        return NULL;
    return cursor->pos;
}

/* Has the next record of up to `bytes` find room at once, if there is any. As fg_ring_reserve(). */
static inline void fg_ring_get_ready(struct fg_ring *ring, struct fg_task *task,
                                     struct fg_ring_cursor *cursor, size_t bytes)
{
    if (!fg_ring_has_room(cursor, bytes))
        fg_ring_make_room(ring, task, cursor, bytes);
}

/* How far ahead of the writer memory is prefetched: some ten records. The recorder, on another processor,
 * read these lines last, and a store to them would wait. */
#define FG_RING_AHEAD_BYTES 512

/* Publishes the record that ends at `pos`. */
static inline void fg_ring_commit_to(struct fg_ring_cursor *cursor, uint8_t *pos)
{
    __builtin_prefetch(pos + FG_RING_AHEAD_BYTES, 1);
    cursor->pos = pos;
    /* release: a reader in another process that sees the count sees the record */
    atomic_store_explicit(&cursor->subbuf->commit, (uint64_t)(pos - (uint8_t *)(cursor->subbuf + 1)),
                          memory_order_release);
}

static inline void fg_ring_commit(struct fg_ring_cursor *cursor, size_t bytes)
{
    fg_ring_commit_to(cursor, cursor->pos + bytes);
}

#endif
