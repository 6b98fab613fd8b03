/* Giving a task its next sub-buffer, and the ring's own records in it: waits and overruns. */
#include "engine/writer/ring_buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/clock.h"
#include "engine/base/mmap_memory.h"
#include "engine/core/mutex.h"
#include "engine/core/signal_stack.h"
#include "engine/writer/ring_file.h"
#include "engine/writer/ring_pool.h"
#include "engine/writer/ring_symbols.h"
#include "engine/writer/ring_wake.h"

static void clock_renew(struct fg_ring_header *header)
{
    uint32_t seq = atomic_load_explicit(&header->clock_seq, memory_order_relaxed);

    atomic_store_explicit(&header->clock_seq, seq + 1, memory_order_relaxed);
    atomic_thread_fence(memory_order_release);
    header->clock_latest = fg_clock_read_pair();
    atomic_store_explicit(&header->clock_seq, seq + 2, memory_order_release);
}

/* Adds the task's overruns since its last sub-buffer to the file's total. */
static void count_overrun(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor)
{
    uint32_t overrun = (uint32_t)atomic_load_explicit(&task->overrun, memory_order_relaxed);

    atomic_fetch_add(&ring->header->overrun, overrun - cursor->overrun_reported);
    cursor->overrun_reported = overrun;
}

static void put_side_record(struct fg_ring_cursor *cursor, enum fg_record_kind kind, uint32_t depth,
                            uint64_t time, uint64_t payload)
{
    struct fg_record *record = (struct fg_record *)cursor->pos;
    uint32_t words = sizeof(*record) / 8 + 1;

    *record = (struct fg_record){.time = time, .func = 0, .info = FG_RECORD_INFO(kind, words, depth)};
    memcpy(record + 1, &payload, sizeof(payload));
    fg_ring_commit(cursor, words * 8);
}

static void put_side_records(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                             const struct fg_ring_wait *wait)
{
    if (wait->begin) {
        atomic_fetch_add(&ring->header->wait_count, 1);
        atomic_fetch_add(&ring->header->wait_ticks, wait->end - wait->begin);
        put_side_record(cursor, FG_RECORD_WAIT, ring->times_work, wait->end, wait->begin);
    }
    if ((uint32_t)atomic_load_explicit(&task->overrun, memory_order_relaxed) != cursor->overrun_reported)
        put_side_record(cursor, FG_RECORD_OVERRUN, 0, fg_clock_now(),
                        atomic_load_explicit(&task->overrun, memory_order_relaxed));
    count_overrun(ring, task, cursor);
}

/* The task's present name. The arch is asked without the ring's lock: it may run code that
 * writes records here. */
struct task_name {
    char text[FG_TASK_NAME_BYTES];
};

static struct task_name read_task_name(struct fg_task *task)
{
    struct task_name name;

    fg_process()->task_name(task, name.text, sizeof(name.text));
    return name;
}

static void rename_task(struct fg_ring *ring, struct fg_task *task, const struct fg_ring_cursor *cursor,
                        const struct task_name *name)
{
    bool is_new = cursor->task != task->id;

    if (!is_new && (!*name->text || strcmp(name->text, task->name) == 0))
        return;
    memcpy(task->name, name->text, sizeof(task->name));
    fg_ring_put_task_symbol(ring, task);
    if (is_new)
        fg_ring_put_run_time(ring, task);
}

static void lose_record(struct fg_ring *ring, struct fg_ring_cursor *cursor)
{
    cursor->lost++;
    atomic_fetch_add(&ring->header->records_lost, 1);
}

/* True if the recorder stopped the ring while a writer waited: nothing is lost. */
static bool was_stopped(struct fg_ring *ring)
{
    if (!atomic_load(&ring->header->stop))
        return false;
    atomic_store(&ring->stopped, true);
    return true;
}

/* The task's user whose cursor it is. */
static uint32_t slot_of(const struct fg_task *task, const struct fg_ring_cursor *cursor)
{
    return (uint32_t)(fg_container_of(cursor, const struct fg_task_user, cursor) - task->users);
}

void fg_ring_lose_in_signal(struct fg_ring *ring, struct fg_task *task, const struct fg_ring_cursor *cursor)
{
    struct fg_signal_stack *stack = task->signal_stack;

    if (atomic_load_explicit(&ring->stopped, memory_order_relaxed) ||
        atomic_load_explicit(&ring->paused, memory_order_relaxed))
        return;
    atomic_fetch_add(&ring->lost_in_signals, 1);
    if (stack)
        atomic_fetch_add(&stack->lost[slot_of(task, cursor)], 1);
}

/* Adds the losses in handlers of signals to the file's total. */
static void count_lost_in_signals(struct fg_ring *ring)
{
    atomic_fetch_add(&ring->header->records_lost, atomic_exchange(&ring->lost_in_signals, 0));
}

