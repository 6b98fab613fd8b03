/* See func_command.h. */
#include "engine/event/func_command.h"

#include <errno.h>

#include "engine/core/root.h"
#include "engine/core/task.h"
#include "engine/event/event.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/tracer/instance_tracer.h"
#include "engine/users/users.h"

/* Under the engine's lock. */
static struct fg_func_command *first_command;

static int at_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *entry_data)
{
    struct fg_func_command *command = fg_container_of(fp, struct fg_func_command, fp);
    struct fg_instance *instance = atomic_load_explicit(&command->instance, memory_order_acquire);
    const struct fg_event_site site = {.task = fg_task_self, .func = func->id, .regs = regs};
    uint64_t cookie = *(const uint64_t *)entry_data;

    (void)ret_ip;
    if (instance)
        fg_trigger_act((struct fg_trigger *)(uintptr_t)cookie, instance, &site);
    return 1;
}

/* Takes the instance, which stops, from its commands. */
static void stop(struct fg_instance *instance)
{
    bool had_any = false;

    fg_engine_lock();
    for (struct fg_func_command *command = first_command; command; command = command->next) {
        if (atomic_load(&command->instance) != instance)
            continue;
        atomic_store(&command->instance, NULL);
        had_any = true;
    }
    fg_engine_unlock();
    if (had_any)
        fg_users_synchronize();
}

/* What the actions need of the instance, which the caller may change. */
static int prepare(struct fg_instance *instance, const struct fg_trigger *action)
{
    if (fg_trigger_takes_snapshots(action))
        return fg_instance_alloc_snapshot(instance);
    return fg_trigger_writes(action) ? fg_event_take_slot(instance) : 0;
}

static void link_command(struct fg_func_command *command, struct fg_instance *instance)
{
    fg_engine_lock();
    atomic_store(&command->instance, instance);
    command->next = first_command;
    first_command = command;
    fg_engine_unlock();
}

int fg_func_command_add(struct fg_func_command *command, int handle, enum fg_trigger_kind kind)
{
    const struct fg_trigger action = {.kind = kind};
    struct fg_instance *instance = fg_instance_get(handle);
    int error = instance ? fg_instance_change_begin(instance) : -EINVAL;

    if (!error) {
        error = prepare(instance, &action);
        if (!error) {
            command->fp.entry_handler = at_entry;
            command->fp.flags = FTRACE_OPS_FL_NATIVE;
            command->writes = fg_trigger_writes(&action);
            command->handle = handle;
            fg_event_watch_instances(stop);
            link_command(command, instance);
        }
        fg_instance_change_end(instance);
    }
    if (instance)
        fg_instance_put(instance);
    return error;
}

void fg_func_command_remove(struct fg_func_command *command)
{
    struct fg_func_command **at = &first_command;
    bool is_alive;

    fg_engine_lock();
    while (*at && *at != command)
        at = &(*at)->next;
    if (*at)
        *at = command->next;
    is_alive = atomic_exchange(&command->instance, NULL) != NULL;
    fg_engine_unlock();
    if (is_alive && command->writes)
        fg_event_leave_slot(command->handle);
}
