/* The parts of a call's state, as Python objects: for FtraceRegs, and for what is made from them. */
#ifndef FG_BINDING_REGS_PARTS_H
#define FG_BINDING_REGS_PARTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structseq.h>

struct fg_callback;

/* FtraceRegs. */
struct fg_regs {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
};

extern PyStructSequence_Desc fg_instruction_pointer_desc;

/* The callback of an FtraceRegs, or NULL with RuntimeError: it is over. */
const struct fg_callback *fg_regs_live(PyObject *object);
/* The result, or the exception that ended the call: borrowed, or NULL. */
PyObject *fg_regs_value(const struct fg_callback *callback);
/* These need the call's frame. New references, or NULL with an exception: the bound arguments by name, none
 * at a return; the place of the call, an InstructionPointer. */
PyObject *fg_regs_arguments(const struct fg_callback *callback);
PyObject *fg_regs_place(const struct fg_callback *callback);

#endif
