/* The function profiler: how often each function was called, how long its calls took, and how much they differ. */
#ifndef FG_FUNCTION_PROFILE_H
#define FG_FUNCTION_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/graph/fgraph.h"

struct fg_profile_data;

struct fg_function_profile {
    struct fgraph_ops ops;        /* while it is registered, the profiler counts */
    bool graph_time;              /* a call's time includes that of the calls it makes */
    bool sleep_time;              /* and the time in which it was suspended or its thread did not run */
    struct fg_profile_data *data; /* since it was last started; NULL: it never was */
    struct fg_function_profile *next;
};

/* Of one function. */
struct fg_profile_figures {
    char *name, *file;
    uint32_t line, func;
    uint64_t hit;     /* calls that began */
    uint64_t time_ns; /* of those that ended */
    double variance;  /* the kernel's s^2: the sample variance of a call's time, in ns^2 */
};

/* `profile` is zeroed but for its filter. */
void fg_function_profile_init(struct fg_function_profile *profile, bool graph_time, bool sleep_time);
/* From now on it counts, from zero; `register_user` is fgraph_register, or what does it for an arch. Its error, -EBUSY if
 * it counts already, or -ENOMEM: nothing has changed. */
int fg_function_profile_start(struct fg_function_profile *profile,
                              int (*register_user)(struct fgraph_ops *ops));
/* As fgraph_unregister; what was counted stays. */
int fg_function_profile_stop(struct fg_function_profile *profile);
/* Of a stopped one: what it counted goes. */
void fg_function_profile_clear(struct fg_function_profile *profile);

/* The functions that were called in the thread `tid`, or (0) in all, in no order; at any time, from any thread. -ESRCH: no
 * such thread, or it has ended: then only the sum has its calls. -ENOMEM. */
int fg_function_profile_read(struct fg_function_profile *profile, int tid,
                             struct fg_profile_figures **figures, size_t *n);
void fg_profile_figures_free(struct fg_profile_figures *figures, size_t n);
/* The threads that can be asked for, or NULL: no memory. Freed with free(). */
int *fg_function_profile_tids(struct fg_function_profile *profile, size_t *n);

/* True for a user that is a profile's. */
bool fg_function_profile_is(const struct fgraph_ops *ops);

static inline struct fg_function_profile *fg_function_profile_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_function_profile, ops);
}

/* In a forked child, under the engine's lock: those that count begin anew. */
void fg_function_profiles_fork_child(void);

#endif
