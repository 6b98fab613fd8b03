/* See input.h. */
#include "tracedata/read/dat/input.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

int fg_refuse(char reason[FG_REASON_BYTES], const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(reason, FG_REASON_BYTES, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int fg_input_read(const struct fg_input *input, uint64_t offset, void *into, size_t bytes,
                  char reason[FG_REASON_BYTES])
{
    if (offset > input->bytes || bytes > input->bytes - offset)
        return fg_refuse(reason,
                         "truncated: the file has %" PRIu64 " bytes, and should have %" PRIu64 " at least",
                         input->bytes, offset + bytes);
    while (bytes) {
        ssize_t got = pread(input->fd, into, bytes, (off_t)offset);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return fg_refuse(reason, "was cut short at byte %" PRIu64 " while being read", offset);
        into = (char *)into + got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}
