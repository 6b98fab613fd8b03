/* The users table: slots, generations, and the engine's published root. Private to the engine. */
#ifndef FG_USERS_H
#define FG_USERS_H

#include "engine/graph/fgraph.h"
#include "engine/graph/user_plan.h"

#define FG_GENERATION_NONE UINT64_MAX /* no user: later than any epoch */

#define FG_FRAME_TYPE_BITMAP 1u
#define FG_FRAME_DESCRIPTOR_AT 5u /* words from a frame to its descriptor */
#define FG_FRAME_PLAIN (1u << 18)
#define FG_FRAME_IRQ (1u << 19)
#define FG_EPOCH_SHIFT 20
#define FG_DESCRIPTOR(epoch)                                                                                 \
    (FG_FRAME_TYPE_BITMAP | (FG_FRAME_DESCRIPTOR_AT << 2) | ((uint64_t)(epoch) << FG_EPOCH_SHIFT))

struct fg_slot {
    _Atomic(struct fgraph_ops *) ops;
    _Atomic uint64_t generation;
};

/* The one mutable global: what every call reads. */
struct fg_root {
    /* What the descriptor word of a frame that is pushed now looks like (frame.h draws it): its epoch is the
     * number of changes among users so far. 0 once the kill switch was thrown. */
    _Atomic uint64_t descriptor;
    /* The same of a frame whose call is plain (plain_call.c). 0 also where no call can be. */
    _Atomic uint64_t plain_descriptor;
    _Atomic bool killed;
    _Atomic uint64_t overrun;
    struct fg_slot slots[FG_MAX_USERS];
};

extern struct fg_root fg_root;

static inline bool fg_users_are_killed(void)
{
    return fg_unlikely(atomic_load_explicit(&fg_root.killed, memory_order_relaxed));
}

static inline void fg_users_count_overrun(void)
{
    atomic_fetch_add_explicit(&fg_root.overrun, 1, memory_order_relaxed);
}

/* The user that had slot `idx` at `epoch`, if it is still there. The caller is inside the guard: what it
 * sees here cannot be unregistered and reused before it leaves. */
static inline struct fgraph_ops *fg_users_at(uint32_t idx, uint64_t epoch)
{
    struct fg_slot *slot = &fg_root.slots[idx];

    /* acquire: pairs with the release in users.c that hands the slot to its next owner */
    if (fg_unlikely(atomic_load_explicit(&slot->generation, memory_order_acquire) > epoch))
        return NULL;
    return atomic_load_explicit(&slot->ops, memory_order_relaxed);
}

/* Slots of `bitmap` whose users are still those of `epoch`, the latest registered first. Returns how many. */
uint32_t fg_users_newest_first(uint64_t bitmap, uint64_t epoch, uint32_t order[FG_MAX_USERS]);

/* Once: all slots are free. */
void fg_users_init(void);

/* A task ends: tells the users that asked to know. */
void fg_users_task_exit(struct fg_task *task);

/* The list of users for a new function; the engine's lock is held. NULL when memory is short. */
struct fg_user_list *fg_users_match(struct fg_func *func);
/* What its users are to be asked at its calls is found anew, and who they are. Engine's lock held. False: no memory. */
bool fg_users_rematch(struct fg_func *func);

void fg_engine_lock(void);
void fg_engine_unlock(void);

/* ---- the halves of a change, for what changes more under the same hold of the engine's lock: it is held where a change
 * begins, and not where it ends */

/* As fgraph_register. */
int fg_users_register_begin(struct fgraph_ops *ops, struct fg_plan *plan);
/* A registered user that decides by itself (wantsfunc) is asked again. -ENOMEM: nothing has changed. */
int fg_users_refilter_begin(struct fgraph_ops *ops, struct fg_plan *plan);
/* Of both. Without a wait for callbacks, a call that enters its function at this very moment may stay without its end. */
void fg_users_change_end(struct fg_plan *plan, bool waits);

/* A user on its way out. */
struct fg_leave {
    struct fgraph_ops *ops;
    struct fg_plan plan;
    uint64_t left_at;
    uint32_t idx;
};
void fg_users_leave_begin(struct fgraph_ops *ops, struct fg_leave *leave);
/* Without a wait, callbacks may go on to use the ops. */
void fg_users_leave_end(struct fg_leave *leave, bool waits);

/* Tries under the engine's lock; once more if it says -ENOSPC and there are slots that wait for a callback to end. */
int fg_users_try(int (*attempt)(void *arg), void *arg);

/* function.c: live records, under the engine's lock. */
struct fg_func **fg_func_table(uint32_t *n);
/* suspended.c: ends the suspended calls of a function that is going away. */
void fg_abandon_function(struct fg_func *func);

#endif
