/* The filters of system calls (seccomp) that a process has. */
#ifndef FG_INJECT_FILTER_H
#define FG_INJECT_FILTER_H

#include <linux/filter.h>

#include "inject/thread.h"

/**
 * fg_filter_read() - Read a filter of a process's main thread.
 * @process: the process
 * @index: which; the newest is 0
 * @into: BPF_MAXINSNS instructions
 *
 * Return: how many instructions it has. -ENOENT: there are not so many filters; -EACCES: this needs
 * CAP_SYS_ADMIN and no filter of our own; -EINVAL: the kernel does not tell; or as fg_thread_stop().
 */
int fg_filter_read(const struct fg_process *process, unsigned index, struct sock_filter *into);

#endif
