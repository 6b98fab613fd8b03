/* See ring_symbols.h. */
#define _GNU_SOURCE
#include "engine/ring/ring_symbols.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define STEP_BYTES (256u << 10) /* the file's memory for symbols is allocated in such steps */

/* Allocates the file's memory for the first `bytes` of the symbol area. False: no room. */
static bool symbols_allocate(struct fg_ring *ring, size_t bytes)
{
    struct fg_ring_header *header = ring->header;
    size_t wanted = (bytes + STEP_BYTES - 1) / STEP_BYTES * STEP_BYTES;
    int fd, error;

    if (bytes > header->symbols_capacity)
        return false;
    if (bytes <= ring->pool.symbols_allocated || !ring->path)
        return true;
    fd = open(ring->path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return false;
    error = posix_fallocate(fd, (off_t)(header->symbols_offset + ring->pool.symbols_allocated),
                            (off_t)(wanted - ring->pool.symbols_allocated));
    close(fd);
    if (!error)
        ring->pool.symbols_allocated = wanted;
    return !error;
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
    struct fg_symbol *out = (struct fg_symbol *)((uint8_t *)header + header->symbols_offset + committed);
    char *text = (char *)(out + 1);

    if (!symbols_allocate(ring, committed + bytes)) {
        atomic_fetch_add(&header->symbols_lost, 1);
        return;
    }
    *out = *symbol;
    out->bytes = (uint32_t)bytes;
    for (uint32_t i = 0; i < symbol->nr_strings; i++)
        text = stpcpy(text, strings[i]) + 1;
    /* release: a reader that sees the count sees the symbol */
    atomic_store_explicit(&header->symbols_committed, committed + bytes, memory_order_release);
}

void fg_ring_put_symbol(struct fg_ring *ring, const struct fg_symbol *symbol, const char *const strings[])
{
    pthread_mutex_lock(&ring->lock);
    if (ring->header)
        put_symbol_locked(ring, symbol, strings);
    pthread_mutex_unlock(&ring->lock);
}

void fg_ring_put_task_symbol(struct fg_ring *ring, const struct fg_task *task)
{
    const char *const strings[] = {task->name};
    struct fg_symbol symbol = {
        .type = FG_SYMBOL_TASK, .id = task->id, .tid = (uint32_t)task->tid, .nr_strings = 1};

    put_symbol_locked(ring, &symbol, strings);
}
