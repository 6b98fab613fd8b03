/* Kprobes: probes at places within functions, by line or by bytecode offset. Here are the places of a
 * code object, and running the probes at the place that the program has reached. The events that say so
 * come from monitoring_callbacks.c, and on 3.11 from kprobe_trace.c. */
#ifndef FG_CPYTHON_KPROBE_H
#define FG_CPYTHON_KPROBE_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/probe/kprobe.h"

/* Where the program is. Valid while the kprobes there run. */
struct fg_kprobe_site {
    fg_pyframe *frame;
    PyThreadState *tstate;
    struct fg_func *func;
};

/* What the engine's half of a kprobe needs of CPython. The owner of a probe is a Python object; its
 * offset is in bytes; an error of registering or enabling it comes with an exception. */
extern const struct fg_kprobe_arch fg_kprobe_cpython;

/* ---- places */

/**
 * fg_kprobe_offset() - The offset at which CPython fires the event for an instruction.
 * @offset: in bytes; 0 is the first instruction that has events
 *
 * Return: @offset, or that of the first of the instruction's prefixes. -EILSEQ: no instruction begins at
 * @offset; -EINVAL: @offset is outside of the code, or CPython fires no event for that instruction;
 * -ENOMEM.
 */
int fg_kprobe_offset(PyCodeObject *code, int offset);
/* The lines that have events, in rising order: a list of int. NULL with an exception. */
PyObject *fg_kprobe_lines(PyCodeObject *code);

/* The function's code object is being freed. */
void fg_kprobe_function_gone(struct fg_func *func);

/* ---- for the backends */

/* The kinds of events that the function's kprobes need. */
unsigned fg_kprobe_kinds(struct fg_func *func);

/* Run the kprobes at the line that begins, at the next instruction. Return false if there is none. */
bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line);
bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset);
/* A kprobe would run at this offset. */
bool fg_kprobe_is_at_offset(struct fg_func *func, int offset);

#endif
