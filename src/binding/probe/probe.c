/* See probe.h. */
#include "binding/probe/probe.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/base/lock.h"
#include "arch/cpython/register/fprobes.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/native_patterns.h"
#include "binding/graph/function.h"
#include "binding/graph/symbols.h"
#include "binding/graph/users.h"

/* ---- which functions */

/* Adds a function's record. Keeps the function's code, so that the record is still this function's when
 * the engine gets it. */
static int add_function(PyObject *module, struct fg_probe_target *target, PyObject *callable)
{
    PyObject *function = fg_function_of_callable(module, callable);
    PyObject *code = function ? PyObject_GetAttrString(function, "code") : NULL;
    struct fg_func *func = code ? fg_function_record(function) : NULL;
    int error = code ? PyList_Append(target->codes, code) : -1;

    if (!error && func)
        target->funcs[target->n++] = func;
    else if (!error)
        fg_raise_os_error(ENOENT, PyUnicode_FromFormat("%R is gone", function));
    Py_XDECREF(code);
    Py_XDECREF(function);
    return error || !func ? -1 : 0;
}

int fg_probe_target_functions(PyObject *module, struct fg_probe_target *target, PyObject *functions)
{
    PyObject *tuple = fg_tuple_of(functions, "functions", NULL);
    int error = tuple ? 0 : -1;

    if (!tuple)
        return -1;
    target->codes = PyList_New(0);
    target->funcs = malloc(((size_t)PyTuple_GET_SIZE(tuple) + 1) * sizeof(target->funcs[0]));
    if (!target->codes || !target->funcs)
        error = (PyErr_NoMemory(), -1);
    for (Py_ssize_t i = 0; !error && i < PyTuple_GET_SIZE(tuple); i++)
        error = add_function(module, target, PyTuple_GET_ITEM(tuple, i));
    Py_DECREF(tuple);
    return error;
}

void fg_probe_target_clear(struct fg_probe_target *target)
{
    fg_fprobe_filter_clear(&target->filter);
    free(target->funcs);
    free(target->cookies);
    Py_CLEAR(target->codes);
}

/* ---- the object's life */

/* Called when a handler has raised. */
static void disable(struct fg_client *client)
{
    fg_fprobe_set_enabled(((struct fg_python_probe *)client)->fp, false);
}

struct fg_python_probe *fg_probe_new(PyTypeObject *type, size_t fp_offset)
{
    struct fg_python_probe *self = (struct fg_python_probe *)fg_client_new(type);

    if (self) {
        self->client.disable = disable;
        self->fp = (struct fprobe *)((char *)self + fp_offset);
    }
    return self;
}

void fg_probe_dealloc(PyObject *object)
{
    Py_XDECREF(fg_spare_take(&((struct fg_python_probe *)object)->ret_ip));
    fg_client_dealloc(object);
}

PyObject *fg_probe_get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(fg_fprobe_nmissed(((struct fg_python_probe *)object)->fp));
}

PyObject *fg_probe_get_registered(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(fg_fprobe_is_registered(((struct fg_python_probe *)object)->fp));
}

/* ---- the list of probes that are registered, or about to be: for the end of the interpreter */

/* Return: false if the probe is in the list already. */
static bool enlist(struct fg_python_probe *self)
{
    struct fg_engine_state *state = self->client.state;
    bool is_new;

    fg_lock(FG_LOCK_CONTROL);
    is_new = !self->at;
    if (is_new) {
        self->next = state->probes;
        self->at = &state->probes;
        if (self->next)
            self->next->at = &self->next;
        state->probes = self;
    }
    fg_unlock(FG_LOCK_CONTROL);
    return is_new;
}

static void unlist(struct fg_python_probe *self)
{
    fg_lock(FG_LOCK_CONTROL);
    *self->at = self->next;
    if (self->next)
        self->next->at = self->at;
    self->at = NULL;
    fg_unlock(FG_LOCK_CONTROL);
}

/* ---- probes that were unregistered without a wait
 *
 * Their handlers may still run. The engine's reference to such a probe is dropped after every callback
 * has ended once. */

/* Steals the reference. */
static void leave_later(struct fg_python_probe *self)
{
    struct fg_engine_state *state = self->client.state;
    bool is_listed;

    fg_lock(FG_LOCK_CONTROL);
    is_listed = self->is_leaving;
    if (!is_listed) {
        self->is_leaving = true;
        self->next_leaving = state->leaving;
        state->leaving = self;
    }
    fg_unlock(FG_LOCK_CONTROL);
    if (is_listed)
        Py_DECREF(self);
}

static struct fg_python_probe *take_leaving(struct fg_engine_state *state)
{
    struct fg_python_probe *first;

