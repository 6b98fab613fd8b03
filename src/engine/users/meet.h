/* Meeting and forgetting functions. A record enters the table with its users attached, and leaves the
 * table when the function goes away. */
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

/* Notes that the interpreter may call the function to handle a signal. Users that asked can then
 * tell these calls from others (fg_filter.irqs). Without locks. False: memory is short, and
 * nothing has changed. */
bool fg_func_set_irq(struct fg_func *func);

/* What else is attached to functions, besides users. Engine's lock held. */
struct fg_meet_ops {
    /* Attaches to a new function, which is not in the table yet. False: memory is short. */
    bool (*attach)(struct fg_func *func);
    /* Detaches from a function that goes away, whether or not anything was attached. No callback can read
     * the record's lists. */
    void (*detach)(struct fg_func *func);
};

/* Sets these callbacks, for good. Engine's lock held. */
void fg_meet_set_ops(const struct fg_meet_ops *ops);

#endif
