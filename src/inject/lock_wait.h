/* A wait of the main thread for a lock of Python's, such as in Thread.join(): the interpreter itself ends it.
 *
 * Such a wait is interrupted by signals. CPython then takes the GIL, runs the handlers and pending calls, and
 * waits again for the time that is left (acquire_timed() in Modules/_threadmodule.c). So a pending call that
 * is queued before the wait ends with EINTR is run as soon as the thread that has the GIL gives it up, and
 * this thread has asked for that: nobody else may have. */
#ifndef FG_INJECT_LOCK_WAIT_H
#define FG_INJECT_LOCK_WAIT_H

#include <stdbool.h>

#include "inject/place.h"

/**
 * fg_waits_for_lock() - Whether a stopped thread that waits does so in a function of CPython for locks.
 */
bool fg_waits_for_lock(const struct fg_thread *thread, const struct fg_places *places);

#endif
