/* Registering fprobes and links of kprobe_multi from outside the engine: functions that match are met before, and the hooks
 * live as long as there are any. Errors are the engine's (fprobe.h); -EIO with an exception: no hook is free. */
#ifndef FG_FPROBE_REGISTRATION_H
#define FG_FPROBE_REGISTRATION_H

#include "arch/cpython/base/interp.h"
#include "engine/probe/kprobe_multi.h"

int fg_binding_register_fprobe(struct fprobe *fp, struct fg_fprobe_filter *filter);
int fg_binding_register_fprobe_ips(struct fprobe *fp, struct fg_func *const funcs[], size_t n);
/* -EINVAL: it is not registered, or in another interpreter. */
int fg_binding_unregister_fprobe(struct fprobe *fp);
int fg_binding_unregister_fprobe_async(struct fprobe *fp);
/* All that are left of this interpreter. */
void fg_binding_unregister_fprobes(void);
/* How many functions match, called or not; -ENOENT: none; -ENOMEM. */
int fg_binding_count_ips(const struct fg_fprobe_filter *filter);

int fg_binding_kprobe_multi_attach(struct kprobe_multi_link *link, struct fg_func *const funcs[],
                                   const uint64_t cookies[], size_t n);
int fg_binding_kprobe_multi_attach_filter(struct kprobe_multi_link *link, struct fg_fprobe_filter *filter);
int fg_binding_kprobe_multi_detach(struct kprobe_multi_link *link);

void fg_fprobe_filter_clear(struct fg_fprobe_filter *filter);

#endif
