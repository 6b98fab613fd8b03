/* See run_time.h. The times are those of proc_pid_schedstat(5), for CLOCK_THREAD_CPUTIME_ID has the first one
 * alone. */
#include "engine/base/run_time.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

bool fg_run_time_of(int tid, struct fg_run_time *time)
{
    char path[48], text[64], *end;
    ssize_t bytes;
    int fd;

    snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", tid);
    fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    bytes = read(fd, text, sizeof(text) - 1);
    close(fd);
    if (bytes <= 0)
        return false;
    text[bytes] = 0;
    time->cpu_ns = strtoull(text, &end, 10);
    time->ready_ns = strtoull(end, NULL, 10);
    return true;
}
