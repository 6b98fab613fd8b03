/* See ring_pool.h. */
#define _GNU_SOURCE
#include "engine/writer/ring_pool.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"
#include "engine/ring/record.h"
#include "engine/writer/ring_room.h"

#define WAIT_STEP_NS 5000000   /* a waiting writer wakes up this often */
#define LIFE_CHECK_NS 20000000 /* writers without room check at most this often whether the recorder lives */

static uint32_t index_of(const struct fg_ring *ring, const struct fg_subbuf *subbuf)
{
    return (uint32_t)((size_t)((const uint8_t *)subbuf - ring->data) / ring->header->subbuf_bytes);
}

static void queue_full(struct fg_ring *ring, struct fg_subbuf *subbuf)
{
    struct fg_ring_header *header = ring->header;
    uint64_t head = atomic_load_explicit(&header->full_head, memory_order_relaxed);

    atomic_store_explicit(&subbuf->state, FG_SUBBUF_FULL, memory_order_relaxed);
    atomic_store_explicit(&ring->full_queue[head % header->nr_subbufs], index_of(ring, subbuf),
                          memory_order_relaxed);
    /* release: the reader that sees the new head sees the slot and the sub-buffer */
    atomic_store_explicit(&header->full_head, head + 1, memory_order_release);
}

/* Takes a sub-buffer from its owner and queues it. */
static void disown(struct fg_ring *ring, struct fg_subbuf *subbuf)
{
    ring->pool.owners[index_of(ring, subbuf)] = (struct fg_ring_owner){NULL, NULL};
    ring->pool.nr_owned--;
    queue_full(ring, subbuf);
}

/* Two mappings may lie beside each other, and the sub-buffers of one do not begin at a page boundary. */
static bool holds(const struct fg_ring *ring, const struct fg_subbuf *subbuf)
{
    uintptr_t at = (uintptr_t)subbuf, begin = (uintptr_t)ring->data;

    return at >= begin && at - begin < (size_t)ring->header->nr_subbufs * ring->header->subbuf_bytes;
}

/* The ring that a sub-buffer of a cursor belongs to: the ring itself or its spare. */
static struct fg_ring *home_of(struct fg_ring *ring, const struct fg_subbuf *subbuf)
{
    return ring->spare && holds(ring->spare, subbuf) ? ring->spare : ring;
}

void fg_ring_retire(struct fg_ring *ring, struct fg_ring_cursor *cursor)
{
    struct fg_subbuf *subbuf = cursor->subbuf;

    if (!subbuf)
        return;
    atomic_store_explicit(&cursor->end, NULL, memory_order_relaxed);
    cursor->subbuf = NULL;
    disown(home_of(ring, subbuf), subbuf);
}

void fg_ring_set_room(struct fg_ring *ring, bool has_room)
{
    for (uint32_t i = 0; ring->header && i < ring->pool.nr_fresh; i++) {
        struct fg_ring_cursor *cursor = ring->pool.owners[i].cursor;

        if (cursor)
            atomic_store_explicit(&cursor->end,
                                  has_room ? (uint8_t *)cursor->subbuf + ring->header->subbuf_bytes : NULL,
                                  memory_order_relaxed);
    }
}

static bool is_shared(const struct fg_ring *ring, uint32_t index)
{
    return !ring->pool.owners[index].task &&
           atomic_load_explicit(&fg_ring_subbuf(ring, index)->state, memory_order_relaxed) == FG_SUBBUF_OWNED;
}

void fg_ring_retire_shared(struct fg_ring *ring)
{
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        if (is_shared(ring, i))
            disown(ring, fg_ring_subbuf(ring, i));
    }
}

