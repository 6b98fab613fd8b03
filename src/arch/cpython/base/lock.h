/* The arch's locks, for builds without the GIL. With the GIL they are empty, because no code under a
 * lock releases the GIL.
 *
 * A thread that waits for a lock detaches its thread state, so that the holder can stop the world.
 * Changing a code object's events stops it. A thread that takes one of these locks holds no lock of the
 * engine. Lock order: */
#ifndef FG_CPYTHON_LOCK_H
#define FG_CPYTHON_LOCK_H

#include "arch/cpython/base/compat/python.h"

enum fg_lock {
    FG_LOCK_CONTROL,   /* starting and stopping */
    FG_LOCK_DISCOVERY, /* making a function's record */
    FG_LOCK_EVENTS,    /* sys.monitoring's events, and our records of them */
    FG_LOCK_KPROBES,   /* the kprobes of a function */
    FG_LOCK_VIEWS,     /* views of reserved data that outlive their callbacks */
    FG_NR_LOCKS
};

#ifdef Py_GIL_DISABLED

/* Makes os.fork() wait until no other thread holds a lock. -1 with an exception. */
int fg_locks_init(void);

extern PyMutex fg_locks[FG_NR_LOCKS];
/* True while this thread forks and holds all locks. Other fork handlers run Python functions, whose
 * hooks call fg_lock(). */
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
