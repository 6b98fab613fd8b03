/* ProfileBase; funcgraph.FunctionProfile adds the text. The engine holds a reference to the object while
 * the profile is enabled. */
#include "binding/graph/profile.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/graph/users.h"
#include "engine/core/root.h"
#include "engine/graph/filter.h"
#include "engine/graph/user.h"
#include "engine/profile/profile_figures.h"
#include "engine/users/users.h"

struct fg_python_profile {
    PyObject_HEAD struct fg_engine_state *state;
    struct fg_function_profile profile;
};

static struct fgraph_ops *ops_of(PyObject *object)
{
    return &((struct fg_python_profile *)object)->profile.ops;
}

static bool is_enabled(PyObject *object)
{
    return fg_user_slot(ops_of(object)) >= 0;
}

/* ---- making one */

static PyObject *profile_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    PyObject *module = fg_engine_module_of(type);
    struct fg_python_profile *self = module ? (struct fg_python_profile *)type->tp_alloc(type, 0) : NULL;

    if (self) {
        self->state = fg_engine_state(module);
        fg_function_profile_init(&self->profile, true, true);
    }
    return (PyObject *)self;
}

static int profile_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"filter", "notrace", "graph", "graph_notrace", "graph_time", "sleep_time", NULL};
    struct fg_python_profile *self = (struct fg_python_profile *)object;
    PyObject *sets[FGRAPH_NR_FILTER_SETS] = {NULL};
    struct fg_filter filter = {.c_calls = false};
    int graph_time = 1, sleep_time = 1;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOpp:FunctionProfile", names, &sets[FGRAPH_FILTER],
                                     &sets[FGRAPH_NOTRACE], &sets[FGRAPH_GRAPH], &sets[FGRAPH_GRAPH_NOTRACE],
                                     &graph_time, &sleep_time))
        return -1;
    if (is_enabled(object)) {
        PyErr_SetString(PyExc_RuntimeError, "FunctionProfile.__init__ called while the profile is enabled");
        return -1;
    }
    if (fg_filter_add_sets(&filter, sets) != 0) {
        fg_filter_clear(&filter);
        return -1;
    }
    fg_filter_clear(&fg_user_of(&self->profile.ops)->filter);
    fg_user_of(&self->profile.ops)->filter = filter;
    fg_function_profile_clear(&self->profile);
    fg_function_profile_init(&self->profile, graph_time, sleep_time);
    return 0;
}

static void profile_dealloc(PyObject *object)
{
    struct fg_python_profile *self = (struct fg_python_profile *)object;
    PyTypeObject *type = Py_TYPE(object);

    fg_filter_clear(&fg_user_of(&self->profile.ops)->filter);
    fg_function_profile_clear(&self->profile);
    type->tp_free(object);
    Py_DECREF(type);
}

/* ---- starting and stopping */

static PyObject *start(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct fg_python_profile *self = (struct fg_python_profile *)object;
    int error;

    if (fg_engine_check_open(self->state, "functions can no longer be profiled") != 0)
        return NULL;
    Py_INCREF(object); /* the engine's reference */
    error = fg_function_profile_start(&self->profile, fg_cpython_register);
    if (!error)
        Py_RETURN_NONE;
    Py_DECREF(object);
    return fg_raise_registration(error, object);
}

static PyObject *stop(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    if (fg_cpython_unregister(ops_of(object)) != 0)
        return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%R is not enabled", object));
    Py_DECREF(object); /* the engine's reference */
    Py_RETURN_NONE;
}

/* In C, so that the block alone is profiled, and no Python code around it. */
static PyObject *enter(PyObject *object, PyObject *ignored)
{
    PyObject *done = start(object, ignored);

    Py_XDECREF(done);
    return done ? Py_NewRef(object) : NULL;
}

static PyObject *leave(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    if (is_enabled(object))
        return stop(object, NULL);
    Py_RETURN_NONE;
}

struct own_profiles {
    struct fgraph_ops *users[FG_MAX_USERS]; /* each with an owned reference to its object */
    int n;
};

static PyObject *object_of(struct fgraph_ops *ops)
{
    return (PyObject *)fg_container_of(ops, struct fg_python_profile, profile.ops);
}

/* Under the engine's lock: calls nothing of Python's. */
static void note_own(struct fgraph_ops *ops, void *arg)
{
    struct own_profiles *own = arg;

    if (!fg_function_profile_is(ops) || fg_user_of(ops)->scope != fg_interp_known())
        return;
    Py_INCREF(object_of(ops));
    own->users[own->n++] = ops;
}

void fg_profiles_end(void)
{
    struct own_profiles own = {.n = 0};

    fgraph_for_each(note_own, &own);
    for (int i = 0; i < own.n; i++) {
        PyObject *object = object_of(own.users[i]);

        if (fg_cpython_unregister(own.users[i]) == 0)
            Py_DECREF(object); /* the engine's reference */
        Py_DECREF(object);
    }
}

/* ---- changing filters, at any time */

static const char **texts_of(PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    const char **texts = PyMem_Malloc((size_t)(n + 1) * sizeof(*texts));

    if (!texts)
        PyErr_NoMemory();
    for (Py_ssize_t i = 0; texts && i < n; i++) {
        texts[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(tuple, i));
        if (!texts[i]) {
            PyMem_Free(texts);
            texts = NULL;
        }
    }
    return texts;
}

