/* Stopping what is over: instances whose recorder is gone or has asked them to stop, and users that have
 * found what they waited for.
 *
 * A callback finds out, in any thread. Stopping an instance unregisters its user, and removes the hooks if no
 * user is left. So it waits for the next hooked call of the interpreter, in whichever thread, that begins
 * outside of callbacks. The main thread, which may sleep for ever, need not
 * take part. */
#ifndef FG_CPYTHON_ENDED_H
#define FG_CPYTHON_ENDED_H

#include "arch/cpython/base/compat/python.h"

#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/slow_path.h"
#include "engine/base/compiler.h"

/* Stops what is over in an interpreter. */
typedef void (*fg_ended_stop)(struct fg_interp *interp);

/* Adds such a function, if it was not added before. */
void fg_ended_use(fg_ended_stop stop);

/* Notes that something of an interpreter is over; of an instance it is the process's instance_ended
 * (root.h). */
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
