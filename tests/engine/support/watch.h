/* An fprobe for tests: counts its handlers' calls, logs them on request, and checks at each exit that
 * its own entry's data comes back. */
#ifndef FG_WATCH_H
#define FG_WATCH_H

#include <stdatomic.h>

#include "engine/core/public.h"
#include "engine/probe/fprobe.h"

struct watch {
    struct fprobe fp;
    const char *name;     /* in the log */
    _Atomic bool cancels; /* its entry handler declines the exit */
    /* Called last in the handlers, because they may destroy the watch. */
    void (*on_entry)(struct watch *watch, struct fg_func *func);
    void (*on_exit)(struct watch *watch, struct fg_func *func);
    void *arg;
    _Atomic uint64_t entries, exits;
    _Atomic uint64_t bad;     /* exits with wrong data, entries with nonzero data */
    _Atomic uint32_t running; /* handlers running now */
    _Atomic bool is_registered;
    _Atomic uint64_t called_after; /* handlers that started while it was not registered */
};

/* Initializes a watch with both handlers and `data_bytes` of entry data. */
void watch_init(struct watch *watch, const char *name, size_t data_bytes);
/* Each argument is one pattern, or NULL. */
int watch_try_register(struct watch *watch, const char *filter, const char *notfilter);
void watch_register(struct watch *watch, const char *filter);
void watch_register_ips(struct watch *watch, struct fg_func *const funcs[], size_t n);
void watch_unregister(struct watch *watch);

/* Returns what handlers logged since the last call, as in "a> b> b< a<". For one thread only. */
const char *watch_log(void);

#endif
