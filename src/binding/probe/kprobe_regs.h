/* KprobeRegs: the frame at the place of a kprobe. */
#ifndef FG_BINDING_KPROBE_REGS_H
#define FG_BINDING_KPROBE_REGS_H

#include "arch/cpython/hook/kprobe.h"
#include "binding/core/state.h"

struct fg_kprobe_regs {
    PyObject_HEAD const struct fg_kprobe_site *site; /* NULL: the handler is over */
    struct fg_engine_state *state;
};

extern PyType_Spec fg_kprobe_regs_spec;

#endif
