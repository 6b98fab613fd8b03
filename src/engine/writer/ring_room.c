/* See ring_room.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_room.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/statvfs.h>
#include <unistd.h>

#define LAST_PART 4u /* one in so many bytes of the file system, ... */
#define LAST_PART_BYTES_MAX (UINT64_C(64) << 20)

int fg_ring_room_take(int fd, uint64_t offset, uint64_t bytes)
{
    return posix_fallocate(fd, (off_t)offset, (off_t)bytes);
}

int fg_ring_room_open(const struct fg_ring *ring)
{
    int fd = open(ring->path, O_RDWR | FG_SESSION_OPEN);

    return fd < 0 ? -errno : fd;
}

static bool only_last_part_left(int fd)
{
    struct statvfs room;
    uint64_t last;

    if (fstatvfs(fd, &room) != 0)
        return false;
    last = (uint64_t)room.f_blocks * room.f_frsize / LAST_PART;
    if (last > LAST_PART_BYTES_MAX)
        last = LAST_PART_BYTES_MAX;
    return (uint64_t)room.f_bavail * room.f_frsize <= last;
}

int fg_ring_room_populate(void *memory, size_t bytes)
{
#ifdef MADV_POPULATE_WRITE
    uintptr_t begin = (uintptr_t)memory & ~(uintptr_t)(FG_RING_PAGE_BYTES - 1); /* whole pages */

    return madvise((void *)begin, (uintptr_t)memory + bytes - begin, MADV_POPULATE_WRITE) ? errno : 0;
#else
    (void)memory, (void)bytes;
    return EINVAL; /* as a kernel before 5.14 answers */
#endif
}

/* The file cannot be opened, but it is mapped. */
static int subbuf_of_mapping(struct fg_ring *ring, int unreachable)
{
    struct fg_ring_pool *pool = &ring->pool;

    if (!fg_ring_room_is_unreachable(unreachable) || pool->nr_fresh >= FG_RING_MIN_SUBBUFS ||
        fg_ring_room_populate(fg_ring_subbuf(ring, pool->nr_fresh), ring->header->subbuf_bytes))
        return unreachable;
    pool->nr_allocated = pool->nr_fresh + 1;
    return 0;
}

int fg_ring_room_subbuf(struct fg_ring *ring)
{
    const struct fg_ring_header *header = ring->header;
    struct fg_ring_pool *pool = &ring->pool;
    int fd, error;

    if (pool->nr_fresh < pool->nr_allocated)
        return 0;
    fd = fg_ring_room_open(ring);
    if (fd < 0)
        return subbuf_of_mapping(ring, -fd);
    if (pool->nr_fresh >= FG_RING_MIN_SUBBUFS && only_last_part_left(fd))
        error = EAGAIN;
    else
        error = fg_ring_room_take(fd, header->data_offset + (uint64_t)pool->nr_fresh * header->subbuf_bytes,
                                  header->subbuf_bytes);
    close(fd);
    if (!error)
        pool->nr_allocated = pool->nr_fresh + 1;
    return error;
}
