/* Stopping all other threads of the process for a moment, to change code that they may be executing.
 *
 * Each thread gets a signal, in whose handler it stays. The handler's context says where the thread
 * was. A thread that blocks the signal cannot be stopped: then none is.
 *
 * The signal is 33, with which the C library changes the user of all threads (nptl(7)). Real-time
 * signals of the program's own would not do: threads of libraries block all signals, as that of the
 * control socket does. No thread blocks this one for long, as setuid() would wait for it forever: the C
 * library keeps it out of each mask, and runtimes that make masks themselves leave it out. Our signals
 * carry a value; all others go to the C library's handler.
 *
 * Why not a breakpoint in the first byte instead: a thread that meets one while it blocks SIGTRAP is
 * killed by the kernel, and programs do block all signals for a while (pthread_create, posix_spawn).
 * And where the first instructions of a function are shorter than a jump, a thread may be between them,
 * which a breakpoint does not tell.
 *
 * A system call that the signal interrupts goes on afterwards, except those that the kernel never
 * restarts after a handler: they return EINTR (signal(7)). */
#ifndef FG_NATIVE_STOP_H
#define FG_NATIVE_STOP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/native/code.h"
#include "arch/native/refusal.h"

/* True if this process has no other thread. */
bool fg_stop_is_alone(void);

/**
 * fg_stop_begin() - Stop all other threads.
 * @refusal: filled in if that cannot be done: all threads run then
 *
 * Until fg_stop_end() the caller must call nothing that takes a lock, and nothing of the C library.
 *
 * Context: one thread at a time.
 */
bool fg_stop_begin(struct fg_native_refusal *refusal);
void fg_stop_end(void);
/* In a forked child, which has none of the threads that were late. */
void fg_stop_fork_child(void);

/* Ranges of addresses, sorted. */
struct fg_stop_range {
    uintptr_t begin, end;
    bool is_busy;
};

/* Marks the ranges in which a stopped thread is, or to which a handler of a signal that runs in one, or in
 * the caller, may return. @memory: reads stacks. */
void fg_stop_mark_busy(struct fg_stop_range *ranges, size_t n, const struct fg_code_writer *memory);
/* The same for the caller alone. */
void fg_stop_mark_own(struct fg_stop_range *ranges, size_t n, const struct fg_code_writer *memory);

#endif
