/* The function profiler: how often each function was called, how long its calls took, and their variance. */
#ifndef FG_FUNCTION_PROFILE_H
#define FG_FUNCTION_PROFILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/compiler.h"
#include "engine/core/public.h"

struct fg_profile_data;

struct fg_function_profile {
    struct fgraph_ops ops; /* registered while the profile counts */
    bool graph_time;       /* a call's time includes that of its callees */
    bool sleep_time;       /* a call's time includes time while it was suspended or its thread did not run */
    struct fg_profile_data *data; /* of the last run; NULL: none yet */
    struct fg_function_profile *next;
};

/**
 * fg_function_profile_init() - Prepare a profile for its first start.
 * @profile: zeroed except for its filter
 */
void fg_function_profile_init(struct fg_function_profile *profile, bool graph_time, bool sleep_time);
/**
 * fg_function_profile_start() - Count calls from now on, from zero.
 * @register_user: fgraph_register, or an arch's function that calls it
 *
 * Return: 0; -EBUSY: it counts already; -ENOMEM; or the error of @register_user. On an error
 * nothing has changed.
 * Context: no lock held.
 */
int fg_function_profile_start(struct fg_function_profile *profile,
                              int (*register_user)(struct fgraph_ops *ops));
/**
 * fg_function_profile_stop() - Stop counting; what was counted stays.
 *
 * Return: as fgraph_unregister().
 */
int fg_function_profile_stop(struct fg_function_profile *profile);
/* Frees what a stopped profile has counted. */
void fg_function_profile_clear(struct fg_function_profile *profile);

/* True if the user is a profile's. */
bool fg_function_profile_is(const struct fgraph_ops *ops);

static inline struct fg_function_profile *fg_function_profile_of(struct fgraph_ops *ops)
{
    return fg_container_of(ops, struct fg_function_profile, ops);
}

/* Around fork, in the parent and in the child: rows do not change meanwhile. Engine's lock held. */
void fg_function_profiles_fork_prepare(void);
void fg_function_profiles_fork_release(void);
/* In a forked child, before the release: profiles that count start from zero. Engine's lock held. */
void fg_function_profiles_fork_child(void);

#endif