    fg_lock(FG_LOCK_CONTROL);
    first = state->leaving;
    state->leaving = NULL;
    for (struct fg_python_probe *probe = first; probe; probe = probe->next_leaving)
        probe->is_leaving = false;
    fg_unlock(FG_LOCK_CONTROL);
    return first;
}

/* Gives back what take_leaving returned. `has_waited`: every callback has ended once since. */
static void put_leaving(struct fg_python_probe *probe, bool has_waited)
{
    while (probe) {
        struct fg_python_probe *next = probe->next_leaving;

        if (has_waited)
            Py_DECREF(probe);
        else
            leave_later(probe);
        probe = next;
    }
}

/* ---- registering */

static PyObject *raise_not_registered(struct fg_python_probe *self)
{
    return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%R", (PyObject *)self));
}

PyObject *fg_probe_raise(const struct fg_python_probe *self, int error)
{
    switch (error) {
    case -EINVAL:
        return fg_raise_os_error(EINVAL, PyUnicode_FromString("no function and no pattern given"));
    case -ENOENT:
        return fg_raise_os_error(ENOENT, PyUnicode_FromString("no function matches"));
    case -E2BIG:
        return fg_raise_os_error(E2BIG,
                                 PyUnicode_FromFormat("entry_data_size must be <= %d bytes, got %zu",
                                                      (int)FPROBE_MAX_DATA_BYTES, self->fp->entry_data_size));
    case -EOPNOTSUPP:
        return fg_raise_os_error(
            EOPNOTSUPP, PyUnicode_FromString("calls of native functions can have no Python callbacks"));
    case -EEXIST:
        return fg_raise_os_error(EEXIST, PyUnicode_FromFormat("%R already", (PyObject *)self));
    default:
        return fg_raise_registration(error, (PyObject *)self);
    }
}

PyObject *fg_probe_register(struct fg_python_probe *self, struct fg_probe_target *target)
{
    struct fg_python_probe *leaving;
    int error;

    if (fg_engine_check_open(self->client.state, "functions can no longer be probed") != 0 ||
        fg_native_refuse(&target->filter.filter) != 0)
        return NULL;
    if (!enlist(self))
        return fg_probe_raise(self, -EEXIST);
    atomic_store(&self->client.is_disabled, false); /* a registration starts afresh */
    Py_INCREF(self);                                /* the engine's reference */
    leaving = take_leaving(self->client.state);
    error = self->attach(self, target);
    put_leaving(leaving, !error);
    if (!error)
        Py_RETURN_NONE;
    unlist(self);
    fg_probe_raise(self, error);
    Py_DECREF(self);
    return NULL;
}

PyObject *fg_probe_unregister(struct fg_python_probe *self, bool waits)
{
    struct fg_python_probe *leaving = waits ? take_leaving(self->client.state) : NULL;
    int error = waits ? fg_cpython_unregister_fprobe(self->fp) : fg_cpython_unregister_fprobe_async(self->fp);

    put_leaving(leaving, !error);
    if (error)
        return raise_not_registered(self);
    unlist(self);
    if (waits)
        Py_DECREF(self); /* the engine's reference */
    else
        leave_later(self);
    Py_RETURN_NONE;
}

PyObject *fg_probe_set_enabled(struct fg_python_probe *self, bool is_enabled)
{
    if (fg_fprobe_set_enabled(self->fp, is_enabled) != 0)
        return raise_not_registered(self);
    atomic_store(&self->client.is_disabled, !is_enabled);
    Py_RETURN_NONE;
}

/* ---- the end of the interpreter: of its other threads only daemons may still run Python code */

void fg_probes_mute(struct fg_engine_state *state)
{
    fg_lock(FG_LOCK_CONTROL);
    for (struct fg_python_probe *probe = state->probes; probe; probe = probe->next) {
        atomic_store(&probe->client.is_disabled, true);
        fg_fprobe_set_enabled(probe->fp, false);
    }
    fg_unlock(FG_LOCK_CONTROL);
}

/* A registered probe, a new reference; or NULL. */
static struct fg_python_probe *next_registered(struct fg_engine_state *state)
{
    struct fg_python_probe *probe;

    fg_lock(FG_LOCK_CONTROL);
    probe = state->probes;
    while (probe && !fg_fprobe_is_registered(probe->fp)) /* another thread is about to */
        probe = probe->next;
    Py_XINCREF(probe);
    fg_unlock(FG_LOCK_CONTROL);
    return probe;
}

void fg_probes_end(struct fg_engine_state *state)
{
    struct fg_python_probe *probe;

    while ((probe = next_registered(state))) {
        PyObject *result = fg_probe_unregister(probe, true);

        if (!result)
            PyErr_Clear();
        Py_XDECREF(result);
        Py_DECREF(probe);
    }
    put_leaving(take_leaving(state), true);
}
