/* join(): several `.fg` traces as one; real_time(): what brings hosts onto one line. */
#include "binding/tracedata/write/join.h"

#include <errno.h>
#include <stdlib.h>

#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/progress.h"
#include "tracedata/base/real_time.h"
#include "tracedata/recorder/dump.h"
#include "tracedata/spool/join.h"

/* Takes (descriptor, host's name or None, host's number, first_ns, first_line_ns, last_ns, last_line_ns,
 * error_ns or None) apart. The name stays the tuple's. */
static bool take_part(PyObject *item, struct fg_join_part *part)
{
    unsigned long long times[4];
    unsigned int number;
    PyObject *error_ns;

    if (!PyTuple_Check(item)) {
        fg_raise_type("a part", "a tuple", item);
        return false;
    }
    if (!PyArg_ParseTuple(item, "izIKKKKO:join", &part->fd, &part->host_name, &number, &times[0], &times[1],
                          &times[2], &times[3], &error_ns))
        return false;
    part->host = (struct fg_spool_host){
        .host = number,
        .first = {times[0], times[1]},
        .last = {times[2], times[3]},
        .error_ns = error_ns == Py_None ? FG_SPOOL_ERROR_UNKNOWN : PyLong_AsUnsignedLongLong(error_ns),
    };
    return !PyErr_Occurred();
}

static struct fg_join_part *take_parts(PyObject *items)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    struct fg_join_part *parts = calloc((size_t)n + 1, sizeof(*parts));

    if (parts == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        if (take_part(PyTuple_GET_ITEM(items, i), &parts[i]))
            continue;
        free(parts);
        return NULL;
    }
    return parts;
}

static PyObject *raise_error(int error, size_t failed, size_t nr_parts, PyObject *output)
{
    if (failed == nr_parts)
        return fg_raise_errno(error, output);
    if (error == -EINVAL)
        return PyErr_Format(PyExc_ValueError, "part %zu is no .fg trace", failed);
    return fg_raise_errno(error, NULL);
}

PyDoc_STRVAR(join_doc, "join($module, parts, meta, output, progress=None, /)\n--\n\nWrite one .fg trace of "
                       "several; return (records, "
                       "damaged places).");

static PyObject *join_files(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_joined joined = {0};
    struct fg_join_part *parts;
    PyObject *items, *output, *callable = NULL, *path = NULL;
    struct fg_progress progress;
    const char *meta;
    Py_ssize_t meta_bytes;
    size_t nr_parts, failed;
    bool is_ended;
    int error;

    if (!PyArg_ParseTuple(args, "O!s#O|O:join", &PyTuple_Type, &items, &meta, &meta_bytes, &output,
                          &callable) ||
        !PyUnicode_FSConverter(output, &path))
        return NULL;
    parts = take_parts(items);
    if (parts == NULL) {
        Py_DECREF(path);
        return NULL;
    }
    nr_parts = (size_t)PyTuple_GET_SIZE(items);
    fg_progress_begin(&progress, callable);
    error = fg_join(parts, nr_parts, meta, (size_t)meta_bytes, PyBytes_AS_STRING(path), &progress.reading,
                    &joined, &failed);
    is_ended = fg_progress_end(&progress);
    Py_DECREF(path);
    free(parts);
    if (is_ended)
        return NULL;
    if (error < 0)
        return raise_error(error, failed, nr_parts, output);
    return Py_BuildValue("KK", (unsigned long long)joined.records, (unsigned long long)joined.damaged);
}

PyDoc_STRVAR(
    join_rotation_doc,
    "join_rotation($module, files, into, /)\n--\n\nWrite one trace of the files, descriptors, that a "
    "recording was rotated into.");

static PyObject *join_rotation(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *items;
    Py_ssize_t n;
    int *files, into, error;

    if (!PyArg_ParseTuple(args, "O!i:join_rotation", &PyTuple_Type, &items, &into))
        return NULL;
    n = PyTuple_GET_SIZE(items);
    files = calloc((size_t)n + 1, sizeof(*files));
    if (files == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < n; i++) {
        files[i] = PyObject_AsFileDescriptor(PyTuple_GET_ITEM(items, i));
        if (files[i] < 0) {
            free(files);
            return NULL;
        }
    }
    Py_BEGIN_ALLOW_THREADS;
    error = fg_rotation_join(files, (size_t)n, into);
    Py_END_ALLOW_THREADS;
    free(files);
    if (error == -EINVAL || error == -EBADMSG)
        return PyErr_Format(PyExc_ValueError,
                            error == -EINVAL ? "one is no .fg trace" : "one of them is damaged");
    if (error < 0)
        return fg_raise_errno(error, NULL);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(real_time_doc,
             "real_time($module, /)\n--\n\nReturn (CLOCK_MONOTONIC, CLOCK_REALTIME, how far it "
             "may be off or None), in ns.");

static PyObject *real_time(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    const struct fg_real_time now = fg_real_time_read();
    unsigned long long monotonic_ns = now.pair.monotonic_ns, real_ns = now.pair.clock_ns;

    if (now.error_ns == FG_REAL_TIME_ERROR_UNKNOWN)
        return Py_BuildValue("KKO", monotonic_ns, real_ns, Py_None);
    return Py_BuildValue("KKK", monotonic_ns, real_ns, (unsigned long long)now.error_ns);
}

static PyMethodDef join_functions[] = {
    {"real_time", real_time, METH_NOARGS, real_time_doc},
    {"join", join_files, METH_VARARGS, join_doc},
    {"join_rotation", join_rotation, METH_VARARGS, join_rotation_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_join_functions(PyObject *module)
{
    return PyModule_AddFunctions(module, join_functions);
}
