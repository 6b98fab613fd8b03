#include "inject/span.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static ssize_t read_file(const void *source, uint64_t address, void *into, size_t bytes)
{
    ssize_t got = pread(*(const int *)source, into, bytes, (off_t)address);

    return got < 0 ? -errno : got;
}

int fg_span_at(pid_t pid, const struct fg_code *code, uint64_t address, struct fg_span *span)
{
    struct fg_memory memory;
    char path[40];
    int file, error;

    snprintf(path, sizeof(path), "/proc/%d/mem", pid);
    file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -errno;
    error = fg_memory_open(&memory, read_file, &file);
    if (error == 0) {
        error = fg_cfi_span(code, &memory, address, span) ? 0 : -ENOENT;
        fg_memory_close(&memory);
    }
    close(file);
    return error;
}
