/* See ring_access.h. */
#define _GNU_SOURCE
#include "engine/reader/ring_access.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/reader/bus_guard.h"
#include "engine/ring/ring_layout.h"
#include "engine/ring/session_page.h"

int fg_ring_access_damage(struct fg_ring_access *access, const char *reason)
{
    if (!access->damage)
        access->damage = reason;
    return -EBADMSG;
}

bool fg_ring_access_is_truncated(const struct fg_ring_access *access)
{
    const struct fg_bus_guard *guard = access->mapping.guard;
    struct stat status;

    if (access->is_private)
        return false;
    return (guard && fg_bus_guard_is_hit(guard)) || (access->fd >= 0 && fstat(access->fd, &status) == 0 &&
                                                     (uint64_t)status.st_size < access->file_bytes);
}

int fg_ring_access_open(struct fg_ring_access *access, int fd, bool is_private)
{
    struct stat status;

    *access = (struct fg_ring_access){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 3), .is_private = is_private};
    if (access->fd < 0 || fstat(access->fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode))
        return -EINVAL;
    access->file_bytes = (uint64_t)status.st_size;
    return 0;
}

static void unmap(struct fg_guarded_mapping *mapping)
{
    if (!mapping->memory)
        return;
    fg_bus_guard_end(mapping->guard);
    munmap(mapping->memory, mapping->bytes);
    *mapping = (struct fg_guarded_mapping){0};
}

void fg_ring_access_close(struct fg_ring_access *access)
{
    unmap(&access->mapping);
    if (access->fd >= 0)
        close(access->fd);
    access->fd = -1;
}

static int map_at(const struct fg_ring_access *access, uint64_t offset, size_t bytes,
                  struct fg_guarded_mapping *mapping)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, access->fd, (off_t)offset);
    struct fg_bus_guard *guard = NULL;

    if (memory == MAP_FAILED)
        return -errno;
    if (!access->is_private) {
        guard = fg_bus_guard_begin(memory, bytes);
        if (!guard) {
            munmap(memory, bytes);
            return -ENOMEM;
        }
    }
    *mapping = (struct fg_guarded_mapping){memory, bytes, guard};
    return 0;
}

/* Recording hundreds of processes must leave descriptors for files to write. */
static bool may_keep(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2;
}

int fg_ring_access_map(struct fg_ring_access *access, size_t bytes)
{
    bool keeps = may_keep(access->fd);
    int error = map_at(access, 0, keeps ? bytes : fg_ring_page_round(access->file_bytes), &access->mapping);

    /* The file is not opened again by its path: whoever owns its folder may have put another file there. */
    if (!error && !keeps) {
        close(access->fd);
        access->fd = -1;
    }
    return error;
}

static bool is_mapped(const struct fg_ring_access *access, size_t bytes, uint64_t offset)
{
    return offset <= access->mapping.bytes && bytes <= access->mapping.bytes - offset;
}

static int read_mapped(struct fg_ring_access *access, void *data, size_t bytes, uint64_t offset)
{
    if (!is_mapped(access, bytes, offset))
        return fg_ring_access_damage(access, FG_RING_TRUNCATED);
    memcpy(data, (const uint8_t *)access->mapping.memory + offset, bytes);
    return fg_ring_access_is_truncated(access) ? fg_ring_access_damage(access, FG_RING_TRUNCATED) : 0;
}

int fg_ring_access_read(struct fg_ring_access *access, void *data, size_t bytes, uint64_t offset)
{
    if (access->fd < 0)
        return read_mapped(access, data, bytes, offset);
    for (uint8_t *at = data; bytes;) {
        ssize_t got = pread(access->fd, at, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return errno == ENOMEM ? -errno : fg_ring_access_damage(access, "its file cannot be read");
        if (got == 0)
            return fg_ring_access_damage(access, FG_RING_TRUNCATED);
        at += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

/* Stores through a mapping, which RLIMIT_FSIZE does not limit. */
static void store_mapped(struct fg_ring_access *access, const void *data, size_t bytes, uint64_t offset)
{
    uint64_t page = offset / FG_RING_PAGE_BYTES * FG_RING_PAGE_BYTES;
    struct fg_guarded_mapping mapping = {0};

    if (map_at(access, page, FG_RING_PAGE_BYTES, &mapping) != 0)
        return;
    memcpy((uint8_t *)mapping.memory + (offset - page), data, bytes);
    if (mapping.guard && fg_bus_guard_is_hit(mapping.guard))
        fg_ring_access_damage(access, FG_RING_TRUNCATED);
    unmap(&mapping);
}

void fg_ring_access_write(struct fg_ring_access *access, const void *data, size_t bytes, uint64_t offset)
{
    ssize_t written;

    if (access->fd < 0) {
        if (is_mapped(access, bytes, offset))
            memcpy((uint8_t *)access->mapping.memory + offset, data, bytes);
        return;
    }
    do
        written = pwrite(access->fd, data, bytes, (off_t)offset);
    while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EFBIG) /* the user's limit for files is below the ring's size */
        store_mapped(access, data, bytes, offset);
}

uint64_t fg_ring_access_next_data(const struct fg_ring_access *access, uint64_t offset)
{
    off_t found = access->fd < 0 ? -1 : lseek(access->fd, (off_t)offset, SEEK_DATA);

    if (found >= 0)
        return (uint64_t)found;
    return access->fd >= 0 && errno == ENXIO ? UINT64_MAX : offset;
}
