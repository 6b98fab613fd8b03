/* The arch's locks, for builds without the GIL. With the GIL they are empty: nothing that they guard
 * releases the GIL.
 *
 * A thread that waits for one detaches its thread state, so that the holder can stop the world, as a
 * change of a code object's events does. No lock of the engine is held where one of these is taken. Lock
 * order: */
#ifndef FG_CPYTHON_LOCK_H
#define FG_CPYTHON_LOCK_H

#include "arch/cpython/base/compat/python.h"

enum fg_lock {
    FG_LOCK_CONTROL,   /* starting and stopping */
    FG_LOCK_DISCOVERY, /* making a function's record */
    FG_LOCK_EVENTS,    /* sys.monitoring's events, and what we keep of them */
    FG_LOCK_KPROBES,   /* the kprobes of a function */
    FG_LOCK_VIEWS,     /* views of reserved data that outlive their callbacks */
    FG_NR_LOCKS
};

#ifdef Py_GIL_DISABLED

/* Makes os.fork() wait until no other thread holds a lock. -1 with an exception. */
int fg_locks_init(void);

extern PyMutex fg_locks[FG_NR_LOCKS];
/* This thread is forking and holds all of them. Other fork handlers run Python functions, whose hooks
 * come here. */
extern _Thread_local bool fg_holds_locks;

static inline void fg_lock(enum fg_lock lock)
{
    if (!fg_holds_locks)
        PyMutex_Lock(&fg_locks[lock]);
}

static inline void fg_unlock(enum fg_lock lock)
{
    if (!fg_holds_locks)
        PyMutex_Unlock(&fg_locks[lock]);
}

#else

static inline int fg_locks_init(void)
{
    return 0;
}

static inline void fg_lock(enum fg_lock lock)
{
    (void)lock;
}

static inline void fg_unlock(enum fg_lock lock)
{
    (void)lock;
}

#endif
#endif
