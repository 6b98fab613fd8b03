/* See own_fd.h. */
#define _GNU_SOURCE
#include "binding/control/own_fd.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIGH_FD 900
#define LEAST_LIMIT 1024u /* the number of descriptors that a process usually may have */

/* Return: the descriptor; the given one if there is no room. */
static int moved_up(int fd)
{
    struct rlimit limit;
    int high;

    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < LEAST_LIMIT)
        return fd;
    high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

struct fg_own_fd fg_own_fd(int fd)
{
    struct fg_own_fd own = {.fd = fd};
    struct stat facts;

    if (fd < 0)
        return own;
    own.fd = moved_up(fd);
    if (fstat(own.fd, &facts) == 0) {
        own.device = facts.st_dev;
        own.inode = facts.st_ino;
    }
    return own;
}

bool fg_own_fd_is_open(const struct fg_own_fd *own)
{
    struct stat facts;

    return own->fd >= 0 && fstat(own->fd, &facts) == 0 && facts.st_dev == own->device &&
           facts.st_ino == own->inode;
}

void fg_own_fd_close(struct fg_own_fd *own)
{
    if (fg_own_fd_is_open(own))
        close(own->fd);
    *own = FG_OWN_FD_NONE;
}
