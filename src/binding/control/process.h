/* The one server of this process: started and stopped, and what a fork makes of it. */
#ifndef FG_CONTROL_PROCESS_H
#define FG_CONTROL_PROCESS_H

#include <stdbool.h>
#include <stddef.h>

#include "binding/control/plan.h"
#include "binding/control/server.h"

#define FG_PROCESS_WHY_BYTES 2048u

/**
 * fg_process_start() - Have a server.
 * @plan: of a new one, which it then belongs to; freed if there is one already, or none can be had
 * @why: the reason, if no folder can be used; else empty
 *
 * Return: 0, or a negative errno.
 * Context: an attached thread.
 */
int fg_process_start(struct fg_plan *plan, char why[FG_PROCESS_WHY_BYTES]);

/* Return: false: there is none. Context: an attached thread, also that of the server. */
bool fg_process_stop(void);

/* Has the server look for records that clients wait for, if there is one. Context: any thread, also one that
 * is not attached; a handler of a signal. */
void fg_process_wake(void);

/**
 * fg_process_hold_forks() - Have forks of other threads wait until the calling thread has ended.
 *
 * A thread that attaching has started loads funcgraph. The program knows nothing of it, and a fork meanwhile
 * would make CPython warn of threads.
 *
 * Context: an attached thread that ends soon. A fork waits for a second at most.
 */
void fg_process_hold_forks(void);

/* The place of the server; NULL: there is none. */
const struct fg_place *fg_process_place(void);

/* Around forks that CPython makes, which call these. */
void fg_process_before_fork(void);
void fg_process_after_fork_in_parent(void);
void fg_process_after_fork_in_child(void);

#endif
