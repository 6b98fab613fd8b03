/* Entries: the return addresses of native calls in progress whose returns are traced.
 *
 * While such a call runs, its return address is in an entry, and on the stack is the address of the
 * entry's own stub. So the stub that a function returns to says which entry it is, wherever that stack
 * is by then: a thread may have several stacks, switch between them in any order, copy them, or run one
 * that another thread has begun. Nobody searches, and no call can be given the address of another one.
 *
 * Threads own entries in chunks. A thread takes and gives back its own without locks, and so that a
 * handler of a signal can do the same between any two instructions. An entry of which nobody can say
 * whether its call will still return (longjmp, a stack that was given up) is never used again. So this
 * can be the end of tracing native returns, and never a return to a wrong address. */
#ifndef FG_NATIVE_ENTRY_H
#define FG_NATIVE_ENTRY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/task.h"

struct fg_native_entry {
    uintptr_t return_address;      /* stays when the call has ended */
    _Atomic(uintptr_t) stack;      /* where on the stack the address was; 0: the entry is free */
    struct fg_native_entry *next;  /* the thread's next older call, or next free entry */
    struct fg_native_calls *owner; /* its thread's; NULL: that has ended */
};

_Static_assert(sizeof(struct fg_native_entry) == 32, "machines have a stub for each, at this distance");
_Static_assert(offsetof(struct fg_native_entry, return_address) == 0, "machines and unwinders read it");

/* A machine has a stub for each. */
#define FG_NATIVE_ENTRIES 16384u

extern struct fg_native_entry fg_native_entries[FG_NATIVE_ENTRIES] __attribute__((visibility("hidden")));

/* The task ends: calls that it has in progress keep their entries. */
void fg_native_entries_end(struct fg_task *task);

/* Gives the task more free entries. False: all are in use. Takes no lock, allocates nothing. */
bool fg_native_entries_more(struct fg_task *task);
/* How many entries were never given back by threads that have ended. */
size_t fg_native_entries_lost(void);

/* In a forked child: threads other than the task's have no calls in progress. */
void fg_native_entries_fork_child(const struct fg_task *self);

static inline struct fg_native_entry *fg_native_entry_take(struct fg_native_calls *calls)
{
    struct fg_native_entry *entry = calls->free;

    if (entry)
        calls->free = entry->next;
    return entry;
}

static inline void fg_native_entry_give_back(struct fg_native_calls *calls, struct fg_native_entry *entry)
{
    atomic_store_explicit(&entry->stack, 0, memory_order_relaxed);
    entry->next = calls->free;
    atomic_signal_fence(memory_order_release); /* a handler that takes the entry finds the next one */
    calls->free = entry;
}

/* The call begins. What was on the stack at @stack is the entry's from now on. */
static inline void fg_native_entry_begin(struct fg_native_calls *calls, struct fg_native_entry *entry,
                                         const uintptr_t *stack)
{
    entry->return_address = *stack;
    atomic_store_explicit(&entry->stack, (uintptr_t)stack, memory_order_relaxed);
    entry->next = calls->newest;
    atomic_signal_fence(memory_order_release);
    calls->newest = entry;
}

/* The newest call ends. */
static inline void fg_native_entry_end(struct fg_native_calls *calls, struct fg_native_entry *entry)
{
    calls->newest = entry->next;
    atomic_signal_fence(memory_order_release);
    fg_native_entry_give_back(calls, entry);
}

#endif
