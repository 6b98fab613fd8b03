/* The engine's mutexes. A thread that holds one may be in the middle of changing what a traced call needs. What it calls
 * meanwhile, the C library above all, is not traced if it is native. */
#ifndef FG_MUTEX_H
#define FG_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

/* How many this thread holds. */
extern _Thread_local unsigned fg_mutexes_held __attribute__((tls_model("initial-exec")));

static inline void fg_mutex_lock(pthread_mutex_t *mutex)
{
    fg_mutexes_held++;
    pthread_mutex_lock(mutex);
}

/* False: another thread holds it. */
static inline bool fg_mutex_trylock(pthread_mutex_t *mutex)
{
    bool is_held;

    fg_mutexes_held++;
    is_held = pthread_mutex_trylock(mutex) == 0;
    if (!is_held)
        fg_mutexes_held--;
    return is_held;
}

static inline void fg_mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    fg_mutexes_held--;
}

#endif
