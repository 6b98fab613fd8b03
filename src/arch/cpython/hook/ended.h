/* Stopping instances whose recorder is gone or has asked them to stop.
 *
 * A writer finds out in the middle of a callback, in any thread. Stopping an instance unregisters its user,
 * and removes the hooks if no user is left. So it waits for the next hooked call of the interpreter, in
 * whichever thread, that begins outside of callbacks. The main thread, which may sleep for ever, need not
 * take part. */
#ifndef FG_CPYTHON_ENDED_H
#define FG_CPYTHON_ENDED_H

#include "arch/cpython/base/compat/python.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/slow_path.h"
#include "engine/core/compiler.h"

/* Sets what stops the instances of an interpreter that have ended. */
void fg_ended_use(void (*stop)(struct fg_interp *interp));

/* Notes that an instance of an interpreter has ended: the process's instance_ended (root.h). */
void fg_ended_note(const void *scope);

FG_COLD bool fg_ended_check_slow(PyThreadState *tstate);

/**
 * fg_ended_check() - Stop the instances of this interpreter that have ended.
 * @tstate: the calling thread's
 *
 * Return: true if the hooks were removed with them. Then the event is over: there is no user to tell.
 * Context: at the beginning of an event; may let go of the GIL. No lock held.
 */
static inline bool fg_ended_check(PyThreadState *tstate)
{
    return fg_slow_path_is_forced() && fg_ended_check_slow(tstate);
}

#endif