static int edit(PyObject *object, enum fgraph_filter_set set, PyObject *tuple, bool reset)
{
    const char **texts = texts_of(tuple);
    struct fg_pattern_error wrong;
    int error;

    if (!texts)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    error = fgraph_edit_filter(ops_of(object), set, texts, (size_t)PyTuple_GET_SIZE(tuple), reset, &wrong);
    Py_END_CRITICAL_SECTION();
    PyMem_Free(texts);
    if (!error)
        error = fg_cpython_filter_changed(ops_of(object));
    if (error == -EINVAL)
        fg_raise_pattern(&wrong);
    else if (error)
        PyErr_NoMemory();
    return error ? -1 : 0;
}

FG_FILTER_SETTERS(edit)

/* ---- what it counted */

static PyObject *list_of(const struct fg_profile_figures *figures, size_t n)
{
    PyObject *list = PyList_New((Py_ssize_t)n);

    for (size_t i = 0; list && i < n; i++) {
        const struct fg_profile_figures *at = &figures[i];
        PyObject *tuple = Py_BuildValue("ssIKKd", at->name, at->file, at->line, (unsigned long long)at->hit,
                                        (unsigned long long)at->time_ns, at->variance);

        if (tuple)
            PyList_SET_ITEM(list, (Py_ssize_t)i, tuple);
        else
            Py_CLEAR(list);
    }
    return list;
}

static PyObject *figures(PyObject *object, PyObject *args)
{
    struct fg_python_profile *self = (struct fg_python_profile *)object;
    struct fg_profile_figures *found;
    PyObject *list;
    int tid = 0, error;
    size_t n;

    if (!PyArg_ParseTuple(args, "|i:figures", &tid))
        return NULL;
    error = fg_function_profile_read(&self->profile, tid, &found, &n);
    if (error == -ESRCH)
        return fg_raise_os_error(ESRCH, PyUnicode_FromFormat("%R has no figures of thread %d: it called "
                                                             "nothing, or has ended",
                                                             object, tid));
    if (error)
        return PyErr_NoMemory();
    list = list_of(found, n);
    fg_profile_figures_free(found, n);
    return list;
}

static PyObject *tids(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    size_t n;
    int *found = fg_function_profile_tids(&((struct fg_python_profile *)object)->profile, &n);
    PyObject *tuple = found ? fg_int_tuple(found, n) : PyErr_NoMemory();
    PyObject *list = tuple ? PySequence_List(tuple) : NULL;

    Py_XDECREF(tuple);
    free(found);
    return list;
}

/* ---- attributes */

static PyObject *get_enabled(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(is_enabled(object));
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(fgraph_nmissed(ops_of(object)));
}

static PyObject *get_graph_time(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((struct fg_python_profile *)object)->profile.graph_time);
}

static PyObject *get_sleep_time(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(((struct fg_python_profile *)object)->profile.sleep_time);
}

/* The object has no copy of the filter. Copies the engine's first: making a tuple may run Python code
 * that changes it. */
static PyObject *get_patterns(PyObject *object, void *set)
{
    struct fg_filter filter;
    PyObject *tuple;
    int error;

    Py_BEGIN_CRITICAL_SECTION(object);
    error = fg_filter_copy(&filter, &fg_user_of(ops_of(object))->filter);
    Py_END_CRITICAL_SECTION();
    if (error)
        return PyErr_NoMemory();
    tuple = fg_patterns_to_tuple(&filter.sets[(uintptr_t)set]);
    fg_filter_clear(&filter);
    return tuple;
}

static PyGetSetDef attributes[] = {
    {"enabled", get_enabled, NULL, "Whether it counts.", NULL},
    {"graph_time", get_graph_time, NULL, "Whether a call's time includes the time of its callees.", NULL},
    {"sleep_time", get_sleep_time, NULL,
     "Whether a call's time includes the time in which its thread slept or waited.", NULL},
    {"nmissed", get_nmissed, NULL, "Number of calls that were not counted.", NULL},
    FG_FILTER_ATTRIBUTES(get_patterns),
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"start", start, METH_NOARGS, "start(): count from zero."},
    {"stop", stop, METH_NOARGS, "stop(): stop counting; the figures stay."},
    {"__enter__", enter, METH_NOARGS, "Start."},
    {"__exit__", leave, METH_VARARGS, "Stop, unless the block did."},
    {"figures", figures, METH_VARARGS,
     "figures(tid=0) -> list of (name, file, line, hit, time_ns, variance), of all threads or of one "
     "thread."},
    {"tids", tids, METH_NOARGS, "tids() -> list[int]: threads that have figures."},
    FG_FILTER_METHODS,
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The function profiler."},
    {Py_tp_new, profile_new},
    {Py_tp_init, profile_init},
    {Py_tp_dealloc, profile_dealloc},
    {Py_tp_getset, attributes},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fg_profile_spec = {
    .name = "funcgraph._engine.ProfileBase",
    .basicsize = sizeof(struct fg_python_profile),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
