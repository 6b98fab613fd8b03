/* See span.h. */
#include "inject/span.h"

#include <errno.h>
#include <unistd.h>

static ssize_t read_file(const void *source, uint64_t address, void *into, size_t bytes)
{
    ssize_t got = pread(*(const int *)source, into, bytes, (off_t)address);

    return got < 0 ? -errno : got;
}

int fg_span_at(const struct fg_process *process, const struct fg_code *code, uint64_t address,
               struct fg_span *span)
{
    struct fg_memory memory;
    int error = fg_memory_open(&memory, read_file, &process->memory);

    if (error < 0)
        return error;
    error = fg_cfi_span(code, &memory, address, span) ? 0 : -ENOENT;
    fg_memory_close(&memory);
    return error;
}
