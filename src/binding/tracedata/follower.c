/* See follower.h. */
#include "binding/tracedata/follower.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/column.h"
#include "tracedata/read/fg/follow.h"

struct follower {
    PyObject_HEAD struct fg_follow follow;
    int fd;
    int error;    /* found after the events that were returned last */
    bool is_busy; /* a thread reads without the GIL */
};

static PyObject *raise_error(int error)
{
    if (error == -EINVAL)
        PyErr_SetString(PyExc_ValueError, "not a .fg trace");
    else if (error == -ENOTSUP)
        PyErr_SetString(PyExc_ValueError, "compressed with zstd, and this system has no zstd library");
    else
        fg_raise_errno(error, NULL);
    return NULL;
}

static int open_file(struct follower *follower, int fd, uint64_t from)
{
    follower->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    return follower->fd < 0 ? -errno : fg_follow_open(&follower->follow, follower->fd, from);
}

static PyObject *follower_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"fd", "start", NULL};
    struct follower *follower;
    unsigned long long start;
    int fd, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "iK:Follower", keywords, &fd, &start))
        return NULL;
    follower = (struct follower *)type->tp_alloc(type, 0);
    if (!follower)
        return NULL;
    follower->fd = -1;
    Py_BEGIN_ALLOW_THREADS;
    error = open_file(follower, fd, start);
    Py_END_ALLOW_THREADS;
    if (error == 0)
        return (PyObject *)follower;
    Py_DECREF(follower);
    return raise_error(error);
}

static void follower_dealloc(PyObject *self)
{
    struct follower *follower = (struct follower *)self;
    PyTypeObject *type = Py_TYPE(self);

    fg_follow_close(&follower->follow);
    if (follower->fd >= 0)
        close(follower->fd);
    type->tp_free(self);
    Py_DECREF(type);
}

static bool begin(struct follower *follower)
{
    if (follower->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
        return false;
    }
    return true;
}

/* ---- read() */

/* Return: 0, or the error after the events in @columns. */
static int fill(struct fg_follow *follow, struct fg_columns *columns)
{
    while (!fg_columns_is_full(columns)) {
        struct fg_event event;
        int result = fg_follow_next(follow, &event);

        if (result < 0)
            return result;
        if (result == 0 && columns->n)
            return 0;
        if (result == 0)
            result = fg_follow_poll(follow);
        else if (fg_columns_add(columns, &event, event.task, &follow->contents.events) < 0)
            result = -EBADMSG; /* cannot be: the events are made of sound records */
        if (result <= 0)
            return result;
    }
    return 0;
}

static int read_columns(struct fg_follow *follow, struct fg_columns *columns, size_t size)
{
    int error = fg_columns_init(columns, size);

    return error < 0 ? error : fill(follow, columns);
}

PyDoc_STRVAR(read_doc,
             "read($self, size, /)\n--\n\n"
             "Return the next events as a tuple of columns, as in COLUMNS; None if there are none now.");

static PyObject *follower_read(PyObject *self, PyObject *argument)
{
    struct follower *follower = (struct follower *)self;
    Py_ssize_t size = PyLong_AsSsize_t(argument);
    struct fg_columns columns;
    int error;

    if (!begin(follower) || (size == -1 && PyErr_Occurred()) || fg_check_batch_size(size) < 0)
        return NULL;
    if (follower->error)
        return raise_error(follower->error);
    follower->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    error = read_columns(&follower->follow, &columns, (size_t)size);
    Py_END_ALLOW_THREADS;
    follower->is_busy = false;
    follower->error = error;
    if (columns.n)
        return fg_columns_tuple(PyType_GetModuleState(Py_TYPE(self)), &columns);
    fg_columns_free(&columns);
    if (error < 0)
        return raise_error(error);
    Py_RETURN_NONE;
}

/* ---- describe() */

PyDoc_STRVAR(describe_doc, "describe($self, first_function, first_task, first_event, /)\n--\n\n"
                           "Return JSON like the trace's own, of what was appended since.");

static PyObject *follower_describe(PyObject *self, PyObject *args)
{
    struct follower *follower = (struct follower *)self;
    struct fg_text json = {0};
    Py_ssize_t first_function, first_task, first_event;
    PyObject *bytes;

    if (!PyArg_ParseTuple(args, "nnn:describe", &first_function, &first_task, &first_event) ||
        !begin(follower))
        return NULL;
    if (first_function < 0 || first_task < 0 || first_event < 0) {
        PyErr_SetString(PyExc_ValueError, "first_function, first_task and first_event must be 0 or more");
        return NULL;
    }
    fg_follow_describe(&follower->follow, (size_t)first_function, (size_t)first_task, (size_t)first_event,
                       &json);
    bytes = json.failed ? PyErr_NoMemory() : PyBytes_FromStringAndSize(json.data, (Py_ssize_t)json.bytes);
    fg_text_free(&json);
    return bytes;
}

/* ---- attributes */

static PyObject *follower_counts(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct follower *follower = (struct follower *)self;

    if (!begin(follower))
        return NULL;
    return Py_BuildValue("(nnn)", (Py_ssize_t)follower->follow.contents.symbols.nr_matched,
                         (Py_ssize_t)follower->follow.nr_tasks,
                         (Py_ssize_t)follower->follow.contents.events.nr_types);
}

static PyObject *follower_has_ended(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct follower *follower = (struct follower *)self;

    if (!begin(follower))
        return NULL;
    return PyBool_FromLong(fg_follow_has_ended(&follower->follow));
}

static PyObject *follower_damaged_at(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct follower *follower = (struct follower *)self;

    if (!begin(follower))
        return NULL;
    if (follower->follow.damaged_at == 0)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(follower->follow.damaged_at);
}

FG_ALONE(follower_read)
FG_ALONE(follower_describe)
FG_ALONE(follower_counts)
FG_ALONE(follower_has_ended)
FG_ALONE(follower_damaged_at)

static PyMethodDef follower_methods[] = {
    {"read", follower_read_alone, METH_O, read_doc},
    {"describe", follower_describe_alone, METH_VARARGS, describe_doc},
    {"counts", follower_counts_alone, METH_NOARGS,
     "counts($self, /)\n--\n\nReturn how many functions, tasks and kinds of events are known."},
    {"has_ended", follower_has_ended_alone, METH_NOARGS,
     "has_ended($self, /)\n--\n\nReturn whether the file was complete when it was last read."},
    {"damaged_at", follower_damaged_at_alone, METH_NOARGS,
     "damaged_at($self, /)\n--\n\nReturn the offset of the first damaged chunk, or None."},
    {NULL, NULL, 0, NULL},
};

PyDoc_STRVAR(follower_doc, "Follower(fd, start)\n--\n\n"
                           "Follows a .fg from the chunk at `start` on. See the type stub.");

static PyType_Slot follower_slots[] = {
    {Py_tp_doc, (void *)follower_doc},
    {Py_tp_new, (void *)follower_new},
    {Py_tp_dealloc, (void *)follower_dealloc},
    {Py_tp_methods, follower_methods},
    {0, NULL},
};

static PyType_Spec follower_spec = {
    .name = "funcgraph._tracedata.Follower",
    .basicsize = sizeof(struct follower),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = follower_slots,
};

int fg_add_follower_types(PyObject *module)
{
    return fg_add_type(module, &follower_spec, &fg_tracedata_state(module)->follower_type);
}
