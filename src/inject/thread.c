/* See thread.h. */
#include "inject/thread.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAUSE_NS 20000
#define MAX_PAUSES 25000 /* half a second */

/* Return: whether a thread is stopped, with *status as waitpid() has it. Another thread of this process may
 * wait for its children. If the traced process is one of them, that thread may get the stop, and waitpid()
 * tells nobody else. */
static bool is_stopped(pid_t tid, int *status)
{
    siginfo_t info;
    int event;

    if (ptrace(PTRACE_GETSIGINFO, tid, NULL, &info) < 0)
        return false;
    event = info.si_code > 0 ? info.si_code >> 8 : 0; /* ptrace(2), "PTRACE_EVENT stops" */
    *status = event << 16 | info.si_signo << 8 | 0x7f;
    return true;
}

/* Return: 0 with *status; -ETIMEDOUT; -ESRCH. */
static int wait_for_stop(pid_t tid, int *status)
{
    int i;

    for (i = 0; i < MAX_PAUSES; i++) {
        pid_t got = waitpid(tid, status, __WALL | WNOHANG);

        if (got == tid)
            return WIFSTOPPED(*status) ? 0 : -ESRCH;
        if (got < 0 && errno != EINTR)
            return -ESRCH;
        if (is_stopped(tid, status))
            return 0;
        nanosleep(&(struct timespec){.tv_nsec = PAUSE_NS}, NULL);
    }
    return -ETIMEDOUT;
}

/* A stop that was none of ours passes on: a signal is delivered, a stopped process stays stopped. */
static int check_stop(pid_t tid, int status)
{
    int event = status >> 16, signal = WSTOPSIG(status);

    if (event == PTRACE_EVENT_STOP && signal == SIGTRAP)
        return 0;
    ptrace(PTRACE_DETACH, tid, NULL, (void *)(intptr_t)(event ? 0 : signal));
    return -EBUSY;
}

/* The stopped thread cannot leave its process meanwhile. */
static bool is_of_process(const struct fg_thread *thread)
{
    char path[48];

    snprintf(path, sizeof(path), "/proc/%d/task/%d", thread->process->pid, thread->tid);
    return access(path, F_OK) == 0;
}

static int read_state(struct fg_thread *thread)
{
    if (!is_of_process(thread))
        return -ESRCH;
    if (ptrace(PTRACE_GETREGS, thread->tid, NULL, &thread->regs) == 0 &&
        ptrace(PTRACE_GETSIGMASK, thread->tid, (void *)sizeof(thread->signal_mask), &thread->signal_mask) ==
            0)
        return 0;
    return -errno;
}

int fg_thread_stop(struct fg_thread *thread, const struct fg_process *process, pid_t tid)
{
    int status, error;

    thread->process = process;
    thread->tid = tid;
    if (ptrace(PTRACE_SEIZE, tid, NULL, NULL) < 0)
        return -errno;
    if (ptrace(PTRACE_INTERRUPT, tid, NULL, NULL) < 0)
        return -errno;
    error = wait_for_stop(tid, &status);
    if (error == 0)
        error = check_stop(tid, status);
    if (error < 0)
        return error;
    error = read_state(thread);
    if (error < 0)
        fg_thread_go(thread);
    return error;
}

void fg_thread_go(struct fg_thread *thread)
{
    ptrace(PTRACE_DETACH, thread->tid, NULL, NULL);
}

ssize_t fg_thread_read(const struct fg_thread *thread, uint64_t address, void *into, size_t bytes)
{
    return fg_task_read(thread->tid, address, into, bytes);
}

/* Kernels may be told to let only ptrace write where the program must not (proc_mem.force_override=never). */
static int poke(pid_t tid, uint64_t address, const char *data, size_t bytes)
{
    size_t done;

    for (done = 0; done < bytes; done += sizeof(long)) {
        size_t part = bytes - done < sizeof(long) ? bytes - done : sizeof(long);
        void *at = (void *)(uintptr_t)(address + done);
        long word;

        errno = 0;
        word = ptrace(PTRACE_PEEKTEXT, tid, at, NULL);
        if (errno)
            return -errno;
        memcpy(&word, data + done, part);
        if (ptrace(PTRACE_POKETEXT, tid, at, (void *)word) < 0)
            return -errno;
    }
    return 0;
}

int fg_thread_write(const struct fg_thread *thread, uint64_t address, const void *data, size_t bytes)
{
    if (pwrite(thread->process->memory, data, bytes, (off_t)address) == (ssize_t)bytes)
        return 0;
    return poke(thread->tid, address, data, bytes);
}

int fg_thread_redirect(struct fg_thread *thread, uint64_t rip)
{
    struct user_regs_struct regs = thread->regs;
    uint64_t all = UINT64_MAX;

    regs.rip = rip;
    regs.orig_rax = (unsigned long long)-1;
    if (ptrace(PTRACE_SETREGS, thread->tid, NULL, &regs) < 0)
        return -errno;
    ptrace(PTRACE_SETSIGMASK, thread->tid, (void *)sizeof(all), &all);
    return 0;
}
