/* See event_tids.h. */
#include "engine/event/event_tids.h"

#include <stdlib.h>

#include "engine/users/users.h"

void fg_event_tids_exchange(struct fg_instance *instance, struct fg_tids *tids)
{
    /* release: pairs with fg_event_is_seen_in() */
    struct fg_tids *old = atomic_exchange_explicit(&instance->event_tids, tids, memory_order_acq_rel);

    if (old) {
        fg_users_synchronize(); /* a hit may still look at it */
        free(old);
    }
}
