/* The list of interpreters that use funcgraph. */
#include "arch/cpython/base/interp.h"

#include <stdlib.h>

/* Interpreters are only added, never removed. */
static _Atomic(struct fg_interp *) first;

struct fg_interp *fg_interp_known(void)
{
    PyInterpreterState *state = PyInterpreterState_Get();
    /* acquire: pairs with the exchange in add(), in another interpreter */
    struct fg_interp *at = atomic_load_explicit(&first, memory_order_acquire);

    while (at && atomic_load_explicit(&at->state, memory_order_relaxed) != state)
        at = at->next;
    return at;
}

static struct fg_interp *add(void)
{
    struct fg_interp *interp = calloc(1, sizeof(*interp));

    if (!interp)
        return NULL;
    atomic_init(&interp->state, PyInterpreterState_Get());
    interp->is_main = PyInterpreterState_Get() == PyInterpreterState_Main();
    interp->next = atomic_load(&first);
    while (!atomic_compare_exchange_weak(&first, &interp->next, interp))
        ;
    return interp;
}

struct fg_interp *fg_interp_here(void)
{
    struct fg_interp *interp = fg_interp_known();

    return interp ? interp : add();
}

void fg_interp_end(struct fg_interp *interp)
{
    atomic_store_explicit(&interp->state, NULL, memory_order_relaxed);
}
