/* The engine's mutexes. A thread that holds one may be in the middle of changing what a traced call
 * needs. What it calls meanwhile, the C library above all, is not traced if it is native. */
#ifndef FG_MUTEX_H
#define FG_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

/* How many this thread holds, and how often it is in code of the arch of native functions
 * (arch/native/call.c): while it is not 0, the thread's native calls are the engine's. */
extern _Thread_local unsigned fg_native_holds __attribute__((tls_model("initial-exec")));

static inline void fg_mutex_lock(pthread_mutex_t *mutex)
{
    fg_native_holds++;
    pthread_mutex_lock(mutex);
}

/* False: another thread holds it. */
static inline bool fg_mutex_trylock(pthread_mutex_t *mutex)
{
    bool is_held;

    fg_native_holds++;
    is_held = pthread_mutex_trylock(mutex) == 0;
    if (!is_held)
        fg_native_holds--;
    return is_held;
}

static inline void fg_mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    fg_native_holds--;
}

#endif
