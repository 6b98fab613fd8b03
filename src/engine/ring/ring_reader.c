/* See ring_reader.h. No offset or size in the file is used before it was checked against the file's size. */
#define _GNU_SOURCE
#include "engine/ring/ring_reader.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/core/array.h"

/* Symbols are read so many bytes at a time. */
#define SYMBOL_WINDOW_BYTES (64u << 10)

struct fg_ring_reader {
    int fd;                        /* negative: few descriptors are left, and all of the file is mapped */
    struct fg_ring_header *header; /* mapped together with the queues */
    size_t mapping_bytes;
    /* Copies of the checked values: a traced process gone wrong may overwrite the header. */
    uint32_t nr_subbufs, subbuf_bytes;
    uint64_t symbols_offset, symbols_capacity, data_offset;
    _Atomic uint32_t *full_queue, *free_queue;
    uint8_t *records; /* the latest chunk's; room for a sub-buffer */
    uint32_t claimed; /* a sub-buffer that could not be read yet, ... */
    bool has_claimed; /* ... if this is true */
    uint8_t *window;  /* part of the symbols, from symbols_read on */
    size_t window_bytes, window_capacity, window_at;
    uint64_t symbols_read;
    struct leftover *leftovers; /* in order of seq, once fg_ring_reader_next_leftover was called */
    uint32_t nr_leftovers, leftover_at;
};

struct leftover {
    uint64_t seq;
    uint32_t index;
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
           header->subbuf_bytes % FG_RING_PAGE_BYTES == 0 && header->subbuf_bytes &&
           header->subbuf_bytes <= FG_RING_SUBBUF_BYTES_MAX && header->queue_offset >= FG_RING_HEADER_BYTES &&
           header->queue_offset % 8 == 0 && header->symbols_offset % 8 == 0 && header->data_offset % 8 == 0 &&
           inside(header->queue_offset, queue_bytes, file_bytes) &&
           inside(header->symbols_offset, header->symbols_capacity, file_bytes) &&
           inside(header->data_offset, data_bytes, file_bytes);
}

static int read_all(int fd, void *data, size_t bytes, uint64_t offset)
{
    for (uint8_t *at = data; bytes;) {
        ssize_t got = pread(fd, at, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return got < 0 ? -errno : -EIO;
        at += got;
        bytes -= (size_t)got;
        offset += (uint64_t)got;
    }
    return 0;
}

static int read_file(const struct fg_ring_reader *reader, void *data, size_t bytes, uint64_t offset)
{
    if (reader->fd >= 0)
        return read_all(reader->fd, data, bytes, offset);
    if (!inside(offset, bytes, reader->mapping_bytes))
        return -EIO;
    memcpy(data, (const uint8_t *)reader->header + offset, bytes);
    return 0;
}

/* Stores through a mapping, which RLIMIT_FSIZE does not limit. The page must have been allocated. */
static void store_mapped(int fd, const void *data, size_t bytes, uint64_t offset)
{
    uint64_t page = offset / FG_RING_PAGE_BYTES * FG_RING_PAGE_BYTES;
    uint8_t *mapping = mmap(NULL, FG_RING_PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, (off_t)page);

    if (mapping == MAP_FAILED)
        return;
    memcpy(mapping + (offset - page), data, bytes);
    munmap(mapping, FG_RING_PAGE_BYTES);
}

/* Writes to the head of a sub-buffer that its writer has queued, so its page exists. The writer sees the
 * store at once: a file's pages are the same memory for pwrite() and for a mapping. */
static void write_head(const struct fg_ring_reader *reader, const void *data, size_t bytes, uint64_t offset)
{
    ssize_t written;

    if (reader->fd < 0) {
        if (inside(offset, bytes, reader->mapping_bytes))
            memcpy((uint8_t *)reader->header + offset, data, bytes);
        return;
    }
    do
        written = pwrite(reader->fd, data, bytes, (off_t)offset);
    while (written < 0 && errno == EINTR);
    if (written < 0 && errno == EFBIG) /* the user's limit for files is below the ring's size */
        store_mapped(reader->fd, data, bytes, offset);
}

static void reader_init(struct fg_ring_reader *reader, const struct fg_ring_header *header)
{
    reader->nr_subbufs = header->nr_subbufs;
    reader->subbuf_bytes = header->subbuf_bytes;
    reader->symbols_offset = header->symbols_offset;
    reader->symbols_capacity = header->symbols_capacity;
    reader->data_offset = header->data_offset;
    reader->full_queue = (_Atomic uint32_t *)((uint8_t *)reader->header + header->queue_offset);
    reader->free_queue = reader->full_queue + header->nr_subbufs;
}

/* Recording hundreds of processes must leave descriptors for files to write. */
static bool may_keep(int fd)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)fd < limit.rlim_cur / 2;
}