/* Shows the task's own of these losses where they happened: before its next sub-buffer. */
static void take_lost_in_signals(const struct fg_task *task, struct fg_ring_cursor *cursor)
{
    struct fg_signal_stack *stack = task->signal_stack;

    if (stack)
        cursor->lost += atomic_exchange(&stack->lost[slot_of(task, cursor)], 0);
}

static bool switch_locked(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                          const struct task_name *name)
{
    struct fg_ring_wait wait = {0, 0};

    rename_task(ring, task, cursor, name);
    if (cursor->task != task->id) {
        cursor->task = task->id;
        atomic_fetch_add(&ring->header->nr_tasks, 1);
    }
    clock_renew(ring->header);
    count_lost_in_signals(ring);
    take_lost_in_signals(task, cursor);
    fg_ring_retire(ring, cursor);
    if (!fg_ring_take(ring, task, cursor, &wait))
        return false;
    put_side_records(ring, task, cursor, &wait);
    return true;
}

bool fg_ring_is_ready(struct fg_ring *ring)
{
    if (atomic_load_explicit(&ring->stopped, memory_order_relaxed) ||
        atomic_load_explicit(&ring->paused, memory_order_relaxed))
        return false;
    if (fg_unlikely(atomic_load(&ring->reopen) != FG_RING_IS_OPEN))
        fg_ring_reopen(ring);
    return true;
}

static void notify_end(struct fg_ring *ring)
{
    if (ring->ended && !atomic_load_explicit(&ring->has_ended, memory_order_relaxed) &&
        !atomic_exchange(&ring->has_ended, true))
        ring->ended(ring);
}

/* True if the cursor got no room in this section, when the record was still to come. */
static bool was_refused(struct fg_task *task, const struct fg_ring_cursor *cursor)
{
    return task->refused_cursor == cursor && task->refused_in == fg_guard_section(fg_task_guard(task));
}

static void note_refusal(struct fg_task *task, const struct fg_ring_cursor *cursor)
{
    task->refused_cursor = cursor;
    task->refused_in = fg_guard_section(fg_task_guard(task));
}

/* There was no room. A ring that has stopped, because its recorder is gone, does not try for the record that
 * is still to come: it is lost now. */
static void refuse(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor, bool is_lost)
{
    if (!was_stopped(ring) && (is_lost || atomic_load(&ring->stopped)))
        lose_record(ring, cursor);
    else
        note_refusal(task, cursor);
}

/* As fg_ring_switch(), for a ring that was ready a moment ago. @is_lost: without room a record is lost; else
 * one is still to come. */
static bool switch_ready(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         bool is_lost)
{
    struct task_name name;
    bool got = false;

    name = read_task_name(task);
    fg_mutex_lock(&ring->lock);
    if (!ring->header || atomic_load(&ring->header->stop))
        atomic_store(&ring->stopped, true);
    else if (!atomic_load(&ring->stopped) && !atomic_load(&ring->paused)) {
        fg_ring_wake_awaited(ring);
        if (!atomic_load(&ring->moves) && !was_refused(task, cursor))
            got = switch_locked(ring, task, cursor, &name);
        if (!got)
            refuse(ring, task, cursor, is_lost);
    }
    fg_mutex_unlock(&ring->lock);
    return got;
}

bool fg_ring_switch(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor, size_t bytes)
{
    if (fg_ring_disarm(ring, cursor, bytes))
        return true;
    /* The next sub-buffer has room for any record. */
    if (fg_task_is_in_signal(task)) {
        fg_ring_lose_in_signal(ring, task, cursor);
        return false;
    }
    if (fg_ring_is_ready(ring) && switch_ready(ring, task, cursor, true))
        return true;
    if (atomic_load_explicit(&ring->stopped, memory_order_relaxed))
        notify_end(ring);
    return false;
}

void fg_ring_make_room(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                       size_t bytes)
{
    if (!fg_ring_disarm(ring, cursor, bytes) && fg_ring_is_ready(ring))
        switch_ready(ring, task, cursor, false);
}

/* ---- records of tasks without a cursor */

static bool has_sharer_word(struct fg_ring_pool *pool, size_t word)
{
    size_t doubled = pool->nr_sharer_words * 2, n = word < doubled ? doubled : word + 1;
    uint64_t *grown;

    if (word < pool->nr_sharer_words)
        return true;
    grown = fg_mmap_grow(pool->sharers, n * sizeof(*grown));
    if (!grown)
        return false;
    pool->sharers = grown;
    pool->nr_sharer_words = n;
    return true;
}

/* Puts the task's symbol before its first record, and again when it was renamed. */
static void name_sharer(struct fg_ring *ring, struct fg_task *task, const struct task_name *name)
{
    struct fg_ring_pool *pool = &ring->pool;
    uint32_t word = task->id / 64;
    bool has_bit = has_sharer_word(pool, word);
    bool is_known = has_bit && pool->sharers[word] >> task->id % 64 & 1;

    if (has_bit)
        pool->sharers[word] |= 1ull << task->id % 64;
    if (!is_known)
        atomic_fetch_add(&ring->header->nr_tasks, 1);
    rename_task(ring, task, &(struct fg_ring_cursor){.task = is_known ? task->id : 0}, name);
}

