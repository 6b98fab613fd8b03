/* The fetch program of an event's probe, made of what Python describes the fields with. */
#ifndef FG_BINDING_EVENT_PROGRAM_H
#define FG_BINDING_EVENT_PROGRAM_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arch/cpython/fetch/program.h"
#include "engine/fetch/native_program.h"

/* One of both; or none. */
struct fg_event_program {
    struct fg_fetch_program *python;  /* of Python functions, and of static events */
    struct fg_native_program *native; /* of native functions */
};

/**
 * fg_event_program_make() - Make a program.
 * @fields: as fg_fetch_program_new() has them. Of native functions: source is ("arg", N) from 1, ("retval",),
 *   ("reg", N), ("stack", N), ("sp",), ("comm",), ("symbol",) or ("imm", INT or TEXT); steps is a tuple of
 *   ("deref", OFFSET), and at its end may have ("bits", FIRST | N << 8)
 *
 * Return: 0, or -1 with an exception.
 */
int fg_event_program_make(struct fg_event_program *program, PyObject *fields, enum fg_fetch_place place,
                          bool is_native);

/* Of one that was made. */
static inline const struct fg_fetch_layout *fg_event_program_layout(const struct fg_event_program *program)
{
    return program->native ? &program->native->layout : &program->python->image;
}

void fg_event_program_clear(struct fg_event_program *program);

#endif