/* Maps the header and the queues, whose values were checked in a copy; all of the file, if the descriptor is
 * not kept. The file is not opened again by its path: whoever owns its folder may have put another file
 * there. */
static int map_header(struct fg_ring_reader *reader, const struct fg_ring_header *header, uint64_t file_bytes)
{
    uint64_t queue_bytes = 2 * (uint64_t)header->nr_subbufs * sizeof(uint32_t);
    bool keeps = may_keep(reader->fd);
    void *mapping;

    reader->mapping_bytes = fg_ring_page_round(keeps ? header->queue_offset + queue_bytes : file_bytes);
    mapping = mmap(NULL, reader->mapping_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, reader->fd, 0);
    if (mapping == MAP_FAILED)
        return -errno;
    reader->header = mapping;
    reader_init(reader, header);
    if (!keeps) {
        close(reader->fd);
        reader->fd = -1;
    }
    reader->records = malloc(header->subbuf_bytes);
    return reader->records ? 0 : -ENOMEM;
}

static int open_file(struct fg_ring_reader *reader)
{
    struct fg_ring_header header;
    struct stat status;
    uint64_t file_bytes;
    int error;

    if (fstat(reader->fd, &status) != 0)
        return -errno;
    file_bytes = (uint64_t)status.st_size;
    if (!S_ISREG(status.st_mode) || file_bytes < FG_RING_HEADER_BYTES)
        return -EINVAL;
    error = read_all(reader->fd, &header, sizeof(header), 0);
    if (error)
        return error;
    return header_is_sound(&header, file_bytes) ? map_header(reader, &header, file_bytes) : -EINVAL;
}

/* Takes over the descriptor, also in an error. */
static int reader_open(int fd, struct fg_ring_reader **out)
{
    struct fg_ring_reader *reader = calloc(1, sizeof(*reader));
    int error;

    if (!reader) {
        close(fd);
        return -ENOMEM;
    }
    reader->fd = fd;
    error = open_file(reader);
    if (error)
        fg_ring_reader_close(reader);
    else
        *out = reader;
    return error;
}

int fg_ring_reader_open(const char *path, struct fg_ring_reader **out)
{
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);

    return fd < 0 ? -errno : reader_open(fd, out);
}

int fg_ring_reader_open_fd(int fd, struct fg_ring_reader **out)
{
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 3);

    return own < 0 ? -errno : reader_open(own, out);
}

void fg_ring_reader_close(struct fg_ring_reader *reader)
{
    if (!reader)
        return;
    if (reader->header)
        munmap(reader->header, reader->mapping_bytes);
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader->records);
    free(reader->window);
    free(reader->leftovers);
    free(reader);
}

const struct fg_ring_header *fg_ring_reader_header(const struct fg_ring_reader *reader)
{
    return reader->header;
}

