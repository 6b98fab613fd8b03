/* fprobes: entry and exit handlers on many functions (Documentation/trace/fprobe.rst). All fprobes of a scope are one
 * user of the function graph; the functions they are on have the list of them in their record. */
#ifndef FG_FPROBE_H
#define FG_FPROBE_H

#include "engine/probe/fprobe_state.h"

/* A function of this name is one of those. */
bool fg_fprobe_filter_matches(const struct fg_fprobe_filter *filter, const char *name, const char *module,
                              bool is_c);

/* 0, or: -EINVAL: nothing given; -ENOENT: no known function matches; -E2BIG: too much entry data; -EEXIST: registered
 * already; -ENOSPC, -ENOMEM: as fgraph_register. Then nothing has changed. Takes the filter's contents over (and clears
 * it) on success. nmissed begins at 0 again. */
int fg_fprobe_register(struct fprobe *fp, const void *scope, struct fg_fprobe_filter *filter);
/* The same for given functions; a function given twice counts once. -ENOENT: one of them is gone, or not seen in the scope.
 * `cookies` is NULL or has n: entry_data then begins with a word that holds the function's cookie, at the entry too. */
int fg_fprobe_register_ips(struct fprobe *fp, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n);
/* Returns when none of its handlers runs any more, other than the caller itself. -EINVAL: not registered. */
int fg_fprobe_unregister(struct fprobe *fp);
/* Does not wait. */
int fg_fprobe_unregister_async(struct fprobe *fp);
/* -EINVAL: not registered. */
int fg_fprobe_set_enabled(struct fprobe *fp, bool enabled);
bool fg_fprobe_is_registered(const struct fprobe *fp);
bool fg_fprobe_is_enabled(const struct fprobe *fp);
uint64_t fg_fprobe_nmissed(const struct fprobe *fp);
/* How many functions seen in the scope it would be on. */
uint32_t fg_fprobe_count(const void *scope, const struct fg_fprobe_filter *filter);
/* All of a scope, in order of registration, under the engine's lock. */
void fg_fprobe_for_each(const void *scope, void (*visit)(struct fprobe *fp, void *arg), void *arg);

#endif
