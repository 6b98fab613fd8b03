/* kprobe_multi: one program on many functions, with a cookie for each (the kernel's
 * BPF_TRACE_KPROBE_MULTI). Each link has an fprobe of its own. */
#ifndef FG_KPROBE_MULTI_H
#define FG_KPROBE_MULTI_H

#include "engine/probe/fprobe.h"

/**
 * fg_kprobe_multi_attach() - Attach a link's program to given functions.
 *
 * Return: as fg_fprobe_register_ips(); -EINVAL also for a link without a program, or with an unknown kind.
 */
int fg_kprobe_multi_attach(struct kprobe_multi_link *link, const void *scope, struct fg_func *const funcs[],
                           const uint64_t cookies[], size_t n);
/* As fg_kprobe_multi_attach(), for the functions that a filter matches (as fg_fprobe_register()). Their
 * cookie is 0. */
int fg_kprobe_multi_attach_filter(struct kprobe_multi_link *link, const void *scope,
                                  struct fg_fprobe_filter *filter);
/* As fg_fprobe_unregister(). */
int fg_kprobe_multi_detach(struct kprobe_multi_link *link);
uint64_t fg_kprobe_multi_nmissed(const struct kprobe_multi_link *link);

#endif
