/* See ring_bytes.h. */
#undef NDEBUG
#define _GNU_SOURCE
#include "support/ring_bytes.h"

#include <assert.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/ring/record.h"
#include "support/spool_bytes.h"
#include "tracedata/spool/contents.h"

#define SUBBUF_BYTES 4096u
#define SYMBOL_BYTES (1u << 20)
#define FIRST_TICKS 1000u

static uint32_t nr_written;

void test_ring_begin(struct test_ring *ring, uint32_t pid)
{
    uint64_t queue_bytes = fg_ring_page_round(2 * TEST_SUBBUFS * sizeof(uint32_t));
    uint64_t symbols = FG_RING_HEADER_BYTES + queue_bytes, data = symbols + SYMBOL_BYTES;
    uint64_t bytes = data + TEST_SUBBUFS * SUBBUF_BYTES;

    *ring = (struct test_ring){.fd = memfd_create("ring", MFD_CLOEXEC)};
    assert(ring->fd >= 0 && ftruncate(ring->fd, (off_t)bytes) == 0);
    snprintf(ring->name, sizeof(ring->name), "%u.0.ring", pid);
    ring->map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
    assert(ring->map != MAP_FAILED);
    ring->bytes = bytes;
    ring->header = (struct fg_ring_header *)ring->map;
    memcpy(ring->header->magic, FG_RING_MAGIC, sizeof(ring->header->magic));
    ring->header->header_bytes = FG_RING_HEADER_BYTES;
    ring->header->pid = pid;
    ring->header->file_bytes = bytes;
    ring->header->queue_offset = FG_RING_HEADER_BYTES;
    ring->header->symbols_offset = symbols;
    ring->header->symbols_capacity = SYMBOL_BYTES;
    ring->header->data_offset = data;
    ring->header->subbuf_bytes = SUBBUF_BYTES;
    ring->header->nr_subbufs = TEST_SUBBUFS;
    ring->header->clock_kind = FG_CLOCK_MONOTONIC;
    ring->header->clock_start = ring->header->clock_latest = (struct fg_clock_pair){1, 1};
}

void test_ring_end(struct test_ring *ring)
{
    munmap(ring->map, ring->bytes);
    close(ring->fd);
}

void test_ring_function(struct test_ring *ring, uint32_t id)
{
    uint64_t committed = atomic_load(&ring->header->symbols_committed);
    const char *strings[] = {"m", NULL, "/src/m.py", ""};
    struct fg_text symbol = {0};
    char qualname[16];

    snprintf(qualname, sizeof(qualname), "f%u", id);
    strings[1] = qualname;
    fg_test_put_symbol(&symbol, (struct fg_symbol){.type = FG_SYMBOL_FUNC, .id = id, .nr_strings = 4},
                       strings);
    assert(committed + symbol.bytes <= SYMBOL_BYTES);
    memcpy(ring->map + ring->header->symbols_offset + committed, symbol.data, symbol.bytes);
    atomic_store(&ring->header->symbols_committed, committed + symbol.bytes);
    fg_text_free(&symbol);
}

static struct fg_subbuf *subbuf(const struct test_ring *ring, uint32_t index)
{
    return (struct fg_subbuf *)(ring->map + ring->header->data_offset + (uint64_t)index * SUBBUF_BYTES);
}

/* A sub-buffer that was released, or one that was never used. */
static uint32_t take_free(struct test_ring *ring)
{
    const uint32_t *queue = (const uint32_t *)(ring->map + ring->header->queue_offset) + TEST_SUBBUFS;
    uint64_t tail = atomic_load(&ring->header->free_tail);

    if (tail == atomic_load(&ring->header->free_head)) {
        assert(ring->fresh < TEST_SUBBUFS);
        return ring->fresh++;
    }
    atomic_store(&ring->header->free_tail, tail + 1);
    return queue[tail % TEST_SUBBUFS];
}

