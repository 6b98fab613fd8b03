/* Registering fprobes and kprobe_multi links in this interpreter, with the hooks and the function records
 * that they need.
 *
 * All of these need the interpreter's thread state. Errors are the engine's (engine/probe/fprobe.h); and
 * -EIO with an exception: CPython has no free hook. */
#ifndef FG_CPYTHON_REGISTER_FPROBES_H
#define FG_CPYTHON_REGISTER_FPROBES_H

#include "arch/cpython/read/symbols.h"
#include "engine/probe/kprobe_multi.h"

/* For the functions that match now or later. */
int fg_cpython_register_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
/* Also if no function matches now. */
int fg_cpython_register_pending_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
/* The same for native functions. */
int fg_cpython_register_native_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
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

/* Return: 0: a function matches; else as above. Looks through the process only if no known one does. */
int fg_cpython_check_functions(const struct fg_fprobe_filter *filter);

int fg_cpython_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                   const uint64_t cookies[], size_t n);
int fg_cpython_kprobe_multi_attach_filter(struct kprobe_multi_link *link, struct fg_fprobe_filter *filter);
int fg_cpython_kprobe_multi_detach(struct kprobe_multi_link *link);

void fg_fprobe_filter_clear(struct fg_fprobe_filter *filter);

/**
 * fg_fprobe_filter_meet() - fg_symbols_meet() for functions that may match a filter.
 * @query: its `wants` may hold only for functions that match the filter. Of its kinds those are left out
 *   that the filter cannot match.
 */
Py_ssize_t fg_fprobe_filter_meet(struct fg_interp *interp, const struct fg_fprobe_filter *filter,
                                 struct fg_symbols_query query);

#endif
