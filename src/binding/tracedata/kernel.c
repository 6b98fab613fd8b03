/* See kernel.h. */
#include "binding/tracedata/kernel.h"

#include <errno.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/reader_object.h"
#include "tracedata/read/kernel_scan.h"

static const char *const part_names[] = {
#define X(name, text) #name,
    FG_DAT_PARTS(X)
#undef X
};

static const char *const role_names[] = {"other", "entry", "exit", "function"};

static const char *const field_names[] = {
#define X(id, role, name) name,
    FG_KERNEL_FIELDS(X)
#undef X
};

int fg_add_kernel_names(PyObject *module)
{
    if (fg_add_names(module, "HEAD_PARTS", part_names, FG_NR_ITEMS(part_names)) < 0 ||
        fg_add_names(module, "KERNEL_ROLES", role_names, FG_NR_ITEMS(role_names)) < 0)
        return -1;
    return fg_add_names(module, "KERNEL_FIELDS", field_names, FG_NR_ITEMS(field_names));
}

/* The kernel's trace of a reader, which no thread reads; or NULL with an exception. */
static struct fg_kernel *kernel_of(struct fg_reader *reader)
{
    if (!reader->file.kernel)
        PyErr_SetString(PyExc_RuntimeError, "this is not a kernel's trace");
    else if (reader->is_busy || reader->has_names)
        PyErr_SetString(PyExc_RuntimeError, "the trace is being read");
    else
        return reader->file.kernel;
    return NULL;
}

/* ---- the head */

PyObject *fg_reader_part(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    char reason[FG_REASON_BYTES];
    struct fg_text text = {0};
    PyObject *result;
    const char *name;
    int index, error;

    if (!PyArg_ParseTuple(args, "s:part", &name))
        return NULL;
    index = fg_name_index(part_names, FG_NR_ITEMS(part_names), name);
    if (index < 0)
        return PyErr_Format(PyExc_ValueError, "no part '%s': HEAD_PARTS lists them", name);
    if (reader->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
        return NULL;
    }
    reader->is_busy = true;
    Py_BEGIN_ALLOW_THREADS;
    error = fg_trace_file_read_part(&reader->file, (enum fg_dat_part_name)index, &text, reason);
    Py_END_ALLOW_THREADS;
    reader->is_busy = false;
    if (error)
        result = fg_reader_raise(reader, error, reason);
    else
        result = PyBytes_FromStringAndSize(text.data, (Py_ssize_t)text.bytes);
    fg_text_free(&text);
    return result;
}

PyObject *fg_reader_get_buffer_names(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_text *names = &((struct fg_reader *)self)->file.head.names;
    PyObject *list = PyList_New(0);

    for (size_t at = 0; list && at < names->bytes; at += strlen(names->data + at) + 1)
        fg_list_append(&list, PyBytes_FromString(names->data + at));
    return list;
}

PyObject *fg_reader_get_clock(PyObject *self, void *Py_UNUSED(closure))
{
    return PyBytes_FromString(((struct fg_reader *)self)->file.head.clock);
}

PyObject *fg_reader_get_nr_cpus(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((struct fg_reader *)self)->file.nr_cpus);
}

/* ---- events */

static int parse_places(PyObject *places, struct fg_kernel_event *event)
{
    if (PyTuple_GET_SIZE(places) != FG_KERNEL_NR_FIELDS) {
        PyErr_SetString(PyExc_ValueError, "there must be a place for each of KERNEL_FIELDS");
        return -1;
    }
    for (Py_ssize_t i = 0; i < FG_KERNEL_NR_FIELDS; i++) {
        PyObject *place = PyTuple_GET_ITEM(places, i);
        unsigned int offset, bytes;

        if (!PyTuple_Check(place)) {
            PyErr_SetString(PyExc_TypeError, "a place must be a tuple (offset, bytes)");
            return -1;
        }
        if (!PyArg_ParseTuple(place, "II;a place must be (offset, bytes)", &offset, &bytes))
            return -1;
        if (offset > UINT16_MAX || bytes > UINT8_MAX) {
            PyErr_Format(PyExc_ValueError, "impossible place of a field: %u, %u bytes", offset, bytes);
            return -1;
        }
        event->places[i] = (struct fg_kernel_place){(uint16_t)offset, (uint8_t)bytes};
    }
    return 0;
}

static int add_event(struct fg_kernel *kernel, PyObject *item)
{
    struct fg_kernel_event event = {0};
    const char *name, *role;
    PyObject *places;
    unsigned int id;
    int index, error;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "an event must be a tuple (id, name, role, places)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "IssO!;an event must be (id, name, role, places)", &id, &name, &role,
                          &PyTuple_Type, &places) ||
        parse_places(places, &event) < 0)
        return -1;
    index = fg_name_index(role_names, FG_NR_ITEMS(role_names), role);
    if (id >= FG_KERNEL_NR_IDS || index < 0) {
        PyErr_Format(PyExc_ValueError, "impossible id %u or role '%s' of an event", id, role);
        return -1;
    }
    event.id = (uint16_t)id;
    event.role = (uint8_t)index;
    event.name = (char *)name;
    error = fg_kernel_add_event(kernel, &event);
    if (error == -EINVAL)
        PyErr_Format(PyExc_ValueError, "event %s: its id is taken, or its fields are not those of its role",
                     name);
    else if (error)
        PyErr_NoMemory();
    return error ? -1 : 0;
}

