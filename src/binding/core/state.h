/* The state of the module funcgraph._engine, one per interpreter. */
#ifndef FG_BINDING_STATE_H
#define FG_BINDING_STATE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>

#include "engine/core/public.h"

/* X(name): a type that code below engine/module makes objects of, or checks objects for. */
#define FG_ENGINE_TYPES(X)                                                                                   \
    X(ops)                                                                                                   \
    X(ent)                                                                                                   \
    X(ret)                                                                                                   \
    X(regs)                                                                                                  \
    X(partial_regs)                                                                                          \
    X(function)                                                                                              \
    X(buffer)                                                                                                \
    X(user)                                                                                                  \
    X(ret_frame)                                                                                             \
    X(perf_sample)                                                                                           \
    X(return_location)                                                                                       \
    X(instruction_pointer)                                                                                   \
    X(ret_ip)                                                                                                \
    X(fprobe)                                                                                                \
    X(kprobe_multi_link)                                                                                     \
    X(kprobe_multi_ctx)                                                                                      \
    X(kprobe)                                                                                                \
    X(kprobe_regs)                                                                                           \
    X(profile)                                                                                               \
    X(instance)                                                                                              \
    X(event)                                                                                                 \
    X(trigger)                                                                                               \
    X(event_switch)                                                                                          \
    X(trace_event)                                                                                           \
    X(func_command)

struct fg_buffer;
struct fg_python_probe;

struct fg_engine_state {
#define X(name) PyTypeObject *name##_type;
    FG_ENGINE_TYPES(X)
#undef X
    PyObject *kprobes;                        /* registered kprobes, see kprobe_registration.c */
    bool is_closing;                          /* the interpreter is ending: Python callbacks no longer run */
    struct fg_python_probe *probes, *leaving; /* see probe.c; under FG_LOCK_CONTROL */
    struct fg_buffer *lingers;                /* see view.c; under FG_LOCK_VIEWS */
    size_t nr_lingers, max_lingers;
};

static inline struct fg_engine_state *fg_engine_state(PyObject *module)
{
    return (struct fg_engine_state *)PyModule_GetState(module);
}

/* Hands the definition of the module down to fg_engine_module_of. Before any type is made. */
void fg_engine_set_def(struct PyModuleDef *def);

/* The module that `type`, or the one of its bases that is ours, belongs to. Borrowed, or NULL with
 * TypeError. */
PyObject *fg_engine_module_of(PyTypeObject *type);

/**
 * fg_engine_check_open - refuse to start something new in an interpreter that is ending
 * @what: what cannot be done any longer, for the message
 *
 * Return: 0, or -1 with RuntimeError.
 */
int fg_engine_check_open(const struct fg_engine_state *state, const char *what);

/* m_traverse and m_clear of the module. */
int fg_engine_traverse(PyObject *module, visitproc visit, void *arg);
int fg_engine_clear(PyObject *module);

#endif
