/* See file_io.h. */
#include "tracedata/base/file_io.h"

#include <errno.h>
#include <unistd.h>

int fg_file_write_pieces(int fd, struct iovec *pieces, int nr_pieces, uint64_t offset)
{
    while (nr_pieces > 0) {
        ssize_t written;

        if (pieces->iov_len == 0) {
            pieces++;
            nr_pieces--;
            continue;
        }
        written = pwritev(fd, pieces, nr_pieces, (off_t)offset);
        if (written < 0) {
            if (errno == EINTR)
                continue;
            return -errno;
        }
        if (written == 0)
            return -ENOSPC;
        offset += (uint64_t)written;
        while (nr_pieces > 0 && (size_t)written >= pieces->iov_len) {
            written -= (ssize_t)pieces->iov_len;
            pieces++;
            nr_pieces--;
        }
        if (nr_pieces > 0) {
            pieces->iov_base = (char *)pieces->iov_base + written;
            pieces->iov_len -= (size_t)written;
        }
    }
    return 0;
}

int fg_file_write(int fd, const void *data, size_t bytes, uint64_t offset)
{
    struct iovec piece = {(void *)data, bytes};

    return fg_file_write_pieces(fd, &piece, 1, offset);
}

int fg_file_read(int fd, void *data, size_t bytes, uint64_t offset)
{
    while (bytes > 0) {
        ssize_t got = pread(fd, data, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return -EIO;
        data = (char *)data + got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}
