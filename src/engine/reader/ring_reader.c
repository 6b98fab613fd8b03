/* See ring_reader.h.
 *
 * The file is the traced process's: it may change every word of it at any instant, and the file's size. So a
 * word is read once, into a local variable or a copy; the copy is checked, and the copy is used. What the
 * reader decided is in its own memory.
 *
 * | field of the header                      | read                                | what holds           |
 * |------------------------------------------|-------------------------------------|----------------------|
 * | magic, queue_offset                      | when opened                         | equal to ours        |
 * | header_bytes                             | when opened; later 0: truncated     | equal to ours        |
 * | nr_subbufs, subbuf_bytes                 | when opened                         | agreed most_bytes    |
 * | symbols_offset, _capacity, data_offset   | when opened                         | the file's size      |
 * | pid, clock_kind, clock_start, instance   | when opened                         | only shown           |
 * | file_bytes, mode, free_tail              | never                               |                      |
 * | full_head, full_tail                     | once a try, TAIL_TRIES tries        | modulo nr_subbufs    |
 * | full queue: an index                     | once                                | modulo nr_subbufs    |
 * | free_head                                | once                                | modulo nr_subbufs    |
 * | waiters, stop, free_futex                | waiters once; others only written   | only wakes           |
 * | symbols_committed                        | once a symbol                       | our symbols_capacity |
 * | a symbol                                 | copied; a symbol may be copied      | bytes compared after |
 * |                                          | twice, in two windows               | the second copy      |
 * | clock_seq, clock_latest                  | CLOCK_TRIES times                   | any pair is possible |
 * | finished, nr_tasks, records_lost, ...    | once, as a whole                    | only shown           |
 * | killed                                   | copied                              | our NUL at its end   |
 * | a sub-buffer's head and records          | copied                              | commit: its size;    |
 * |                                          |                                     | record_check.h       |
 *
 * Mappings have a guard (bus_guard.h): the header and the queues, or all of the file if few descriptors are
 * left. All else is copied by pread(2), which tells of a truncated file by itself. */
#define _GNU_SOURCE
#include "engine/reader/ring_reader.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/core/array.h"
#include "engine/reader/ring_access.h"

/* Symbols are read so many bytes at a time. */
#define SYMBOL_WINDOW_BYTES (64u << 10)
/* A larger window, for a large symbol, is given back after it. */
#define KEPT_WINDOW_BYTES (1u << 20)
/* The tail moves once for each sub-buffer that a writer takes back meanwhile. */
#define TAIL_TRIES 1000
/* A writer that died between its two stores leaves clock_seq odd for ever. */
#define CLOCK_TRIES 1000

struct fg_ring_reader {
    struct fg_ring_access access;
    struct fg_ring_header *header; /* mapped together with the queues */
    struct fg_ring_facts facts;
    uint64_t symbols_offset, symbols_capacity, data_offset;
    _Atomic uint32_t *full_queue, *free_queue;
    uint8_t *records; /* the latest chunk's; room for a sub-buffer */
    uint32_t claimed; /* a sub-buffer that could not be read yet, ... */
    bool has_claimed; /* ... if this is true */
    bool is_cut;      /* there are symbols that are left out */
    uint8_t *window;  /* part of the symbols, from symbols_read on */
    size_t window_bytes, window_capacity, window_at;
    uint64_t symbols_read;
    struct leftover *leftovers; /* in order of seq, once fg_ring_reader_next_leftover was called */
    size_t nr_leftovers, leftovers_capacity, leftover_at;
    bool has_leftovers;
};

struct leftover {
    uint64_t seq;
    uint32_t index;
};

static bool inside(uint64_t offset, uint64_t bytes, uint64_t file_bytes)
{
    return offset <= file_bytes && bytes <= file_bytes - offset;
}

/* @header is a copy. */
static bool header_is_sound(const struct fg_ring_header *header, uint64_t file_bytes, uint64_t most_bytes)
{
    uint64_t queue_bytes = 2 * (uint64_t)header->nr_subbufs * sizeof(uint32_t);
    uint64_t data_bytes = (uint64_t)header->nr_subbufs * header->subbuf_bytes;

    return memcmp(header->magic, FG_RING_MAGIC, sizeof(header->magic)) == 0 &&
           header->header_bytes == FG_RING_HEADER_BYTES && header->nr_subbufs &&
           header->subbuf_bytes % FG_RING_PAGE_BYTES == 0 && header->subbuf_bytes &&
           header->subbuf_bytes <= FG_RING_SUBBUF_BYTES_MAX && data_bytes <= most_bytes &&
           header->queue_offset == FG_RING_HEADER_BYTES && header->symbols_offset % 8 == 0 &&
           header->data_offset % 8 == 0 && inside(header->queue_offset, queue_bytes, file_bytes) &&
           inside(header->symbols_offset, header->symbols_capacity, file_bytes) &&
           inside(header->data_offset, data_bytes, file_bytes);
}

