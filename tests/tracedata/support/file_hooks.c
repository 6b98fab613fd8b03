/* See file_hooks.h. These functions stand before those of the C library, whose system calls they make. */
#define _GNU_SOURCE
#include "support/file_hooks.h"

#include <errno.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

int64_t (*test_on_write)(int fd, size_t bytes);
int (*test_on_truncate)(int fd);
void (*test_on_read)(int fd);

#define MAX_PIECES 8

__attribute__((visibility("default"))) ssize_t pwritev(int fd, const struct iovec *pieces, int count,
                                                       off_t at)
{
    struct iovec first[MAX_PIECES];
    size_t bytes = 0;
    int64_t room;
    int nr = 0;

    for (int i = 0; i < count; i++)
        bytes += pieces[i].iov_len;
    room = test_on_write ? test_on_write(fd, bytes) : (int64_t)bytes;
    if (room < 0) {
        errno = (int)-room;
        return -1;
    }
    for (; nr < count && nr < MAX_PIECES && room > 0; nr++) {
        first[nr] = pieces[nr];
        if (first[nr].iov_len > (size_t)room)
            first[nr].iov_len = (size_t)room;
        room -= (int64_t)first[nr].iov_len;
    }
    return nr ? (ssize_t)syscall(SYS_pwritev, fd, first, (long)nr, (long)at, 0L) : 0;
}

__attribute__((visibility("default"))) int ftruncate(int fd, off_t bytes)
{
    int error = test_on_truncate ? test_on_truncate(fd) : 0;

    if (error < 0) {
        errno = -error;
        return -1;
    }
    return (int)syscall(SYS_ftruncate, fd, (long)bytes);
}

__attribute__((visibility("default"))) ssize_t pread(int fd, void *data, size_t bytes, off_t at)
{
    if (test_on_read)
        test_on_read(fd);
    return (ssize_t)syscall(SYS_pread64, fd, data, bytes, (long)at);
}
