/* The memory of a ring's sparse file: each part gets it before anybody touches a page of it. */
#ifndef FG_RING_ROOM_H
#define FG_RING_ROOM_H

#include <errno.h>

#include "engine/writer/ring.h"

/* Sub-buffers that a process may always take, so that its threads need not wait for each other. */
#define FG_RING_MIN_SUBBUFS 8u

/**
 * fg_ring_room_take() - Allocate a part of an open file.
 *
 * Return: 0 or an errno (ENOSPC: the file system is full).
 */
int fg_ring_room_take(int fd, uint64_t offset, uint64_t bytes);

/**
 * fg_ring_room_open() - Open the ring's file again.
 *
 * The ring keeps no descriptor: the program may close it, and use its number for a file of its own.
 *
 * Return: a descriptor or a negative errno.
 */
int fg_ring_room_open(const struct fg_ring *ring);

/* True if @error of opening a file says that the process reaches no file of the session any longer. It may
 * have changed its root directory or its user, or the session has ended. */
static inline bool fg_ring_room_is_unreachable(int error)
{
    return error == ENOENT || error == ENOTDIR || error == EACCES || error == EPERM;
}

/**
 * fg_ring_room_populate() - Allocate and map all pages of a mapped part at once.
 *
 * Return: 0 or an errno. Pages that have their memory already may fault later if it fails.
 */
int fg_ring_room_populate(void *memory, size_t bytes);

/**
 * fg_ring_room_subbuf() - Allocate the file's memory for the next fresh sub-buffer.
 *
 * The last part of the file system, a quarter of it and at most 64 MiB, is for rings that have fewer than
 * FG_RING_MIN_SUBBUFS sub-buffers: one process with a large buffer must not leave nothing for processes
 * that start later. A process that does not reach the file any longer gets no more than that.
 *
 * Return: 0; EAGAIN: only the last part is left; otherwise an errno.
 * Context: ring's lock held.
 */
int fg_ring_room_subbuf(struct fg_ring *ring);

#endif
