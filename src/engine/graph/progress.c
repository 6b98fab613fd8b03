/* See progress.h.
 *
 * A function may still be running when its last return-watching user stops matching it. If that user only
 * changed its filter, it waits for the returns of these calls. The arch must keep the hooks until the
 * last of these calls has ended. If that user has left, no user waits. A frame whose users have all left
 * is stale: it is popped before its call ends. */
#include "engine/graph/progress.h"

#include <stdlib.h>

#include "engine/core/sync.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/graph/parked.h"

/* True if some user that wanted this call's return is still registered. */
static bool has_user(const uint64_t *frame)
{
    for (uint64_t left = frame[FRAME_BITMAP]; left; left &= left - 1) {
        if (fg_frame_user(frame, (uint32_t)__builtin_ctzll(left)))
            return true;
    }
    return false;
}

/* ---- which functions run */

/* A search through all frames: those of all stacks, and the parked ones. */
struct look {
    /* Returns true to end the search. @is_new: the frame may be that of an entry under way, whose users
     * are not known yet. */
    bool (*at)(const uint64_t *frame, bool is_new, void *arg);
    void *arg;
    bool in_callback; /* this thread is in a callback: its newest frame may be new */
};

/* Reads another task's stack while that task may run. As long as its guard word and its count of inner
 * callbacks do not change, the words below the top that was read here stay as they are. */
__attribute__((no_sanitize("thread"))) static bool look_at_words(const struct fg_task *task,
                                                                 const struct look *look, bool is_new)
{
    const uint64_t *interrupted = *(uint64_t *const volatile *)&task->interrupted,
                   *top = interrupted ? interrupted : *(uint64_t *const volatile *)&task->top,
                   *stack = (const uint64_t *)(task + 1) + FG_SENTINEL_WORDS,
                   *end = (const uint64_t *)((const char *)task + task->mapping_bytes);

    while (top > stack && top <= end) {
        uint64_t offset = fg_descriptor_offset(top[-1]);

        if (offset < FRAME_DESCRIPTOR || (ptrdiff_t)offset >= top - stack)
            return false;
        top -= 1 + offset;
        if (look->at(top, is_new, look->arg))
            return true;
        is_new = false;
    }
    return false;
}

static bool look_at_task(struct fg_task *task, const struct look *look)
{
    bool is_found = false;

    for (int tries = 0; tries < 8 && !is_found; tries++) {
        uint64_t guard = fg_task_guard(task), inner = atomic_load(&task->inner);

        is_found = look_at_words(task, look, guard & FG_CONTEXTS);
        if (fg_task_guard(task) == guard && atomic_load(&task->inner) == inner)
            break;
    }
    return is_found;
}

struct look_at_others {
    const struct look *look;
    bool is_found;
};

static void look_at_other(struct fg_task *task, void *arg)
{
    struct look_at_others *others = arg;

    if (task != fg_task_self && !others->is_found)
        others->is_found = look_at_task(task, others->look);
}

static bool look_at_parked(const struct fg_parked *parked, void *arg)
{
    const struct look *look = arg;

    return look->at(parked->words, false, look->arg);
}

/* True if the search ended early. This thread's newest frames come first: in a recursion one of them ends
 * the search immediately. */
static bool look_at_all(struct look *look)
{
    struct look_at_others others = {look, false};

    if (fg_task_self && look_at_words(fg_task_self, look, look->in_callback))
        return true;
    fg_task_for_each(look_at_other, &others);
    return others.is_found || (fg_parked_count() && fg_parked_any(look_at_parked, look));
}

static bool note_pending(const uint64_t *frame, bool is_new, void *arg)
{
    struct fg_func *func = fg_frame_func(frame);

    (void)arg;
    if ((is_new || has_user(frame)) && !fg_func_wants_returns(func))
        atomic_store_explicit(&func->has_pending_returns, true, memory_order_relaxed);
    return false;
}

void fg_progress_note_pending(void)
{
    struct fg_task *self = fg_task_self;
    struct look look = {note_pending, NULL, self && !fg_task_is_quiet(self)};
    size_t n;
    struct fg_func **funcs = fg_func_table(&n);

    for (size_t i = 0; i < n; i++)
        atomic_store_explicit(&funcs[i]->has_pending_returns, false, memory_order_relaxed);
    look_at_all(&look);
}

static bool is_call_of(const uint64_t *frame, bool is_new, void *func)
{
    return fg_frame_func(frame) == func && (is_new || has_user(frame));
}

void fg_progress_call_ended(struct fg_func *func)
{
    struct look look = {is_call_of, func, false};

    /* A later return, or a later change of users, takes it up: the search takes locks, and the arch cannot
     * change hooks in a thread that ends. */
    if ((fg_task_self && (fg_task_is_in_signal(fg_task_self) || fg_task_self->exiting)) || look_at_all(&look))
        return;
    atomic_store_explicit(&func->has_pending_returns, false, memory_order_relaxed);
    fg_sync(func);
}

static bool is_forgotten(struct fg_func *func, const void *scope)
{
    return fg_func_has_pending_returns(func) && func->domain->scope == scope;
}

static struct fg_func *forgotten_at(const void *list, size_t i)
{
    return ((struct fg_func *const *)list)[i];
}

/* Fills in @list, which may be NULL, and returns how many there are. Engine's lock held. */
static size_t take_forgotten(const void *scope, struct fg_func **list)
{
    size_t nr_funcs, n = 0;
    struct fg_func **funcs = fg_func_table(&nr_funcs);

    for (size_t i = 0; i < nr_funcs; i++) {
        if (!is_forgotten(funcs[i], scope))
            continue;
        if (list) {
            list[n] = funcs[i];
            atomic_store_explicit(&funcs[i]->has_pending_returns, false, memory_order_relaxed);
        }
        n++;
    }
    return n;
}

void fg_progress_forget(const void *scope)
{
    struct fg_func **list = NULL;
    size_t n;

    fg_engine_lock();
    n = take_forgotten(scope, NULL);
    if (n)
        list = malloc(n * sizeof(struct fg_func *));
    if (list)
        take_forgotten(scope, list);
    fg_engine_unlock();
    if (list)
        fg_sync_many(forgotten_at, list, n);
    free(list);
}

/* ---- frames of users that left */

void fg_progress_reap(struct fg_task *task)
{
    while (task->top > task->floor) {
        uint64_t *frame = fg_newest_frame(task, task->top), *top = task->top;

        if (!frame || has_user(frame))
            return;
        task->top = frame;
        fg_data_drop(frame, top);
    }
}

static bool is_dead(const struct fg_parked *parked, void *arg)
{
    (void)arg;
    return !has_user(parked->words);
}

static void reap_parked(void)
{
    struct fg_parked *parked = fg_parked_take_all(is_dead, NULL), *next;

    for (; parked; parked = next) {
        next = parked->next;
        fg_data_drop(parked->words, parked->words + parked->size_words);
        fg_parked_free(parked);
    }
}

static void reap_later(struct fg_task *task, void *arg)
{
    (void)arg;
    fg_task_request_reap(task);
}

void fg_progress_reap_all(void)
{
    struct fg_task *self = fg_task_self;

    fg_task_for_each(reap_later, NULL);
    if (fg_parked_count())
        reap_parked();
    if (self && fg_guard_enter(self)) {
        fg_task_reaps(self);
        fg_progress_reap(self);
        fg_guard_leave(self);
    }
}
