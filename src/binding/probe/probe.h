/* What Fprobe and KprobeMultiLink share: registering, which functions, the end of the interpreter. */
#ifndef FG_BINDING_PROBE_H
#define FG_BINDING_PROBE_H

#include "binding/core/client.h"
#include "binding/core/spare.h"
#include "engine/probe/fprobe.h"

/* The functions to probe: those that match `filter`; if `codes` is set, those in `funcs`. */
struct fg_probe_target {
    struct fg_fprobe_filter filter;
    struct fg_func **funcs;
    uint64_t *cookies; /* one for each of `funcs`, or NULL */
    size_t n;
    PyObject *codes; /* list: the code of `funcs`, so that no function goes before it is registered */
};

/* The head of both. */
struct fg_python_probe {
    struct fg_client client;
    struct fprobe *fp;
    int (*attach)(struct fg_python_probe *self, struct fg_probe_target *target);
    struct fg_python_probe *next, **at; /* in the list of probes that are registered, or about to be */
    struct fg_python_probe *next_leaving;
    bool is_leaving;
    fg_spare ret_ip; /* ReturnAddress with its FtraceRegs */
};

/**
 * fg_probe_new - tp_new of a type with a struct fg_python_probe as its head
 * @fp_offset: of the object's struct fprobe
 *
 * Return: a new reference, or NULL with an exception.
 */
struct fg_python_probe *fg_probe_new(PyTypeObject *type, size_t fp_offset);
/* The last part of a dealloc. */
void fg_probe_dealloc(PyObject *object);

/* Fills a target that is all zeros. Return: 0, or -1 with an exception. The caller clears the target in
 * both cases. */
int fg_probe_target_functions(PyObject *module, struct fg_probe_target *target, PyObject *functions);
void fg_probe_target_clear(struct fg_probe_target *target);

/* Return: None, or NULL with an exception: then nothing has changed. */
PyObject *fg_probe_register(struct fg_python_probe *self, struct fg_probe_target *target);
/* @waits: return when no handler of it runs any longer, other than the caller itself. */
PyObject *fg_probe_unregister(struct fg_python_probe *self, bool waits);
PyObject *fg_probe_set_enabled(struct fg_python_probe *self, bool is_enabled);

/**
 * fg_probe_raise - raise what an error of the engine means
 * @self: the probe; may be NULL where no fprobe was handed to the engine
 *
 * Return: NULL.
 */
PyObject *fg_probe_raise(const struct fg_python_probe *self, int error);

PyObject *fg_probe_get_nmissed(PyObject *object, void *closure);
PyObject *fg_probe_get_registered(PyObject *object, void *closure);

/* The interpreter is ending. First no handler is called any longer; then all probes are unregistered. */
void fg_probes_mute(struct fg_engine_state *state);
void fg_probes_end(struct fg_engine_state *state);

#endif
