/* Events in this interpreter: switching them on and off in an instance, with the hooks that this needs, and
 * their probes. */
#ifndef FG_CPYTHON_REGISTER_EVENTS_H
#define FG_CPYTHON_REGISTER_EVENTS_H

#include "arch/cpython/base/interp.h"
#include "arch/cpython/fetch/program.h"
#include "arch/cpython/hook/kprobe_named.h"
#include "engine/event/func_command.h"
#include "engine/event/probe_event.h"

/* As fg_event_set(); also -EIO with an exception: CPython has no free hook. */
int fg_cpython_event_set(struct fg_event *event, int handle, const struct fg_event_request *want);

/* Sets the function that is called when an instance of this interpreter has stopped: events that no instance
 * records any longer can take their probes off. Once. */
void fg_cpython_on_instance_stopped(void (*detach)(struct fg_interp *interp));
void fg_cpython_instance_stopped(void);

/**
 * fg_cpython_add_command - have calls of functions act in an instance
 * @command: all zeros; it stays until fg_cpython_remove_command()
 * @actions: addresses of struct fg_trigger, all of one kind, one for each of the @n functions
 *
 * Return: as fg_func_command_add() and fg_fprobe_register_ips(); -EIO with an exception: CPython has no free
 * hook.
 */
int fg_cpython_add_command(struct fg_func_command *command, int handle, struct fg_func *const funcs[],
                           const uint64_t actions[], size_t n);
void fg_cpython_remove_command(struct fg_func_command *command);

/* Sets up a probe that is all zeros. The program lives as long as the probe. */
void fg_cpython_probe_event_init(struct fg_probe_event *probe, struct fg_event *event,
                                 const struct fg_fetch_program *program);

/* A probe that hits an event at a place within functions. Like struct fg_probe_event it does not move. */
struct fg_place_event {
    struct fg_named_kprobe at; /* symbol, line and offset are set by the caller */
    struct fg_event *event;
    const struct fg_fetch_program *program; /* lives as long as the probe */
};

/* Both do nothing if there is nothing to do. The first returns 0, or the errors of fg_named_kprobe_attach();
 * also -EIO with an exception: CPython has no free hook. */
int fg_cpython_attach_place_event(struct fg_place_event *place);
void fg_cpython_detach_place_event(struct fg_place_event *place);

#endif
