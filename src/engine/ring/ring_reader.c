/* See ring_reader.h. No offset or size in the file is used before it was checked against the file's size. */
#define _GNU_SOURCE
#include "engine/ring/ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/ring/record.h"

struct fg_ring_reader {
    struct fg_ring_header *header;
    size_t bytes;
    /* Copies of the checked values: a traced process gone wrong may overwrite the header. */
    uint32_t nr_subbufs, subbuf_bytes;
    uint64_t symbols_offset, symbols_capacity, data_offset;
    _Atomic uint32_t *full_queue, *free_queue;
    uint64_t symbols_read;
    uint32_t *leftovers; /* indexes in order of seq, once fg_ring_reader_next_leftover was called */
    uint32_t nr_leftovers, leftover_at;
};

static bool inside(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

static bool header_is_sound(const struct fg_ring_header *header, uint64_t file_bytes)
{
    uint64_t queue_bytes = 2 * (uint64_t)header->nr_subbufs * sizeof(uint32_t);
    uint64_t data_bytes = (uint64_t)header->nr_subbufs * header->subbuf_bytes;

    return memcmp(header->magic, FG_RING_MAGIC, sizeof(header->magic)) == 0 &&
           header->header_bytes == FG_RING_HEADER_BYTES && header->nr_subbufs &&
           header->subbuf_bytes % 4096 == 0 && header->subbuf_bytes &&
           header->queue_offset >= FG_RING_HEADER_BYTES && header->queue_offset % 8 == 0 &&
           header->symbols_offset % 8 == 0 && header->data_offset % 8 == 0 &&
           inside(header->queue_offset, queue_bytes, file_bytes) &&
           inside(header->symbols_offset, header->symbols_capacity, file_bytes) &&
           inside(header->data_offset, data_bytes, file_bytes);
}

static void reader_init(struct fg_ring_reader *reader, struct fg_ring_header *header, size_t bytes)
{
    reader->header = header;
    reader->bytes = bytes;
    reader->nr_subbufs = header->nr_subbufs;
    reader->subbuf_bytes = header->subbuf_bytes;
    reader->symbols_offset = header->symbols_offset;
    reader->symbols_capacity = header->symbols_capacity;
    reader->data_offset = header->data_offset;
    reader->full_queue = (_Atomic uint32_t *)((uint8_t *)header + header->queue_offset);
    reader->free_queue = reader->full_queue + header->nr_subbufs;
}

static int map_file(int fd, struct fg_ring_header **header, size_t *bytes)
{
    struct stat status;
    void *mapping;

    if (fstat(fd, &status) != 0)
        return -errno;
    if (!S_ISREG(status.st_mode) || (uint64_t)status.st_size < FG_RING_HEADER_BYTES)
        return -EINVAL;
    mapping = mmap(NULL, (size_t)status.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    *header = mapping;
    *bytes = (size_t)status.st_size;
    if (header_is_sound(mapping, *bytes))
        return 0;
    munmap(mapping, *bytes);
    return -EINVAL;
}

int fg_ring_reader_open(const char *path, struct fg_ring_reader **out)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    int error = fd < 0 ? -errno : fg_ring_reader_open_fd(fd, out);

    if (fd >= 0)
        close(fd);
    return error;
}

int fg_ring_reader_open_fd(int fd, struct fg_ring_reader **out)
{
    struct fg_ring_reader *reader = calloc(1, sizeof(*reader));
    struct fg_ring_header *header = NULL;
    size_t bytes = 0;
    int error;

    if (!reader)
        return -ENOMEM;
    error = map_file(fd, &header, &bytes);
    if (error) {
        free(reader);
        return error;
    }
    reader_init(reader, header, bytes);
    *out = reader;
    return 0;
}

void fg_ring_reader_close(struct fg_ring_reader *reader)
{
    if (!reader)
        return;
    munmap(reader->header, reader->bytes);
    free(reader->leftovers);
    free(reader);
}

const struct fg_ring_header *fg_ring_reader_header(const struct fg_ring_reader *reader)
{
    return reader->header;
}

const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader)
{
    /* acquire: pairs with the release in ring_buffer.c, put_symbol_locked */
    uint64_t committed = atomic_load_explicit(&reader->header->symbols_committed, memory_order_acquire);
    const struct fg_symbol *symbol;

    if (committed > reader->symbols_capacity)
        committed = reader->symbols_capacity;
    if (reader->symbols_read + sizeof(*symbol) > committed)
        return NULL;
    symbol = (const void *)((uint8_t *)reader->header + reader->symbols_offset + reader->symbols_read);
    if (symbol->bytes < sizeof(*symbol) || symbol->bytes % 8 ||
        symbol->bytes > committed - reader->symbols_read)
        return NULL;
    reader->symbols_read += symbol->bytes;
    return symbol;
}

static struct fg_subbuf *subbuf_at(const struct fg_ring_reader *reader, uint32_t index)
{
    return (struct fg_subbuf *)((uint8_t *)reader->header + reader->data_offset +
                                (uint64_t)index * reader->subbuf_bytes);
}

