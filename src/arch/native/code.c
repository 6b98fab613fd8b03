/* See code.h. */
#include "arch/native/code.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/membarrier.h>

#include "arch/native/system.h"

int fg_code_open(struct fg_code_writer *writer)
{
    writer->fd = (int)FG_SYSCALL(SYS_openat, AT_FDCWD, "/proc/self/mem", O_RDWR | O_CLOEXEC, 0, 0, 0);
    return writer->fd < 0 ? writer->fd : 0;
}

void fg_code_close(struct fg_code_writer *writer)
{
    FG_SYSCALL(SYS_close, writer->fd, 0, 0, 0, 0, 0);
}

bool fg_code_write(const struct fg_code_writer *writer, uintptr_t address, const void *bytes, size_t n)
{
    return FG_SYSCALL(SYS_pwrite64, writer->fd, bytes, n, address, 0, 0) == (long)n;
}

size_t fg_code_read(const struct fg_code_writer *writer, uintptr_t address, void *bytes, size_t n)
{
    long got = FG_SYSCALL(SYS_pread64, writer->fd, bytes, n, address, 0, 0);

    return got > 0 ? (size_t)got : 0;
}

static long membarrier(int command)
{
    return FG_SYSCALL(SYS_membarrier, command, 0, 0, 0, 0, 0);
}

bool fg_code_settle(void)
{
    if (membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0)
        return true;
    return membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED_SYNC_CORE) == 0 &&
           membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED_SYNC_CORE) == 0;
}
