/* See event_tids.h. */
#include "engine/event/event_tids.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/graph/users.h"

int fg_event_tids_exchange(struct fg_instance *instance, struct fg_tids *only, struct fg_tids *never)
{
    struct fg_event_tids *made = NULL, *old;

    if (only || never) {
        made = malloc(sizeof(*made));
        if (!made)
            return -ENOMEM;
        *made = (struct fg_event_tids){only, never};
    }
    /* release: pairs with fg_event_is_seen_in() */
    old = atomic_exchange_explicit(&instance->event_tids, made, memory_order_acq_rel);
    if (old) {
        fg_users_synchronize(); /* a hit may still look at it */
        free(old->only);
        free(old->never);
        free(old);
    }
    return 0;
}

bool fg_event_tids_have(const struct fg_event_tids *tids, int tid)
{
    return (!tids->only || fg_tids_has(tids->only, tid)) && (!tids->never || !fg_tids_has(tids->never, tid));
}