static void take_facts(struct fg_ring_reader *reader, const struct fg_ring_header *header)
{
    reader->facts = (struct fg_ring_facts){
        .pid = header->pid,
        .nr_subbufs = header->nr_subbufs,
        .subbuf_bytes = header->subbuf_bytes,
        .clock_kind = header->clock_kind,
        .clock_start = header->clock_start,
    };
    memcpy(reader->facts.instance, header->instance, sizeof(header->instance) - 1);
    reader->symbols_offset = header->symbols_offset;
    reader->symbols_capacity = header->symbols_capacity;
    if (reader->symbols_capacity > FG_RING_SYMBOL_BYTES)
        reader->symbols_capacity = FG_RING_SYMBOL_BYTES;
    reader->data_offset = header->data_offset;
}

/* Maps the header and the queues, by the values of a checked copy. */
static int map_header(struct fg_ring_reader *reader)
{
    uint64_t queue_bytes = 2 * (uint64_t)reader->facts.nr_subbufs * sizeof(uint32_t);
    int error = fg_ring_access_map(&reader->access, fg_ring_page_round(FG_RING_HEADER_BYTES + queue_bytes));
    uint8_t *memory = reader->access.mapping.memory;

    if (error)
        return error;
    reader->header = (struct fg_ring_header *)memory;
    reader->full_queue = (_Atomic uint32_t *)(memory + FG_RING_HEADER_BYTES);
    reader->free_queue = reader->full_queue + reader->facts.nr_subbufs;
    reader->records = malloc(reader->facts.subbuf_bytes);
    return reader->records ? 0 : -ENOMEM;
}

static bool is_shortage(int error)
{
    return error == -ENOMEM || error == -EMFILE || error == -ENFILE;
}

/* A file that cannot be read, written or mapped is no ring, whatever the reason. */
static int read_header(struct fg_ring_reader *reader, uint64_t most_bytes)
{
    struct fg_ring_header header;
    int error = fg_ring_access_read(&reader->access, &header, sizeof(header), 0);

    if (!error && !header_is_sound(&header, reader->access.file_bytes, most_bytes))
        error = -EINVAL;
    if (!error) {
        take_facts(reader, &header);
        error = map_header(reader);
    }
    return error && !is_shortage(error) ? -EINVAL : error;
}

/* Takes over the access. */
static int reader_open(const struct fg_ring_access *access, uint64_t most_bytes, struct fg_ring_reader **out)
{
    struct fg_ring_reader *reader = calloc(1, sizeof(*reader));
    struct fg_ring_access left = *access;
    int error;

    if (!reader) {
        fg_ring_access_close(&left);
        return -ENOMEM;
    }
    reader->access = *access;
    error = read_header(reader, most_bytes);
    if (error)
        fg_ring_reader_close(reader);
    else
        *out = reader;
    return error;
}

int fg_ring_reader_open(const char *path, uint64_t most_bytes, struct fg_ring_reader **out)
{
    struct fg_ring_access access;
    int error = fg_ring_access_open(&access, path);

    return error ? error : reader_open(&access, most_bytes, out);
}

int fg_ring_reader_open_fd(int fd, uint64_t most_bytes, bool is_private, struct fg_ring_reader **out)
{
    struct fg_ring_access access;
    int error = fg_ring_access_open_fd(&access, fd, is_private);

    return error ? error : reader_open(&access, most_bytes, out);
}

void fg_ring_reader_close(struct fg_ring_reader *reader)
{
    if (!reader)
        return;
    fg_ring_access_close(&reader->access);
    free(reader->records);
    free(reader->window);
    free(reader->leftovers);
    free(reader);
}

const struct fg_ring_facts *fg_ring_reader_facts(const struct fg_ring_reader *reader)
{
    return &reader->facts;
}

/* relaxed: these are figures for a person. */
static uint64_t load(const _Atomic uint64_t *number)
{
    return atomic_load_explicit(number, memory_order_relaxed);
}

