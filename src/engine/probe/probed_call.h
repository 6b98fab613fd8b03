/* The steps of a call of a function that has one fprobe and no other user, for the hooks that contain them
 * (fprobe_call.c has the rest). They call the handlers and nothing else, and need no vector registers. The
 * frame is the same as fg_enter() and fg_fprobes_enter() make, so the return may take either path.
 *
 * All of them are inside the guard. */
#ifndef FG_PROBED_CALL_H
#define FG_PROBED_CALL_H

#include "engine/core/regs.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/graph/progress.h"
#include "engine/probe/fprobe_list.h"

static inline struct fg_task_user *fg_probed_user(struct fg_task *task, uint32_t probed)
{
    return (struct fg_task_user *)((char *)task + probed);
}

static inline uint32_t fg_probed_idx(uint32_t probed)
{
    return (probed - (uint32_t)offsetof(struct fg_task, users)) / (uint32_t)sizeof(struct fg_task_user);
}

/* The function's one fprobe, if it is live. */
static inline const struct fg_fprobe_ref *fg_probed_ref(struct fg_func *func)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(func);

    return list && list->n == 1 && fg_live_has_word(list->refs[0].live, list->refs[0].word) ? &list->refs[0]
                                                                                            : NULL;
}

/* Fills in an fprobe's piece of data on a frame (fprobe_call.h). */
static inline void fg_piece_fill(uint64_t *piece, const struct fg_fprobe_ref *ref)
{
    piece[0] = ref->word;
    for (uint32_t i = 1; i < ref->piece_words; i++) {
        piece[i] = 0;
        /* Keeps the compiler from calling memset: most pieces have no data, or a word or two. */
        __asm__ volatile("" ::: "memory");
    }
    if (ref->has_cookie)
        piece[1] = ref->cookie;
}

/* The handlers' part of a piece, or NULL. */
static inline uint64_t *fg_piece_data(uint64_t *piece, uint32_t piece_words)
{
    return piece_words > 1 ? piece + 1 : NULL;
}

/* After the handler has returned the fprobe may be gone. */
static inline bool fg_probed_cancels_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                                          struct ftrace_regs *regs, void *data)
{
    return fp->entry_handler && fp->entry_handler(fp, func, ret_ip, regs, data);
}

/* The entry. @ref: from fg_probed_ref(), and its user is that of `probed`. False: nothing was done. */
static inline bool fg_probed_enter(struct fg_task *task, struct fg_func *func,
                                   const struct fg_fprobe_ref *ref, uint32_t probed, uintptr_t fp,
                                   uintptr_t ret_ip, struct ftrace_regs *regs)
{
    /* Read after `probed`, as fg_enter() reads it after the list. */
    uint64_t descriptor = atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed);
    uint64_t *frame = task->top, *piece = frame + FG_FRAME_WORDS, *last = piece + ref->piece_words;

    if (fg_unlikely(!descriptor || last + 1 > atomic_load_explicit(&task->limit, memory_order_relaxed)))
        return false;
    frame[FRAME_FUNC] = (uint64_t)(uintptr_t)func;
    frame[FRAME_FP] = fp;
    frame[FRAME_CALLTIME] = frame[FRAME_START] = 0;
    frame[FRAME_BITMAP] = fg_probed_user(task, probed)->bit;
    frame[FRAME_DESCRIPTOR] = descriptor;
    fg_piece_fill(piece, ref);
    *last =
        fg_data_descriptor((uint64_t)(last - frame), fg_probed_idx(probed), FG_DATA_WORDS, ref->piece_words);
    atomic_signal_fence(memory_order_release);
    task->top = last + 1;
    if (fg_unlikely(
            fg_probed_cancels_exit(ref->fp, func, ret_ip, regs, fg_piece_data(piece, ref->piece_words))))
        task->top = frame;
    else
        fg_probed_user(task, probed)->depth++;
    return true;
}

/* A call that returns. */
struct fg_probed {
    uint64_t *frame, *piece;
    uint32_t size_words; /* of the piece */
    struct fg_func *func;
    struct fg_task_user *user;
};

/* Finds the newest frame. Its descriptor must equal the one that an entry would write now, and the function
 * still has no other user: then the user is the same as at the entry. If the frame had a second piece, the
 * word compared would be data instead of the descriptor. False: it is not such a call. */
static inline bool fg_probed_find(struct fg_task *task, uintptr_t fp, struct fg_probed *call)
{
    uint32_t size_words = fg_data_size_words(task->top[-1]);
    uint64_t *piece = task->top - 1 - size_words, *frame = piece - FG_FRAME_WORDS;
    uint32_t probed;

    if (fg_unlikely(frame[FRAME_FP] != fp ||
                    frame[FRAME_DESCRIPTOR] !=
                        atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed)))
        return false;
    probed = fg_func_probed(fg_frame_func(frame));
    *call = (struct fg_probed){frame, piece, size_words, fg_frame_func(frame), fg_probed_user(task, probed)};
    return fg_likely(probed && frame[FRAME_BITMAP] == call->user->bit);
}

/* Calls the exit handler. @probe: from the piece; NULL: it has left. */
static inline void fg_probed_exit(const struct fg_probed *call, struct fprobe *probe, uintptr_t ret_ip,
                                  struct ftrace_regs *regs)
{
    call->user->depth--;
    if (fg_likely(probe != NULL))
        probe->exit_handler(probe, call->func, ret_ip, regs, fg_piece_data(call->piece, call->size_words));
}

#endif
