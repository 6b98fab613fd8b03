/* Kprobes: probes at places within functions, by line or by bytecode offset. This file finds the places
 * in a code object, and runs the probes when the program reaches one. The events come from
 * monitoring_callbacks.c, on 3.11 from kprobe_trace.c. */
#ifndef FG_CPYTHON_KPROBE_H
#define FG_CPYTHON_KPROBE_H

#include "arch/cpython/base/compat/frame.h"
#include "engine/probe/kprobe.h"

/* The place that the program has reached. Valid while the kprobes there run. */
struct fg_kprobe_site {
    fg_pyframe *frame;
    PyThreadState *tstate;
    struct fg_func *func;
};

/* The operations that the engine's half of kprobes needs. The owner of a probe is a Python object. Its
 * offset is in bytes. Errors of registering or enabling it come with an exception. */
extern const struct fg_kprobe_arch fg_kprobe_cpython;

/* ---- places in a code object */

/**
 * fg_kprobe_offset() - The offset at which CPython fires the event for an instruction.
 * @offset: in bytes; 0 is the first instruction that has events
 *
 * Return: @offset, or the offset of the instruction's first prefix. -EILSEQ: no instruction begins at
 * @offset; -EINVAL: @offset is outside the code, or CPython fires no event for that instruction;
 * -ENOMEM.
 */
int fg_kprobe_offset(PyCodeObject *code, int offset);
/* The lines that have events, as a sorted list of int. NULL with an exception. */
PyObject *fg_kprobe_lines(PyCodeObject *code);

/**
 * fg_kprobe_find_place() - Set a probe's place, which a code object must have.
 * @line: 0: the place is at @offset
 *
 * Makes no object that the garbage collector knows: no code of the program runs meanwhile.
 *
 * Return: 0; -EINVAL: the code has no such line; the errors of fg_kprobe_offset(). Without an exception.
 */
int fg_kprobe_find_place(struct fg_kprobe *kp, PyCodeObject *code, int line, int offset);

/* Called when the function's code object is freed. */
void fg_kprobe_function_gone(struct fg_func *func);

/* ---- for the backends */

/* The kinds of events that the function's kprobes need. */
unsigned fg_kprobe_kinds(struct fg_func *func);

/* Run the kprobes at the line that begins, or at the next instruction. Return: false: there is none. */
bool fg_kprobe_hit_line(const struct fg_kprobe_site *site, int line);
bool fg_kprobe_hit_offset(const struct fg_kprobe_site *site, int offset);
/* True if a kprobe would run at this offset. */
bool fg_kprobe_is_at_offset(struct fg_func *func, int offset);

#endif
