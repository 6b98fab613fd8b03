/* See ring_wait.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_wait.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/core/mutex.h"
#include "engine/writer/ring_unread.h"

#define BUSY_MS 1u /* until a task that writes is looked at again */

/* Ring's lock held. */
static bool are_quiet(const struct fg_ring *ring)
{
    for (uint32_t i = 0; ring->header && i < ring->pool.nr_fresh; i++) {
        struct fg_task *task = ring->pool.owners[i].task;

        if (task && !fg_task_is_quiet(task))
            return false;
    }
    return true;
}

enum fg_ring_news fg_ring_await(struct fg_ring *ring, uint32_t seen)
{
    bool is_over, is_quiet;

    fg_mutex_lock(&ring->lock);
    is_over = fg_ring_wakes(ring) != seen;
    if (!is_over)
        fg_ring_arm_locked(ring);
    fg_mutex_unlock(&ring->lock);
    if (is_over)
        return FG_RING_NEWS;
    /* After the fence each task is either seen inside the guard, or sees that its cursor has no room. A task
     * that is seen outside has published its records before that. */
    fg_task_fence_heavy();
    fg_mutex_lock(&ring->lock);
    is_quiet = are_quiet(ring);
    is_over = fg_ring_wakes(ring) != seen || fg_ring_has_unread_locked(ring);
    fg_mutex_unlock(&ring->lock);
    return is_over ? FG_RING_NEWS : is_quiet ? FG_RING_IDLE : FG_RING_BUSY;
}

static int sleep_for_news(struct fg_ring *ring, uint32_t seen, unsigned ms)
{
    struct timespec step = {ms / 1000, (long)(ms % 1000) * 1000000};

    if (syscall(SYS_futex, &ring->wakes, FUTEX_WAIT_PRIVATE, seen, &step, NULL, 0) == 0)
        return 0;
    return errno == EINTR ? -EINTR : 0;
}

int fg_ring_wait(struct fg_ring *ring, uint32_t seen, unsigned timeout_ms)
{
    uint64_t end = fg_clock_monotonic_ns() + (uint64_t)timeout_ms * 1000000, now;
    enum fg_ring_news news;
    int error = 0;

    while (!error && (news = fg_ring_await(ring, seen)) != FG_RING_NEWS) {
        unsigned left_ms;

        now = fg_clock_monotonic_ns();
        if (now >= end)
            return -ETIMEDOUT;
        left_ms = (unsigned)((end - now) / 1000000) + 1;
        error = sleep_for_news(ring, seen, news == FG_RING_BUSY && left_ms > BUSY_MS ? BUSY_MS : left_ms);
    }
    return error;
}