/* Has the next `bytes` of symbols in the window. `committed`: how many bytes of symbols there are. */
static bool fill_window(struct fg_ring_reader *reader, uint64_t bytes, uint64_t committed)
{
    uint64_t left = committed - reader->symbols_read;
    size_t wanted = bytes > SYMBOL_WINDOW_BYTES ? bytes : SYMBOL_WINDOW_BYTES;

    if (reader->window_bytes - reader->window_at >= bytes)
        return true;
    if (wanted > left)
        wanted = left;
    if (bytes > left || fg_array_reserve(&reader->window, &reader->window_capacity, wanted) != 0)
        return false;
    reader->window_at = reader->window_bytes = 0;
    if (read_file(reader, reader->window, wanted, reader->symbols_offset + reader->symbols_read) != 0)
        return false;
    reader->window_bytes = wanted;
    return true;
}

const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader)
{
    /* acquire: pairs with the release in ring_symbols.c, put_symbol_locked */
    uint64_t committed = atomic_load_explicit(&reader->header->symbols_committed, memory_order_acquire);
    const struct fg_symbol *symbol;
    uint32_t bytes;

    if (committed > reader->symbols_capacity)
        committed = reader->symbols_capacity;
    if (reader->symbols_read > committed || !fill_window(reader, sizeof(*symbol), committed))
        return NULL;
    bytes = ((const struct fg_symbol *)(reader->window + reader->window_at))->bytes;
    if (bytes < sizeof(*symbol) || bytes % 8 || !fill_window(reader, bytes, committed))
        return NULL;
    symbol = (const struct fg_symbol *)(reader->window + reader->window_at);
    reader->window_at += bytes;
    reader->symbols_read += bytes;
    return symbol->bytes == bytes ? symbol : NULL; /* it may have been read twice */
}

uint64_t fg_ring_reader_seek_symbols(struct fg_ring_reader *reader, uint64_t place)
{
    uint64_t before = reader->symbols_read;

    reader->symbols_read = place;
    reader->window_at = reader->window_bytes = 0;
    return before;
}

static uint64_t subbuf_offset(const struct fg_ring_reader *reader, uint32_t index)
{
    return reader->data_offset + (uint64_t)index * reader->subbuf_bytes;
}

static void set_state(const struct fg_ring_reader *reader, uint32_t index, uint32_t state)
{
    write_head(reader, &state, sizeof(state),
               subbuf_offset(reader, index) + offsetof(struct fg_subbuf, state));
}

/* Reads a sub-buffer's records. */
static int read_chunk(struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk)
{
    size_t room = reader->subbuf_bytes - sizeof(struct fg_subbuf);
    uint64_t offset = subbuf_offset(reader, index), commit;
    struct fg_subbuf head;
    int error = read_file(reader, &head, sizeof(head), offset);

    if (error)
        return error;
    commit = atomic_load_explicit(&head.commit, memory_order_relaxed);
    *chunk = (struct fg_ring_chunk){
        .data = reader->records,
        .bytes = commit < room ? (size_t)commit & ~(size_t)7 : room,
        .lost = atomic_load_explicit(&head.lost, memory_order_relaxed),
        .seq = head.seq,
        .task = head.task,
        .index = index,
    };
    return read_file(reader, reader->records, chunk->bytes, offset + sizeof(head));
}

static bool claim(struct fg_ring_reader *reader, uint32_t *index)
{
    struct fg_ring_header *header = reader->header;
    uint64_t tail = atomic_load_explicit(&header->full_tail, memory_order_acquire);

    do {
        /* acquire: pairs with the release of the head in ring_pool.c, queue_full */
        if (tail == atomic_load_explicit(&header->full_head, memory_order_acquire))
            return false;
        *index = atomic_load_explicit(&reader->full_queue[tail % reader->nr_subbufs], memory_order_relaxed) %
                 reader->nr_subbufs;
        /* In overwrite mode a writer may take the same sub-buffer back: the side that moves the
         * tail gets it. */
    } while (!atomic_compare_exchange_weak_explicit(&header->full_tail, &tail, tail + 1, memory_order_acq_rel,
                                                    memory_order_acquire));
    set_state(reader, *index, FG_SUBBUF_CLAIMED);
    return true;
}

