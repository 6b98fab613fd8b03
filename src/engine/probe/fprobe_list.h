/* The list of fprobes in a function's record. What callbacks read of it is immutable once published: a change
 * publishes a copy, and the old list is freed when no callback can read it any longer. Changes hold the
 * engine's lock. */
#ifndef FG_FPROBE_LIST_H
#define FG_FPROBE_LIST_H

#include "engine/core/function.h"
#include "engine/core/retired.h"
#include "engine/probe/fprobe_live.h"

#define FG_NOT_PROBED 1u /* what fg_func_probed() never returns */

/* An fprobe on one function, with all that callbacks need of the engine's half of the fprobe: an
 * unregistration that did not wait, and another registration, may have changed that half already. */
struct fg_fprobe_ref {
    struct fg_live *live;
    uint64_t word;
    struct fprobe *fp;            /* may be gone, unless `live` has the word */
    const struct fgraph_ops *ops; /* the user through which the fprobe sees calls; only compared */
    uint64_t cookie;
    uint32_t piece_words; /* on a frame, without the descriptor */
    bool has_cookie;
    bool has_exit;   /* it has an exit handler */
    bool saves_regs; /* its flag FTRACE_OPS_FL_SAVE_REGS */
    /* It has an exit handler, its flag FTRACE_OPS_FL_GENERAL_REGS, and not FTRACE_OPS_FL_SAVE_REGS. */
    bool is_general;
    /* Of its piece, if that is the frame's first. Set when the user has its slot, before the registration is
     * live. */
    uint64_t piece_descriptor;
};

/* What the fast paths ask of a list: whether it has one fprobe, which has an exit handler, and sees calls
 * through the user that is the function's only one. Then these equal fg_func_probed(); else they are
 * FG_NOT_PROBED. Set just before a list's only registration is live, and read after that is seen. */
struct fg_fprobe_only {
    uint32_t probed;
    uint32_t general_probed; /* if it is_general, too */
};

/* In order of registration. */
struct fg_fprobe_list {
    struct fg_retired retired;
    uint32_t n;
    struct fg_fprobe_only only;
    struct fg_fprobe_ref refs[];
};

/* The function's list, or NULL. It stays until the caller leaves the guard, or the engine's lock. */
static inline const struct fg_fprobe_list *fg_fprobe_list_of(struct fg_func *func)
{
    /* acquire: pairs with fg_fprobe_list_publish */
    return atomic_load_explicit(&func->fprobes, memory_order_acquire);
}

/* Sets what needs the slot of the user through which the fprobe sees calls. */
void fg_fprobe_ref_set_slot(struct fg_fprobe_ref *ref, uint32_t idx);
/* Sets list->only, if the list has one fprobe. */
void fg_fprobe_list_set_only(struct fg_fprobe_list *list);

/* An empty list with room for `room` fprobes, or NULL: no memory. */
struct fg_fprobe_list *fg_fprobe_list_new(uint32_t room);
/* The live fprobes of a list, which may be NULL, with room for `more`; or NULL: no memory. */
struct fg_fprobe_list *fg_fprobe_list_copy(const struct fg_fprobe_list *old, uint32_t more);
bool fg_fprobe_list_has(const struct fg_fprobe_list *list, uint64_t word);
/* True if some of the function's fprobes see its calls through this user. */
bool fg_fprobe_list_wants(const struct fg_fprobe_list *list, const struct fgraph_ops *ops);
/* True if one of the list's fprobes has an exit handler. */
bool fg_fprobe_list_wants_returns(const struct fg_fprobe_list *list, const struct fgraph_ops *ops);

/* Makes `list`, or NULL, the function's. The old list is still the caller's to retire. */
void fg_fprobe_list_publish(struct fg_func *func, struct fg_fprobe_list *list);
void fg_fprobe_list_retire(struct fg_fprobe_list *list);
/* Removes the unregistered fprobes from the function's list, which has some. Without memory for a shorter
 * list the old one stays: callbacks skip these fprobes. */
void fg_fprobe_list_remove_dead(struct fg_func *func);

#endif
