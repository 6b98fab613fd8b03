/* kretprobes: a handler at the return of one function, with data from its entry. Each has an fprobe of its
 * own (in the kernel: CONFIG_KRETPROBE_ON_RETHOOK). */
#ifndef FG_KRETPROBE_H
#define FG_KRETPROBE_H

#include "engine/core/public.h"

/**
 * fg_kretprobe_prepare() - Check a kretprobe, and set up its fprobe for registering.
 *
 * Return: 0; -EINVAL: no handler, or not exactly one of symbol_name and func is given; -EEXIST: it is
 * registered.
 */
int fg_kretprobe_prepare(struct kretprobe *rp);

#endif