int fg_ring_reader_next(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk)
{
    int error;

    if (!reader->has_claimed && !claim(reader, &reader->claimed))
        return 0;
    reader->has_claimed = true;
    error = read_chunk(reader, reader->claimed, chunk);
    if (error)
        return error;
    reader->has_claimed = false;
    return 1;
}

void fg_ring_reader_release(struct fg_ring_reader *reader, const struct fg_ring_chunk *chunk)
{
    struct fg_ring_header *header = reader->header;
    uint64_t head = atomic_load_explicit(&header->free_head, memory_order_relaxed);

    if (chunk->lost)
        write_head(reader, &chunk->lost, sizeof(chunk->lost),
                   subbuf_offset(reader, chunk->index) + offsetof(struct fg_subbuf, lost_told));
    set_state(reader, chunk->index, FG_SUBBUF_FREE);
    atomic_store_explicit(&reader->free_queue[head % reader->nr_subbufs], chunk->index, memory_order_relaxed);
    /* seq_cst: a writer counts itself as waiter, then reads the head; we move the head, then read the
     * count. One of the two sees the other's store. */
    atomic_store(&header->free_head, head + 1);
    if (atomic_load(&header->waiters)) {
        atomic_fetch_add(&header->free_futex, 1);
        syscall(SYS_futex, &header->free_futex, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    }
}

static int by_seq(const void *a, const void *b)
{
    const struct leftover *one = a, *other = b;

    return (one->seq > other->seq) - (one->seq < other->seq);
}

/* Sub-buffers that never had memory are zeros: they are free. */
static int find_leftovers(struct fg_ring_reader *reader)
{
    uint32_t count = 0;

    reader->leftovers = calloc(reader->nr_subbufs, sizeof(*reader->leftovers));
    if (!reader->leftovers)
        return -ENOMEM;
    for (uint32_t i = 0; i < reader->nr_subbufs; i++) {
        struct fg_subbuf head;
        int error = read_file(reader, &head, sizeof(head), subbuf_offset(reader, i));

        if (error) {
            free(reader->leftovers);
            reader->leftovers = NULL;
            return error;
        }
        if (atomic_load_explicit(&head.state, memory_order_relaxed) != FG_SUBBUF_FREE)
            reader->leftovers[count++] = (struct leftover){head.seq, i};
    }
    reader->nr_leftovers = count;
    qsort(reader->leftovers, count, sizeof(*reader->leftovers), by_seq);
    return 0;
}

int fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk)
{
    int error = reader->leftovers ? 0 : find_leftovers(reader);

    if (!error && reader->leftover_at == reader->nr_leftovers)
        return 0;
    if (!error)
        error = read_chunk(reader, reader->leftovers[reader->leftover_at].index, chunk);
    if (error)
        return error;
    reader->leftover_at++;
    return 1;
}

static int read_subbuf(struct fg_ring_reader *reader, uint32_t index, struct fg_subbuf *head)
{
    return read_file(reader, head, sizeof(*head), subbuf_offset(reader, index));
}

/* The owner may queue the sub-buffer while we read, and a task may take it again after somebody drained it.
 * Records are only appended: if its seq is as before, those up to the first commit are whole. */
int fg_ring_reader_peek(struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk)
{
    struct fg_subbuf before, after;
    int error = read_subbuf(reader, index, &before);

    if (error || atomic_load_explicit(&before.state, memory_order_relaxed) != FG_SUBBUF_OWNED)
        return error;
    error = read_chunk(reader, index, chunk);
    if (!error)
        error = read_subbuf(reader, index, &after);
    if (error || chunk->seq != before.seq || after.seq != before.seq)
        return error;
    chunk->lost -= before.lost_told < chunk->lost ? before.lost_told : chunk->lost;
    return chunk->bytes > 0;
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
