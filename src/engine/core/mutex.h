/* The engine's mutexes. A thread that holds one may be in the middle of changing what a traced call needs. So
 * it hides from hooks of native functions: what it calls meanwhile (the C library) is not traced. */
#ifndef FG_MUTEX_H
#define FG_MUTEX_H

#include <pthread.h>
#include <stdbool.h>

#include "engine/core/self.h"

static inline void fg_mutex_lock(pthread_mutex_t *mutex)
{
    fg_native_hide();
    pthread_mutex_lock(mutex);
}

/* False: another thread holds it. */
static inline bool fg_mutex_trylock(pthread_mutex_t *mutex)
{
    bool is_held;

    fg_native_hide();
    is_held = pthread_mutex_trylock(mutex) == 0;
    if (!is_held)
        fg_native_show();
    return is_held;
}

static inline void fg_mutex_unlock(pthread_mutex_t *mutex)
{
    pthread_mutex_unlock(mutex);
    fg_native_show();
}

#endif
