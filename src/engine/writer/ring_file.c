/* See ring_file.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include "engine/base/address_space.h"
#include "engine/base/clock.h"
#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"
#include "engine/writer/ring_room.h"
#include "engine/writer/ring_swap.h"
#include "engine/writer/ring_symbols.h"

/* _boot.py has this text too. */
#define FG_RING_TOO_LARGE "its limit of a file's size (ulimit -f) is too small for a ring buffer"
#define ADDRESS_SPACE_PART 128u /* of the process's limit, one part in so many may be the ring's */
#define COLOURS 12u
#define COLOUR_BYTES                                                                                         \
    320u /* five cache lines: a sub-buffer's head, the line written to and those prefetched */

/* The offset of a ring's sub-buffers from a page boundary, different for each ring. Several
 * instances that trace the same calls write records of the same size, each to its own ring. At equal
 * offsets from a page boundary all these records would compete for the same few lines of the
 * processor's first-level cache. */
static size_t colour(void)
{
    static _Atomic unsigned nr_rings;

    return atomic_fetch_add_explicit(&nr_rings, 1, memory_order_relaxed) % COLOURS * COLOUR_BYTES;
}

static void header_layout(struct fg_ring_header *header, const struct fg_ring *ring)
{
    uint32_t subbuf_bytes = FG_RING_SUBBUF_BYTES_MAX;
    size_t buffer_bytes = fg_address_space_share(ring->buffer_bytes, ADDRESS_SPACE_PART);

    if (buffer_bytes < FG_RING_MIN_KB * 1024u)
        buffer_bytes = FG_RING_MIN_KB * 1024u;
    while (subbuf_bytes > FG_RING_PAGE_BYTES && buffer_bytes / subbuf_bytes < FG_RING_MIN_SUBBUFS)
        subbuf_bytes /= 2;
    header->header_bytes = FG_RING_HEADER_BYTES;
    header->pid = (uint32_t)getpid();
    header->subbuf_bytes = subbuf_bytes;
    header->nr_subbufs = (uint32_t)(buffer_bytes / subbuf_bytes);
    header->mode = (uint32_t)ring->mode;
    header->clock_kind = (uint32_t)fg_clock.kind;
    header->clock_start = header->clock_latest = fg_clock_read_pair();
    header->queue_offset = FG_RING_HEADER_BYTES;
    header->symbols_offset =
        header->queue_offset + fg_ring_page_round(2 * (size_t)header->nr_subbufs * sizeof(uint32_t));
    header->symbols_capacity = FG_RING_SYMBOL_BYTES;
    header->data_offset = header->symbols_offset + header->symbols_capacity + colour();
    header->file_bytes =
        fg_ring_page_round(header->data_offset + (uint64_t)header->nr_subbufs * subbuf_bytes);
    memcpy(header->instance, ring->instance, sizeof(header->instance));
}

/* Creates PID.N.ring.new in the session's directory, or in a folder of it, with the first N that is free.
 * Returns a descriptor or a negative errno. */
static int file_create(struct fg_ring *ring, const char *folder, char **temporary)
{
    for (unsigned n = 0; n < 10000; n++) {
        int fd;

        ring->path = fg_mmap_path("%s%s/%d.%u%s", ring->directory, folder, (int)getpid(), n, FG_RING_SUFFIX);
        *temporary = ring->path ? fg_mmap_path("%s.new", ring->path) : NULL;
        if (!*temporary)
            return -ENOMEM;
        if (access(ring->path, F_OK) != 0) {
            fd = open(*temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
            if (fd >= 0)
                return fd;
            if (errno != EEXIST)
                return -errno;
        }
        fg_mmap_free(ring->path);
        fg_mmap_free(*temporary);
        ring->path = *temporary = NULL;
    }
    return -EEXIST;
}

/* Maps the header with the queues, and the sub-buffers. The memory is shared: a fork need not copy its
 * pages, as the child unmaps them at once. */
static int map(struct fg_ring *ring, int fd, const struct fg_ring_header *layout)
{
    int flags = fd < 0 ? MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
    size_t in_page = layout->data_offset % FG_RING_PAGE_BYTES;
    size_t data_bytes = layout->file_bytes - (layout->data_offset - in_page);
    uint8_t *header = mmap(NULL, layout->symbols_offset, PROT_READ | PROT_WRITE, flags, fd, 0);
    uint8_t *data = mmap(NULL, data_bytes, PROT_READ | PROT_WRITE, flags, fd,
                         fd < 0 ? 0 : (off_t)(layout->data_offset - in_page));
    int error = errno;

    if (header == MAP_FAILED || data == MAP_FAILED) {
        if (header != MAP_FAILED)
            munmap(header, layout->symbols_offset);
        if (data != MAP_FAILED)
            munmap(data, data_bytes);
        return -error;
    }
    memcpy(header, layout, sizeof(*layout));
    ring->header = (struct fg_ring_header *)header;
    ring->header_mapping_bytes = layout->symbols_offset;
    ring->full_queue = (_Atomic uint32_t *)(header + layout->queue_offset);
    ring->free_queue = ring->full_queue + layout->nr_subbufs;
    ring->data = data + in_page;
    ring->data_mapping_bytes = data_bytes;
    return 0;
}

static void unmap(struct fg_ring *ring)
{
    if (!ring->header)
        return;
    munmap((void *)((uintptr_t)ring->data & ~(uintptr_t)(FG_RING_PAGE_BYTES - 1)), ring->data_mapping_bytes);
    munmap(ring->header, ring->header_mapping_bytes);
    ring->header = NULL;
}

/* Whether this process may have files of so many bytes. To try it would send SIGXFSZ, which kills a program
 * that does not ignore it, as Python does. */
static bool size_is_allowed(uint64_t bytes)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY || bytes <= limit.rlim_cur;
}

