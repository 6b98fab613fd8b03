/* See pool.h. */
#define _GNU_SOURCE
#include "arch/native/pool.h"

#include <stdlib.h>
#include <sys/mman.h>

#define PAGE_BYTES 4096u
#define STEP_BYTES (16u << 20)
/* The next addresses are where the heap, or the next library, will want to be. */
#define NEAREST_BYTES (128u << 20)

static size_t per_page(void)
{
    return PAGE_BYTES / fg_machine_trampoline_bytes;
}

static bool map_at(struct fg_pool *pool, uintptr_t address)
{
    void *mapping = mmap((void *)address, pool->bytes, PROT_NONE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);

    if (mapping == MAP_FAILED)
        return false;
    if ((uintptr_t)mapping != address) { /* before Linux 4.17 the flag is unknown */
        munmap(mapping, pool->bytes);
        return false;
    }
    pool->begin = address;
    return true;
}

/* Tries addresses on both sides of the text, all of which are within reach of all of it. */
static bool map_near(struct fg_pool *pool, uintptr_t begin, uintptr_t end, uintptr_t nearest)
{
    uintptr_t reach = (uintptr_t)fg_machine_reach;

    for (uintptr_t away = nearest; away + pool->bytes + (end - begin) < reach; away += STEP_BYTES) {
        uintptr_t below = (begin - away - pool->bytes) & ~(uintptr_t)(PAGE_BYTES - 1);
        uintptr_t above = (end + away + PAGE_BYTES) & ~(uintptr_t)(PAGE_BYTES - 1);

        if (begin > away + pool->bytes + PAGE_BYTES && map_at(pool, below))
            return true;
        if (above < (uintptr_t)fg_machine_top - pool->bytes && map_at(pool, above))
            return true;
    }
    return false;
}

bool fg_pool_reserve(struct fg_pool *pool, uintptr_t text_begin, uintptr_t text_end, size_t n,
                     bool are_places, struct fg_native_refusal *refusal)
{
    size_t usable = per_page() - 1;

    *pool = (struct fg_pool){.bytes = (n + usable - 1) / usable * PAGE_BYTES};
    pool->image = malloc(PAGE_BYTES);
    if (!pool->image)
        return fg_native_refuse(refusal, "memory is short");
    if (!map_near(pool, text_begin, text_end, NEAREST_BYTES) &&
        !map_near(pool, text_begin, text_end, PAGE_BYTES)) {
        free(pool->image);
        pool->image = NULL;
        return fg_native_refuse(refusal, "no memory is free within reach of the object");
    }
    fg_machine_register_frames(pool->begin, pool->bytes, are_places);
    return true;
}

bool fg_pool_write(struct fg_pool *pool, const struct fg_code_writer *writer)
{
    uintptr_t page = pool->begin + pool->used;
    size_t from = pool->nr_written * fg_machine_trampoline_bytes;
    size_t to = pool->nr_made * fg_machine_trampoline_bytes;

    if (from == to)
        return true;
    if (!from && mprotect((void *)page, PAGE_BYTES, PROT_READ | PROT_EXEC) != 0)
        return false;
    if (!fg_code_write(writer, page + from, pool->image + from, to - from))
        return false;
    pool->nr_written = pool->nr_made;
    if (pool->nr_made == per_page()) {
        pool->used += PAGE_BYTES;
        pool->nr_made = pool->nr_written = 0;
    }
    return true;
}

uintptr_t fg_pool_make(struct fg_pool *pool, const struct fg_code_writer *writer,
                       struct fg_trampoline *trampoline)
{
    size_t offset;

    if (pool->nr_made == per_page() && !fg_pool_write(pool, writer))
        return 0;
    if (pool->used == pool->bytes)
        return 0;
    if (!pool->nr_made) {
        fg_machine_make_page(pool->image);
        pool->nr_made = 1;
    }
    offset = pool->nr_made * fg_machine_trampoline_bytes;
    trampoline->image = pool->image + offset;
    trampoline->address = pool->begin + pool->used + offset;
    if (!fg_machine_make_trampoline(trampoline))
        return 0;
    pool->nr_made++;
    return trampoline->address;
}
