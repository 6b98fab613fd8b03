/* Probes at places within functions, by line or by bytecode offset (the kernel's kprobes): which of them are on a function,
 * and running those at the place that the program has come to. How it is heard that it has come there is the way of
 * hooking's: monitoring.c, and kprobe_trace.c for 3.11. */
#ifndef FG_CPYTHON_KPROBE_H
#define FG_CPYTHON_KPROBE_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/probe/kprobe.h"

/* Where the program is. Valid while the probes there run. */
struct fg_kprobe_site {
    fg_pyframe *frame;
    PyThreadState *tstate;
    struct fg_func *func;
};

/* What the engine's half of a kprobe needs of CPython. The owner of a probe is a Python object; its offset is in bytes;
 * an error of registering or enabling it comes with an exception. */
extern const struct fg_kprobe_arch fg_kprobe_cpython;

/* ---- places */

/* Where an offset is heard of: it stays, but for one in front of the first instruction that can be, if it is 0, and for
 * one behind prefixes of its instruction. -EILSEQ: no instruction begins there; -EINVAL: it is outside of the code, or
 * CPython tells nobody of that instruction; -ENOMEM. */
int fg_kprobe_offset(PyCodeObject *code, int offset);
/* The lines that CPython tells of, in rising order: a list of int. NULL with an exception. */
PyObject *fg_kprobe_lines(PyCodeObject *code);

/* The function is going away. */
void fg_kprobe_function_gone(struct fg_func *func);

/* ---- for the ways of hooking */

/* What has to be heard of in the function. */
unsigned fg_kprobe_kinds(struct fg_func *func);

/* Run what is at the line that begins, at the instruction that comes. False: nothing is there. */
bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line);
bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset);
/* Would something run there? */
bool fg_kprobe_is_at_offset(struct fg_func *func, int offset);

#endif
