/* The list of users that a function has: made anew for each change, published as a whole. Private to the engine. The engine's
 * lock is held in all of these. */
#ifndef FG_USER_LIST_H
#define FG_USER_LIST_H

#include "engine/graph/fgraph.h"

/* What stands in the place of a user that is gone: it wants nothing. */
extern struct fgraph_ops fg_stub_ops;

/* `filter` stands for the user's own, unless that decides by itself. */
bool fg_user_wants(const struct fg_func *func, struct fgraph_ops *ops, const struct fg_filter *filter);
/* The user is told no end, and needs no frame to know what lies below a function of its graph sets. */
bool fg_user_is_entry_only(const struct fgraph_ops *ops, const struct fg_func *func, uint32_t flags);

/* A list of these users, which are in the order of registration. NULL: no memory. */
struct fg_user_list *fg_user_list_of(const struct fg_func *func, struct fgraph_ops *const users[],
                                     uint32_t n);
/* The function's list with one more user, or without it. NULL: no memory. */
struct fg_user_list *fg_user_list_with(struct fg_func *func, struct fgraph_ops *ops, bool wanted);
void fg_user_list_drop(struct fg_user_list *list);
/* Not only with the lock: also inside the guard. NULL: the user is not in it. */
const struct fg_user_ref *fg_user_list_find(const struct fg_user_list *list, const struct fgraph_ops *ops);

/* From now on it is the function's. */
void fg_user_list_publish(struct fg_func *func, struct fg_user_list *list);
/* The same, and the list that was retires. */
void fg_user_list_replace(struct fg_func *func, struct fg_user_list *list);
/* The stub takes the user's place in lists that are no more published: a callback that waits for us, or that
 * called us, may be in the middle of one. Without memory for shorter lists it does so in those that are. */
void fg_user_list_stub_out(struct fgraph_ops *ops, bool published);

#endif
