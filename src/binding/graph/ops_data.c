/* What an FgraphOps keeps from a call's entry to its return: bytes on the shadow stack, or an object. */
#include "binding/graph/ops_data.h"

#include <limits.h>

#include "binding/core/callback.h"
#include "binding/core/view.h"
#include "binding/graph/python_ops.h"
#include "engine/graph/data.h"

static inline struct fg_python_ops *ops_of(const struct fg_callback *callback)
{
    return (struct fg_python_ops *)callback->self;
}

/* The callback of this user that runs in this thread, or NULL with RuntimeError. */
static struct fg_callback *callback_of(PyObject *self, const char *function, const char *where)
{
    struct fg_callback *callback = fg_callback_current();

    if (callback && (PyObject *)callback->self == self)
        return callback;
    PyErr_Format(PyExc_RuntimeError, "%s() must be called in this user's own %s, by the thread that runs it",
                 function, where);
    return NULL;
}

static struct fg_callback *entry_of(PyObject *self, const char *function)
{
    struct fg_callback *callback = callback_of(self, function, "entry function");

    if (!callback || callback->entry)
        return callback;
    PyErr_Format(PyExc_RuntimeError, "%s() must be called in the entry function, not in the return function",
                 function);
    return NULL;
}

static struct fg_callback *return_of(PyObject *self, const char *function)
{
    struct fg_callback *callback = callback_of(self, function, "return function");

    if (!callback || callback->end)
        return callback;
    PyErr_Format(PyExc_RuntimeError, "%s() must be called in the return function, not in the entry function",
                 function);
    return NULL;
}

PyObject *fg_ops_reserve_data(PyObject *self, PyObject *size_bytes)
{
    struct fg_callback *callback = entry_of(self, "reserve_data");
    Py_ssize_t bytes = callback ? PyNumber_AsSsize_t(size_bytes, PyExc_ValueError) : -1;
    void *words;

    if (!callback || (bytes == -1 && PyErr_Occurred()))
        return NULL;
    if (bytes < 1 || bytes > (Py_ssize_t)FGRAPH_MAX_DATA_BYTES)
        return PyErr_Format(PyExc_ValueError, "size_bytes must be in 1 to %d, got %zd",
                            (int)FGRAPH_MAX_DATA_BYTES, bytes);
    words = fgraph_reserve_data(callback->entry, &ops_of(callback)->ops, (size_t)bytes);
    if (!words)
        Py_RETURN_NONE;
    return fg_view_of(callback, words, (size_t)bytes);
}

PyObject *fg_ops_retrieve_data(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_callback *callback = return_of(self, "retrieve_data");
    size_t bytes;
    void *words;

    if (!callback)
        return NULL;
    words = fgraph_retrieve_data(callback->end, &ops_of(callback)->ops, &bytes);
    if (!words)
        Py_RETURN_NONE;
    return fg_view_of(callback, words, bytes);
}

static void *parent_words(const struct fg_callback *callback, unsigned depth, size_t *bytes)
{
    bool is_entry = callback->is_entry;

    return fgraph_retrieve_parent_data(is_entry ? callback->entry->task : callback->end->task,
                                       is_entry ? callback->entry->frame : callback->end->frame,
                                       &ops_of(callback)->ops, depth, bytes);
}

PyObject *fg_ops_retrieve_parent_data(PyObject *self, PyObject *depth)
{
    struct fg_callback *callback = callback_of(self, "retrieve_parent_data", "callbacks");
    Py_ssize_t frames = callback ? PyNumber_AsSsize_t(depth, PyExc_ValueError) : -1;
    size_t bytes;
    void *words;

    if (!callback || (frames == -1 && PyErr_Occurred()))
        return NULL;
    if (frames < 0)
        return PyErr_Format(PyExc_ValueError, "depth must be >= 0, got %zd", frames);
    words = frames > INT_MAX ? NULL : parent_words(callback, (unsigned)frames, &bytes);
    if (!words)
        Py_RETURN_NONE;
    return fg_view_of(callback, words, bytes);
}

/* ---- objects */

PyObject *fg_ops_reserve_object(PyObject *self, PyObject *object)
{
    struct fg_callback *callback = entry_of(self, "reserve_object");

    if (!callback)
        return NULL;
    if (fgraph_reserve_object(callback->entry, &ops_of(callback)->ops, Py_NewRef(object)))
        Py_RETURN_TRUE;
    Py_DECREF(object);
    Py_RETURN_FALSE;
}

PyObject *fg_ops_retrieve_object(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_callback *callback = return_of(self, "retrieve_object");
    PyObject *object;

    if (!callback)
        return NULL;
    object = fgraph_retrieve_object(callback->end, &ops_of(callback)->ops);
    return Py_NewRef(object ? object : Py_None);
}
