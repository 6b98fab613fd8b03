/* Register sets made from FtraceRegs: PartialRegs, for code that takes the regs of a kprobe, and
 * PerfSample. */
#ifndef FG_BINDING_PT_REGS_H
#define FG_BINDING_PT_REGS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structseq.h>

extern PyType_Spec fg_partial_regs_spec;
extern PyStructSequence_Desc fg_perf_sample_desc;

/* Methods of FtraceRegs. */
PyObject *fg_regs_partial_regs(PyObject *self, PyObject *ignored);
PyObject *fg_regs_fill_perf_regs(PyObject *self, PyObject *args, PyObject *kwargs);

#endif
