/* An fprobe for tests: counts what it is told, writes it down if asked to, and checks at each exit that
 * its own entry's data comes back. */
#ifndef FG_WATCH_H
#define FG_WATCH_H

#include <stdatomic.h>

#include "engine/core/public.h"
#include "engine/probe/fprobe.h"

struct watch {
    struct fprobe fp;
    const char *name;     /* in the log */
    _Atomic bool cancels; /* its entry handler does not want the exit */
    /* Called in its handlers, as the last thing: they may do away with the watch. */
    void (*on_entry)(struct watch *watch, struct fg_func *func);
    void (*on_exit)(struct watch *watch, struct fg_func *func);
    void *arg;
    _Atomic uint64_t entries, exits;
    _Atomic uint64_t bad;     /* exits with wrong data, entries with data that are not zeros */
    _Atomic uint32_t running; /* handlers that run now */
    _Atomic bool is_registered;
    _Atomic uint64_t called_after; /* handlers that began when it was not */
};

/* With both handlers and so many bytes of data. */
void watch_init(struct watch *watch, const char *name, size_t data_bytes);
/* One pattern each, or NULL. */
int watch_try_register(struct watch *watch, const char *filter, const char *notfilter);
void watch_register(struct watch *watch, const char *filter);
void watch_register_ips(struct watch *watch, struct fg_func *const funcs[], size_t n);
void watch_unregister(struct watch *watch);

/* What handlers wrote down since the last time: "a> b> b< a<". Of one thread. */
const char *watch_log(void);

#endif
