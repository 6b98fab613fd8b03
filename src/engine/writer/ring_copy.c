/* See ring_copy.h.
 *
 * The ring's lock is held for one sub-buffer at a time, so a writer that needs its next sub-buffer does
 * not wait for the whole copy. Old sub-buffers may therefore be overwritten while younger ones are
 * copied. Each sub-buffer's head notes which records the copy took and which losses it reported, so that
 * no record is reported as lost twice. */
#define _GNU_SOURCE
#include "engine/writer/ring_copy.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"
#include "engine/ring/record.h"
#include "engine/writer/ring_clear.h"
#include "engine/writer/ring_swap.h"
#include "engine/writer/ring_unread.h"
#include "engine/writer/ring_wake.h"

struct place {
    uint64_t seq;
    struct fg_subbuf *subbuf;
};

struct copy {
    struct fg_ring *ring; /* whose records */
    struct fg_ring *main; /* whose locks, and whose symbols if `ring` has none of its own */
    const struct fg_ring_copy_options *options;
    int fd;
    struct place *places; /* the sub-buffers with records when the copy began, the oldest first */
    uint32_t nr_places, nr_copied;
    uint8_t *piece; /* room for one sub-buffer */
    uint64_t bytes; /* of records copied so far */
    uint8_t *symbols;
    struct fg_ring_header header;
};

static int write_all(int fd, const void *data, size_t bytes, uint64_t offset)
{
    for (const uint8_t *at = data; bytes;) {
        ssize_t written = pwrite(fd, at, bytes, (off_t)offset);

        if (written < 0 && errno != EINTR)
            return -errno;
        if (written < 0)
            continue;
        at += written;
        bytes -= (size_t)written;
        offset += (uint64_t)written;
    }
    return 0;
}

static int by_seq(const void *a, const void *b)
{
    const struct place *one = a, *other = b;

    return (one->seq > other->seq) - (one->seq < other->seq);
}

/* Ring's lock held. */
static int find_places(struct copy *copy)
{
    struct fg_ring *ring = copy->ring;

    copy->places = fg_mmap_alloc((ring->pool.nr_fresh + 1) * sizeof(*copy->places));
    copy->piece = fg_mmap_alloc(ring->header ? ring->header->subbuf_bytes : 1);
    if (!copy->places || !copy->piece)
        return -ENOMEM;
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);

        subbuf->copied = subbuf->lost_in_copy = 0;
        if (fg_ring_holds_records(subbuf))
            copy->places[copy->nr_places++] = (struct place){subbuf->seq, subbuf};
    }
    for (uint32_t i = 0; i < FG_RING_ORPHANS; i++)
        ring->pool.orphans[i].lost_in_copy = 0;
    return 0;
}

/* The header of the copy. Symbols come after the records: they are read last, so the symbols of all
 * copied records are among them. Ring's lock held. */
static void lay_out(struct copy *copy)
{
    static const struct fg_ring_header nothing = {.subbuf_bytes = FG_RING_PAGE_BYTES};
    const struct fg_ring_header *from = copy->ring->header ? copy->ring->header : &nothing;
    struct fg_ring_header *header = &copy->header;

    memcpy(header->magic, FG_RING_MAGIC, sizeof(header->magic));
    header->header_bytes = FG_RING_HEADER_BYTES;
    header->pid = (uint32_t)getpid();
    header->subbuf_bytes = from->subbuf_bytes;
    header->nr_subbufs = copy->nr_places ? copy->nr_places : 1;
    header->mode = (uint32_t)copy->ring->mode;
    header->clock_kind = FG_CLOCK_MONOTONIC;
    header->clock_start =
        (struct fg_clock_pair){from->clock_start.monotonic_ns, from->clock_start.monotonic_ns};
    header->clock_latest = header->clock_start;
    header->queue_offset = FG_RING_HEADER_BYTES;
    header->data_offset =
        header->queue_offset + fg_ring_page_round(2 * (size_t)header->nr_subbufs * sizeof(uint32_t));
    header->symbols_offset = header->data_offset + (uint64_t)header->nr_subbufs * header->subbuf_bytes;
    memcpy(header->killed, from->killed, sizeof(header->killed));
    memcpy(header->instance, copy->ring->instance, sizeof(header->instance));
}

