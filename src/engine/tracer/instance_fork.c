/* Locks are taken in their order: instances, engine, rows of profiles, rings, tasks, parked frames. */
#include "engine/tracer/instance_fork.h"

#include <pthread.h>
#include <string.h>

#include "engine/core/mutex.h"
#include "engine/graph/parked.h"
#include "engine/profile/function_profile.h"
#include "engine/tracer/instance.h"
#include "engine/users/user_plan.h"
#include "engine/users/users.h"
#include "engine/writer/ring_file.h"

static void prepare(void)
{
    fg_instances_lock();
    fg_engine_lock();
    fg_function_profiles_fork_prepare();
    for (struct fg_instance *instance = fg_instances_first(); instance; instance = instance->next)
        fg_mutex_lock(&instance->ring.lock);
    fg_task_fork_prepare();
    fg_parked_lock_all();
}

static void release(void)
{
    fg_parked_unlock_all();
    for (struct fg_instance *instance = fg_instances_first(); instance; instance = instance->next)
        fg_mutex_unlock(&instance->ring.lock);
    fg_function_profiles_fork_release();
    fg_engine_unlock();
    fg_instances_unlock();
}

static void parent(void)
{
    fg_task_fork_parent();
    release();
}

static void cursor_clear(const struct fg_task *task, struct fg_ring_cursor *cursor)
{
    memset(cursor, 0, sizeof(*cursor));
    cursor->overrun_reported = (uint32_t)atomic_load(&task->overrun); /* the parent reports those so far */
}

static void child(void)
{
    struct fg_task *self = fg_task_own();

    fg_task_fork_child();
    fg_plans_fork_child();
    fg_function_profiles_fork_child();
    for (struct fg_instance *instance = fg_instances_first(); instance; instance = instance->next) {
        fg_ring_fork_child(&instance->ring, instance->follow_fork);
        atomic_store(&instance->changing, false); /* the thread that changed it is not in the child */
        if (self && fg_user_of(&instance->ops)->generation)
            cursor_clear(self, fg_instance_cursor(self, &instance->ops));
    }
    release();
}

void fg_instances_install_fork_handlers(void)
{
    pthread_atfork(prepare, parent, child);
}
