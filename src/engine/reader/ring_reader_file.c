/* Opening a ring-buffer file, and what its header says. */
#include "engine/reader/ring_reader_file.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A writer that died between its two stores leaves clock_seq odd for ever. */
#define CLOCK_TRIES 1000

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

int fg_ring_reader_open(int fd, uint64_t most_bytes, bool is_private, struct fg_ring_reader **out)
{
    struct fg_ring_reader *reader = calloc(1, sizeof(*reader));
    int error;

    if (!reader)
        return -ENOMEM;
    error = fg_ring_access_open(&reader->access, fd, is_private);
    if (!error)
        error = read_header(reader, most_bytes);
    if (error)
        fg_ring_reader_close(reader);
    else
        *out = reader;
    return error;
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