uint32_t test_ring_put(struct test_ring *ring, uint32_t task, uint32_t nr_records, uint32_t state)
{
    uint32_t index = take_free(ring);
    struct fg_subbuf *head = subbuf(ring, index);

    assert(atomic_load(&head->state) == FG_SUBBUF_FREE);
    head->task = task;
    head->seq = ring->seq++;
    atomic_store(&head->commit, 0);
    atomic_store(&head->state, FG_SUBBUF_OWNED);
    if (atomic_load(&ring->header->nr_tasks) < task)
        atomic_store(&ring->header->nr_tasks, task);
    test_ring_append(ring, index, nr_records);
    if (state == FG_SUBBUF_FULL)
        test_ring_fill(ring, index);
    return index;
}

void test_ring_append(struct test_ring *ring, uint32_t index, uint32_t nr_records)
{
    struct fg_subbuf *head = subbuf(ring, index);

    for (uint32_t i = 0; i < nr_records; i++) {
        uint64_t commit = atomic_load(&head->commit);
        struct fg_record record = {.time = FIRST_TICKS + nr_written++,
                                   .info = FG_RECORD_INFO(FG_RECORD_ENTRY, 2, 0)};

        assert(sizeof(*head) + commit + sizeof(record) <= SUBBUF_BYTES && nr_written <= TEST_MAX_RECORDS);
        memcpy((uint8_t *)(head + 1) + commit, &record, sizeof(record));
        atomic_store(&head->commit, commit + sizeof(record));
    }
}

void test_ring_fill(struct test_ring *ring, uint32_t index)
{
    uint32_t *queue = (uint32_t *)(ring->map + ring->header->queue_offset);
    uint64_t at = atomic_load(&ring->header->full_head);

    atomic_store(&subbuf(ring, index)->state, FG_SUBBUF_FULL);
    queue[at % TEST_SUBBUFS] = index;
    atomic_store(&ring->header->full_head, at + 1);
}

uint32_t test_ring_count(void)
{
    return nr_written;
}

void test_ring_restart(void)
{
    nr_written = 0;
}

/* ---- what a trace has */

static void find_in_piece(struct fg_chunk_reader *reader, const struct fg_piece *piece,
                          struct test_found *found)
{
    struct fg_spool_chunk chunk;
    const uint64_t *at;

    assert(fg_chunk_read_records(reader, piece->offset, piece->stored_bytes, &chunk) == 0);
    at = reader->records;
    for (uint32_t i = 0; i < chunk.nr_records; i++) {
        const struct fg_record *record = (const struct fg_record *)at;

        assert(record->time >= FIRST_TICKS && record->time < FIRST_TICKS + TEST_MAX_RECORDS);
        found->records[record->time - FIRST_TICKS]++;
        found->nr_records++;
        at += fg_record_words(record->info);
    }
    found->lost += piece->lost;
}

void test_find(int fd, struct test_found *found)
{
    struct fg_chunk_reader reader = {.fd = fd};
    struct fg_contents contents = {0};
    struct fg_spool_index index;

    assert(fg_spool_index_read(fd, &index) == 0);
    assert(fg_contents_load(&contents, &reader, &index, 0) == 0);
    found->is_complete = index.is_complete;
    found->nr_gaps += contents.nr_gaps + index.nr_gaps;
    found->nr_rings += contents.nr_rings;
    for (size_t i = 0; i < contents.nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents.rings[i];

        found->nr_symbols += ring->nr_symbols;
        found->nr_functions += ring->nr_functions;
        for (size_t j = 0; j < ring->nr_tasks; j++)
            for (size_t k = 0; k < ring->tasks[j].nr_pieces; k++) {
                assert(k == 0 || ring->tasks[j].pieces[k].seq > ring->tasks[j].pieces[k - 1].seq);
                find_in_piece(&reader, &ring->tasks[j].pieces[k], found);
            }
    }
    assert(found->nr_gaps == 0);
    fg_contents_free(&contents);
    fg_chunk_reader_free(&reader);
    fg_spool_index_free(&index);
}

void test_find_path(const char *path, struct test_found *found)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    assert(fd >= 0);
    test_find(fd, found);
    close(fd);
}

void test_has_records(const struct test_found *found, uint32_t first, uint32_t end)
{
    for (uint32_t number = 0; number < TEST_MAX_RECORDS; number++)
        if (found->records[number] != (number >= first && number < end)) {
            fprintf(stderr, "record %u is there %llu times, of %u to %u\n", number,
                    (unsigned long long)found->records[number], first, end);
            assert(!"each record is there once");
        }
}
