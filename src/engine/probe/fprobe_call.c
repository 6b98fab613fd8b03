/* See fprobe_call.h. */
#include "engine/probe/fprobe_call.h"

#include "engine/core/regs.h"
#include "engine/graph/data.h"
#include "engine/graph/frame.h"
#include "engine/graph/progress.h"
#include "engine/graph/user.h"
#include "engine/probe/fprobe_list.h"
#include "engine/probe/fprobe_state.h"

/* What all handlers of one entry or return get. */
struct call {
    struct fg_func *func;
    struct ftrace_regs *regs;
    uintptr_t ret_ip;
    bool awaits_hooks; /* return hooks are not on yet: fprobes with exit handlers see no call */
    bool knows_ret_ip; /* the arch is asked for it once, for the first handler that runs */
};

static inline uintptr_t ret_ip_of(struct call *call)
{
    if (!call->knows_ret_ip) {
        call->ret_ip = fg_regs_return_address(call->regs);
        call->knows_ret_ip = true;
    }
    return call->ret_ip;
}

/* After the handler has returned the fprobe may be gone. */
static inline bool cancels_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                                struct ftrace_regs *regs, void *data)
{
    return fp->entry_handler && fp->entry_handler(fp, func, ret_ip, regs, data);
}

static inline bool call_entry_handler(struct call *call, struct fprobe *fp, void *data)
{
    return fp->entry_handler && cancels_exit(fp, call->func, ret_ip_of(call), call->regs, data);
}

static void count_missed(struct fprobe *fp)
{
    atomic_fetch_add_explicit(&fg_fprobe_of(fp)->nmissed, 1, memory_order_relaxed);
}

static inline void piece_fill(uint64_t *piece, const struct fg_fprobe_ref *ref)
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

/* Pushes a new piece on the frame and fills it in. NULL: no room. */
static inline uint64_t *piece_push(const struct ftrace_graph_ent *trace, uint32_t idx,
                                   const struct fg_fprobe_ref *ref)
{
    uint64_t *piece;

    if (fg_unlikely(trace->task->top + ref->piece_words + 1 > trace->frame + FG_FPROBES_END_WORDS))
        return NULL;
    piece = fg_data_place(trace->task, trace->frame, idx, FG_DATA_WORDS, ref->piece_words);
    if (fg_likely(piece != NULL))
        piece_fill(piece, ref);
    return piece;
}

/* The handlers' part of a piece, or NULL. */
static inline uint64_t *data_of(uint64_t *piece, uint32_t piece_words)
{
    return piece_words > 1 ? piece + 1 : NULL;
}

/* True: the fprobe wants the return, and the piece stays. After the handler has returned the fprobe may
 * be gone. */
static inline bool enter_with_piece(struct call *call, const struct ftrace_graph_ent *trace, uint32_t idx,
                                    const struct fg_fprobe_ref *ref)
{
    struct fprobe *fp = ref->fp;
    uint64_t *piece = piece_push(trace, idx, ref);

    if (fg_unlikely(!piece)) {
        count_missed(fp);
        return false;
    }
    if (fg_likely(!call_entry_handler(call, fp, data_of(piece, ref->piece_words))))
        return true;
    trace->task->top = piece;
    return false;
}

static inline bool enter_one(struct call *call, const struct ftrace_graph_ent *trace, uint32_t idx,
                             const struct fg_fprobe_ref *ref)
{
    struct fprobe *fp = ref->fp;
    uint64_t cookie = ref->cookie;

    if (fg_unlikely(!fg_live_has_word(ref->live, ref->word)))
        return false;
    if (fp->exit_handler)
        return !call->awaits_hooks && enter_with_piece(call, trace, idx, ref);
    call_entry_handler(call, fp, ref->has_cookie ? &cookie : NULL);
    return false;
}

int fg_fprobes_enter(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(trace->func);
    struct call call = {
        .func = trace->func, .regs = regs, .awaits_hooks = fg_func_awaits_return_hooks(trace->func)};
    uint32_t idx = (uint32_t)fg_user_of(ops)->idx;
    bool wants_return = false;

    /* After a handler has returned the ops may be gone. The list stays until the guard is left. */
    for (uint32_t i = 0; list && i < list->n; i++) {
        if (fg_likely(list->refs[i].ops == ops))
            wants_return |= enter_one(&call, trace, idx, &list->refs[i]);
    }
    return wants_return;
}

/* Exit handlers are called in reverse: the newest piece comes first. */
void fg_fprobes_leave(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct call call = {.func = trace->func, .regs = regs};
    uint32_t idx = (uint32_t)fg_user_of(ops)->idx, size_words;

    for (uint64_t *at = trace->task->top - 1; fg_is_data(*at); at -= size_words + 1) {
        uint64_t *piece;
        struct fprobe *fp;

        size_words = fg_data_size_words(*at);
        piece = at - size_words;
        fp = fg_data_idx(*at) == idx ? fg_live_fprobe(piece[0]) : NULL;
        if (fg_likely(fp != NULL))
            fp->exit_handler(fp, call.func, ret_ip_of(&call), regs, data_of(piece, size_words));
    }
}

