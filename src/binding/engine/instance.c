/* Instance: an instance without a file, changed and read by its own process. funcgraph.instance decides
 * what is allowed; here are arguments, errors, and the lifetime of the instance. */
#include "binding/engine/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/register/events.h"
#include "arch/cpython/register/users.h"
#include "binding/base/file_arg.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/engine/instance_object.h"
#include "binding/engine/instance_settings.h"
#include "binding/engine/marker.h"
#include "binding/engine/waits.h"
#include "engine/base/clock.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/tracer/instance_start.h"
#include "engine/writer/ring_copy.h"
#include "engine/writer/ring_swap.h"
#include "engine/writer/ring_unread.h"
#include "engine/writer/ring_wake.h"

/* ---- making and closing */

static int set_name(struct fg_instance_config *config, const char *name)
{
    if (strlen(name) < sizeof(config->ring.instance)) {
        strcpy(config->ring.instance, name);
        return 0;
    }
    PyErr_SetObject(PyExc_OSError, Py_BuildValue("(is)", ENAMETOOLONG, "the instance's name is too long"));
    return -1;
}

static PyObject *instance_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"name", "buffer_kb", "overwrite", NULL};
    struct fg_instance_config config = {.tracer = &fg_tracer_nop};
    struct fg_instance_object *self;
    Py_ssize_t buffer_kb = 1408;
    const char *name;
    int overwrite = 1, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|$np:Instance", names, &name, &buffer_kb, &overwrite) ||
        set_name(&config, name) != 0)
        return NULL;
    config.scope = fg_engine_here();
    self = config.scope ? (struct fg_instance_object *)type->tp_alloc(type, 0) : NULL;
    if (!self)
        return NULL;
    config.ring.buffer_bytes = buffer_kb > 0 ? (size_t)buffer_kb * 1024 : 0;
    config.ring.mode = overwrite ? FG_RING_OVERWRITE : FG_RING_DROP;
    error = fg_instance_start(&config, &self->handle);
    if (error) {
        self->handle = 0;
        Py_DECREF(self);
        return fg_instance_result(error);
    }
    return (PyObject *)self;
}

static int stop(struct fg_instance_object *self)
{
    int error = self->handle ? fg_instance_stop(self->handle) : 0;

    if (error != -EBUSY)
        self->handle = 0;
    fg_cpython_instance_stopped();
    fg_hooks_stop_if_unused();
    return error == -EINVAL ? 0 : error;
}

static PyObject *instance_close(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return fg_instance_result(stop((struct fg_instance_object *)self));
}

static void instance_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    if (!fg_is_finalizing()) /* else the process ends, and the instance with it */
        stop((struct fg_instance_object *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- the buffer */

static PyObject *set_buffer_kb(PyObject *self, PyObject *argument)
{
    Py_ssize_t kb = PyLong_AsSsize_t(argument);
    struct fg_instance *instance = kb == -1 && PyErr_Occurred() ? NULL : fg_instance_take(self);
    int error;

    if (!instance)
        return NULL;
    error = fg_instance_set_buffer(instance, kb > 0 && kb < PY_SSIZE_T_MAX / 1024 ? (size_t)kb * 1024 : 1);
    fg_instance_put(instance);
    return fg_instance_result(error);
}

static PyObject *set_tracing_on(PyObject *self, PyObject *argument)
{
    int on = PyObject_IsTrue(argument), error;
    struct fg_instance *instance = on < 0 ? NULL : fg_instance_take(self);

    if (!instance)
        return NULL;
    error = fg_instance_set_tracing_on(instance, on);
    fg_instance_put(instance);
    return fg_instance_result(error);
}

static PyObject *set_overwrite(PyObject *self, PyObject *argument)
{
    int overwrite = PyObject_IsTrue(argument);
    struct fg_instance *instance = overwrite < 0 ? NULL : fg_instance_take(self);

    if (!instance)
        return NULL;
    fg_ring_set_mode(&instance->ring, overwrite ? FG_RING_OVERWRITE : FG_RING_DROP);
    fg_instance_put(instance);
    Py_RETURN_NONE;
}

/* ---- reading */

static PyObject *clear(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_instance *instance = fg_instance_take(self);

    if (!instance)
        return NULL;
    fg_ring_clear(&instance->ring);
    fg_instance_put(instance);
    Py_RETURN_NONE;
}

static int64_t copy_to(struct fg_instance *instance, const struct fg_file_arg *file,
                       const struct fg_ring_copy_options *options)
{
    int64_t bytes;
    int fd;

    Py_BEGIN_ALLOW_THREADS;
    fd = file->path ? open(PyBytes_AS_STRING(file->path), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)
                    : file->fd;
    if (fd < 0)
        bytes = -errno;
    else if (options)
        bytes = fg_ring_copy(&instance->ring, fd, options);
    else
        bytes = fg_ring_copy_snapshot(&instance->ring, fd);
    if (file->path && fd >= 0)
        close(fd);
    Py_END_ALLOW_THREADS;
    return bytes;
}

/* Copies to the file, and lets go of it. Without options: the snapshot. */
static PyObject *copy_and_clear(PyObject *self, struct fg_file_arg *file,
                                const struct fg_ring_copy_options *options)
{
    struct fg_instance *instance = fg_instance_take(self);
    int64_t bytes = instance ? copy_to(instance, file, options) : 0;

    fg_file_arg_clear(file);
    if (!instance)
        return NULL;
    fg_instance_put(instance);
    return bytes < 0 ? fg_instance_result((int)bytes) : PyLong_FromLongLong(bytes);
}

static PyObject *copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "consume", NULL};
    struct fg_ring_copy_options options = {0};
    struct fg_file_arg file = {.fd = -1};
    int consume = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$p:copy", names, fg_file_arg_convert, &file,
                                     &consume)) {
        fg_file_arg_clear(&file);
        return NULL;
    }
    options.consumes = consume;
    return copy_and_clear(self, &file, &options);
}

