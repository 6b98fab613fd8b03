/* kprobe_multi: one program on many functions, with a cookie for each (the kernel's
 * BPF_TRACE_KPROBE_MULTI). An fprobe of its own behind each link. */
#ifndef FG_KPROBE_MULTI_H
#define FG_KPROBE_MULTI_H

#include "engine/probe/fprobe.h"

/* As fg_fprobe_register_ips; -EINVAL: also without a program, or of no such kind. `cookies` has n of them, or is NULL. */
int fg_kprobe_multi_attach(struct kprobe_multi_link *link, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n);
/* As fg_fprobe_register. The cookie is 0. */
int fg_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const void *scope,
                                  struct fg_fprobe_filter *filter);
/* As fg_fprobe_unregister. */
int fg_kprobe_multi_detach(struct kprobe_multi_link *link);
uint64_t fg_kprobe_multi_nmissed(const struct kprobe_multi_link *link);

#endif
