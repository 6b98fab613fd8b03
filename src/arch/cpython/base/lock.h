/* The arch's locks. With the GIL they are nothing: none of what they guard gives the GIL away. Without it they let
 * go of the thread state while they wait, so that whoever holds one may stop the world, as changing a code
 * object's events does. No lock of the engine is held where one of these is taken; in this order: */
#ifndef FG_CPYTHON_LOCK_H
#define FG_CPYTHON_LOCK_H

#include "arch/cpython/base/compat/python.h"

enum fg_lock {
    FG_LOCK_CONTROL,   /* starting and stopping */
    FG_LOCK_DISCOVERY, /* making the one record of a function */
    FG_LOCK_EVENTS,    /* sys.monitoring's events and what we know of them */
    FG_LOCK_KPROBES,   /* which probes are on a function */
    FG_LOCK_VIEWS,     /* views of reserved data that outlive their callbacks */
    FG_NR_LOCKS
};

#ifdef Py_GIL_DISABLED

/* Lets forks wait for whoever holds a lock. -1 with an exception. */
int fg_locks_init(void);

extern PyMutex fg_locks[FG_NR_LOCKS];
/* This thread forks and holds all of them: other handlers around the fork run Python functions, which come here. */
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
