/* Greenlets: calls in progress are suspended and resumed together with their greenlet.
 *
 * greenlet swaps the C stack under a thread. The thread state's chain of data stack chunks, which holds
 * the Python frames, is swapped with it. Each greenlet has its own chain, whose first chunk lives as
 * long as calls of the greenlet are in progress. So the first chunk identifies the running greenlet,
 * and each hook compares it first. A hook cannot ask greenlet itself: greenlet then ends greenlets of
 * other threads, which may run code of the program.
 *
 * The calls of a thread's main greenlet stay at the base of its shadow stack. When any other greenlet
 * switches away, its calls are suspended, newest first. When it runs again they are resumed, oldest
 * first, like a generator's. */
#ifndef FG_CPYTHON_GREENLET_H
#define FG_CPYTHON_GREENLET_H

#include "arch/cpython/base/compat/python.h"

#include "engine/base/compiler.h"
#include "engine/base/hash_table.h"
#include "engine/core/task.h"

/* The greenlets of a thread, in task->arch_data. A greenlet is identified by its first chunk. */
struct fg_greenlets {
    const void *current; /* the greenlet that ran last; NULL: it had no chunk yet */
    /* The thread state that the greenlets belong to, and its id: the address may be reused. */
    PyThreadState *tstate;
    uint64_t tstate_id;
    /* The main greenlet, if knows_base and has_base. has_base: it has made calls; they lie below
     * task->floor while another greenlet runs. */
    const void *base;
    bool knows_base, has_base;
    struct fg_hash_table suspended; /* struct fg_suspended_greenlet by first chunk */
};

/* True once the program has imported greenlet. Until then hooks skip the comparison. */
extern _Atomic bool fg_greenlet_is_loaded;

/* Sets fg_greenlet_is_loaded if greenlet is imported already. */
void fg_greenlet_look_for(void);
/* Called when a function of module @name was met for the first time. */
void fg_greenlet_meet_module(const char *name);

/* Called when a thread ends: its suspended greenlets will never run again. After a fork the child calls
 * this for each thread that no longer exists. */
void fg_greenlet_task_exit(struct fg_task *task);

/* The call that a hook is about to report to the engine. */
struct fg_greenlet_event {
    uintptr_t begins; /* frame pointer of a call that begins; 0: the hook reports no entry */
    uintptr_t ended;  /* frame pointer of a call that is ending and whose frame is unlinked already (3.11) */
};

FG_COLD void fg_greenlet_changed(struct fg_task *task, PyThreadState *tstate, struct fg_greenlet_event event);

static inline const void *fg_greenlet_current(PyThreadState *tstate)
{
    const _PyStackChunk *chunk = tstate->datastack_chunk;

    while (chunk && chunk->previous)
        chunk = chunk->previous;
    return chunk;
}

/* Switches the task's shadow stack to the greenlet that runs now. */
static inline void fg_greenlet_follow(struct fg_task *task, PyThreadState *tstate,
                                      struct fg_greenlet_event event)
{
    const struct fg_greenlets *greenlets = task->arch_data;

    if (fg_unlikely(!greenlets || greenlets->current != fg_greenlet_current(tstate)))
        fg_greenlet_changed(task, tstate, event);
}

/* For hooks that cannot be exchanged when greenlet is loaded. Return: true if the shadow stack may have
 * been switched to another greenlet's. */
static inline bool fg_greenlet_check(struct fg_task *task, PyThreadState *tstate,
                                     struct fg_greenlet_event event)
{
    if (fg_likely(!atomic_load_explicit(&fg_greenlet_is_loaded, memory_order_relaxed)))
        return false;
    fg_greenlet_follow(task, tstate, event);
    return true;
}

#endif