/* Moves the sub-buffers that the reader gave back to our own stack. */
static void collect_released(struct fg_ring *ring)
{
    struct fg_ring_header *header = ring->header;
    uint64_t tail = atomic_load_explicit(&header->free_tail, memory_order_relaxed);
    /* acquire: pairs with the reader's release of the sub-buffers */
    uint64_t head = atomic_load_explicit(&header->free_head, memory_order_acquire);

    for (; tail != head && ring->pool.nr_free < header->nr_subbufs; tail++)
        ring->pool.free[ring->pool.nr_free++] =
            atomic_load_explicit(&ring->free_queue[tail % header->nr_subbufs], memory_order_relaxed) %
            header->nr_subbufs;
    atomic_store_explicit(&header->free_tail, tail, memory_order_release);
}

/* Takes the sub-buffer that was given back last: it is the most likely to be in a cache. While the reader
 * keeps up, the writers reuse a few sub-buffers and never touch the rest of the pool. */
static bool take_released(struct fg_ring *ring, uint32_t *index)
{
    collect_released(ring);
    if (!ring->pool.nr_free)
        return false;
    *index = ring->pool.free[--ring->pool.nr_free];
    return true;
}

/* Otherwise the first record in each page would fault. */
static int populate(struct fg_ring *ring, uint32_t index)
{
    return fg_ring_room_populate(fg_ring_subbuf(ring, index), ring->header->subbuf_bytes);
}

static bool take_fresh(struct fg_ring *ring, uint32_t *index)
{
    int error;

    if (ring->pool.nr_fresh >= ring->pool.nr_usable)
        return false;
    error = ring->path ? fg_ring_room_subbuf(ring) : 0;
    if (!error && populate(ring, ring->pool.nr_fresh) == ENOMEM && !ring->path)
        error = ENOMEM;
    if (error == EMFILE || error == ENFILE || error == EAGAIN)
        return false; /* the program may close some descriptors, another process may end */
    if (error) {
        ring->pool.nr_usable = ring->pool.nr_fresh; /* the file system is full: the pool stays this small */
        return false;
    }
    *index = ring->pool.nr_fresh++;
    return true;
}

/* The sizes of nearly all records are branches: the processor goes on with the next record before it has read
 * this one's size. An addition of the size would wait for each. */
static const uint8_t *next_record(const uint8_t *at)
{
    enum { ENTRY_WORDS = sizeof(struct fg_record) / 8, RETURN_WORDS };
    uint32_t words = fg_record_words(((const struct fg_record *)at)->info);

    if (words == ENTRY_WORDS)
        at += 8 * ENTRY_WORDS;
    else if (words == RETURN_WORDS)
        at += 8 * RETURN_WORDS;
    else
        at += 8 * words;
    __asm__("" : "+r"(at)); /* keeps the compiler from making one addition of the three */
    return at;
}

static uint64_t count_records(const uint8_t *at, uint64_t bytes)
{
    const uint8_t *end = at + bytes;
    uint64_t n = 0;

    for (; at < end; n++)
        at = next_record(at);
    return n;
}

/* How many records lie between two offsets in the sub-buffer. */
static uint64_t count_between(const struct fg_subbuf *subbuf, uint64_t from, uint64_t to)
{
    return count_records((const uint8_t *)(subbuf + 1) + from, to - from);
}

/* Writers go on while a ring is copied. So a record may be overwritten after the latest copy took it, or
 * after that copy reported it as lost; no later copy may report it once more. */
struct loss {
    uint64_t records;
    uint64_t in_copy; /* how many of these the latest copy holds, or reported as lost */
};

/* Adds a loss of records of `task` to the task's next sub-buffer after `seq`, or to the one that it will
 * take next. */
static void pass_loss_on(struct fg_ring *ring, uint32_t task, uint64_t seq, struct loss loss)
{
    struct fg_orphan_loss *orphan = &ring->pool.orphans[task % FG_RING_ORPHANS];
    struct fg_subbuf *next = NULL;

    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);
        uint32_t state = atomic_load_explicit(&subbuf->state, memory_order_relaxed);

        if ((state == FG_SUBBUF_FULL || state == FG_SUBBUF_OWNED) && subbuf->task == task &&
            subbuf->seq > seq && (!next || subbuf->seq < next->seq))
            next = subbuf;
    }
    if (next) {
        atomic_fetch_add(&next->lost, loss.records);
        next->lost_in_copy += loss.in_copy;
        return;
    }
    if (orphan->task != task)
        *orphan = (struct fg_orphan_loss){.task = task};
    orphan->lost += loss.records;
    orphan->lost_in_copy += loss.in_copy;
}