static PyObject *copy_snapshot(PyObject *self, PyObject *path)
{
    struct fg_file_arg file = {.fd = -1};

    return fg_file_arg_convert(path, &file) ? copy_and_clear(self, &file, NULL) : NULL;
}

static PyObject *write_snapshot(PyObject *self, PyObject *argument)
{
    unsigned long long number = PyLong_AsUnsignedLongLong(argument);
    struct fg_instance *instance =
        number == (unsigned long long)-1 && PyErr_Occurred() ? NULL : fg_instance_take(self);
    int error;

    if (!instance)
        return NULL;
    error = fg_instance_write_snapshot(instance, number);
    fg_instance_put(instance);
    return fg_instance_result(error);
}

/* ---- attributes */

static PyObject *get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(((struct fg_instance_object *)self)->handle);
}

static PyObject *get_closed(PyObject *self, void *Py_UNUSED(closure))
{
    struct fg_instance *instance = fg_instance_get(((struct fg_instance_object *)self)->handle);

    if (instance)
        fg_instance_put(instance);
    return PyBool_FromLong(!instance);
}

static PyObject *tracer_name(struct fg_instance *instance)
{
    return PyUnicode_FromString(instance->tracer->name);
}

static PyObject *buffer_kb(struct fg_instance *instance)
{
    return PyLong_FromSize_t(instance->ring.buffer_bytes / 1024);
}

static PyObject *tracing_on(struct fg_instance *instance)
{
    return PyBool_FromLong(!atomic_load(&instance->ring.paused));
}

static PyObject *has_unread(struct fg_instance *instance)
{
    return PyBool_FromLong(fg_ring_has_unread(&instance->ring));
}

static PyObject *written_bytes(struct fg_instance *instance)
{
    return PyLong_FromUnsignedLongLong(fg_ring_written_bytes(&instance->ring));
}

static PyObject *wakes(struct fg_instance *instance)
{
    return PyLong_FromUnsignedLong(fg_ring_wakes(&instance->ring));
}

static PyObject *has_snapshot(struct fg_instance *instance)
{
    return PyBool_FromLong(fg_ring_has_spare(&instance->ring));
}

static PyObject *max_latency_us(struct fg_instance *instance)
{
    uint64_t ticks = atomic_load(&instance->max_latency_ticks);
    uint64_t ns = (uint64_t)((double)ticks * fg_clock_ns_per_tick());

    return PyLong_FromUnsignedLongLong((ns + 500) / 1000);
}

/* The getter of an attribute. */
struct attribute {
    PyObject *(*get)(struct fg_instance *instance);
};

static PyObject *get_attribute(PyObject *self, void *closure)
{
    const struct attribute *attribute = closure;
    struct fg_instance *instance = fg_instance_take(self);
    PyObject *value = instance ? attribute->get(instance) : NULL;

    if (instance)
        fg_instance_put(instance);
    return value;
}

