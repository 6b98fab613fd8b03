/* Probes at places within functions, by line or by bytecode offset (the kernel's kprobes): which of them are on a function,
 * and running those at the place that the program has come to. How it is heard that it has come there is the way of
 * hooking's: monitoring.c, and kprobe_trace.c for 3.11. */
#ifndef FG_CPYTHON_KPROBE_H
#define FG_CPYTHON_KPROBE_H

#include <stdatomic.h>

#include "arch/cpython/base/compat/frame.h"
#include "engine/core/function.h"

/* Where the program is. Valid while the probes there run. */
struct fg_kprobe_site {
    fg_pyframe *frame;
    PyThreadState *tstate;
    struct fg_func *func;
};

struct fg_kprobe {
    /* Set by whoever registers it. Runs with the guard held, and with nothing else done around it. */
    void (*run)(struct fg_kprobe *kp, const struct fg_kprobe_site *site);
    PyObject *owner; /* the object that it is a part of: kept for as long as somebody may call `run` */
    int line;        /* 0: it is at an offset */
    int offset;      /* of the instruction that is heard of, in bytes */

    _Atomic(struct fg_func *) func; /* NULL: it is on none, or its function is gone */
    _Atomic bool is_registered, is_enabled;
    _Atomic uint64_t hits, nmissed;
};

/* ---- places */

/* Where an offset is heard of: it stays, but for one in front of the first instruction that can be, if it is 0, and for
 * one behind prefixes of its instruction. -EILSEQ: no instruction begins there; -EINVAL: it is outside of the code, or
 * CPython tells nobody of that instruction; -ENOMEM. */
int fg_kprobe_offset(PyCodeObject *code, int offset);
/* The lines that CPython tells of, in rising order: a list of int. NULL with an exception. */
PyObject *fg_kprobe_lines(PyCodeObject *code);

/* ---- registering. The hooks are held by the caller. */

/* Heard of from now on. -EEXIST: it is registered; -ENOMEM; -EIO, with an exception: CPython does not let us hear of
 * places in this code. Then nothing has changed. */
int fg_kprobe_register(struct fg_kprobe *kp, struct fg_func *func);
/* Returns when it is run no more, but for what the caller itself is called from. -EINVAL: it is not registered. */
int fg_kprobe_unregister(struct fg_kprobe *kp);
/* Soft: it stays where it is, and is not run. -1 with an exception: it is enabled, and may not be heard of. */
int fg_kprobe_set_enabled(struct fg_kprobe *kp, bool enabled);
/* The function is going away. */
void fg_kprobe_function_gone(struct fg_func *func);

/* ---- for the ways of hooking */

enum fg_kprobe_kinds { FG_KPROBE_LINES = 1, FG_KPROBE_OFFSETS = 2 };

extern _Atomic unsigned fg_kprobe_count; /* all that are registered */

/* What has to be heard of in the function. */
unsigned fg_kprobe_kinds(struct fg_func *func);

static inline bool fg_kprobe_are_on(struct fg_func *func)
{
    return atomic_load_explicit(&func->kprobes, memory_order_relaxed);
}

/* Run what is at the line that begins, at the instruction that comes. False: nothing is there. */
bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line);
bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset);
/* Would something run there? */
bool fg_kprobe_is_at_offset(struct fg_func *func, int offset);

#endif