/* The loss when a sub-buffer is reused: its records that no consumer had, and the loss
 * reported before them. */
static struct loss drop_records(struct fg_ring *ring, struct fg_subbuf *subbuf)
{
    uint64_t commit = atomic_load_explicit(&subbuf->commit, memory_order_relaxed);
    uint64_t lost = count_between(subbuf, subbuf->consumed, commit);
    uint64_t in_copy =
        subbuf->copied > subbuf->consumed ? count_between(subbuf, subbuf->consumed, subbuf->copied) : 0;

    atomic_fetch_add(&ring->header->records_lost, lost);
    ring->pool.overwritten_bytes += commit - subbuf->consumed;
    return (struct loss){lost + atomic_exchange(&subbuf->lost, 0), in_copy + subbuf->lost_in_copy};
}

/* Overwrite mode: takes the oldest full sub-buffer back from the queue. Its records are lost. */
static bool take_oldest(struct fg_ring *ring, uint32_t *index)
{
    struct fg_ring_header *header = ring->header;
    uint64_t tail = atomic_load_explicit(&header->full_tail, memory_order_relaxed);
    struct fg_subbuf *subbuf;

    do {
        if (tail == atomic_load_explicit(&header->full_head, memory_order_relaxed))
            return false;
        *index = atomic_load_explicit(&ring->full_queue[tail % header->nr_subbufs], memory_order_relaxed);
        /* The reader may claim the same sub-buffer now: the side that moves the tail gets it. */
    } while (!atomic_compare_exchange_weak_explicit(&header->full_tail, &tail, tail + 1, memory_order_acq_rel,
                                                    memory_order_relaxed));
    subbuf = fg_ring_subbuf(ring, *index);
    atomic_store_explicit(&subbuf->state, FG_SUBBUF_FREE, memory_order_relaxed);
    pass_loss_on(ring, subbuf->task, subbuf->seq, drop_records(ring, subbuf));
    return true;
}

/* Nobody writes into the sub-buffer now. */
static bool is_idle(const struct fg_ring *ring, uint32_t index, const struct fg_task *self)
{
    struct fg_task *task = ring->pool.owners[index].task;

    return task ? task != self && fg_task_is_quiet(task) : is_shared(ring, index);
}

/* Queues the oldest sub-buffer whose task is not writing now, so that any number of threads can share a
 * small pool. The task then finds its cursor without room and takes another sub-buffer. */
static bool revoke_idle(struct fg_ring *ring, const struct fg_task *self)
{
    struct fg_subbuf *oldest = NULL;
    struct fg_ring_cursor *cursor;

    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        struct fg_ring_owner *owner = &ring->pool.owners[i];

        if (owner->task && owner->task != self)
            atomic_store_explicit(&owner->cursor->end, NULL, memory_order_relaxed);
    }
    /* After the fence each of these tasks is either seen inside the guard, and keeps its sub-buffer, or
     * sees that its cursor has no room. */
    fg_task_fence_heavy();
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        struct fg_subbuf *subbuf = fg_ring_subbuf(ring, i);

        if (is_idle(ring, i, self) && (!oldest || subbuf->seq < oldest->seq))
            oldest = subbuf;
    }
    if (!oldest)
        return false;
    cursor = ring->pool.owners[index_of(ring, oldest)].cursor;
    if (cursor)
        fg_ring_retire(ring, cursor);
    else
        disown(ring, oldest);
    return true;
}

