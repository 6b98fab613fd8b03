/* Reading the symbols of a ring-buffer file, one after the other, through a window. */
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/reader/ring_reader_file.h"

/* Symbols are read so many bytes at a time. */
#define SYMBOL_WINDOW_BYTES (64u << 10)
/* A larger window, for a large symbol, is given back after it. */
#define KEPT_WINDOW_BYTES (1u << 20)

/* Has the next `bytes` of symbols in the window. `committed`: how many bytes of symbols there are. */
static bool fill_window(struct fg_ring_reader *reader, uint64_t bytes, uint64_t committed)
{
    uint64_t left = committed - reader->symbols_read;
    size_t window_bytes = bytes > SYMBOL_WINDOW_BYTES ? bytes : SYMBOL_WINDOW_BYTES;

    if (reader->window_bytes - reader->window_at >= bytes)
        return true;
    if (window_bytes > left)
        window_bytes = left;
    if (bytes > left || fg_array_reserve(&reader->window, &reader->window_capacity, window_bytes) != 0)
        return false;
    reader->window_at = reader->window_bytes = 0;
    if (fg_ring_access_read(&reader->access, reader->window, window_bytes,
                            reader->symbols_offset + reader->symbols_read) != 0)
        return false;
    reader->window_bytes = window_bytes;
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