/* True if a record in [at, end) may be of the time window. */
static bool is_in_window(const struct copy *copy, const uint8_t *at, const uint8_t *end)
{
    const struct fg_record *record = (const struct fg_record *)at;
    uint64_t last = 0;

    if (!copy->options->end)
        return true;
    if (record->time > copy->options->end)
        return false;
    for (; at < end && last < copy->options->begin; at += 8 * fg_record_words(record->info)) {
        record = (const struct fg_record *)at;
        last = record->time;
    }
    return last >= copy->options->begin;
}

/* Copies a sub-buffer's records to `piece`. False: there are none for this copy. Ring's lock held. */
static bool take_piece(struct copy *copy, const struct place *place)
{
    struct fg_subbuf *subbuf = place->subbuf, *piece = (struct fg_subbuf *)copy->piece;
    const uint8_t *data = (const uint8_t *)(subbuf + 1);
    /* acquire: pairs with the release in fg_ring_commit_to; the owner may append records meanwhile */
    uint64_t commit = atomic_load_explicit(&subbuf->commit, memory_order_acquire);
    uint64_t from = subbuf->consumed, lost;

    if (!fg_ring_holds_records(subbuf) || subbuf->seq != place->seq)
        return false; /* overwritten meanwhile */
    if (from == commit || !is_in_window(copy, data + from, data + commit))
        return false;
    lost = atomic_load(&subbuf->lost) - subbuf->lost_in_copy;
    subbuf->lost_in_copy += lost;
    subbuf->copied = commit;
    if (copy->options->consumes) {
        subbuf->consumed = commit;
        subbuf->lost_in_copy = 0;
        atomic_store(&subbuf->lost, 0);
    }
    *piece = (struct fg_subbuf){.state = FG_SUBBUF_FULL,
                                .task = subbuf->task,
                                .seq = subbuf->seq,
                                .commit = commit - from,
                                .lost = lost};
    memcpy(piece + 1, data + from, commit - from);
    return true;
}

/* All copies use the process's one scale: a record has the same time in each of them. */
static void record_to_ns(struct fg_record *record)
{
    enum fg_record_kind kind = fg_record_kind(record->info);
    uint64_t *payload = (uint64_t *)(record + 1);

    record->time = fg_clock_to_ns(record->time);
    if (fg_record_kind_bits(kind) & FG_KIND_TIME)
        payload[0] = fg_clock_to_ns(payload[0]);
    if (record->info & FG_RECORD_HAS_START)
        payload[fg_record_fixed_words(kind)] = fg_clock_to_ns(payload[fg_record_fixed_words(kind)]);
}

static void piece_to_ns(struct fg_subbuf *piece)
{
    uint8_t *at = (uint8_t *)(piece + 1), *end = at + piece->commit;

    for (; at < end; at += 8 * fg_record_words(((struct fg_record *)at)->info))
        record_to_ns((struct fg_record *)at);
}

static int copy_pieces(struct copy *copy)
{
    int error = 0;

    for (uint32_t i = 0; i < copy->nr_places && !error; i++) {
        uint64_t offset = copy->header.data_offset + (uint64_t)copy->nr_copied * copy->header.subbuf_bytes;
        struct fg_subbuf *piece = (struct fg_subbuf *)copy->piece;
        bool is_taken;

        fg_mutex_lock(&copy->main->lock);
        is_taken = take_piece(copy, &copy->places[i]);
        fg_mutex_unlock(&copy->main->lock);
        if (!is_taken)
            continue;
        piece_to_ns(piece);
        error = write_all(copy->fd, piece, sizeof(*piece) + piece->commit, offset);
        if (!error)
            error = write_all(copy->fd, &copy->nr_copied, sizeof(uint32_t),
                              copy->header.queue_offset + copy->nr_copied * sizeof(uint32_t));
        copy->bytes += piece->commit;
        copy->nr_copied++;
    }
    return error;
}

