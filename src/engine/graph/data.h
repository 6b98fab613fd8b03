/* What users keep on the frames of the shadow stack: reserved words, objects, marks. frame.h
 * draws the layout. */
#ifndef FG_DATA_H
#define FG_DATA_H

#include <stddef.h>

#include "engine/graph/frame.h"
#include "engine/graph/user.h"

/* ---- for users */

/**
 * fgraph_reserve_data() - Reserve data that the same user finds again at the call's return.
 * @trace: the call that begins
 * @ops: the user
 * @bytes: 1 to FGRAPH_MAX_DATA_BYTES
 *
 * Return: the data, zeroed; NULL: no room, too large, or the user reserved some at this entry already.
 * Context: in an entryfunc.
 */
void *fgraph_reserve_data(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, size_t bytes);
/* In a retfunc: the user's data on this frame; NULL: it reserved none. */
void *fgraph_retrieve_data(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops, size_t *bytes);
/* Returns the user's data on the frame @depth levels further out than @frame (0: @frame itself), counting
 * only the user's own frames. NULL: there is none. */
void *fgraph_retrieve_parent_data(const struct fg_task *task, const uint64_t *frame,
                                  const struct fgraph_ops *ops, unsigned depth, size_t *bytes);

/**
 * fgraph_reserve_object() - Keep an object of the arch on the frame.
 * @trace: the call that begins
 * @ops: the user
 * @object: released by the domain's drop_object() when the frame is popped, also if the user has left
 *     by then or does not want the return
 *
 * Return: true; false: no room, or the user has kept one at this entry already. The object then
 * stays the caller's.
 * Context: in an entryfunc.
 */
bool fgraph_reserve_object(struct ftrace_graph_ent *trace, const struct fgraph_ops *ops, void *object);
/* In a retfunc: the user's object on this frame, or NULL. It stays the frame's. */
void *fgraph_retrieve_object(const struct ftrace_graph_ret *trace, const struct fgraph_ops *ops);

/* ---- private to the engine */

/* The kinds of data. A frame has at most one of each kind for a user, but any number of
 * FG_DATA_WORDS for fprobes. */
enum fg_data_kind {
    FG_DATA_WORDS = 0,  /* what the user reserved */
    FG_DATA_OBJECT = 1, /* one word: an object of the arch, released with the frame */
    FG_DATA_HIDES = 2,  /* no words: the user sees neither this call nor anything below it */
    FG_DATA_ROOT = 3,   /* no words: the user sees the calls below this one, but not this one */
};

#define FG_DATA_IDX_SHIFT 18
#define FG_DATA_SIZE_SHIFT 26
#define FG_DATA_FIELD_MASK 0xffu
#define FG_DATA_KIND_SHIFT 34
#define FG_DATA_KIND_MASK 3u
#define FG_DATA_SLACK_SHIFT 36 /* bytes of the last word that were not asked for */
#define FG_DATA_SLACK_MASK 7u
#define FG_DATA_KINDS_WORDS                                                                                  \
    (FG_MAX_DATA_WORDS + 1 + 4) /* the words and descriptors of data of all kinds together */

/* All users' data on one frame must be reachable by the offset. */
_Static_assert(FG_FRAME_WORDS + FG_MAX_USERS * FG_DATA_KINDS_WORDS <= FG_OFFSET_MASK,
               "offset field too small");

/* All fprobes' data on a frame must end before this offset, in words from the frame. The other users'
 * data still fit after it. */
#define FG_FPROBES_END_WORDS (FG_OFFSET_MASK - FG_MAX_USERS * FG_DATA_KINDS_WORDS)
_Static_assert(FG_FPROBES_END_WORDS >
                   200 * (FPROBE_MAX_DATA_BYTES / 8 + 2) + FG_MAX_USERS * FG_DATA_KINDS_WORDS,
               "200 fprobes with all the data they can have must fit before the other users'");

static inline uint32_t fg_data_idx(uint64_t descriptor)
{
    return (uint32_t)(descriptor >> FG_DATA_IDX_SHIFT) & FG_DATA_FIELD_MASK;
}

static inline uint32_t fg_data_size_words(uint64_t descriptor)
{
    return (uint32_t)(descriptor >> FG_DATA_SIZE_SHIFT) & FG_DATA_FIELD_MASK;
}

static inline enum fg_data_kind fg_data_kind(uint64_t descriptor)
{
    return (enum fg_data_kind)((descriptor >> FG_DATA_KIND_SHIFT) & FG_DATA_KIND_MASK);
}

/* Makes the descriptor that lies @offset words after its frame. */
static inline uint64_t fg_data_descriptor(uint64_t offset, uint32_t idx, enum fg_data_kind kind,
                                          uint32_t size_words)
{
    return FG_TYPE_DATA | (offset << FG_OFFSET_SHIFT) | ((uint64_t)idx << FG_DATA_IDX_SHIFT) |
           ((uint64_t)size_words << FG_DATA_SIZE_SHIFT) | ((uint64_t)kind << FG_DATA_KIND_SHIFT);
}

/* Pushes a piece of data onto the newest frame. Returns its words, which are not zeroed; NULL: there
 * is no room. */
static inline uint64_t *fg_data_place(struct fg_task *task, const uint64_t *frame, uint32_t idx,
                                      enum fg_data_kind kind, uint32_t size_words)
{
    uint64_t *data = task->top, *descriptor = data + size_words;

    if (fg_unlikely(descriptor + 1 > task->end))
        return NULL;
    *descriptor = fg_data_descriptor((uint64_t)(descriptor - frame), idx, kind, size_words);
    /* A signal handler that walks from `top` must find the descriptor written. */
    atomic_signal_fence(memory_order_release);
    task->top = descriptor + 1;
    return data;
}

/* As fg_data_place(); the words are zeroed. */
uint64_t *fg_data_push(struct fg_task *task, const uint64_t *frame, uint32_t idx, enum fg_data_kind kind,
                       uint32_t size_words);
/* Returns the words of slot @idx on the frame that ends at @top; NULL: the slot has none
 * of @kind there. */
uint64_t *fg_data_find(uint64_t *top, uint32_t idx, enum fg_data_kind kind, uint32_t *size_words);
/* Releases the objects in all data in [from, top). */
void fg_data_drop(uint64_t *from, uint64_t *top);

/* Pops everything from @from on. If the stack ends at @plain_top, there is no data to release. */
static inline void fg_pop_to(struct fg_task *task, uint64_t *from, const uint64_t *plain_top)
{
    if (fg_unlikely(task->top != plain_top))
        fg_data_drop(from, task->top);
    task->top = from;
}

/* Pops the newest frame and the users' data on it. */
static inline void fg_pop_frame(struct fg_task *task, uint64_t *frame)
{
    fg_pop_to(task, frame, frame + FG_FRAME_WORDS);
}

#endif
