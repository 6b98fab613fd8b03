/* See instance_dump.h. */
#include "engine/tracer/instance_dump.h"

#include "engine/core/root.h"
#include "engine/tracer/instance_snapshot.h"

void fg_instance_dump(struct fg_instance *instance, struct fg_task *task, bool is_own)
{
    if (instance->ring.directory) {
        fg_instance_snapshot(instance, task, is_own ? "cpudump" : "dump");
        return;
    }
    if (fg_task_is_in_signal(task) || !fg_task_hold(task))
        return;
    fg_ring_set_paused(&instance->ring, true);
    fg_task_release(task);
    if (fg_process()->dump)
        fg_process()->dump(instance->handle, is_own ? task->tid : 0);
}
