/* Registering fprobes and kprobe_multi links in this interpreter, with the hooks and the function records
 * that they need.
 *
 * All of these need the interpreter's thread state. Errors are the engine's (engine/probe/fprobe.h); and
 * -EIO with an exception: CPython has no free hook. */
#ifndef FG_CPYTHON_REGISTER_FPROBES_H
#define FG_CPYTHON_REGISTER_FPROBES_H

#include "engine/probe/kprobe_multi.h"

/* The first makes a record for each function that matches `filter` and has none yet. */
int fg_cpython_register_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
/* Also if no function matches yet. */
int fg_cpython_register_pending_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
int fg_cpython_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n);

/* Return: 0; -EINVAL: not registered, or registered in another interpreter. The first waits as
 * fg_fprobe_unregister does. */
int fg_cpython_unregister_fprobe(struct fprobe *fp);
int fg_cpython_unregister_fprobe_async(struct fprobe *fp);

/* Unregisters all fprobes of this interpreter. */
void fg_cpython_unregister_fprobes(void);

/**
 * fg_cpython_count_ips - count the functions that match, called or not
 *
 * Return: their number, at least 1; -ENOENT: no function matches; -ENOMEM; -EIO with an exception.
 */
int fg_cpython_count_ips(const struct fg_fprobe_filter *filter);

int fg_cpython_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                   const uint64_t cookies[], size_t n);
int fg_cpython_kprobe_multi_attach_filter(struct kprobe_multi_link *link, struct fg_fprobe_filter *filter);
int fg_cpython_kprobe_multi_detach(struct kprobe_multi_link *link);

void fg_fprobe_filter_clear(struct fg_fprobe_filter *filter);

/* The kinds of functions (enum fg_symbol_kinds) that a filter can match. C functions match only by
 * their full name. */
unsigned fg_fprobe_filter_kinds(const struct fg_fprobe_filter *filter);

#endif
