/* Functions that an arch meets for the first time, and functions that go away: a record joins the table
 * with its users attached, and leaves it. */
#ifndef FG_MEET_H
#define FG_MEET_H

#include <stdbool.h>

#include "engine/core/function.h"

/**
 * fg_func_meet() - Make a function's record and attach the users whose filters match.
 * @desc: what the arch knows about it
 *
 * Return: the record, published; NULL: memory is short.
 * Context: without locks.
 */
struct fg_func *fg_func_meet(const struct fg_func_desc *desc);

/* The function is gone: its suspended calls end, all users are detached, and the record may be reused.
 * Without locks. */
void fg_func_forget(struct fg_func *func);

/* From now on the interpreter may call the function for a signal: users that asked see which calls these
 * are (fg_filter.irqs). Without locks. False: memory is short, and nothing has changed. */
bool fg_func_set_irq(struct fg_func *func);

/* What else is attached to functions, above the users. Engine's lock held. */
struct fg_meet_ops {
    /* Attaches to a new function, which is not in the table yet. False: memory is short. */
    bool (*attach)(struct fg_func *func);
    /* Detaches from a function that goes, whether or not it was attached. No callback can read its
     * record's lists. */
    void (*detach)(struct fg_func *func);
};

/* Sets it, for good. Engine's lock held. */
void fg_meet_set_ops(const struct fg_meet_ops *ops);

#endif
