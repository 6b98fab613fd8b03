/* The events py/gc_start and py/gc_done.
 *
 * CPython calls the functions of a list, gc.callbacks, which belongs to the program. While somebody wants the
 * events, CPython has another list, with one function: it hits the event and then calls the program's
 * functions, as CPython would. The program's own list is as it was, and it may change it meanwhile. */
#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/static/static_event.h"
#include "engine/base/clock.h"
#include "internal/pycore_gc.h"
#include "internal/pycore_interp.h"

/* Of the one interpreter that wants the events. Guarded by its GIL. */
static struct {
    void *scope;
    unsigned nr_sources; /* that run */
    PyObject *list;      /* ours, while CPython has it; owned by CPython */
    PyObject *programs;  /* gc.callbacks; owned */
    bool is_leaving;     /* the program's list comes back at the next call */
    uint64_t begun_ns;   /* when the collection started */
} gc;

static struct _gc_runtime_state *collector(void)
{
    return &PyInterpreterState_Get()->gc;
}

/* ---- hits */

static struct fg_fetched number_of(PyObject *info, const char *key)
{
    PyObject *number = PyDict_CheckExact(info) ? fg_dict_get(info, key) : NULL;
    long long value = number && PyLong_CheckExact(number) ? PyLong_AsLongLong(number) : 0;

    Py_XDECREF(number);
    return fg_fetched_signed(value);
}

static void report_start(PyObject *info)
{
    struct fg_static_site site = fg_static_site_here();
    const struct fg_fetched values[] = {number_of(info, "generation")};

    gc.begun_ns = fg_clock_monotonic_ns();
    fg_static_hit(FG_STATIC_GC_START, &site, values);
}

static void report_done(PyObject *info)
{
    struct fg_static_site site = fg_static_site_here();
    const struct fg_fetched values[] = {
        number_of(info, "generation"),
        number_of(info, "collected"),
        number_of(info, "uncollectable"),
        fg_fetched_unsigned(gc.begun_ns ? fg_clock_monotonic_ns() - gc.begun_ns : 0),
    };

    fg_static_hit(FG_STATIC_GC_DONE, &site, values);
}

static void report(PyObject *phase, PyObject *info)
{
    if (PyUnicode_CompareWithASCIIString(phase, "start") == 0)
        report_start(info);
    else
        report_done(info);
}

/* ---- the program's callbacks */

static void call(PyObject *callback, PyObject *const *args)
{
    PyObject *result;

    Py_INCREF(callback);
    result = PyObject_Vectorcall(callback, args, 2, NULL);
    if (!result)
        PyErr_WriteUnraisable(callback);
    Py_XDECREF(result);
    Py_DECREF(callback);
}

static void take_ours_away(void)
{
    PyObject *ours = gc.list;

    collector()->callbacks = gc.programs;
    gc.list = gc.programs = NULL;
    gc.is_leaving = false;
    Py_DECREF(ours);
}

/* CPython is at the first place of the list, and goes on at the second one: of the program's own list, if
 * that comes back now. */
static void call_first(PyObject *const *args)
{
    PyObject *programs = Py_NewRef(gc.programs);

    take_ours_away();
    if (PyList_GET_SIZE(programs) > 0)
        call(PyList_GET_ITEM(programs, 0), args);
    Py_DECREF(programs);
}

static void call_all(PyObject *const *args)
{
    PyObject *programs = Py_NewRef(gc.programs);

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(programs); i++)
        call(PyList_GET_ITEM(programs, i), args);
    Py_DECREF(programs);
}

static PyObject *on_collection(PyObject *Py_UNUSED(self), PyObject *const *args, Py_ssize_t n)
{
    if (n != 2 || !gc.list)
        Py_RETURN_NONE;
    if (gc.nr_sources)
        report(args[0], args[1]);
    if (gc.is_leaving)
        call_first(args);
    else
        call_all(args);
    Py_RETURN_NONE;
}

static PyMethodDef callback = {"on_collection", (PyCFunction)(void (*)(void))on_collection, METH_FASTCALL,
                               NULL};

/* ---- the list */

/* True if the collector's list is where we read it: gc.callbacks, unless the program has bound that name to
 * something else. */
static bool is_known(void)
{
    PyObject *module = fg_imported("gc", 2);
    PyObject *list = module ? fg_dict_get(PyModule_GetDict(module), "callbacks") : NULL;
    bool is_same = !list || list == collector()->callbacks || !PyList_CheckExact(list);

    Py_XDECREF(list);
    Py_XDECREF(module);
    PyErr_Clear();
    return is_same && collector()->callbacks && PyList_CheckExact(collector()->callbacks);
}

static int put_ours(void)
{
    PyObject *function, *list;

    if (collector()->collecting)
        return -EBUSY; /* CPython is in the middle of the list */
    if (!is_known())
        return -EOPNOTSUPP;
    function = PyCFunction_New(&callback, NULL);
    list = function ? PyList_New(1) : NULL;
    if (!list) {
        Py_XDECREF(function);
        return -ENOMEM;
    }
    PyList_SET_ITEM(list, 0, function);
    gc.programs = collector()->callbacks;
    gc.list = collector()->callbacks = list;
    return 0;
}

static int start(struct fg_event_source *source, void *scope)
{
    int error;

    (void)source;
    if (gc.nr_sources && gc.scope != scope)
        return -EBUSY;
    gc.is_leaving = false;
    error = gc.list ? 0 : put_ours();
    if (error)
        return error;
    gc.scope = scope;
    gc.nr_sources++;
    return 0;
}

static void stop(struct fg_event_source *source, void *scope)
{
    (void)source, (void)scope;
    if (--gc.nr_sources || !gc.list)
        return;
    gc.begun_ns = 0;
    if (collector()->collecting)
        gc.is_leaving = true;
    else
        take_ours_away();
}

const struct fg_event_source_ops fg_gc_source = {start, stop};
