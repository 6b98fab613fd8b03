/* A frame of the shadow stack: one call in progress. The stack grows up in 64-bit words; from old to new:
 *
 *     frame -> +----------------------------------------------------------+
 *              | function record                                          |
 *              | frame pointer: identifies the call                       |
 *              | calltime: of the call, or of its latest resume (ticks)   |
 *              | start: of the call, before any suspend (ticks)           |
 *              | bitmap: bit i: the user in slot i wants the return       |
 *              | descriptor  type:2 = BITMAP | offset:16 | plain:1        |
 *              |             | irq:1 | inner:1 | epoch:43                 |
 *              +----------------------------------------------------------+
 *              | data words of a user                                     |  for each piece of data
 *              | descriptor  type:2 = DATA | offset:16 | idx:8 | size:8   |  that a user has on it
 *              |             | kind:2 | slack:3                           |
 *              +----------------------------------------------------------+
 *     top ->
 *
 * Fields are listed from the lowest bit up. The word under `top` is always a descriptor, and its offset
 * (in words, from the descriptor down to the frame) leads to the newest frame. So the stack can be walked
 * down at any instant, also from a signal handler.
 *
 *     times  both are 0 if no user of the function needs them: reading the clock twice would cost more than
 *            all the rest.
 *     plain  the call's one user is plain: the engine itself did the user's step at the entry, and can do
 *            it at the return (plain_call.c). Not set for a call that was suspended.
 *     irq    the interpreter made the call to handle a signal, and some user asked (marks.c).
 *     inner  a signal handler that interrupted a callback made the call (contexts.h). Not set for a call
 *            that was suspended.
 *     epoch  the number of changes among users (registrations, unregistrations, filters) at entry. The user
 *            now in slot i made this entry only if it was registered at or before that epoch. So the new
 *            owner of a slot never gets the return of an entry that the old one made.
 *
 * An example. Users A, B and C registered one after the other, as the first three: they have slots 0, 1,
 * 2, and the epoch is 3. A and B are attached to outer(), all three to inner(). outer() calls inner(),
 * which runs now.
 *
 *     - In outer(), A reserves 12 bytes and wants the return; B wants the return.
 *     - In inner(), A reserves 8 bytes but does not want the return, so they are popped; B wants the return;
 *       C reserves 8 bytes and wants the return.
 *
 *     word  content             what it is
 *       0   outer's record      frame of outer()
 *       1   0x7f10a0            its frame pointer
 *       2   1000                calltime
 *       3   1000                start
 *       4   0x3                 bitmap: slots 0 (A) and 1 (B)
 *       5   0x600015            descriptor: BITMAP (1), offset 5, epoch 3
 *       6   A's bytes 0 to 7
 *       7   A's bytes 8 to 11, and 4 bytes of slack
 *       8   0x4008000022        descriptor: DATA (2), offset 8, idx 0 (A), size 2, kind WORDS, slack 4
 *       9   inner's record      frame of inner()
 *      10   0x7f1150            its frame pointer
 *      11   1200                calltime
 *      12   1200                start
 *      13   0x6                 bitmap: slots 1 (B) and 2 (C)
 *      14   0x600015            descriptor: BITMAP (1), offset 5, epoch 3
 *      15   C's bytes 0 to 7
 *      16   0x408001e           descriptor: DATA (2), offset 7, idx 2 (C), size 1, kind WORDS, slack 0
 *      17   <- top
 *
 * From `top`: word 16 has offset 7, so the newest frame begins at word 9. From there, word 8 has
 * offset 8: the next frame begins at word 0, where the stack begins. tests/engine/graph/test_frame.c
 * builds this stack.
 *
 * Private to the engine. */
#ifndef FG_FRAME_H
#define FG_FRAME_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/public.h"
#include "engine/core/root.h"
#include "engine/core/task.h"

enum { FRAME_FUNC, FRAME_FP, FRAME_CALLTIME, FRAME_START, FRAME_BITMAP, FRAME_DESCRIPTOR, FG_FRAME_WORDS };

#define FG_MAX_DATA_WORDS (FGRAPH_MAX_DATA_BYTES / sizeof(uint64_t)) /* per user and entry */

