/* Kprobe: a probe at a place within a function, as a Python object. */
#ifndef FG_BINDING_KPROBE_H
#define FG_BINDING_KPROBE_H

#include "arch/cpython/hook/kprobe.h"
#include "binding/core/spare.h"
#include "binding/core/state.h"

/* The module holds a reference to it while it is registered. */
struct fg_python_kprobe {
    PyObject_HEAD struct fg_kprobe kp;
    struct fg_engine_state *state;
    PyObject *handler;
    PyObject *symbol;     /* str */
    PyObject *function;   /* Function; NULL: given by name, and not found yet */
    PyObject *name;       /* str */
    PyObject *last_error; /* or NULL */
    PyObject *weakrefs;
    int line;   /* as given; 0: an offset was given */
    int offset; /* as given; -1: a line was given */
    _Atomic uint64_t errors;
    bool is_by_name, keep_on_error;
    fg_spare regs; /* KprobeRegs */
};

static inline bool fg_python_kprobe_is_registered(const struct fg_python_kprobe *self)
{
    return atomic_load(&self->kp.is_registered);
}

/* Registered, and its function is gone. */
static inline bool fg_python_kprobe_is_gone(const struct fg_python_kprobe *self)
{
    return fg_python_kprobe_is_registered(self) && !atomic_load(&self->kp.func);
}

extern PyType_Spec fg_kprobe_spec;

#endif
