/* What the two parts of the kprobes' Python API share: fgraph_kprobe.c, the probes, and fgraph_kprobe_regs.c, what their
 * handlers see. */
#ifndef FG_FGRAPH_KPROBE_H
#define FG_FGRAPH_KPROBE_H

#include "binding/base/binding.h"

#include "arch/cpython/hook/kprobe.h"

/* Kprobe. While it is registered the module holds a reference to it. */
struct fg_python_kprobe {
    PyObject_HEAD struct fg_kprobe kp;
    struct fg_engine_state *state;
    PyObject *handler;
    PyObject *symbol;     /* str */
    PyObject *function;   /* Function; NULL: given by name, and not found yet */
    PyObject *name;       /* str */
    PyObject *last_error; /* or NULL */
    PyObject *weakrefs;
    int line;   /* as it was given; 0: an offset was */
    int offset; /* the same; -1: a line was */
    _Atomic uint64_t errors;
    bool is_by_name, keep_on_error;
    fg_spare regs;
};

/* KprobeRegs. */
struct fg_kprobe_regs {
    PyObject_HEAD const struct fg_kprobe_site *site; /* NULL: the handler is over */
    struct fg_engine_state *state;
};

/* ---- fgraph_kprobe.c */

extern PyType_Spec fg_kprobe_spec;
extern PyMethodDef fg_kprobe_functions[];
/* The interpreter is ending: no handler of its kprobes runs any more. */
void fg_kprobes_mute(struct fg_engine_state *state);
/* And they are taken out. */
void fg_kprobes_end(PyObject *module);

/* ---- fgraph_kprobe_regs.c */

extern PyType_Spec fg_kprobe_regs_spec;

#endif
