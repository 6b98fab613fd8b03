/* See fprobe_call.h. */
#include "engine/probe/fprobe_call.h"

#include "engine/graph/user.h"
#include "engine/probe/fprobe_state.h"
#include "engine/probe/probed_call.h"

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

static inline bool call_entry_handler(struct call *call, struct fprobe *fp, void *data)
{
    return fp->entry_handler &&
           fg_probed_cancels_exit(fp, call->func, ret_ip_of(call), fg_regs_for(call->regs, fp->flags), data);
}

static void count_missed(struct fprobe *fp)
{
    atomic_fetch_add_explicit(&fg_fprobe_of(fp)->nmissed, 1, memory_order_relaxed);
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
        fg_piece_fill(piece, ref, ref->piece_words);
    return piece;
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
    if (fg_likely(!call_entry_handler(call, fp, fg_piece_data(piece, ref->piece_words))))
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
            fp->exit_handler(fp, call.func, ret_ip_of(&call), fg_regs_for(regs, fp->flags),
                             fg_piece_data(piece, size_words));
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

/* ---- the fast path: see probed_call.h */

static inline bool enter_probed(struct fg_task *task, struct fg_func *func, uintptr_t fp, uintptr_t ret_ip,
                                struct ftrace_regs *regs)
{
    uint32_t probed = fg_func_probed(func);
    const struct fg_fprobe_ref *ref = fg_probed_ref(func, probed, false);
    uint64_t descriptor = ref ? fg_probed_descriptor(task, ref->piece_words) : 0, *piece;

    if (fg_unlikely(!descriptor))
        return false;
    piece =
        fg_probed_push(task, &(struct fg_probed_entry){func, probed, ref, descriptor}, ref->piece_words, fp);
    if (fg_unlikely(
            fg_probed_cancels_exit(ref->fp, func, ret_ip, regs, fg_piece_data(piece, ref->piece_words))))
        fg_probed_cancel(task);
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

static inline bool return_probed(struct fg_task *task, uintptr_t fp, uintptr_t ret_ip,
                                 struct ftrace_regs *regs)
{
    struct fg_probed call;

    if (!fg_probed_find(task, fp, false, &call))
        return false;
    fg_probed_exit(task, &call, ret_ip, regs);
    task->top = call.frame;
    if (fg_unlikely(fg_func_has_pending_returns(call.func)))
        fg_progress_call_ended(call.func);
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
