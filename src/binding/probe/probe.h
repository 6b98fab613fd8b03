/* Fprobe and KprobeMultiLink: fprobes of the engine as Python objects.
 *
 * fgraph_probe.c         what they have in common: coming and going, and which functions
 * fgraph_fprobe.c        Fprobe
 * fgraph_kprobe_multi.c  KprobeMultiLink, and what its program is told
 * fgraph_ret_ip.c        ReturnAddress: what both are told of the place that a call returns to */
#ifndef FG_FGRAPH_PROBE_H
#define FG_FGRAPH_PROBE_H

#include "binding/base/binding.h"
#include "engine/probe/kprobe_multi.h"

/* Which functions: those of `filter`, or, if that is empty, those of `funcs`. */
struct fg_probe_target {
    struct fg_fprobe_filter filter;
    struct fg_func **funcs;
    uint64_t *cookies; /* or NULL */
    size_t n;
    PyObject *kept; /* what must not go while the functions are registered */
};

/* The beginning of both. */
struct fg_python_probe {
    struct fg_client client;
    struct fprobe *fp;
    int (*attach)(struct fg_python_probe *self, struct fg_probe_target *target);
    struct fg_python_probe *next, **at; /* among those that are registered, or about to be */
    struct fg_python_probe *next_leaving;
    bool is_leaving;
    fg_spare ret_ip; /* with its regs */
};

/* ---- fgraph_ret_ip.c */

/* ReturnAddress. */
struct fg_ret_ip {
    PyObject_HEAD const struct fg_callback *callback; /* NULL: it is over */
    struct fg_regs *regs;                             /* of the same callback; NULL once it is over */
    uintptr_t address;
    PyObject *location; /* NULL until asked for */
};

extern PyType_Spec fg_ret_ip_spec;
/* New reference, or NULL with an exception. */
struct fg_ret_ip *fg_ret_ip_new(struct fg_engine_state *state);
/* As fg_trace_settle. */
void fg_ret_ip_settle(struct fg_ret_ip *ret_ip, fg_spare *spare);

/* ---- fgraph_probe.c */

/* A new one, of which nothing was said yet, for `fp`; NULL with an exception. */
struct fg_python_probe *fg_probe_new(PyTypeObject *type, size_t fp_offset);
/* The rest of a dealloc. */
void fg_probe_dealloc(PyObject *object);
/* Fill a target that is all zeros; -1 with an exception. Clear it also then. */
int fg_probe_target_patterns(struct fg_probe_target *target, PyObject *filter, PyObject *notfilter);
int fg_probe_target_functions(PyObject *module, struct fg_probe_target *target, PyObject *functions);
void fg_probe_target_clear(struct fg_probe_target *target);
/* None, or NULL with an exception: nothing has changed. */
PyObject *fg_probe_register(struct fg_python_probe *self, struct fg_probe_target *target);
/* What the engine answered, as an exception. `self` may be NULL where it did not take an fprobe. NULL. */
PyObject *fg_probe_raise(const struct fg_python_probe *self, int error);
PyObject *fg_probe_unregister(struct fg_python_probe *self, bool waits);
PyObject *fg_probe_set_enabled(struct fg_python_probe *self, bool is_enabled);
PyObject *fg_probe_get_nmissed(PyObject *object, void *closure);
PyObject *fg_probe_get_registered(PyObject *object, void *closure);
/* The interpreter is ending: no handler is called any more; and then: they are unregistered. */
void fg_probes_mute(struct fg_engine_state *state);
void fg_probes_end(struct fg_engine_state *state);

/* ---- fgraph_fprobe.c */

extern PyType_Spec fg_fprobe_spec;
extern PyMethodDef fg_fprobe_functions[];

/* ---- fgraph_kprobe_multi.c */

extern PyType_Spec fg_kprobe_multi_link_spec, fg_kprobe_multi_ctx_spec;
extern PyMethodDef fg_kprobe_multi_functions[];

#endif
