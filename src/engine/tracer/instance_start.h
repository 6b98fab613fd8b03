/* Starting and stopping instances. */
#ifndef FG_INSTANCE_START_H
#define FG_INSTANCE_START_H

#include "engine/graph/filter.h"
#include "engine/tracer/instance_control.h"

struct fg_instance_config {
    const struct fg_tracer *tracer;
    struct fg_ring_config ring;
    struct fg_filter filter; /* taken over */
    struct fg_instance_settings settings;
    bool follow_fork;
    const void *scope; /* it sees the functions of this scope (domain.h) */
};

/**
 * fg_instance_start() - Open a ring buffer, start a tracer and register the user.
 * @config: its filter is taken over, also on an error
 * @handle: set to the handle that names the instance from now on
 *
 * Return: 0 or a negative errno, and then nothing is left over.
 * Context: no lock held.
 */
int fg_instance_start(struct fg_instance_config *config, int *handle);

/**
 * fg_instance_stop() - Unregister the user and finish the ring buffer.
 *
 * Return: 0; -EINVAL: no such instance; -EBUSY: another thread changes it.
 * Context: no lock held.
 */
int fg_instance_stop(int handle);

/* Where a process ends, its instances go on until it is gone: tells their readers how long its threads
 * ran. */
void fg_instances_process_ends(void);

#endif
