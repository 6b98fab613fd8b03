/* See object.h. */
#include "arch/cpython/base/object.h"

#include <stdlib.h>

#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/interp.h"
#include "arch/cpython/base/tstate.h"

/* An object that was dropped in a thread without a thread state of the object's interpreter, mostly a
 * thread that is ending. In the main interpreter the main thread releases it between two instructions.
 * In others, the thread that drops the next object releases it. */
struct fg_orphan {
    struct fg_orphan *next;
    PyObject *object;
};

static bool may_touch(const struct fg_interp *interp)
{
    return fg_has_tstate() &&
           PyInterpreterState_Get() == atomic_load_explicit(&interp->state, memory_order_relaxed);
}

static void drop_orphans(struct fg_interp *interp)
{
    struct fg_orphan *orphan = atomic_exchange(&interp->orphans, NULL), *next;

    for (; orphan; orphan = next) {
        next = orphan->next;
        Py_DECREF(orphan->object);
        free(orphan);
    }
}

/* On 3.11 a pending call may run in another interpreter, because CPython picks the one whose thread
 * holds the GIL. */
static int drop_orphans_pending(void *interp)
{
    if (may_touch(interp))
        drop_orphans(interp);
    return 0;
}

static void put_orphan(struct fg_interp *interp, PyObject *object)
{
    struct fg_orphan *orphan = malloc(sizeof(*orphan));

    if (!orphan)
        return; /* leaked: this thread must not touch the object */
    orphan->object = object;
    orphan->next = atomic_load(&interp->orphans);
    while (!atomic_compare_exchange_weak(&interp->orphans, &orphan->next, orphan))
        ;
    if (interp->is_main && !fg_is_finalizing())
        Py_AddPendingCall(drop_orphans_pending, interp); /* if the queue is full, the next drop releases it */
}

void fg_object_drop(void *object, struct fg_domain *domain)
{
    struct fg_interp *interp = fg_container_of(domain, struct fg_interp, domain);

    if (!may_touch(interp)) {
        if (fg_interp_is_there(interp)) /* else the object was freed with its interpreter */
            put_orphan(interp, object);
        return;
    }
    Py_DECREF((PyObject *)object);
    if (atomic_load_explicit(&interp->orphans, memory_order_relaxed))
        drop_orphans(interp);
}

void fg_objects_end(struct fg_interp *interp)
{
    drop_orphans(interp);
}