static int set_max_latency_us(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    unsigned long long us = value ? PyLong_AsUnsignedLongLong(value) : 0;
    struct fg_instance *instance =
        us == (unsigned long long)-1 && PyErr_Occurred() ? NULL : fg_instance_take(self);

    if (!instance)
        return -1;
    atomic_store(&instance->max_latency_ticks, fg_instance_thresh_ticks(us));
    fg_instance_put(instance);
    return 0;
}

static const struct attribute of_tracer = {tracer_name}, of_buffer = {buffer_kb}, of_on = {tracing_on},
                              of_unread = {has_unread}, of_bytes = {written_bytes}, of_wakes = {wakes},
                              of_settings = {fg_instance_py_settings}, of_latency = {max_latency_us},
                              of_snapshot = {has_snapshot};

static PyGetSetDef attributes[] = {
    {"tracer", get_attribute, NULL, "Name of its tracer.", (void *)&of_tracer},
    {"buffer_kb", get_attribute, NULL, "Size of its buffer, in KiB.", (void *)&of_buffer},
    {"tracing_on", get_attribute, NULL, "Whether it records.", (void *)&of_on},
    {"has_unread", get_attribute, NULL, "Whether copy(consume=True) would find records.", (void *)&of_unread},
    {"written_bytes", get_attribute, NULL, "Bytes of records that no consumer had, also of overwritten ones.",
     (void *)&of_bytes},
    {"wakes", get_attribute, NULL, "How often it has woken its readers.", (void *)&of_wakes},
    {"settings", get_attribute, NULL, "Dict of all settings; set_setting() changes them.",
     (void *)&of_settings},
    {"max_latency_us", get_attribute, set_max_latency_us, "Longest time so far, in us.", (void *)&of_latency},
    {"has_snapshot", get_attribute, NULL, "Whether it has memory for snapshots.", (void *)&of_snapshot},
    {"handle", get_handle, NULL, "Number by which the engine knows it; 0: closed.", NULL},
    {"closed", get_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"close", instance_close, METH_NOARGS, "close(): stop recording and free the buffer."},
    {"set_tracer", fg_instance_py_set_tracer, METH_O,
     "set_tracer(name): change the tracer and empty the buffer."},
    {"set_buffer_kb", set_buffer_kb, METH_O, "set_buffer_kb(kb): resize the buffer."},
    {"set_filter", FG_KEYWORDS(fg_instance_py_set_filter), "set_filter(*, ...): replace the whole filter."},
    {"set_event_tids", fg_instance_py_set_event_tids, METH_VARARGS,
     "set_event_tids(only, never): see only events in these threads; None: in all, and never in none."},
    {"set_setting", fg_instance_py_set_setting, METH_VARARGS,
     "set_setting(name, value): change one of `settings`."},
    {"set_tracing_on", set_tracing_on, METH_O, "set_tracing_on(on): switch recording on or off."},
    {"set_overwrite", set_overwrite, METH_O,
     "set_overwrite(on): whether a full buffer loses the oldest records, or the newest."},
    {"clear", clear, METH_NOARGS, "clear(): discard all records."},
    {"copy", FG_KEYWORDS(copy),
     "copy(path, *, consume=False) -> int: write the records to a ring-buffer file."},
    {"wait", fg_instance_py_wait, METH_VARARGS,
     "wait(wakes, timeout_s) -> bool: wait until `wakes` is no longer the argument, or there are records."},
    {"copy_snapshot", copy_snapshot, METH_O, "copy_snapshot(path) -> int: as copy(), of its snapshot."},
    {"write_snapshot", write_snapshot, METH_O,
     "write_snapshot(number): 0 frees the snapshot, 1 takes one, any other empties it."},
    {"mark", fg_instance_py_mark, METH_O, "mark(text) -> int: put a text into the trace."},
    {"mark_raw", fg_instance_py_mark_raw, METH_O,
     "mark_raw(data) -> int: put an id of 4 bytes and data into the trace."},
    {"printk", FG_FASTCALL(fg_instance_py_printk),
     "printk(format, *args) -> int: as mark(), shown as from the calling function."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An instance of the tracer in this process's memory; see the type stub."},
    {Py_tp_new, instance_new},
    {Py_tp_dealloc, instance_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_instance_spec = {
    .name = "funcgraph._engine.Instance",
    .basicsize = sizeof(struct fg_instance_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
