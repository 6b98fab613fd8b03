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

/* The function's one fprobe, if it is live, has an exit handler, and sees calls through the user that the
 * function has: fprobes of several interpreters may be on a function, and come and go. @probed: from
 * fg_func_probed(); @is_general, a constant: its handlers must use general registers only. */
static inline const struct fg_fprobe_ref *fg_probed_ref(struct fg_func *func, uint32_t probed,
                                                        bool is_general)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(func);

    return fg_likely(list && fg_live_has_word(list->refs[0].live, list->refs[0].word) &&
                     (is_general ? list->only.general_probed : list->only.probed) == probed)
               ? &list->refs[0]
               : NULL;
}

/* Fills in an fprobe's piece of data on a frame (fprobe_call.h). */
static inline void fg_piece_fill(uint64_t *piece, const struct fg_fprobe_ref *ref, uint32_t piece_words)
{
    piece[0] = ref->word;
    for (uint32_t i = 1; fg_unlikely(i < piece_words); i++) {
        piece[i] = 0;
        /* Keeps the compiler from calling memset: most pieces have no data, or a word or two. */
        __asm__ volatile("" ::: "memory");
    }
    if (piece_words > 1 && ref->has_cookie)
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

/* The descriptor of a frame that is pushed now; 0: none can be. Read after fg_func_probed(), as fg_enter()
 * reads it after the list. */
static inline uint64_t fg_probed_descriptor(const struct fg_task *task, uint32_t piece_words)
{
    const uint64_t *end = task->top + FG_FRAME_WORDS + piece_words + 1;

    return fg_likely(end <= atomic_load_explicit(&task->limit, memory_order_relaxed))
               ? atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed)
               : 0;
}

/* What the entry pushes. */
struct fg_probed_entry {
    struct fg_func *func;
    uint32_t probed;
    const struct fg_fprobe_ref *ref; /* from fg_probed_ref() */
    uint64_t descriptor;             /* from fg_probed_descriptor() */
};

/* Pushes the frame of a call. @piece_words: as the fprobe has. Returns its piece. */
static inline uint64_t *fg_probed_push(struct fg_task *task, const struct fg_probed_entry *call,
                                       uint32_t piece_words, uintptr_t fp)
{
    uint64_t *frame = task->top, *piece = frame + FG_FRAME_WORDS, *last = piece + piece_words;
    struct fg_task_user *user = fg_probed_user(task, call->probed);

    frame[FRAME_FUNC] = (uint64_t)(uintptr_t)call->func;
    frame[FRAME_FP] = fp;
    frame[FRAME_CALLTIME] = frame[FRAME_START] = 0;
    frame[FRAME_BITMAP] = user->bit;
    frame[FRAME_DESCRIPTOR] = call->descriptor;
    fg_piece_fill(piece, call->ref, piece_words);
    *last = call->ref->piece_descriptor;
    atomic_signal_fence(memory_order_release);
    task->top = last + 1;
    user->depth++;
    return piece;
}

/* The entry's handler wants no exit: pops the frame. The handler has not, for the guard is held. */
FG_COLD static void fg_probed_cancel(struct fg_task *task)
{
    uint64_t descriptor = task->top[-1];
    struct fg_task_user *user = &task->users[fg_data_idx(descriptor)];

    if (user->depth) /* else the user has left, and another one has its slot */
        user->depth--;
    task->top -= 1 + fg_descriptor_offset(descriptor);
}

/* A call that returns. */
struct fg_probed {
    uint64_t *frame;
    struct fg_func *func;
    uint32_t probed;
    const struct fg_fprobe_ref *ref;
};

/* Finds the newest frame. Its descriptor must equal the one that an entry would write now, and the function
 * still has no other user: then the user is the same as at the entry. The one piece must be that of the
 * fprobe that the function has now. False: it is not such a call. */
static inline bool fg_probed_find(struct fg_task *task, uintptr_t fp, bool is_general, struct fg_probed *call)
{
    uint64_t last = task->top[-1], *frame = task->top - 1 - fg_descriptor_offset(last);

    if (fg_unlikely(frame[FRAME_FP] != fp ||
                    frame[FRAME_DESCRIPTOR] !=
                        atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed)))
        return false;
    call->frame = frame;
    call->func = fg_frame_func(frame);
    call->probed = fg_func_probed(call->func);
    call->ref = fg_probed_ref(call->func, call->probed, is_general);
    return fg_likely(call->ref && call->ref->piece_descriptor == last &&
                     frame[FG_FRAME_WORDS] == call->ref->word);
}

/* Calls the exit handler. */
static inline void fg_probed_exit(struct fg_task *task, const struct fg_probed *call, uintptr_t ret_ip,
                                  struct ftrace_regs *regs)
{
    struct fprobe *fp = call->ref->fp;

    fg_probed_user(task, call->probed)->depth--;
    fp->exit_handler(fp, call->func, ret_ip, regs,
                     fg_piece_data(call->frame + FG_FRAME_WORDS, call->ref->piece_words));
}

#endif
