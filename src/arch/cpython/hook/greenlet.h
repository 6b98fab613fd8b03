/* Greenlets: calls in progress are suspended and resumed with the greenlet that they belong to.
 *
 * greenlet swaps the stack under a thread. Python's part of that stack is the thread state's chain of
 * data stack chunks. Each greenlet has a chain of its own, whose first chunk lives as long as calls of
 * the greenlet are in progress. So the first chunk identifies the running greenlet, and each hook looks
 * at it first. greenlet itself cannot be asked that often: its answer may run code of the program (it
 * ends other threads' greenlets at such moments).
 *
 * The calls of a thread's main greenlet stay at the base of its shadow stack. Those of any other greenlet
 * are suspended, newest first, when it switches away, and resumed, oldest first, when it runs again, like
 * a generator's. */
#ifndef FG_CPYTHON_GREENLET_H
#define FG_CPYTHON_GREENLET_H

#include "arch/cpython/base/compat/python.h"
#include "engine/core/compiler.h"
#include "engine/core/hash_table.h"
#include "engine/core/task.h"

/* The greenlets of a thread, in task->arch_data. A greenlet is identified by its first chunk. */
struct fg_greenlets {
    const void *current;   /* the one that ran last; NULL: it had no chunk yet */
    PyThreadState *tstate; /* whose they are, and its id, for an address may be another's later */
    uint64_t tstate_id;
    const void *base;          /* the main greenlet, if it is known and has_base: it has called something */
    bool knows_base, has_base; /* its calls lie below task->floor while another runs */
    struct fg_hash_table suspended; /* those that have suspended calls, by first chunk */
};

/* The program has imported greenlet. Before that no hook looks for greenlets. */
extern _Atomic bool fg_greenlet_is_loaded;

/* Looks whether greenlet is imported already. */
void fg_greenlet_look_for(void);
/* A function of a module of this name was met. */
void fg_greenlet_meet_module(const char *name);

/* A thread ends: its suspended greenlets will never run again. In a forked child also called for each
 * thread that no longer exists. */
void fg_greenlet_task_exit(struct fg_task *task);

/* The call that a hook is about to tell the engine of. */
struct fg_greenlet_event {
    uintptr_t begins; /* it was not in progress before; 0: it was */
    uintptr_t ended;  /* it is in progress, though its frame is gone (3.11) */
};

FG_COLD void fg_greenlet_changed(struct fg_task *task, PyThreadState *tstate, struct fg_greenlet_event event);

static inline const void *fg_greenlet_current(PyThreadState *tstate)
{
    const _PyStackChunk *chunk = tstate->datastack_chunk;

    while (chunk && chunk->previous)
        chunk = chunk->previous;
    return chunk;
}

/* Makes the task's stack that of the greenlet that runs now. */
static inline void fg_greenlet_follow(struct fg_task *task, PyThreadState *tstate,
                                      struct fg_greenlet_event event)
{
    const struct fg_greenlets *greenlets = task->arch_data;

    if (fg_unlikely(!greenlets || greenlets->current != fg_greenlet_current(tstate)))
        fg_greenlet_changed(task, tstate, event);
}

/* For hooks that cannot be replaced when greenlet is loaded. True: the stack may have changed to another
 * greenlet's. */
static inline bool fg_greenlet_check(struct fg_task *task, PyThreadState *tstate,
                                     struct fg_greenlet_event event)
{
    if (fg_likely(!atomic_load_explicit(&fg_greenlet_is_loaded, memory_order_relaxed)))
        return false;
    fg_greenlet_follow(task, tstate, event);
    return true;
}

#endif
