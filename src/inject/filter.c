/* See filter.h. */
#include "inject/filter.h"

#include <errno.h>
#include <stdint.h>
#include <sys/ptrace.h>

#include "inject/stopped.h"

struct filter {
    unsigned index;
    struct sock_filter *into;
};

static int read_filter(const struct fg_thread *thread, void *data)
{
    const struct filter *filter = data;
    long result =
        ptrace(PTRACE_SECCOMP_GET_FILTER, thread->tid, (void *)(uintptr_t)filter->index, filter->into);

    return result < 0 ? -errno : (int)result;
}

int fg_filter_read(const struct fg_process *process, unsigned index, struct sock_filter *into)
{
    struct filter filter = {index, into};

    return fg_while_stopped(process, process->pid, read_filter, &filter);
}
