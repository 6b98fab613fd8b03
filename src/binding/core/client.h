/* What all objects share that the engine calls Python functions of: FgraphOps, Fprobe, KprobeMultiLink. */
#ifndef FG_BINDING_CLIENT_H
#define FG_BINDING_CLIENT_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "binding/core/state.h"
#include "engine/base/compiler.h"

/* The head of each such object. The engine holds a reference to the object while it is registered. */
struct fg_client {
    PyObject_HEAD struct fg_engine_state *state;
    PyObject *entryfunc, *retfunc; /* as given */
    PyObject *name;                /* str */
    PyObject *last_error;          /* or NULL */
    PyObject *weakrefs;
    void (*disable)(struct fg_client *self); /* a callback raised: detaches the object from its functions */
    _Atomic uint64_t errors;
    _Atomic bool is_disabled;
    bool keep_on_error, save_regs;
};

static inline bool fg_client_is_disabled(struct fg_client *self)
{
    return fg_unlikely(atomic_load_explicit(&self->is_disabled, memory_order_relaxed));
}

/* tp_new: an object with no functions and an empty name. A new reference, or NULL with an exception. */
PyObject *fg_client_new(PyTypeObject *type);

/**
 * fg_client_resolve - find the C function that the engine is to call for a callback
 * @callback: a Python callable, the address of a C function (int, ctypes, cffi or numba function
 * pointer), or None
 * @name: the argument's name, for error messages
 * @python: the C function that calls Python callables
 * @function: the address, @python for a Python callable, 0 for None
 *
 * Return: 0, or -1 with TypeError or ValueError.
 */
int fg_client_resolve(PyObject *callback, const char *name, uintptr_t python, uintptr_t *function);

void fg_client_set_functions(struct fg_client *self, PyObject *entryfunc, PyObject *retfunc);

/* Return: the name in UTF-8, valid as long as the object keeps the name; or NULL with an exception. */
const char *fg_client_set_name(struct fg_client *self, PyObject *name);

/**
 * fg_client_failed - handle the exception that one of the object's callbacks raised
 * @function: the callback
 *
 * Reports and counts the exception, and disables the object unless keep_on_error is set. An exception is
 * set on entry, and none on return.
 */
FG_COLD void fg_client_failed(struct fg_client *self, PyObject *function);

int fg_client_traverse(PyObject *object, visitproc visit, void *arg);
int fg_client_clear(PyObject *object);
/* The last part of a dealloc. */
void fg_client_dealloc(PyObject *object);

/* Getter of an object at `offset` that another thread may replace: a new reference, None for NULL. */
PyObject *fg_client_get_object(PyObject *object, void *offset);
PyObject *fg_client_get_errors(PyObject *object, void *closure);
PyObject *fg_client_get_enabled(PyObject *object, void *closure);

#define FG_CLIENT_OFFSET(name) ((void *)offsetof(struct fg_client, name))

#define FG_CLIENT_ATTRIBUTES(entryfunc_name, retfunc_name)                                                   \
    {entryfunc_name, fg_client_get_object, NULL, "As given.", FG_CLIENT_OFFSET(entryfunc)},                  \
        {retfunc_name, fg_client_get_object, NULL, "As given.", FG_CLIENT_OFFSET(retfunc)},                  \
        FG_CLIENT_STATE_ATTRIBUTES

#define FG_CLIENT_STATE_ATTRIBUTES                                                                           \
    {"name", fg_client_get_object, NULL, "Name in error messages.", FG_CLIENT_OFFSET(name)},                 \
        {"last_error", fg_client_get_object, NULL, "Latest exception that a callback raised, or None.",      \
         FG_CLIENT_OFFSET(last_error)},                                                                      \
        {"errors", fg_client_get_errors, NULL, "Number of exceptions that callbacks raised.", NULL},         \
    {                                                                                                        \
        "enabled", fg_client_get_enabled, NULL, "False after a callback has raised, or after disabling.",    \
            NULL                                                                                             \
    }

/* For files that include structmember.h. */
#define FG_CLIENT_MEMBERS                                                                                    \
    {"keep_on_error", T_BOOL, offsetof(struct fg_client, keep_on_error), READONLY,                           \
     "Whether it stays enabled after a callback has raised."},                                               \
        {"save_regs", T_BOOL, offsetof(struct fg_client, save_regs), READONLY,                               \
         "Whether its callbacks may ask for the frame object."},                                             \
    {                                                                                                        \
        "__weaklistoffset__", T_PYSSIZET, offsetof(struct fg_client, weakrefs), READONLY, NULL               \
    }

#endif
