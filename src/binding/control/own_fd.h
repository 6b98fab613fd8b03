/* Descriptors of ours in a program that may close any: a daemon closes all of them, and later opens files
 * under the same numbers. So they have high numbers, and are used and closed only while they are ours. */
#ifndef FG_CONTROL_OWN_FD_H
#define FG_CONTROL_OWN_FD_H

#include <stdbool.h>
#include <sys/types.h>

struct fg_own_fd {
    int fd; /* -1: none */
    dev_t device;
    ino_t inode;
};

#define FG_OWN_FD_NONE ((struct fg_own_fd){.fd = -1})

/* Takes a new descriptor and moves it to a high number. @fd: -1: there is none, and errno stays. */
struct fg_own_fd fg_own_fd(int fd);

/* False if the program has closed it. */
bool fg_own_fd_is_open(const struct fg_own_fd *own);

/* Closes it, if the program has not. */
void fg_own_fd_close(struct fg_own_fd *own);

#endif