void fg_fprobes_missed(struct fg_func *func, struct fgraph_ops *ops)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(func);

    for (uint32_t i = 0; list && i < list->n; i++) {
        if (list->refs[i].ops == ops && fg_live_has_word(list->refs[i].live, list->refs[i].word))
            count_missed(list->refs[i].fp);
    }
}

/* ---- the fast path
 *
 * One fprobe and no other user is attached to the function. Its frame is the same as fg_enter and
 * fg_fprobes_enter make, so the return may take either path. */

static inline struct fg_task_user *user_at(struct fg_task *task, uint32_t probed)
{
    return (struct fg_task_user *)((char *)task + probed);
}

static inline uint32_t idx_at(uint32_t probed)
{
    return (probed - (uint32_t)offsetof(struct fg_task, users)) / (uint32_t)sizeof(struct fg_task_user);
}

/* The function's one fprobe, if it is live and wants returns. */
static inline const struct fg_fprobe_ref *only_ref(struct fg_func *func)
{
    const struct fg_fprobe_list *list = fg_fprobe_list_of(func);

    return list && list->n == 1 && fg_live_has_word(list->refs[0].live, list->refs[0].word) &&
                   list->refs[0].fp->exit_handler
               ? &list->refs[0]
               : NULL;
}

static inline bool enter_probed(struct fg_task *task, struct fg_func *func, uintptr_t fp, uintptr_t ret_ip,
                                struct ftrace_regs *regs)
{
    uint32_t probed = fg_func_probed(func);
    /* Read after `probed`, as fg_enter() reads it after the list. */
    uint64_t descriptor = atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed);
    const struct fg_fprobe_ref *ref = only_ref(func);
    uint64_t *frame = task->top, *piece = frame + FG_FRAME_WORDS, *last;

    if (fg_unlikely(!probed || !descriptor || !ref))
        return false;
    last = piece + ref->piece_words;
    if (fg_unlikely(last + 1 > atomic_load_explicit(&task->limit, memory_order_relaxed)))
        return false;
    frame[FRAME_FUNC] = (uint64_t)(uintptr_t)func;
    frame[FRAME_FP] = fp;
    frame[FRAME_CALLTIME] = frame[FRAME_START] = 0;
    frame[FRAME_BITMAP] = user_at(task, probed)->bit;
    frame[FRAME_DESCRIPTOR] = descriptor;
    piece_fill(piece, ref);
    *last = fg_data_descriptor((uint64_t)(last - frame), idx_at(probed), FG_DATA_WORDS, ref->piece_words);
    atomic_signal_fence(memory_order_release);
    task->top = last + 1;
    if (fg_unlikely(cancels_exit(ref->fp, func, ret_ip, regs, data_of(piece, ref->piece_words))))
        task->top = frame;
    else
        user_at(task, probed)->depth++;
    return true;
}

bool fg_enter_probed(struct fg_task *task, struct fg_func *func, uintptr_t fp, uintptr_t ret_ip,
                     struct ftrace_regs *regs)
{
    bool is_done;

    if (fg_unlikely(!fg_guard_enter(task)))
        return false;
    is_done = enter_probed(task, func, fp, ret_ip, regs);
    fg_guard_leave(task);
    return is_done;
}

/* The descriptor equals the one that an entry would write now, and the function still has no other user.
 * So the user is the same as at the entry. If the frame had a second piece, the word compared would be
 * data instead of the descriptor. */
static inline bool return_probed(struct fg_task *task, uintptr_t fp, uintptr_t ret_ip,
                                 struct ftrace_regs *regs)
{
    uint32_t size_words = fg_data_size_words(task->top[-1]);
    uint64_t *piece = task->top - 1 - size_words, *frame = piece - FG_FRAME_WORDS;
    struct fprobe *probe;
    struct fg_func *func;
    uint32_t probed;

    if (fg_unlikely(frame[FRAME_FP] != fp ||
                    frame[FRAME_DESCRIPTOR] !=
                        atomic_load_explicit(&fg_root.descriptor, memory_order_relaxed)))
        return false;
    func = fg_frame_func(frame);
    probed = fg_func_probed(func);
    if (fg_unlikely(!probed || frame[FRAME_BITMAP] != user_at(task, probed)->bit))
        return false;
    user_at(task, probed)->depth--;
    probe = fg_live_fprobe(piece[0]);
    if (fg_likely(probe != NULL))
        probe->exit_handler(probe, func, ret_ip, regs, data_of(piece, size_words));
    task->top = frame;
    if (fg_unlikely(fg_func_has_pending_returns(func)))
        fg_progress_call_ended(func);
    return true;
}

/* Read without the guard: only this thread writes its stack. */
bool fg_top_is_probed(const struct fg_task *task)
{
    return fg_is_data(task->top[-1]);
}

bool fg_return_probed(struct fg_task *task, uintptr_t fp, uintptr_t ret_ip, struct ftrace_regs *regs)
{
    bool is_done;

    if (fg_unlikely(!fg_guard_enter(task)))
        return false;
    is_done = return_probed(task, fp, ret_ip, regs);
    fg_guard_leave(task);
    return is_done;
}
