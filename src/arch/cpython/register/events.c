/* See events.h. */
#include "arch/cpython/register/events.h"

#include <errno.h>

#include "arch/cpython/fetch/run.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/users.h"

static _Atomic(void (*)(struct fg_interp *interp)) detach_unused;

void fg_cpython_on_instance_stopped(void (*detach)(struct fg_interp *interp))
{
    atomic_store(&detach_unused, detach);
}

void fg_cpython_instance_stopped(void)
{
    void (*detach)(struct fg_interp * interp) = atomic_load(&detach_unused);
    struct fg_interp *interp = fg_interp_known();

    if (detach && interp)
        detach(interp);
}

int fg_cpython_event_set(struct fg_event *event, int handle, const struct fg_event_request *want)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = fg_event_set(event, handle, want);
    fg_hooks_release();
    return error;
}

static int add_command(struct fg_func_command *command, int handle, struct fg_func *const funcs[],
                       const uint64_t actions[], size_t n)
{
    const struct fg_trigger *first = (const struct fg_trigger *)(uintptr_t)actions[0];
    int error = fg_func_command_add(command, handle, first->kind);

    if (error)
        return error;
    error = fg_fprobe_register_ips(&command->fp, fg_interp_known(), funcs, actions, n);
    if (error)
        fg_func_command_remove(command);
    return error;
}

int fg_cpython_add_command(struct fg_func_command *command, int handle, struct fg_func *const funcs[],
                           const uint64_t actions[], size_t n)
{
    int error;

    if (fg_hooks_hold() != 0)
        return -EIO;
    error = add_command(command, handle, funcs, actions, n);
    fg_hooks_release();
    return error;
}

void fg_cpython_remove_command(struct fg_func_command *command)
{
    fg_cpython_unregister_fprobe(&command->fp);
    fg_func_command_remove(command);
    fg_hooks_stop_if_unused();
}

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    return fg_fetch_run(program, regs, func, entry_data, image);
}

static void fetch_entry(const void *program, const struct ftrace_regs *regs, uint8_t *entry_data)
{
    fg_fetch_entry(program, regs, entry_data);
}

static const struct fg_fetch_ops fetch_ops = {fetch, fetch_entry};

void fg_cpython_probe_event_init(struct fg_probe_event *probe, struct fg_event *event,
                                 const struct fg_fetch_program *program)
{
    fg_probe_event_init(probe, event, &fetch_ops, program, program->image.is_return, program->entry_bytes);
}

/* ---- places */

static void hit_place(struct fg_named_kprobe *named, const struct fg_kprobe_site *site)
{
    const struct fg_place_event *place = fg_container_of(named, struct fg_place_event, at);
    struct ftrace_regs regs = {&fg_place_regs_ops, site->frame, NULL, site->tstate};
    struct fg_event_site where = {.task = fg_task_self, .func = site->func->id, .regs = &regs};
    uint8_t image[FG_EVENT_MAX_BYTES];

    if (fg_event_is_enabled(place->event))
        fg_event_hit(place->event, &where, image,
                     fg_fetch_run(place->program, &regs, where.func, NULL, image));
}

int fg_cpython_attach_place_event(struct fg_place_event *place)
{
    int error;

    if (place->at.interp)
        return 0;
    if (fg_hooks_hold() != 0)
        return -EIO;
    place->at.run = hit_place;
    error = fg_named_kprobe_attach(&place->at);
    if (error)
        fg_hooks_release();
    return error;
}

void fg_cpython_detach_place_event(struct fg_place_event *place)
{
    if (fg_named_kprobe_detach(&place->at))
        fg_hooks_release();
}