static void chunk_fill(const struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk)
{
    struct fg_subbuf *subbuf = subbuf_at(reader, index);
    /* acquire: pairs with the release in fg_ring_commit */
    uint64_t commit = atomic_load_explicit(&subbuf->commit, memory_order_acquire);
    size_t room = reader->subbuf_bytes - sizeof(*subbuf);

    chunk->data = subbuf + 1;
    chunk->bytes = commit < room ? (size_t)commit & ~(size_t)7 : room;
    chunk->lost = atomic_load_explicit(&subbuf->lost, memory_order_relaxed);
    chunk->seq = subbuf->seq;
    chunk->task = subbuf->task;
    chunk->index = index;
}

bool fg_ring_reader_next(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk)
{
    struct fg_ring_header *header = reader->header;
    uint64_t tail = atomic_load_explicit(&header->full_tail, memory_order_acquire);
    uint32_t index;

    do {
        /* acquire: pairs with the release of the head in ring_buffer.c, queue_full */
        if (tail == atomic_load_explicit(&header->full_head, memory_order_acquire))
            return false;
        index = atomic_load_explicit(&reader->full_queue[tail % reader->nr_subbufs], memory_order_relaxed) %
                reader->nr_subbufs;
        /* In overwrite mode a writer may take the same sub-buffer back: the side that moves the
         * tail gets it. */
    } while (!atomic_compare_exchange_weak_explicit(&header->full_tail, &tail, tail + 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    atomic_store_explicit(&subbuf_at(reader, index)->state, FG_SUBBUF_CLAIMED, memory_order_relaxed);
    chunk_fill(reader, index, chunk);
    /* Exchanged, not just read: a loss that a writer adds to this sub-buffer from now on is the writer's
     * to report, with another sub-buffer (ring_pool.c, begin). */
    chunk->lost = atomic_exchange(&subbuf_at(reader, index)->lost, 0);
    return true;
}

void fg_ring_reader_release(struct fg_ring_reader *reader, const struct fg_ring_chunk *chunk)
{
    struct fg_ring_header *header = reader->header;
    uint64_t head = atomic_load_explicit(&header->free_head, memory_order_relaxed);

    atomic_store_explicit(&subbuf_at(reader, chunk->index)->state, FG_SUBBUF_FREE, memory_order_relaxed);
    atomic_store_explicit(&reader->free_queue[head % reader->nr_subbufs], chunk->index, memory_order_relaxed);
    /* seq_cst: a writer counts itself as waiter, then reads the head; we move the head, then read the
     * count. One of the two sees the other's store. */
    atomic_store(&header->free_head, head + 1);
    if (atomic_load(&header->waiters)) {
        atomic_fetch_add(&header->free_futex, 1);
        syscall(SYS_futex, &header->free_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

static int by_seq(const void *a, const void *b, void *arg)
{
    const struct fg_ring_reader *reader = arg;
    uint64_t left = subbuf_at(reader, *(const uint32_t *)a)->seq;
    uint64_t right = subbuf_at(reader, *(const uint32_t *)b)->seq;

    return (left > right) - (left < right);
}

static bool find_leftovers(struct fg_ring_reader *reader)
{
    reader->leftovers = calloc(reader->nr_subbufs, sizeof(*reader->leftovers));
    if (!reader->leftovers)
        return false;
    for (uint32_t i = 0; i < reader->nr_subbufs; i++) {
        struct fg_subbuf *subbuf = subbuf_at(reader, i);

        if (atomic_load(&subbuf->state) != FG_SUBBUF_FREE)
            reader->leftovers[reader->nr_leftovers++] = i;
    }
    qsort_r(reader->leftovers, reader->nr_leftovers, sizeof(*reader->leftovers), by_seq, reader);
    return true;
}

bool fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk)
{
    if (!reader->leftovers && !find_leftovers(reader))
        return false;
    if (reader->leftover_at == reader->nr_leftovers)
        return false;
    chunk_fill(reader, reader->leftovers[reader->leftover_at++], chunk);
    return true;
}

void fg_ring_reader_stop_writer(struct fg_ring_reader *reader)
{
    atomic_store(&reader->header->stop, 1);
    atomic_fetch_add(&reader->header->free_futex, 1);
    syscall(SYS_futex, &reader->header->free_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void fg_ring_reader_clock(const struct fg_ring_reader *reader, struct fg_clock_pair *start,
                          struct fg_clock_pair *latest)
{
    const struct fg_ring_header *header = reader->header;
    uint32_t before, after;
    int tries = 1000; /* a writer that died between the two stores leaves the count odd for ever */

    *start = header->clock_start;
    do {
        before = atomic_load_explicit(&header->clock_seq, memory_order_acquire);
        *latest = header->clock_latest;
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&header->clock_seq, memory_order_relaxed);
    } while (((before & 1) || before != after) && --tries);
    if (!tries)
        *latest = *start;
}