void fg_ring_reader_counts(const struct fg_ring_reader *reader, struct fg_ring_counts *counts)
{
    const struct fg_ring_header *header = reader->header;

    *counts = (struct fg_ring_counts){
        .records_lost = load(&header->records_lost),
        .overrun = load(&header->overrun),
        .wait_count = load(&header->wait_count),
        .wait_ticks = load(&header->wait_ticks),
        .symbols_lost = load(&header->symbols_lost),
        .nr_tasks = atomic_load_explicit(&header->nr_tasks, memory_order_relaxed),
        .waiters = atomic_load_explicit(&header->waiters, memory_order_relaxed),
        .finished = atomic_load(&header->finished) != 0,
    };
    if (reader->is_cut && counts->symbols_lost != UINT64_MAX)
        counts->symbols_lost++;
    memcpy(counts->killed, header->killed, sizeof(counts->killed) - 1);
}

/* A file that was truncated and has grown again has zeros there. */
static bool is_emptied(const struct fg_ring_header *header)
{
    return *(const volatile uint32_t *)&header->header_bytes == 0;
}

const char *fg_ring_reader_damage(struct fg_ring_reader *reader)
{
    struct fg_ring_access *access = &reader->access;

    /* Reading the header may show that it is truncated: this comes first. */
    if (!access->damage && (is_emptied(reader->header) || fg_ring_access_is_truncated(access)))
        fg_ring_access_damage(access, FG_RING_TRUNCATED);
    return access->damage;
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
    if (fg_ring_access_read(&reader->access, reader->window, wanted,
                            reader->symbols_offset + reader->symbols_read) != 0)
        return false;
    reader->window_bytes = wanted;
    return true;
}

static void shrink_window(struct fg_ring_reader *reader)
{
    if (reader->window_capacity <= KEPT_WINDOW_BYTES || reader->window_at < reader->window_bytes)
        return;
    free(reader->window);
    reader->window = NULL;
    reader->window_at = reader->window_bytes = reader->window_capacity = 0;
}

const struct fg_symbol *fg_ring_reader_next_symbol(struct fg_ring_reader *reader)
{
    /* acquire: pairs with the release in ring_symbols.c, put_symbol_locked */
    uint64_t committed = atomic_load_explicit(&reader->header->symbols_committed, memory_order_acquire);
    const struct fg_symbol *symbol;
    uint32_t bytes;

    if (committed > reader->symbols_capacity) {
        committed = reader->symbols_capacity;
        reader->is_cut = true;
    }
    shrink_window(reader);
    if (reader->symbols_read > committed || !fill_window(reader, sizeof(*symbol), committed))
        return NULL;
    bytes = ((const struct fg_symbol *)(reader->window + reader->window_at))->bytes;
    if (bytes < sizeof(*symbol) || bytes % 8 || bytes > FG_RING_SYMBOL_BYTES_MAX) {
        reader->is_cut = true; /* where the next one begins is not known */
        return NULL;
    }
    if (!fill_window(reader, bytes, committed))
        return NULL;
    symbol = (const struct fg_symbol *)(reader->window + reader->window_at);
    if (symbol->bytes != bytes) { /* changed between two copies */
        reader->is_cut = true;
        return NULL;
    }
    reader->window_at += bytes;
    reader->symbols_read += bytes;
    return symbol;
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
    return reader->data_offset + (uint64_t)index * reader->facts.subbuf_bytes;
}

static void set_state(struct fg_ring_reader *reader, uint32_t index, uint32_t state)
{
    fg_ring_access_write(&reader->access, &state, sizeof(state),
                         subbuf_offset(reader, index) + offsetof(struct fg_subbuf, state));
}

static int read_head(struct fg_ring_reader *reader, uint32_t index, struct fg_subbuf *head)
{
    return fg_ring_access_read(&reader->access, head, sizeof(*head), subbuf_offset(reader, index));
}

/* Reads a sub-buffer's records. */
static int read_chunk(struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk)
{
    size_t room = reader->facts.subbuf_bytes - sizeof(struct fg_subbuf);
    struct fg_subbuf head;
    int error = read_head(reader, index, &head);
    uint64_t commit;

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
    return fg_ring_access_read(&reader->access, reader->records, chunk->bytes,
                               subbuf_offset(reader, index) + sizeof(head));
}

