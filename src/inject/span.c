/* See span.h. */
#include "inject/span.h"

#include <errno.h>

static ssize_t read_process(const void *source, uint64_t address, void *into, size_t bytes)
{
    return fg_task_read(((const struct fg_process *)source)->pid, address, into, bytes);
}

int fg_span_at(const struct fg_process *process, const struct fg_code *code, uint64_t address,
               struct fg_span *span)
{
    struct fg_memory memory;
    int error = fg_memory_open(&memory, read_process, process);

    if (error < 0)
        return error;
    error = fg_cfi_span(code, &memory, address, span) ? 0 : -ENOENT;
    fg_memory_close(&memory);
    return error;
}