/* Ring's lock held: a new symbol may move the others in memory. */
static int take_symbols(struct copy *copy)
{
    const struct fg_ring *ring = copy->ring->symbols.memory ? copy->ring : copy->main;
    struct fg_ring_header *header = &copy->header;

    if (!ring->header)
        return 0;
    header->symbols_committed = atomic_load(&ring->header->symbols_committed);
    header->symbols_lost = atomic_load(&ring->header->symbols_lost);
    copy->symbols = fg_mmap_alloc(header->symbols_committed + 1);
    if (!copy->symbols)
        return -ENOMEM;
    if (header->symbols_committed)
        memcpy(copy->symbols, ring->symbols.memory, header->symbols_committed);
    return 0;
}

/* Counts are read after all records: they include each loss that the copy reports. */
static int take_counts(struct copy *copy)
{
    struct fg_ring *ring = copy->ring;
    struct fg_ring_header *header = &copy->header;
    int error = 0;

    fg_mutex_lock(&copy->main->lock);
    if (ring->header) {
        error = take_symbols(copy);
        header->records_lost = atomic_load(&ring->header->records_lost) - ring->pool.lost_consumed;
        if (copy->options->consumes)
            ring->pool.lost_consumed += header->records_lost;
        header->overrun = atomic_load(&ring->header->overrun);
        header->nr_tasks = atomic_load(&ring->header->nr_tasks);
    }
    fg_mutex_unlock(&copy->main->lock);
    header->symbols_capacity = fg_ring_page_round(header->symbols_committed);
    header->file_bytes = header->symbols_offset + header->symbols_capacity;
    header->full_head = copy->nr_copied;
    header->finished = 1;
    return error;
}

static int write_rest(const struct copy *copy)
{
    const struct fg_ring_header *header = &copy->header;
    int error = ftruncate(copy->fd, (off_t)header->file_bytes) == 0 ? 0 : -errno;

    if (!error && header->symbols_committed)
        error = write_all(copy->fd, copy->symbols, header->symbols_committed, header->symbols_offset);
    return error ? error : write_all(copy->fd, header, sizeof(*header), 0);
}

static int copy_ring(struct copy *copy)
{
    struct fg_ring *ring = copy->ring;
    int error;

    fg_mutex_lock(&copy->main->lock);
    error = find_places(copy);
    if (!error)
        lay_out(copy);
    fg_mutex_unlock(&copy->main->lock);
    if (!error) {
        /* Without the lock: it may call malloc(). */
        qsort(copy->places, copy->nr_places, sizeof(*copy->places), by_seq);
        error = copy_pieces(copy);
    }
    if (!error)
        error = take_counts(copy);
    if (!error)
        error = write_rest(copy);
    if (copy->options->consumes) {
        fg_mutex_lock(&copy->main->lock);
        fg_ring_free_consumed(ring);
        fg_ring_wake(ring); /* the other readers may have got something of what was taken */
        fg_mutex_unlock(&copy->main->lock);
    }
    fg_mmap_free(copy->places);
    fg_mmap_free(copy->piece);
    fg_mmap_free(copy->symbols);
    return error;
}

int64_t fg_ring_copy(struct fg_ring *ring, int fd, const struct fg_ring_copy_options *options)
{
    struct copy copy = {.ring = ring, .main = ring, .fd = fd, .options = options};
    int error;

    if (ring->directory)
        return -EINVAL; /* a recorder reads it */
    fg_ring_swap_due(ring);
    fg_mutex_lock(&ring->copying);
    error = copy_ring(&copy);
    fg_ring_copying_end(ring);
    return error ? error : (int64_t)copy.bytes;
}

int64_t fg_ring_copy_snapshot(struct fg_ring *ring, int fd)
{
    const struct fg_ring_copy_options all = {0};
    struct copy copy = {.main = ring, .fd = fd, .options = &all};
    int error = -ENOENT;

    fg_ring_swap_due(ring);
    fg_mutex_lock(&ring->copying);
    if (fg_ring_has_spare(ring)) {
        copy.ring = ring->spare; /* it stays while `copying` is held */
        error = copy_ring(&copy);
    }
    fg_ring_copying_end(ring);
    return error ? error : (int64_t)copy.bytes;
}

void fg_ring_clear(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    if (ring->header)
        fg_ring_clear_locked(ring);
    fg_mutex_unlock(&ring->lock);
    fg_ring_copying_end(ring);
}
