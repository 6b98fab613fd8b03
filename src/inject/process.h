/* A process, and reading its memory.
 *
 * A process may have mapped a file of a file system that it serves itself, whose pages never come. So its
 * memory is read by process_vm_readv(2), which SIGKILL ends: the attacher can end. Nothing ends a read of
 * /proc/PID/mem there, nor ptrace's PEEKTEXT.
 *
 * It is written by /proc/PID/mem: this alone changes code, which the process may not write, and it stays the
 * memory of the program that was looked at. */
#ifndef FG_INJECT_PROCESS_H
#define FG_INJECT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* The process, as its attacher has first seen it. */
struct fg_process {
    pid_t pid;
    int memory; /* its /proc/PID/mem, opened then: not that of another program that it executes later */
};

/**
 * fg_task_read() - Read memory of a process.
 * @tid: one of its threads; while that is stopped, its number is no other's
 *
 * Return: number of bytes; less than asked for where the mapping ends; or negative errno.
 */
ssize_t fg_task_read(pid_t tid, uint64_t address, void *into, size_t bytes);

/**
 * fg_stack_can_grow() - Whether the main thread's stack would grow down to an address when that is touched.
 *
 * process_vm_readv() lets no stack grow (since Linux 6.5), but the thread does.
 */
bool fg_stack_can_grow(pid_t pid, uint64_t stack_pointer, uint64_t down_to);

/**
 * fg_signal_frame_bytes() - How much stack the kernel may need for a signal in a process, with all of the
 * processor's state (AT_MINSIGSTKSZ, since Linux 5.14).
 *
 * Return: 0: not known.
 */
uint64_t fg_signal_frame_bytes(pid_t pid);

#endif
