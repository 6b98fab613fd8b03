/* What the files of fprobes share. Private to them.
 *
 * A function's record has the list of its fprobes, which the entry goes through. For each of them whose end is wanted a
 * piece of data lies on the frame:
 *
 *     | live word | cookie, if the fprobe has any | entry data of the fprobe | descriptor (frame.h) |
 *
 *     live word:  number of the registration:43 | index in the table of the living:20 | disabled:1
 *
 * The table of the living has at that index the word of the registration that has it now. An fprobe that left, or left
 * and came back, has another word there or none: neither an old list nor an old frame leads to it. */
#ifndef FG_FPROBE_INTERNAL_H
#define FG_FPROBE_INTERNAL_H

#include "engine/probe/fprobe.h"

#define LIVE_DISABLED ((uint64_t)1)
#define LIVE_IDX_SHIFT 1
#define LIVE_IDX_BITS 20
#define LIVE_REGISTRATION_SHIFT (LIVE_IDX_SHIFT + LIVE_IDX_BITS)
#define LIVE_CHUNK 1024u
#define LIVE_MAX (1u << LIVE_IDX_BITS)

/* A place in the table of the living. The registration's word is in it as long as that one lives, with LIVE_DISABLED
 * while it is disabled: callbacks compare it with the word they have. */
struct fg_live {
    _Atomic uint64_t word;
    _Atomic(struct fprobe *) fp;
    uint32_t idx;
    struct fg_live *next_free;
};

/* An fprobe on one function: all that callbacks need of its engine's half, which may begin anew behind an
 * unregistration that did not wait. */
struct fg_fprobe_ref {
    struct fg_live *live;
    uint64_t word;
    struct fprobe *fp; /* may be gone, unless `live` has the word */
    uint64_t cookie;
    uint32_t piece_words; /* on a frame, without the descriptor */
    bool has_cookie;
    bool has_exit; /* it has an exit handler */
};

/* Immutable once published, in order of registration; replaced as a whole. */
struct fg_fprobe_list {
    struct fg_retired retired;
    uint32_t n;
    struct fg_fprobe_ref refs[];
};

/* The table of the living. Chunks come under the engine's lock, and are never freed. */
extern _Atomic(struct fg_live *) fg_fprobe_chunks[LIVE_MAX / LIVE_CHUNK];

static inline bool fg_fprobe_has_word(const struct fg_live *live, uint64_t word)
{
    /* acquire: pairs with live_put */
    return atomic_load_explicit(&live->word, memory_order_acquire) == word;
}

/* The fprobe of a registration that lives and is enabled, or NULL. The caller is inside the guard: it stays that long. */
static inline struct fprobe *fg_fprobe_living(uint64_t word)
{
    uint32_t idx = (uint32_t)(word >> LIVE_IDX_SHIFT) & (LIVE_MAX - 1);
    struct fg_live *live =
        atomic_load_explicit(&fg_fprobe_chunks[idx / LIVE_CHUNK], memory_order_acquire) + idx % LIVE_CHUNK;
    struct fprobe *fp;

    if (!fg_fprobe_has_word(live, word))
        return NULL;
    /* acquire: whoever reads the fprobe of the place's next owner also sees that the word is gone */
    fp = atomic_load_explicit(&live->fp, memory_order_acquire);
    return fg_fprobe_has_word(live, word) ? fp : NULL;
}

static inline const struct fg_fprobe_list *fg_fprobe_list_of(struct fg_func *func)
{
    /* acquire: pairs with publish (fprobe.c) */
    return atomic_load_explicit(&func->fprobes, memory_order_acquire);
}

/* fprobe_call.c: what the fprobes' user does. */
int fg_fprobes_enter(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_leave(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs);
void fg_fprobes_missed(struct fg_func *func, struct fgraph_ops *ops);

#endif