PyObject *fg_reader_set_formats(PyObject *self, PyObject *args)
{
    struct fg_kernel *kernel;
    PyObject *events;

    if (!PyArg_ParseTuple(args, "O!:set_formats", &PyList_Type, &events))
        return NULL;
    kernel = kernel_of((struct fg_reader *)self);
    if (!kernel)
        return NULL;
    if (kernel->nr_events) {
        PyErr_SetString(PyExc_RuntimeError, "set_formats() was called already");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(events); i++)
        if (add_event(kernel, PyList_GET_ITEM(events, i)) < 0)
            return NULL;
    Py_RETURN_NONE;
}

/* ---- the scan */

/* Takes over @lanes. */
static PyObject *scan_result(const struct fg_kernel_scan *scan, PyObject *lanes)
{
    PyObject *tasks = PyList_New(0), *addresses;

    for (size_t i = 0; tasks && i < scan->nr_tasks; i++) {
        const struct fg_scan_task *task = &scan->tasks[i];

        fg_list_append(&tasks,
                       Py_BuildValue("(IiKKK)", task->lane, task->tid, (unsigned long long)task->first_ns,
                                     (unsigned long long)task->last_ns, (unsigned long long)task->events));
    }
    addresses = PyBytes_FromStringAndSize((const char *)scan->addresses,
                                          (Py_ssize_t)(scan->nr_addresses * sizeof(*scan->addresses)));
    if (!tasks || !addresses || !lanes) {
        Py_XDECREF(tasks);
        Py_XDECREF(addresses);
        Py_XDECREF(lanes);
        return NULL;
    }
    return Py_BuildValue("(NNN)", tasks, addresses, lanes);
}

PyObject *fg_reader_scan(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_kernel_scan scan = {0};
    PyObject *result = NULL, *lanes;
    uint32_t lane = 0;
    int more = 1;

    if (!kernel_of(reader))
        return NULL;
    if (reader->file.kernel->addresses) {
        PyErr_SetString(PyExc_RuntimeError, "set_addresses() was called already");
        return NULL;
    }
    reader->is_busy = true;
    lanes = PyList_New(0);
    while (more == 1 && lane < reader->file.nr_lanes && lanes) {
        if (PyErr_CheckSignals() < 0) {
            Py_CLEAR(lanes);
            break;
        }
        scan.events = scan.lost = 0;
        Py_BEGIN_ALLOW_THREADS;
        more = fg_kernel_scan(&reader->file, &lane, &scan);
        Py_END_ALLOW_THREADS;
        fg_list_append(&lanes,
                       Py_BuildValue("(KK)", (unsigned long long)scan.events, (unsigned long long)scan.lost));
    }
    if (more < 0) {
        Py_XDECREF(lanes);
        fg_reader_raise(reader, more, "");
    } else if (lanes) {
        result = scan_result(&scan, lanes);
    }
    reader->is_busy = false;
    fg_kernel_scan_free(&scan);
    return result;
}

static bool are_sorted(const struct fg_kernel_address *addresses, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (addresses[i - 1].address >= addresses[i].address)
            return false;
    return true;
}

PyObject *fg_reader_set_addresses(PyObject *self, PyObject *args)
{
    struct fg_kernel_address *addresses;
    struct fg_kernel *kernel;
    Py_buffer rows;
    size_t n;

    if (!PyArg_ParseTuple(args, "y*:set_addresses", &rows))
        return NULL;
    kernel = kernel_of((struct fg_reader *)self);
    n = (size_t)rows.len / sizeof(*addresses);
    addresses = kernel ? malloc((n + 1) * sizeof(*addresses)) : NULL;
    if (addresses)
        memcpy(addresses, rows.buf, n * sizeof(*addresses));
    PyBuffer_Release(&rows);
    if (!kernel)
        return NULL;
    if (!addresses)
        return PyErr_NoMemory();
    if (!are_sorted(addresses, n)) {
        free(addresses);
        PyErr_SetString(PyExc_ValueError, "addresses must be sorted, and each must be there once");
        return NULL;
    }
    fg_kernel_set_addresses(kernel, addresses, n);
    Py_RETURN_NONE;
}

PyObject *fg_holes_list(const struct fg_kernel_holes *holes)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < holes->n; i++) {
        const struct fg_kernel_hole *hole = &holes->holes[i];

        fg_list_append(&list,
                       Py_BuildValue("(nIy#)", (Py_ssize_t)hole->at, hole->id,
                                     holes->records.data + hole->record, (Py_ssize_t)hole->record_bytes));
    }
    return list;
}
