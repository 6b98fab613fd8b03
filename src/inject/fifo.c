#include "inject/fifo.h"

#include <fcntl.h>
#include <linux/limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define RESTART 512 /* include/linux/errno.h of the kernel: what open() of a FIFO is interrupted with */

/* Return: whether the file is a FIFO. A name that leads out of another root is looked up in ours: then it is
 * another file, and the answer most likely no. */
static bool is_fifo(pid_t tid, int folder, const char *name)
{
    char path[PATH_MAX + 64];
    struct stat facts;

    if (name[0] == '/')
        snprintf(path, sizeof(path), "/proc/%d/root%s", tid, name);
    else if (folder == AT_FDCWD)
        snprintf(path, sizeof(path), "/proc/%d/cwd/%s", tid, name);
    else
        snprintf(path, sizeof(path), "/proc/%d/fd/%d/%s", tid, folder, name);
    return stat(path, &facts) == 0 && S_ISFIFO(facts.st_mode);
}

bool fg_opens_fifo(const struct fg_thread *thread)
{
    const struct user_regs_struct *regs = &thread->regs;
    bool has_folder = (long)regs->orig_rax == SYS_openat;
    char name[PATH_MAX];
    ssize_t got;

    if (!has_folder && (long)regs->orig_rax != SYS_open)
        return false;
    /* Looking up a file of a file system that hangs would keep the thread stopped: its open() ends with EINTR,
     * if it can be interrupted at all. */
    if ((long)regs->rax != -RESTART)
        return false;
    got = fg_thread_read(thread, has_folder ? regs->rsi : regs->rdi, name, sizeof(name));
    if (got <= 0 || memchr(name, '\0', (size_t)got) == NULL)
        return false;
    return is_fifo(thread->tid, has_folder ? (int)regs->rdi : AT_FDCWD, name);
}