/* Gives a new file its size and the memory that no ring can do without: header, queues, the first symbols
 * and one sub-buffer. In a full file system this is an error here, not a SIGBUS later. */
static int file_map(struct fg_ring *ring, int fd, const struct fg_ring_header *layout)
{
    int error;

    if (!size_is_allowed(layout->file_bytes))
        return -EFBIG;
    if (ftruncate(fd, (off_t)layout->file_bytes) != 0)
        return -errno;
    error = fg_ring_room_take(fd, 0, layout->symbols_offset);
    if (!error)
        error = fg_ring_room_take(fd, layout->data_offset, layout->subbuf_bytes);
    if (error)
        return -error;
    ring->pool.nr_allocated = 1;
    error = map(ring, fd, layout);
    return error ? error : fg_ring_map_symbols(ring, fd, 0, 0);
}

/* Everything but the file's path, by which the memory of the symbols is known to be the file's. */
static void forget_memory(struct fg_ring *ring)
{
    fg_ring_forget_symbols(ring);
    unmap(ring);
}

void fg_ring_forget(struct fg_ring *ring)
{
    forget_memory(ring);
    fg_mmap_free(ring->pool.owners);
    fg_mmap_free(ring->pool.free);
    fg_mmap_free(ring->pool.sharers);
    fg_mmap_free(ring->path);
    ring->pool = (struct fg_ring_pool){0};
    ring->path = NULL;
}

void fg_ring_forget_spare(struct fg_ring *ring)
{
    if (!ring->spare)
        return;
    fg_ring_forget(ring->spare);
    fg_mmap_free(ring->spare);
    ring->spare = NULL;
}

static int open_file_in(struct fg_ring *ring, const char *folder, const struct fg_ring_header *layout)
{
    char *temporary = NULL;
    int fd = file_create(ring, folder, &temporary);
    int error = fd < 0 ? fd : file_map(ring, fd, layout);

    if (!error) {
        memcpy(ring->header->magic, FG_RING_MAGIC, sizeof(ring->header->magic));
        /* The final name comes last: a recorder that lists the directory sees only complete headers. */
        if (rename(temporary, ring->path) != 0)
            error = -errno;
    }
    if (error && fd >= 0)
        unlink(temporary);
    if (fd >= 0)
        close(fd);
    fg_mmap_free(temporary);
    if (error) {
        forget_memory(ring);
        fg_mmap_free(ring->path);
        ring->path = NULL;
    }
    return error;
}

static int open_file(struct fg_ring *ring, const struct fg_ring_header *layout)
{
    int error = open_file_in(ring, "", layout);

    if ((error == -ENOSPC || error == -EDQUOT) && open_file_in(ring, "/" FG_RING_SPARE, layout) == 0)
        error = 0;
    return error;
}

/* Creates the memory of a ring whose configuration is set. */
static int ring_start(struct fg_ring *ring)
{
    struct fg_ring_header layout = {0};
    int error = -ENOMEM;

    header_layout(&layout, ring);
    ring->pool.nr_usable = layout.nr_subbufs;
    ring->pool.owners = fg_mmap_alloc(layout.nr_subbufs * sizeof(*ring->pool.owners));
    ring->pool.free = fg_mmap_alloc(layout.nr_subbufs * sizeof(*ring->pool.free));
    if (ring->pool.owners && ring->pool.free)
        error = ring->directory ? open_file(ring, &layout) : map(ring, -1, &layout);
    if (error)
        fg_ring_forget(ring);
    return error;
}

