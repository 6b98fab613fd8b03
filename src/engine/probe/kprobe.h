/* kprobes: probes at places within functions, by line or by instruction.
 *
 * This is the half that knows nothing of what executes the functions: which probes a function has, and
 * running those at the place that the program has reached. The arch's half finds places in code, and
 * calls fg_kprobes_hit() where the program reaches one.
 *
 * A function's record has the list of its probes. The list is replaced as a whole; a thread that runs its
 * probes holds a reference, and the list holds references to the probes' owners. */
#ifndef FG_KPROBE_H
#define FG_KPROBE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/core/function.h"

/* Where the program is, for handlers to read: the arch's own. Valid while the probes there run. */
struct fg_kprobe_site;

/* What the engine needs of an arch. All of a function's probes have the same arch. */
struct fg_kprobe_arch {
    /* Optional, both or none: guard the lists. Without them the arch runs in one thread at a time. */
    void (*lock)(void);
    void (*unlock)(void);
    /* References to a probe's owner. `keep` is called with the lock held, `drop` without. */
    void (*keep)(void *owner);
    void (*drop)(void *owner);
    /* Makes the function's hooks report the places of its probes. 0 or a negative errno. */
    int (*listen)(struct fg_func *func);
    /* Makes the hooks match after a probe was removed or disabled. */
    void (*sync)(struct fg_func *func);
};

struct fg_kprobe {
    const struct fg_kprobe_arch *arch;
    /* The handler. Runs inside the guard. */
    void (*run)(struct fg_kprobe *kp, const struct fg_kprobe_site *site);
    void *owner; /* the object that the probe is a part of; kept while a thread may call `run` */
    int line;    /* 0: the probe is at an offset */
    int offset;  /* of an instruction, in the arch's unit */

    /* The engine's: */
    _Atomic(struct fg_func *) func; /* NULL: attached to none, or the function is gone */
    _Atomic bool is_registered, is_enabled;
    _Atomic uint64_t hits, nmissed;
};

/* A place that the program has reached. */
struct fg_kprobe_place {
    int line;   /* 0: no line begins there */
    int offset; /* -1: only probes at lines are asked for */
};

/**
 * fg_kprobe_register() - Attach a probe to a function.
 * @kp: with arch, run, owner and place set; enabled or not
 *
 * Return: 0; -EEXIST: it is registered already; -ENOMEM; or the error of the arch's listen. On an error
 * nothing has changed.
 * Context: no lock of the engine held.
 */
int fg_kprobe_register(struct fg_kprobe *kp, struct fg_func *func);

/**
 * fg_kprobe_unregister() - Detach a probe.
 *
 * Returns when its handler runs in no thread any longer, other than the caller itself. If the function is
 * gone, this waits for nothing.
 *
 * Return: 0; -EINVAL: it is not registered.
 * Context: no lock of the engine held; also in a handler.
 */
int fg_kprobe_unregister(struct fg_kprobe *kp);

/**
 * fg_kprobe_set_enabled() - Let a probe's handler run, or not; the probe stays attached.
 *
 * Return: 0, or the error of the arch's listen: the probe is enabled, but may not be reached.
 */
int fg_kprobe_set_enabled(struct fg_kprobe *kp, bool enabled);

/* Detaches all probes of a function that goes away. No thread runs the function. */
void fg_kprobes_forget(const struct fg_kprobe_arch *arch, struct fg_func *func);

/* How many probes are registered in all. */
extern _Atomic unsigned fg_kprobe_count;

static inline bool fg_kprobe_are_on(struct fg_func *func)
{
    return atomic_load_explicit(&func->kprobes, memory_order_relaxed);
}

/* What the function's enabled probes need to be reported. */
enum fg_kprobe_kinds { FG_KPROBE_LINES = 1, FG_KPROBE_OFFSETS = 2 };
unsigned fg_kprobes_kinds(const struct fg_kprobe_arch *arch, struct fg_func *func);

/* True if an enabled probe is at that place. */
bool fg_kprobes_are_at(const struct fg_kprobe_arch *arch, struct fg_func *func,
                       const struct fg_kprobe_place *place);

/**
 * fg_kprobes_hit() - Run the probes at a place that the program has reached.
 * @site: passed on to the handlers
 *
 * In a callback the probes do not run, and count the hit as missed; in a handler that interrupted the
 * callback (contexts.h) they run. A handler may unregister or disable
 * any probe.
 *
 * Return: false: no enabled probe is there.
 * Context: the program's thread. No lock held.
 */
bool fg_kprobes_hit(const struct fg_kprobe_arch *arch, struct fg_func *func,
                    const struct fg_kprobe_place *place, const struct fg_kprobe_site *site);

#endif
