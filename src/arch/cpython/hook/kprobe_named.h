/* Kprobes by name: a probe at one place in each function that has a name, also in those that are defined
 * later. A module that is loaded again has new functions of the same names.
 *
 * A function of the name that does not have the place is not probed. */
#ifndef FG_CPYTHON_KPROBE_NAMED_H
#define FG_CPYTHON_KPROBE_NAMED_H

#include "arch/cpython/base/interp.h"
#include "arch/cpython/hook/kprobe.h"

struct fg_named_part;

struct fg_named_kprobe {
    const char *symbol; /* "module.qualname"; the caller's */
    int line;           /* 0: the probe is at an offset */
    int offset;         /* in bytes */
    /* Runs inside the guard. */
    void (*run)(struct fg_named_kprobe *named, const struct fg_kprobe_site *site);

    /* This file's: */
    struct fg_interp *interp;     /* NULL: not attached */
    struct fg_named_part *parts;  /* one for each function; under FG_LOCK_DISCOVERY */
    struct fg_named_kprobe *next; /* of the interpreter's; under FG_LOCK_DISCOVERY */
    uint64_t nmissed;             /* by the parts that are gone; under FG_LOCK_DISCOVERY */
};

/**
 * fg_named_kprobe_attach() - Probe the functions that have the name, now and later.
 *
 * Does nothing if it is attached.
 *
 * Return: 0; -ENOMEM; -ENODEV: the engine has stopped for good; -EIO with an exception: CPython fires no
 * events. On an error nothing has changed.
 * Context: the hooks are held (fg_hooks_hold) until fg_named_kprobe_detach() has returned. No lock held.
 */
int fg_named_kprobe_attach(struct fg_named_kprobe *named);
/* When it returns, the handler runs in no thread any longer. Return: false: it was not attached. */
bool fg_named_kprobe_detach(struct fg_named_kprobe *named);

uint64_t fg_named_kprobe_nmissed(const struct fg_named_kprobe *named);

/* A member of struct fg_discovery_ops: a function got its record. */
void fg_named_kprobes_meet(PyCodeObject *code, struct fg_func *func);

#endif
