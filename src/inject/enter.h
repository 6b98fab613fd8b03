/* Making a thread of another process start a new thread there, which runs Python code. */
#ifndef FG_INJECT_ENTER_H
#define FG_INJECT_ENTER_H

#include "inject/place.h"
#include "inject/stub.h"

struct fg_entry {
    struct fg_places places;
    struct fg_stub_functions functions;
    struct fg_range cave;        /* where the stub is put: executable memory that nobody executes */
    const void *content;         /* what is there now: as many bytes as the stub has */
    const char *text;            /* Python code, ends with a NUL */
    bool may_spawn;              /* the new thread would get the GIL */
    bool may_queue;              /* the thread is the main thread: pending calls are its own */
    bool (*is_same)(void *data); /* whether the process still is the one that the attacher means */
    void *data;
};

/**
 * fg_enter() - Send a thread into the stub if it is at a place where that is safe.
 * @process: its process
 * @tid: the thread
 * @entry: what to do
 * @place: set to where it was
 *
 * A main thread that waits for a lock of Python's, while the new thread would not get the GIL, queues a
 * pending call and goes on as after a signal: it asks for the GIL itself, see place.h.
 *
 * The main thread is stopped, too: nobody else can do the same meanwhile, as a thread has one tracer. The
 * thread is stopped only within this function. If the caller is killed inside it, the thread goes on where it
 * was, or through the whole stub: one system call decides.
 *
 * Return: 1: it was sent there. 0: it was at another place, and nothing has changed. Or a negative errno:
 * those of fg_thread_stop(); -ESTALE: the process is not the same any longer, as it has executed a setuid
 * program; -ENOSPC: the stub does not fit into the cave; -ENOSYS: the processor has no
 * XSAVE.
 */
int fg_enter(const struct fg_process *process, pid_t tid, const struct fg_entry *entry, enum fg_place *place);

/**
 * fg_pc() - Find out which instruction a thread executes next.
 * @pc: set to its address
 *
 * Return: 0, or a negative errno of fg_thread_stop().
 */
int fg_pc(const struct fg_process *process, pid_t tid, uint64_t *pc);

/**
 * fg_is_inside() - Whether a thread executes code in a range, or will return there. See fg_place_is_inside().
 *
 * Return: 1, 0, or a negative errno of fg_thread_stop().
 */
int fg_is_inside(const struct fg_process *process, pid_t tid, struct fg_range range, uint64_t entry);

/**
 * fg_replace() - Replace bytes while the main thread is stopped, if they are still what they were.
 *
 * Return: 1: replaced. 0: they were others. Or a negative errno.
 */
int fg_replace(const struct fg_process *process, uint64_t address, const void *old, const void *new,
               size_t bytes);

#endif
