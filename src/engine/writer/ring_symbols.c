/* See ring_symbols.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_symbols.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/base/mmap_memory.h"
#include "engine/base/run_time.h"
#include "engine/core/mutex.h"
#include "engine/writer/ring_room.h"

#define FIRST_STEP_BYTES (64u << 10) /* a file's first symbols get so much memory, */
#define STEP_BYTES (256u << 10)      /* those that follow so much at a time */

static uint64_t page_floor(uint64_t bytes)
{
    return bytes & ~(uint64_t)(FG_RING_PAGE_BYTES - 1);
}

void fg_ring_forget_symbols(struct fg_ring *ring)
{
    struct fg_ring_symbols *symbols = &ring->symbols;

    if (symbols->memory && ring->path)
        munmap(symbols->memory, symbols->end - symbols->begin);
    else
        fg_mmap_free(symbols->memory);
    *symbols = (struct fg_ring_symbols){0};
}

void fg_ring_keep_symbols(struct fg_ring *ring)
{
    struct fg_ring *spare = ring->spare;

    if (!spare || !ring->header || !ring->symbols.memory || spare->symbols.memory)
        return;
    atomic_store(&spare->header->symbols_committed, atomic_load(&ring->header->symbols_committed));
    atomic_store(&spare->header->symbols_lost, atomic_load(&ring->header->symbols_lost));
    spare->symbols = ring->symbols;
    ring->symbols = (struct fg_ring_symbols){0};
}

int fg_ring_map_symbols(struct fg_ring *ring, int fd, uint64_t from, uint64_t bytes)
{
    const struct fg_ring_header *header = ring->header;
    uint64_t step = from ? STEP_BYTES : FIRST_STEP_BYTES;
    uint64_t begin = page_floor(from), end = fg_ring_page_round(from + (bytes > step ? bytes : step));
    void *mapping;
    int error;

    if (end > header->symbols_capacity)
        end = header->symbols_capacity;
    error = fg_ring_room_take(fd, header->symbols_offset + begin, end - begin);
    if (error)
        return -error;
    mapping = mmap(NULL, end - begin, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
                   (off_t)(header->symbols_offset + begin));
    if (mapping == MAP_FAILED)
        return -errno;
    fg_ring_forget_symbols(ring);
    ring->symbols = (struct fg_ring_symbols){mapping, begin, end};
    return 0;
}

/* For a file that cannot be opened now: extends the mapping of the part that is written to now. */
static bool extend(struct fg_ring *ring, uint64_t from, uint64_t bytes)
{
    struct fg_ring_symbols *symbols = &ring->symbols;
    uint64_t room = symbols->end - symbols->begin;
    uint64_t end = fg_ring_page_round(from + (bytes > STEP_BYTES ? bytes : STEP_BYTES));
    void *mapping;

    if (!symbols->memory)
        return false;
    if (end > ring->header->symbols_capacity)
        end = ring->header->symbols_capacity;
    mapping = mremap(symbols->memory, room, end - symbols->begin, MREMAP_MAYMOVE);
    if (mapping == MAP_FAILED)
        return false;
    *symbols = (struct fg_ring_symbols){mapping, symbols->begin, end};
    if (fg_ring_room_populate(symbols->memory + room, end - symbols->begin - room) == 0)
        return true;
    munmap(symbols->memory + room, end - symbols->begin - room);
    symbols->end = symbols->begin + room;
    return false;
}

static bool map_next(struct fg_ring *ring, uint64_t from, uint64_t bytes)
{
    int fd = fg_ring_room_open(ring);
    bool mapped = fd >= 0 && fg_ring_map_symbols(ring, fd, from, bytes) == 0;

    if (fd < 0)
        mapped = extend(ring, from, bytes);
    if (fd >= 0)
        close(fd);
    return mapped;
}

static bool grow_heap(struct fg_ring *ring, uint64_t bytes)
{
    size_t doubled = ring->symbols.end * 2, capacity = bytes > doubled ? bytes : doubled;
    void *memory = fg_mmap_grow(ring->symbols.memory, capacity);

    if (!memory)
        return false;
    ring->symbols.memory = memory;
    ring->symbols.end = capacity;
    return true;
}

/* Makes room for `bytes` more of symbols. NULL: there is none. */
static void *find_room(struct fg_ring *ring, uint64_t committed, uint64_t bytes)
{
    struct fg_ring_symbols *symbols = &ring->symbols;

    if (committed + bytes > ring->header->symbols_capacity)
        return NULL;
    if (committed + bytes > symbols->end &&
        !(ring->path ? map_next(ring, committed, bytes) : grow_heap(ring, committed + bytes)))
        return NULL;
    return symbols->memory + (committed - symbols->begin);
}

static size_t symbol_bytes(const char *const strings[], uint32_t n)
{
    size_t bytes = sizeof(struct fg_symbol);

    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(strings[i]) + 1;
    return (bytes + 7) & ~(size_t)7;
}

static void put_symbol_locked(struct fg_ring *ring, const struct fg_symbol *symbol,
                              const char *const strings[])
{
    struct fg_ring_header *header = ring->header;
    uint64_t committed = atomic_load_explicit(&header->symbols_committed, memory_order_relaxed);
    size_t bytes = symbol_bytes(strings, symbol->nr_strings);
    struct fg_symbol *out = bytes <= FG_RING_SYMBOL_BYTES_MAX ? find_room(ring, committed, bytes) : NULL;
    char *text;

    if (!out) {
        atomic_fetch_add(&header->symbols_lost, 1);
        return;
    }
    *out = *symbol;
    out->bytes = (uint32_t)bytes;
    text = (char *)(out + 1);
    for (uint32_t i = 0; i < symbol->nr_strings; i++)
        text = stpcpy(text, strings[i]) + 1;
    /* release: a reader that sees the count sees the symbol */
    atomic_store_explicit(&header->symbols_committed, committed + bytes, memory_order_release);
}

void fg_ring_put_symbol(struct fg_ring *ring, const struct fg_symbol *symbol, const char *const strings[])
{
    fg_mutex_lock(&ring->lock);
    if (ring->header)
        put_symbol_locked(ring, symbol, strings);
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_put_task_symbol(struct fg_ring *ring, const struct fg_task *task)
{
    const char *const strings[] = {task->name};
    struct fg_symbol symbol = {
        .type = FG_SYMBOL_TASK, .id = task->id, .tid = (uint32_t)task->tid, .nr_strings = 1};

    put_symbol_locked(ring, &symbol, strings);
}

void fg_ring_put_run_time(struct fg_ring *ring, const struct fg_task *task)
{
    char cpu[24], ready[24];
    const char *const strings[] = {cpu, ready};
    struct fg_symbol symbol = {.type = FG_SYMBOL_RUN_TIME, .id = task->id, .nr_strings = 2};
    struct fg_run_time time;

    /* A ring without a file is read by the process itself, which needs no such figures. */
    if (!ring->path || !fg_run_time_of(task->tid, &time))
        return;
    snprintf(cpu, sizeof(cpu), "%" PRIu64, time.cpu_ns);
    snprintf(ready, sizeof(ready), "%" PRIu64, time.ready_ns);
    put_symbol_locked(ring, &symbol, strings);
}
