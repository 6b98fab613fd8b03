/* Registering kprobes: functions of the module, and the end of the interpreter. */
#ifndef FG_BINDING_KPROBE_REGISTRATION_H
#define FG_BINDING_KPROBE_REGISTRATION_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/core/state.h"

extern PyMethodDef fg_kprobe_functions[];

/* The interpreter is ending. First no handler is called any longer; then all kprobes are unregistered. */
void fg_kprobes_mute(struct fg_engine_state *state);
void fg_kprobes_end(PyObject *module);

#endif
