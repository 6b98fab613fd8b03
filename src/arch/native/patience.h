/* How long the threads of a process stand still for one of them that has not stopped yet.
 *
 * A thread may be late because it has no processor. The others must not stand still for as long: a server
 * would answer nothing meanwhile. So they stand for a moment, run again for as long, and stand for twice
 * that, until the late one has been waited for long enough in all.
 *
 *     stand 5 ms | run 5 ms | stand 10 ms | run 10 ms | ... | stand 160 ms | run 160 ms | stand 160 ms ... */
#ifndef FG_NATIVE_PATIENCE_H
#define FG_NATIVE_PATIENCE_H

#include <stdbool.h>

#define FG_PATIENCE_FIRST_NS 5000000L
#define FG_PATIENCE_MOST_NS 160000000L /* at a time */
/* In all: for a thread that runs, or sleeps. It may block signals while it starts another one; */
#define FG_PATIENCE_ALL_NS 200000000L
#define FG_PATIENCE_STARVED_NS 2000000000L /* for one that has no processor */

struct fg_patience {
    long try_ns;    /* how long threads stand in this try */
    long waited_ns; /* how long they have stood in those before */
};

static inline struct fg_patience fg_patience_begin(void)
{
    return (struct fg_patience){.try_ns = FG_PATIENCE_FIRST_NS};
}

/* A try was in vain. True: there is another one, once the threads have run for as long as they stood. */
static inline bool fg_patience_next(struct fg_patience *patience, bool is_starved, long *run_ns)
{
    *run_ns = patience->try_ns;
    patience->waited_ns += patience->try_ns;
    patience->try_ns *= 2;
    if (patience->try_ns > FG_PATIENCE_MOST_NS)
        patience->try_ns = FG_PATIENCE_MOST_NS;
    return patience->waited_ns < (is_starved ? FG_PATIENCE_STARVED_NS : FG_PATIENCE_ALL_NS);
}

#endif