int fg_ring_open(struct fg_ring *ring, const struct fg_ring_config *config)
{
    int error = -ENOMEM;

    if (config->buffer_bytes < FG_RING_MIN_KB * 1024u ||
        config->buffer_bytes > (size_t)UINT32_MAX * FG_RING_PAGE_BYTES ||
        (!config->directory && config->mode == FG_RING_WAIT))
        return -EINVAL;
    memset(ring, 0, sizeof(*ring));
    pthread_mutex_init(&ring->lock, NULL);
    pthread_mutex_init(&ring->copying, NULL);
    fg_clock_init();
    ring->mode = config->mode;
    ring->times_work = config->times_work;
    ring->buffer_bytes = config->buffer_bytes;
    memcpy(ring->instance, config->instance, sizeof(ring->instance));
    ring->instance[sizeof(ring->instance) - 1] = 0;
    if (config->opens_late && !config->directory) {
        atomic_store(&ring->reopen, FG_RING_TO_REOPEN);
        return 0;
    }
    ring->directory = config->directory ? strdup(config->directory) : NULL;
    if (ring->directory || !config->directory)
        error = ring_start(ring);
    if (error)
        free(ring->directory);
    else if (ring->directory)
        ring->page = fg_session_page_map(ring->directory);
    return error;
}

void fg_ring_empty(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    fg_ring_keep_symbols(ring);
    fg_ring_forget(ring);
    atomic_store(&ring->stopped, false);
    atomic_store(&ring->reopen, FG_RING_TO_REOPEN);
    fg_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
}

void fg_ring_adopt_locked(struct fg_ring *ring, struct fg_ring *fresh)
{
    fg_ring_keep_symbols(ring);
    fg_ring_forget(ring);
    ring->header = fresh->header;
    ring->full_queue = fresh->full_queue;
    ring->free_queue = fresh->free_queue;
    ring->data = fresh->data;
    ring->header_mapping_bytes = fresh->header_mapping_bytes;
    ring->data_mapping_bytes = fresh->data_mapping_bytes;
    ring->symbols = fresh->symbols;
    ring->pool = fresh->pool;
    ring->buffer_bytes = fresh->buffer_bytes;
    atomic_store(&ring->stopped, false);
    atomic_store(&ring->reopen, FG_RING_IS_OPEN);
}

void fg_ring_adopt(struct fg_ring *ring, struct fg_ring *fresh)
{
    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    fg_ring_adopt_locked(ring, fresh);
    fg_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
}

void fg_ring_fork_child(struct fg_ring *ring, bool follow)
{
    fg_ring_forget(ring);
    fg_ring_forget_spare(ring);
    atomic_store(&ring->swap_is_due, false);
    atomic_store(&ring->awaited, false);      /* nobody waits in the child */
    atomic_store(&ring->moves, false);        /* the thread that moved it is not in the child, */
    pthread_mutex_init(&ring->copying, NULL); /* nor is the one that held this lock, */
    atomic_store(&ring->has_ended, false);    /* nor perhaps the one that acts on the end */
    atomic_store(&ring->reopen, follow ? FG_RING_TO_REOPEN : FG_RING_IS_OPEN);
    if (ring->page)
        ring->missing_since = fg_missing_end(ring->page);
    if (!follow)
        atomic_store(&ring->stopped, true);
}

/* An empty file needs no room: the recorder reports a process that could not be traced. */
static bool leave_note(const struct fg_ring *ring, int error)
{
    static const char too_large[] = "could not be traced: " FG_RING_TOO_LARGE;
    char *path = fg_mmap_path("%s/%d.note", ring->directory, (int)getpid());
    int fd;

    if (!path)
        return false;
    fd = open(path, O_WRONLY | O_CREAT | FG_SESSION_OPEN, 0600);
    if (fd >= 0 && error == EFBIG && size_is_allowed(sizeof(too_large))) {
        ssize_t written = write(fd, too_large, sizeof(too_large) - 1);

        (void)written; /* an empty note tells less */
    }
    if (fd >= 0)
        close(fd);
    fg_mmap_free(path);
    return fd >= 0;
}

/* A forked child has no ring of its own, and the recorder hears of it. */
static void go_missing(struct fg_ring *ring, int error)
{
    atomic_store(&ring->stopped, true);
    if (ring->directory && !leave_note(ring, error) && ring->page)
        fg_missing_add(ring->page, ring->missing_since, error);
}

void fg_ring_reopen(struct fg_ring *ring)
{
    uint32_t expected = FG_RING_TO_REOPEN;
    bool opened = false;

    if (!atomic_compare_exchange_strong(&ring->reopen, &expected, FG_RING_REOPENS)) {
        while (atomic_load(&ring->reopen) == FG_RING_REOPENS)
            sched_yield();
        return;
    }
    fg_mutex_lock(&ring->lock);
    /* Another thread may have given an instance's ring its memory meanwhile (fg_ring_adopt). */
    if (!ring->header) {
        int error = ring_start(ring);

        opened = !error;
        if (error)
            go_missing(ring, -error);
    }
    fg_mutex_unlock(&ring->lock);
    if (opened && ring->reopened)
        ring->reopened(ring);
    expected = FG_RING_REOPENS; /* unless another thread emptied it meanwhile (fg_ring_empty) */
    atomic_compare_exchange_strong(&ring->reopen, &expected, FG_RING_IS_OPEN);
}