#define FG_TYPE_MASK 3u
#define FG_TYPE_BITMAP 1u
#define FG_TYPE_DATA 2u
#define FG_OFFSET_SHIFT 2
#define FG_OFFSET_MASK 0xffffu

#define FG_FRAME_PLAIN (1u << 18)
#define FG_FRAME_IRQ (1u << 19)
#define FG_FRAME_INNER (1u << 20)
#define FG_EPOCH_SHIFT 21
#define FG_DESCRIPTOR(epoch)                                                                                 \
    (FG_TYPE_BITMAP | ((uint64_t)FRAME_DESCRIPTOR << FG_OFFSET_SHIFT) | ((uint64_t)(epoch) << FG_EPOCH_SHIFT))

static inline uint64_t fg_descriptor_offset(uint64_t descriptor)
{
    return (descriptor >> FG_OFFSET_SHIFT) & FG_OFFSET_MASK;
}

/* True for the descriptor of a piece of data. */
static inline bool fg_is_data(uint64_t descriptor)
{
    return (descriptor & FG_TYPE_MASK) == FG_TYPE_DATA;
}

static inline uint64_t fg_frame_epoch(const uint64_t *frame)
{
    return frame[FRAME_DESCRIPTOR] >> FG_EPOCH_SHIFT;
}

/* True if the interpreter made the call to handle a signal. Known only if some user of the
 * call asked (fg_filter.irqs). */
static inline bool fg_frame_is_irq(const uint64_t *frame)
{
    return frame[FRAME_DESCRIPTOR] & FG_FRAME_IRQ;
}

/* True if some user of the call needs times. */
static inline bool fg_frame_has_times(const uint64_t *frame)
{
    return frame[FRAME_START] != 0;
}

static inline struct fg_func *fg_frame_func(const uint64_t *frame)
{
    return (struct fg_func *)(uintptr_t)frame[FRAME_FUNC];
}

/* Returns the user that made this frame's entry from slot @idx; NULL: it has left. */
static inline struct fgraph_ops *fg_frame_user(const uint64_t *frame, uint32_t idx)
{
    return fg_slot_user(idx, fg_frame_epoch(frame));
}

/* Returns the newest frame of a stack that ends at @top. NULL: its descriptor is broken, and the kill
 * switch is thrown. */
static inline uint64_t *fg_newest_frame(const struct fg_task *task, uint64_t *top)
{
    uint64_t descriptor = top[-1];
    uint64_t offset = fg_descriptor_offset(descriptor);

    if (fg_unlikely(!(descriptor & FG_TYPE_MASK) || offset < FRAME_DESCRIPTOR ||
                    (ptrdiff_t)offset >= top - task->stack)) {
        fg_kill("task %d: word %#llx at %td of its shadow stack leads nowhere", task->tid,
                (unsigned long long)descriptor, top - 1 - task->stack);
        return NULL;
    }
    return top - 1 - offset;
}

static inline bool fg_stack_has_room(const struct fg_task *task)
{
    return fg_likely(task->top + FG_FRAME_WORDS <= atomic_load_explicit(&task->limit, memory_order_relaxed));
}

static inline struct ftrace_graph_ent fg_ent_of(struct fg_task *task, uint64_t *frame)
{
    return (struct ftrace_graph_ent){
        .func = fg_frame_func(frame),
        .task = task,
        .calltime = frame[FRAME_CALLTIME],
        .start = frame[FRAME_START],
        .frame = frame,
    };
}

static inline struct ftrace_graph_ret fg_ret_of(struct fg_task *task, uint64_t *frame, uint64_t rettime,
                                                enum fg_end end)
{
    return (struct ftrace_graph_ret){
        .func = fg_frame_func(frame),
        .task = task,
        .calltime = frame[FRAME_CALLTIME],
        .rettime = rettime,
        .start = frame[FRAME_START],
        .frame = frame,
        .end = end,
    };
}

/* A frame, as fg_walk() reports it. */
struct fg_frame_info {
    struct fg_func *func;
    uintptr_t fp;
    uint64_t calltime; /* 0: no user of the call needs it */
    uint64_t bitmap;
};

/* Calls @visit for each frame, from the newest to the oldest, until it returns false. In the
 * task's own thread. */
void fg_walk(const struct fg_task *task, bool (*visit)(const struct fg_frame_info *frame, void *arg),
             void *arg);

#endif
