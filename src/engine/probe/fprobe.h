/* fprobes: entry and exit handlers on many functions (Documentation/trace/fprobe.rst;
 * docs/internals/fprobes.md says how they work).
 *
 * All fprobes of a scope share one user of the function graph. A function's record has the list
 * of its fprobes. */
#ifndef FG_FPROBE_H
#define FG_FPROBE_H

#include "engine/probe/fprobe_state.h"

/* True if the filter matches a function of this name. */
bool fg_fprobe_filter_matches(const struct fg_fprobe_filter *filter, const char *name, const char *module,
                              bool is_c);

/**
 * fg_fprobe_register() - Attach an fprobe to the functions that its filter matches, now and later.
 * @scope: it sees the functions of this scope (domain.h)
 * @filter: taken over, and cleared, on success
 *
 * nmissed starts from 0.
 *
 * Return: 0; -EINVAL: nothing given; -ENOENT: no known function matches; -E2BIG: too much entry data;
 * -EEXIST: registered already; -ENOSPC, -ENOMEM: as fgraph_register(). On an error nothing has changed.
 * Context: no lock of the engine held; also in a callback.
 */
int fg_fprobe_register(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter);

/* As fg_fprobe_register(), also if no known function matches: it waits for those that are met later. */
int fg_fprobe_register_pending(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter);

/**
 * fg_fprobe_register_ips() - Attach an fprobe to given functions.
 * @funcs: @n functions; one given twice counts once
 * @cookies: NULL, or one for each function: the first word of entry_data, at the entry too
 *
 * Return: as fg_fprobe_register(); -ENOENT: a function is gone, or not seen in the scope.
 */
int fg_fprobe_register_ips(struct fprobe *fp, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n);

/**
 * fg_fprobe_unregister() - Detach an fprobe.
 *
 * Returns when none of its handlers runs any longer, other than the caller itself.
 *
 * Return: 0; -EINVAL: not registered.
 * Context: no lock of the engine held; also in a callback.
 */
int fg_fprobe_unregister(struct fprobe *fp);
/* As fg_fprobe_unregister(), without the wait: handlers may still run. */
int fg_fprobe_unregister_async(struct fprobe *fp);

/* A disabled fprobe stays attached; its handlers are not called. -EINVAL: not registered. */
int fg_fprobe_set_enabled(struct fprobe *fp, bool enabled);
bool fg_fprobe_is_registered(const struct fprobe *fp);
bool fg_fprobe_is_enabled(const struct fprobe *fp);
/* How many calls its handlers missed: a callback made the call, or the shadow stack was full. */
uint64_t fg_fprobe_nmissed(const struct fprobe *fp);
/* How many known functions of the scope the filter matches. */
uint32_t fg_fprobe_count(const void *scope, const struct fg_fprobe_filter *filter);
/* True if a user or an enabled fprobe of the function has FTRACE_OPS_FL_SAVE_REGS. Inside the guard. */
bool fg_func_saves_regs(struct fg_func *func);
/* Calls `visit` for each fprobe of the scope, in order of registration, with the engine's lock held. */
void fg_fprobe_for_each(const void *scope, void (*visit)(struct fprobe *fp, void *arg), void *arg);

#endif
