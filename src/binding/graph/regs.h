/* FtraceRegs: what the hook saw at the function's boundary. */
#ifndef FG_BINDING_REGS_H
#define FG_BINDING_REGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structseq.h>

struct fg_callback;

struct fg_regs {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
};

extern PyType_Spec fg_regs_spec;
extern PyStructSequence_Desc fg_instruction_pointer_desc;

#endif