static bool share_locked(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         size_t bytes, const struct task_name *name)
{
    struct fg_ring_wait wait = {0, 0};

    if (fg_ring_find_shared(ring, task, cursor) && fg_ring_has_room(cursor, bytes))
        return true;
    name_sharer(ring, task, name);
    clock_renew(ring->header);
    if (!fg_ring_take_shared(ring, task, cursor, &wait)) {
        if (was_stopped(ring))
            return false;
        atomic_fetch_add(&ring->header->records_lost, 1);
        fg_ring_put_loss(ring, task->id, 1);
        return false;
    }
    put_side_records(ring, task, cursor, &wait);
    return true;
}

bool fg_ring_share_begin(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                         size_t bytes)
{
    struct task_name name;

    if (!fg_ring_is_ready(ring))
        return false;
    name = read_task_name(task);
    *cursor = (struct fg_ring_cursor){.overrun_reported = (uint32_t)atomic_load(&task->overrun)};
    fg_mutex_lock(&ring->lock);
    if (ring->header && !atomic_load(&ring->header->stop) && !atomic_load(&ring->stopped) &&
        !atomic_load(&ring->paused) && share_locked(ring, task, cursor, bytes, &name))
        return true;
    fg_mutex_unlock(&ring->lock);
    return false;
}

void fg_ring_share_end(struct fg_ring *ring)
{
    fg_ring_wake_awaited(ring);
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_task_exit(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor)
{
    struct task_name name = read_task_name(task);

    fg_mutex_lock(&ring->lock);
    if (ring->header && cursor->task == task->id) {
        count_overrun(ring, task, cursor);
        count_lost_in_signals(ring);
        rename_task(ring, task, cursor, &name);
        fg_ring_put_run_time(ring, task);
        fg_ring_retire(ring, cursor);
    }
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_put_run_times(struct fg_ring *ring)
{
    if (!fg_mutex_trylock(&ring->lock))
        return;
    for (uint32_t i = 0; ring->header && i < ring->pool.nr_fresh; i++) {
        if (ring->pool.owners[i].task)
            fg_ring_put_run_time(ring, ring->pool.owners[i].task);
    }
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_retire_owners(struct fg_ring *ring, struct fg_ring *memory)
{
    for (uint32_t i = 0; i < memory->pool.nr_fresh; i++) {
        struct fg_ring_owner owner = memory->pool.owners[i];

        if (!owner.task)
            continue;
        if (ring->header) {
            count_overrun(ring, owner.task, owner.cursor);
            fg_ring_put_run_time(ring, owner.task);
        }
        fg_ring_retire(ring, owner.cursor);
    }
}

void fg_ring_retire_all_locked(struct fg_ring *ring)
{
    count_lost_in_signals(ring);
    fg_ring_retire_owners(ring, ring);
    if (ring->spare)
        fg_ring_retire_owners(ring, ring->spare);
    fg_ring_retire_shared(ring);
}

void fg_ring_retire_all(struct fg_ring *ring)
{
    fg_mutex_lock(&ring->lock);
    if (ring->header)
        fg_ring_retire_all_locked(ring);
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_set_paused(struct fg_ring *ring, bool paused)
{
    fg_mutex_lock(&ring->lock);
    atomic_store(&ring->paused, paused);
    fg_ring_set_room(ring, !paused && !atomic_load(&ring->awaited));
    fg_ring_wake(ring);
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_set_mode(struct fg_ring *ring, enum fg_ring_mode mode)
{
    fg_mutex_lock(&ring->lock);
    ring->mode = mode;
    fg_mutex_unlock(&ring->lock);
}

void fg_ring_close(struct fg_ring *ring)
{
    char *directory;

    fg_mutex_lock(&ring->copying);
    fg_mutex_lock(&ring->lock);
    if (ring->header) {
        fg_ring_retire_all_locked(ring);
        clock_renew(ring->header);
        atomic_store(&ring->stopped, true);
        atomic_store(&ring->header->finished, 1);
    }
    fg_ring_forget(ring);
    fg_ring_forget_spare(ring);
    fg_session_page_unmap(ring->page);
    ring->page = NULL;
    directory = ring->directory;
    ring->directory = NULL;
    fg_ring_wake(ring);
    fg_mutex_unlock(&ring->lock);
    fg_mutex_unlock(&ring->copying);
    free(directory); /* not under a lock that a thread inside of malloc() may wait for */
}

void fg_ring_set_killed(struct fg_ring *ring, const char *message)
{
    /* The thread that found the broken invariant may hold the lock: waiting for it would
     * hang the program. */
    if (!fg_mutex_trylock(&ring->lock))
        return;
    if (ring->header)
        snprintf(ring->header->killed, sizeof(ring->header->killed), "%s", message);
    fg_mutex_unlock(&ring->lock);
}
