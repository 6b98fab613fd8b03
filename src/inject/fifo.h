/* Whether a thread waits in open(), for the other end of a FIFO.
 *
 * malloc() and the loader open files, too, with their locks held. No lock of theirs is held while a FIFO is
 * opened. */
#ifndef FG_INJECT_FIFO_H
#define FG_INJECT_FIFO_H

#include <stdbool.h>

#include "inject/thread.h"

/**
 * fg_opens_fifo() - Whether a stopped thread was waiting in open() or openat() of a FIFO.
 */
bool fg_opens_fifo(const struct fg_thread *thread);

#endif
