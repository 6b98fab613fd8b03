/* The users of one function: a list that callbacks read without a lock. Once published it changes only
 * where the stub replaces a user that leaves. Any other change replaces the whole list. */
#ifndef FG_USER_LIST_H
#define FG_USER_LIST_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/retired.h"
#include "engine/graph/user.h"

/* One user of one function. */
struct fg_user_ref {
    /* Replaced only by the stub, when a user leaves and there is no memory for a list
     * without that user. */
    _Atomic(struct fgraph_ops *) ops;
    uint32_t idx;
    uint16_t flags;  /* FG_USER_* (filter.h) */
    bool entry_only; /* the user wants no returns of the function's calls: they leave no frame for it */
};

/* In order of registration. */
struct fg_user_list {
    struct fg_retired retired;
    uint32_t n;
    bool wants_any_caller; /* as the function's */
    bool wants_returns;    /* as the function's */
    bool needs_times;      /* some user in it needs times of calls */
    bool gets_ready;       /* some user in it has a readyfunc */
    /* One bit for each user's slot. */
    uint64_t bits;
    struct fg_user_ref users[];
};

extern struct fg_user_list fg_no_users
    __attribute__((visibility("hidden"))); /* the only list without users */

/* Compares only the pointer: outside the guard the list may be freed at any time. */
static inline bool fg_func_has_users(struct fg_func *func)
{
    return atomic_load_explicit(&func->users, memory_order_acquire) != &fg_no_users;
}

/**
 * fg_func_set_return_hooks() - The arch has enabled or disabled a function's return hooks.
 * @func: the function
 * @on: returns, suspends and resumes are hooked; false: only entries are
 *
 * An arch that never hooks entries alone need not call this. Users that want returns see calls
 * only while @on.
 *
 * Context: without locks.
 */
void fg_func_set_return_hooks(struct fg_func *func, bool on);

/* Finds a user in a list; NULL: it is not there. Under the engine's lock, or inside the guard. */
const struct fg_user_ref *fg_user_list_find(const struct fg_user_list *list, const struct fgraph_ops *ops);

/* ---- making and publishing lists; under the engine's lock */

/* True if the user wants the function. @filter is used in place of the user's own filter; a user with
 * wantsfunc uses neither. */
bool fg_user_wants(const struct fg_func *func, struct fgraph_ops *ops, const struct fg_filter *filter);
/* True if the user wants no returns, and its graph sets need no frame of the function. */
bool fg_user_is_entry_only(const struct fgraph_ops *ops, const struct fg_func *func, uint32_t flags);

/* Makes a list of @users, which are in order of registration. NULL: memory is short. */
struct fg_user_list *fg_user_list_make(const struct fg_func *func, struct fgraph_ops *const users[],
                                       uint32_t n);
/* Makes a copy of the function's list with the user (@is_member), or without it. NULL: memory is short. */
struct fg_user_list *fg_user_list_with(struct fg_func *func, struct fgraph_ops *ops, bool is_member);
/* Frees a list that no callback can hold. */
void fg_user_list_drop(struct fg_user_list *list);

/* Publishes a list as the function's. */
void fg_user_list_publish(struct fg_func *func, struct fg_user_list *list);
/* As fg_user_list_publish(); also retires the previous list. */
void fg_user_list_replace(struct fg_func *func, struct fg_user_list *list);
/* Puts the stub in the user's place in retired lists: a callback that called the unregistration, or waits
 * for it, may still be reading such a list. With @published, also in published lists: there was no memory
 * for lists without the user. */
void fg_user_list_stub_out(struct fgraph_ops *ops, bool published);

#endif