static bool claim(struct fg_ring_reader *reader, uint32_t *index)
{
    struct fg_ring_header *header = reader->header;
    uint32_t nr_subbufs = reader->facts.nr_subbufs;
    uint64_t tail = atomic_load_explicit(&header->full_tail, memory_order_acquire);
    int tries = TAIL_TRIES;

    do {
        /* acquire: pairs with the release of the head in ring_pool.c, queue_full */
        uint64_t full = atomic_load_explicit(&header->full_head, memory_order_acquire) - tail;

        /* A queue that claims to hold more sub-buffers than there are was overwritten. What they hold is
         * found by their own state (fg_ring_reader_next_leftover). */
        if (full == 0 || full > nr_subbufs || tries-- == 0)
            return false;
        *index =
            atomic_load_explicit(&reader->full_queue[tail % nr_subbufs], memory_order_relaxed) % nr_subbufs;
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

    if (fg_ring_reader_damage(reader))
        return -EBADMSG;
    if (!reader->has_claimed && !claim(reader, &reader->claimed))
        return fg_ring_reader_damage(reader) ? -EBADMSG : 0;
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
        fg_ring_access_write(&reader->access, &chunk->lost, sizeof(chunk->lost),
                             subbuf_offset(reader, chunk->index) + offsetof(struct fg_subbuf, lost_reported));
    set_state(reader, chunk->index, FG_SUBBUF_FREE);
    atomic_store_explicit(&reader->free_queue[head % reader->facts.nr_subbufs], chunk->index,
                          memory_order_relaxed);
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

uint32_t fg_ring_reader_next_used(struct fg_ring_reader *reader, uint32_t index)
{
    uint32_t nr_subbufs = reader->facts.nr_subbufs;
    uint64_t offset = subbuf_offset(reader, index), found;

    if (index >= nr_subbufs)
        return nr_subbufs;
    found = fg_ring_access_next_data(&reader->access, offset);
    if (found <= offset)
        return index;
    found = (found - reader->data_offset) / reader->facts.subbuf_bytes;
    return found < nr_subbufs ? (uint32_t)found : nr_subbufs;
}

static int keep_leftover(struct fg_ring_reader *reader, uint64_t seq, uint32_t index)
{
    if (fg_array_reserve(&reader->leftovers, &reader->leftovers_capacity, reader->nr_leftovers + 1) < 0)
        return -ENOMEM;
    reader->leftovers[reader->nr_leftovers++] = (struct leftover){seq, index};
    return 0;
}

/* Sub-buffers that never had memory are zeros: they are free. */
static int find_leftovers(struct fg_ring_reader *reader)
{
    uint32_t nr_subbufs = reader->facts.nr_subbufs, index = fg_ring_reader_next_used(reader, 0);
    int error = 0;

    reader->nr_leftovers = 0;
    for (; index < nr_subbufs && !error; index = fg_ring_reader_next_used(reader, index + 1)) {
        struct fg_subbuf head;

        error = read_head(reader, index, &head);
        if (!error && atomic_load_explicit(&head.state, memory_order_relaxed) != FG_SUBBUF_FREE)
            error = keep_leftover(reader, head.seq, index);
    }
    if (!error && fg_ring_reader_damage(reader))
        error = -EBADMSG;
    if (error)
        return error;
    if (reader->nr_leftovers)
        qsort(reader->leftovers, reader->nr_leftovers, sizeof(*reader->leftovers), by_seq);
    reader->has_leftovers = true;
    return 0;
}

int fg_ring_reader_next_leftover(struct fg_ring_reader *reader, struct fg_ring_chunk *chunk)
{
    int error = reader->has_leftovers ? 0 : find_leftovers(reader);

    if (!error && reader->leftover_at == reader->nr_leftovers)
        return 0;
    if (!error)
        error = read_chunk(reader, reader->leftovers[reader->leftover_at].index, chunk);
    if (error)
        return error;
    reader->leftover_at++;
    return 1;
}

/* The owner may queue the sub-buffer while we read, and a task may take it again after somebody drained it.
 * Records are only appended: if its seq is as before, those up to the first commit are whole. */
int fg_ring_reader_peek(struct fg_ring_reader *reader, uint32_t index, struct fg_ring_chunk *chunk)
{
    struct fg_subbuf before, after;
    int error = read_head(reader, index, &before);

    if (error || atomic_load_explicit(&before.state, memory_order_relaxed) != FG_SUBBUF_OWNED)
        return error;
    error = read_chunk(reader, index, chunk);
    if (!error)
        error = read_head(reader, index, &after);
    if (error || chunk->seq != before.seq || after.seq != before.seq)
        return error;
    chunk->lost -= before.lost_reported < chunk->lost ? before.lost_reported : chunk->lost;
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
    int tries = CLOCK_TRIES;

    *start = reader->facts.clock_start;
    do {
        before = atomic_load_explicit(&header->clock_seq, memory_order_acquire);
        *latest = header->clock_latest;
        atomic_thread_fence(memory_order_acquire);
        after = atomic_load_explicit(&header->clock_seq, memory_order_relaxed);
    } while (((before & 1) || before != after) && --tries);
    if (!tries)
        *latest = *start;
}
