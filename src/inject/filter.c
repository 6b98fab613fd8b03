#include "inject/filter.h"

#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>

int fg_filter_read(const struct fg_process *process, unsigned index, struct sock_filter *into)
{
    struct fg_thread thread;
    int result = fg_thread_stop(&thread, process, process->pid);

    if (result < 0)
        return result;
    result = (int)ptrace(PTRACE_SECCOMP_GET_FILTER, thread.tid, (void *)(uintptr_t)index, into);
    if (result < 0)
        result = -errno;
    fg_thread_go(&thread);
    return result;
}
