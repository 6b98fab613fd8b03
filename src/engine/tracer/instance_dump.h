/* Dumps: an instance's trace goes to a person at once (the kernel's ftrace_dump()). */
#ifndef FG_INSTANCE_DUMP_H
#define FG_INSTANCE_DUMP_H

#include "engine/tracer/instance.h"

/**
 * fg_instance_dump() - Stop recording, and have the process print what is recorded.
 * @task: the calling thread's
 * @is_own: only what this thread recorded
 *
 * The process prints it when it can (struct fg_process_ops); nothing is recorded meanwhile. A recording's
 * recorder is asked for its trace instead, as for a snapshot, and goes on recording.
 *
 * Context: inside the guard; takes the ring's lock.
 */
void fg_instance_dump(struct fg_instance *instance, struct fg_task *task, bool is_own);

#endif
