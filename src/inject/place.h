/* Whether a stopped thread is at a place where it may be made to call a function.
 *
 * There are two such places. A thread that waits in a system call can start a thread, which allocates memory
 * and loads libraries. So the thread that waits must hold no lock of the allocator or of the dynamic loader:
 * it is in no function of theirs, and in none that they have called. It must have been called by the
 * interpreter, as the stacks of other languages' runtimes may be too small.
 *
 * The main thread can queue a pending call, which takes one lock of the interpreter: anywhere, if that lock
 * is free. If the lock's address is not known: in the interpreter's loop, and in another library that the
 * interpreter has not called to take or release a lock. The call may have to be bound first, so the loader
 * and the allocator are no such places either.
 *
 * A wait for a lock of Python's, such as in Thread.join(), is interrupted by signals: CPython then takes the
 * GIL, runs the handlers and pending calls, and waits again for the time that is left (acquire_timed() in
 * Modules/_threadmodule.c). So if a pending call is queued and the wait ends with EINTR, this thread asks for
 * the GIL, and runs the call as soon as it gets it. Nobody else may ask.
 *
 * What a signal handler has interrupted is not known: in a handler there is no such place.
 *
 * Which functions a thread is in, unwind/stack.h finds out. */
#ifndef FG_INJECT_PLACE_H
#define FG_INJECT_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "inject/thread.h"
#include "inject/unwind/code.h"

struct fg_ranges {
    const struct fg_range *ranges;
    size_t nr;
};

enum fg_lock_kind {
    FG_LOCK_UNKNOWN,
    FG_LOCK_SEMAPHORE, /* sem_t: 1 if it is free */
    FG_LOCK_MUTEX,     /* PyMutex: the lowest bit is 0 if it is free */
};

/* What is known about the target's code. An empty range is none. */
struct fg_places {
    struct fg_code code;
    struct fg_range python; /* the interpreter */
    struct fg_ranges loop;  /* its loop, which compilers cut into parts */
    /* Functions of the dynamic loader, of the allocator, and those of the interpreter that take and release
     * locks. */
    struct fg_ranges loader, allocator, locking;
    /* The lock of the pending calls. */
    enum fg_lock_kind lock_kind;
    uint64_t lock;
};

enum fg_place {
    FG_PLACE_WAITS,     /* in a system call that waits */
    FG_PLACE_LOCK,      /* the same, for a lock of Python's: such a wait may end with EINTR */
    FG_PLACE_QUEUES,    /* where the main thread can queue a call */
    FG_PLACE_HANDLER,   /* in a signal handler */
    FG_PLACE_LOADER,    /* in the dynamic loader, or what it calls */
    FG_PLACE_ALLOCATOR, /* in the allocator, or what it calls */
    FG_PLACE_FOREIGN,   /* in a system call that waits, but not for the interpreter */
    FG_PLACE_KERNEL,    /* in another system call, which has not ended */
    FG_PLACE_CODE,      /* in other code of the interpreter */
    FG_PLACE_NO_ROOM,   /* too little stack is left */
    FG_PLACE_TAKEN,     /* somebody else has put a stub into the cave */
};

/**
 * fg_place_of() - Find out where a stopped thread is.
 * @room_bytes: of stack that the call needs
 */
enum fg_place fg_place_of(const struct fg_thread *thread, const struct fg_places *places, size_t room_bytes);

/* Its name, for messages. */
const char *fg_place_name(enum fg_place place);

/**
 * fg_place_is_inside() - Whether a stopped thread executes code in a range, or will return there.
 * @entry: an address in it that may be on a stack for other reasons: where a function begins
 *
 * Also true if its stack cannot be read.
 */
bool fg_place_is_inside(const struct fg_thread *thread, struct fg_range range, uint64_t entry);

/**
 * fg_place_resume() - Where a thread goes on that waits, as the kernel would have it.
 * @rip, @rax: set to what the registers must be
 * @eintr_rip: set to where it goes on if the system call is to end with EINTR; 0: it is not made again
 */
void fg_place_resume(const struct fg_thread *thread, uint64_t *rip, uint64_t *rax, uint64_t *eintr_rip);

#endif