static bool recorder_lives(const struct fg_ring *ring)
{
    char *path = fg_mmap_path("%s/lock", ring->directory);
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    bool lives = false;
    int fd;

    if (!path)
        return true; /* unknown: no reason to lose records */
    /* Opened again each time: the program may have closed a descriptor that we kept, and
     * reused its number. */
    fd = open(path, O_RDWR | FG_SESSION_OPEN);
    if (fd < 0 && fg_ring_room_is_unreachable(errno))
        lives = ring->page && fg_session_recorder_lives(ring->page);
    else if (fd < 0)
        lives = errno == EMFILE || errno == ENFILE; /* unknown: no reason to lose records */
    if (fd >= 0) {
        lives = fcntl(fd, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
        close(fd);
    }
    fg_mmap_free(path);
    return lives;
}

/* True if the recorder was killed: it drains this ring no more. */
static bool recorder_is_gone(struct fg_ring *ring)
{
    uint64_t now;

    if (!ring->directory)
        return false;
    now = fg_clock_monotonic_ns();
    if (now - ring->pool.life_checked_ns < LIFE_CHECK_NS)
        return false;
    ring->pool.life_checked_ns = now;
    return !recorder_lives(ring);
}

static void sleep_for_release(struct fg_ring_header *header, uint32_t seen)
{
    struct timespec step = {0, WAIT_STEP_NS};

    syscall(SYS_futex, &header->free_futex, FUTEX_WAIT, seen, &step, NULL, 0);
}

/* Sleeps, without the lock, until the reader releases a sub-buffer or a step has passed. False: no reader
 * will release any. */
static bool wait_for_release(struct fg_ring *ring)
{
    struct fg_ring_header *header = ring->header;
    uint32_t seen = atomic_load(&header->free_futex);

    /* A file without any sub-buffer has none that could be released. */
    if (atomic_load(&header->stop) || !ring->pool.nr_fresh)
        return false;
    atomic_fetch_add(&header->waiters, 1);
    fg_mutex_unlock(&ring->lock);
    if (atomic_load(&header->free_head) == atomic_load(&header->free_tail))
        sleep_for_release(header, seen);
    fg_mutex_lock(&ring->lock);
    atomic_fetch_sub(&header->waiters, 1);
    return true;
}

/* Finds a free sub-buffer by the ring's mode. False: none. A full ring whose recorder is gone stops, whatever
 * its mode. */
static bool acquire(struct fg_ring *ring, struct fg_task *task, uint32_t *index, struct fg_ring_wait *wait)
{
    for (;;) {
        if (take_released(ring, index) || take_fresh(ring, index))
            break;
        /* A thread that waited may find that another one has stopped the ring. */
        if (atomic_load(&ring->stopped))
            return false;
        if (recorder_is_gone(ring)) {
            atomic_store(&ring->stopped, true);
            return false;
        }
        if (ring->mode == FG_RING_OVERWRITE && take_oldest(ring, index))
            break;
        /* If tasks do not own all sub-buffers, the reader has some and will release them. An idle task
         * then keeps its own, unless the mode is to overwrite, which cannot wait. */
        if ((ring->pool.nr_owned == ring->pool.nr_fresh || ring->mode == FG_RING_OVERWRITE) &&
            revoke_idle(ring, task))
            continue;
        if (ring->mode != FG_RING_WAIT)
            return false;
        if (!wait->begin)
            wait->begin = fg_clock_now();
        if (!wait_for_release(ring))
            return false;
    }
    if (wait->begin)
        wait->end = fg_clock_now();
    return true;
}

/* Makes the sub-buffer the task's next one. */
static void begin(struct fg_ring *ring, struct fg_subbuf *subbuf, uint32_t task, uint64_t lost)
{
    struct fg_orphan_loss *orphan = &ring->pool.orphans[task % FG_RING_ORPHANS];
    uint64_t unreported = atomic_exchange(&subbuf->lost, 0) - subbuf->lost_reported, lost_in_copy = 0;

    /* A loss was added to this sub-buffer's former contents after the reader had read them: it is still
     * unreported. */
    if (unreported)
        pass_loss_on(ring, subbuf->task, subbuf->seq, (struct loss){unreported, 0});
    subbuf->task = task;
    subbuf->seq = ring->pool.next_seq++;
    if (orphan->task == task) {
        lost += orphan->lost;
        lost_in_copy = orphan->lost_in_copy;
        *orphan = (struct fg_orphan_loss){0};
    }
    atomic_store_explicit(&subbuf->lost, lost, memory_order_relaxed);
    atomic_store_explicit(&subbuf->commit, 0, memory_order_relaxed);
    subbuf->consumed = subbuf->copied = 0;
    subbuf->lost_in_copy = lost_in_copy;
    subbuf->lost_reported = 0;
    atomic_store_explicit(&subbuf->state, FG_SUBBUF_OWNED, memory_order_release);
}

/* Has the cursor write after the sub-buffer's last record. */
static void point(const struct fg_ring *ring, struct fg_ring_cursor *cursor, struct fg_subbuf *subbuf)
{
    cursor->subbuf = subbuf;
    cursor->pos = (uint8_t *)(subbuf + 1) + atomic_load_explicit(&subbuf->commit, memory_order_relaxed);
    atomic_signal_fence(memory_order_release); /* a handler of a signal that sees the end sees the rest */
    atomic_store_explicit(&cursor->end, (uint8_t *)subbuf + ring->header->subbuf_bytes, memory_order_relaxed);
}

static void own(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor, uint32_t index)
{
    begin(ring, fg_ring_subbuf(ring, index), task->id, cursor->lost);
    cursor->lost = 0;
    point(ring, cursor, fg_ring_subbuf(ring, index));
    ring->pool.owners[index] = (struct fg_ring_owner){task, cursor};
    ring->pool.nr_owned++;
}

bool fg_ring_take(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                  struct fg_ring_wait *wait)
{
    uint32_t index;

    if (!acquire(ring, task, &index, wait))
        return false;
    own(ring, task, cursor, index);
    return true;
}

bool fg_ring_find_shared(struct fg_ring *ring, const struct fg_task *task, struct fg_ring_cursor *cursor)
{
    for (uint32_t i = 0; i < ring->pool.nr_fresh; i++) {
        if (!is_shared(ring, i) || fg_ring_subbuf(ring, i)->task != task->id)
            continue;
        point(ring, cursor, fg_ring_subbuf(ring, i));
        return true;
    }
    return false;
}

bool fg_ring_take_shared(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         struct fg_ring_wait *wait)
{
    uint32_t index;

    if (fg_ring_find_shared(ring, task, cursor))
        disown(ring, cursor->subbuf);
    if (!acquire(ring, task, &index, wait))
        return false;
    begin(ring, fg_ring_subbuf(ring, index), task->id, 0);
    point(ring, cursor, fg_ring_subbuf(ring, index));
    ring->pool.nr_owned++;
    return true;
}

void fg_ring_put_full(struct fg_ring *ring, uint32_t task, const void *records, uint64_t bytes, uint64_t lost)
{
    struct fg_ring_wait wait = {0, 0};
    struct fg_subbuf *subbuf;
    uint32_t index;

    if (!acquire(ring, NULL, &index, &wait)) {
        uint64_t n = count_records(records, bytes);

        atomic_fetch_add(&ring->header->records_lost, n);
        fg_ring_put_loss(ring, task, lost + n);
        return;
    }
    subbuf = fg_ring_subbuf(ring, index);
    begin(ring, subbuf, task, lost);
    memcpy(subbuf + 1, records, bytes);
    atomic_store_explicit(&subbuf->commit, bytes, memory_order_relaxed);
    queue_full(ring, subbuf);
}

void fg_ring_put_loss(struct fg_ring *ring, uint32_t task, uint64_t lost)
{
    if (lost)
        pass_loss_on(ring, task, UINT64_MAX, (struct loss){lost, 0});
}
