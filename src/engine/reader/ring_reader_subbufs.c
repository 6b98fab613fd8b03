/* Reading the sub-buffers of a ring-buffer file: claiming full ones, those that a dead process left, and one
 * that is being written. */
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/array.h"
#include "engine/reader/ring_reader.h"
#include "engine/reader/ring_reader_file.h"

/* The tail moves once for each sub-buffer that a writer takes back meanwhile. */
#define TAIL_TRIES 1000

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
    const struct fg_ring_leftover *one = a, *other = b;

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
    reader->leftovers[reader->nr_leftovers++] = (struct fg_ring_leftover){seq, index};
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
