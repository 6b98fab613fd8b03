/* See ring_wake.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_wake.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

static struct {
    _Atomic(void (*)(void)) woken;
} readers;

void fg_ring_on_wake(void (*woken)(void))
{
    atomic_store(&readers.woken, woken);
}

void fg_ring_wake(struct fg_ring *ring)
{
    int error = errno;
    void (*woken)(void);

    atomic_fetch_add(&ring->wakes, 1);
    if (atomic_exchange(&ring->awaited, false)) {
        syscall(SYS_futex, &ring->wakes, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        woken = atomic_load(&readers.woken);
        if (woken)
            woken();
    }
    errno = error;
}

/* @within: any address of the sub-buffer */
static bool is_armed(const uint8_t *end, const void *within)
{
    return (uintptr_t)end < (uintptr_t)within;
}

void fg_ring_arm_locked(struct fg_ring *ring)
{
    atomic_store(&ring->awaited, true);
    for (uint32_t i = 0; ring->header && i < ring->pool.nr_fresh; i++) {
        struct fg_ring_cursor *cursor = ring->pool.owners[i].cursor;
        uint8_t *end = cursor ? atomic_load_explicit(&cursor->end, memory_order_relaxed) : NULL;

        if (end && !is_armed(end, cursor->subbuf))
            (void)atomic_compare_exchange_strong(&cursor->end, &end, (uint8_t *)((uintptr_t)end >> 1));
    }
}

bool fg_ring_disarm(struct fg_ring *ring, struct fg_ring_cursor *cursor, size_t bytes)
{
    uint8_t *armed = atomic_load_explicit(&cursor->end, memory_order_relaxed);
    uintptr_t end = (uintptr_t)armed << 1;

    if (!armed || !is_armed(armed, cursor->pos)) /* the position is the task's own */
        return false;
    /* It fails if another writer takes the sub-buffer away, which then waits until this task is quiet. */
    if (!atomic_compare_exchange_strong(&cursor->end, &armed, (uint8_t *)end))
        return false;
    fg_ring_wake(ring);
    /* Not fg_ring_has_room(): a reader may have armed the cursor again. */
    return (uintptr_t)cursor->pos + bytes <= end;
}
