/* See event_use.h. */
#include "binding/event/event_use.h"

#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/event/event_base.h"
#include "binding/event/event_probes.h"
#include "engine/users/users.h"

/* The other event is used by whoever listens to it. Return: 0, or -1 with an exception. */
static int follow_base(struct fg_event_object *self)
{
    int error;

    Py_BEGIN_CRITICAL_SECTION(self->base);
    error = self->base->event ? fg_event_follow_use(self->base) : 0;
    Py_END_CRITICAL_SECTION();
    return error;
}

void fg_event_stop(struct fg_event_object *self)
{
    self->is_attached = false;
    fg_event_detach_probes(self);
    if (self->on && self->base->event) {
        fg_event_leave_base(self);
        follow_base(self);
    }
}

static int attach_to_base(struct fg_event_object *self)
{
    return fg_event_listen_to_base(self) == 0 ? follow_base(self) : -1;
}

/* Return: 0, or -1 with an exception. */
static int start(struct fg_event_object *self)
{
    if (self->is_attached)
        return 0;
    self->is_attached = true;
    if ((self->on ? attach_to_base(self) : fg_event_attach_probes(self)) == 0)
        return 0;
    fg_event_stop(self);
    return -1;
}

bool fg_event_is_idle(const struct fg_event_object *self)
{
    return self->event && self->is_attached && !fg_event_is_used(self->event);
}

int fg_event_follow_use(struct fg_event_object *self)
{
    if (!fg_event_is_idle(self))
        return fg_event_is_used(self->event) ? start(self) : 0;
    fg_event_stop(self);
    fg_hooks_stop_if_unused();
    return 0;
}
