/* One thread of another process, stopped by ptrace.
 *
 * It is seized, not attached to: no signal is sent to it, and when the tracer ends, however it ends, the
 * thread goes on by itself (ptrace(2), PTRACE_SEIZE without PTRACE_O_EXITKILL). */
#ifndef FG_INJECT_THREAD_H
#define FG_INJECT_THREAD_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/user.h>

#include "inject/process.h"

struct fg_thread {
    const struct fg_process *process;
    pid_t tid;
    struct user_regs_struct regs;
    uint64_t signal_mask;
};

/**
 * fg_thread_stop() - Stop a thread between two instructions of the program.
 * @thread: filled in
 * @process: its process
 * @tid: the thread
 *
 * A number of a thread may be another process's by now, or may come from the process's memory: a thread of
 * another process goes on at once.
 *
 * Return: 0. -ESRCH: it has ended, or is none of that process; -EPERM: not allowed, or somebody else traces
 * it; -EBUSY: a signal was on its way to it, or its process is stopped, and it is as before; -ETIMEDOUT: it
 * is inside the kernel and does not stop. It cannot be let go then: inject/tracer.h.
 */
int fg_thread_stop(struct fg_thread *thread, const struct fg_process *process, pid_t tid);

/**
 * fg_thread_go() - Let it go on, and stop tracing it.
 */
void fg_thread_go(struct fg_thread *thread);

/**
 * fg_thread_read() - Read memory of its process.
 *
 * Return: number of bytes; less than asked for where the mapping ends; or negative errno.
 */
ssize_t fg_thread_read(const struct fg_thread *thread, uint64_t address, void *into, size_t bytes);

/**
 * fg_thread_write() - Write memory of its process, also where the program must not.
 *
 * Return: 0 or negative errno.
 */
int fg_thread_write(const struct fg_thread *thread, uint64_t address, const void *data, size_t bytes);

/**
 * fg_thread_redirect() - Send the stopped thread elsewhere, with all signals blocked.
 * @rip: where it goes on
 *
 * The first system call of this function does it; the others only keep signals from coming before the code at
 * @rip blocks them. No other register changes, and the kernel will not repeat a system call that it was in.
 *
 * Return: 0 or negative errno: then it goes on where it was.
 */
int fg_thread_redirect(struct fg_thread *thread, uint64_t rip);

#endif
