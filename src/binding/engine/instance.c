/* Instance: an instance without a file, changed and read by its own process. What is allowed is said above, in
 * funcgraph.instance; here are arguments, errors, and no memory that goes too early: the object knows its instance by its
 * handle, and holds it while it works with it. */
#include "binding/engine/instance.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "arch/cpython/base/callback.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/thread.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/symbols.h"
#include "binding/base/binding.h"
#include "binding/base/registration.h"
#include "engine/core/clock.h"
#include "engine/ring/ring_copy.h"
#include "engine/tracer/instance_mark.h"
#include "engine/tracer/instance_start.h"

struct instance {
    PyObject_HEAD int handle; /* 0: none */
};

/* To be put back. NULL with a ValueError. */
static struct fg_instance *instance_of(PyObject *object)
{
    struct fg_instance *instance = fg_instance_get(((struct instance *)object)->handle);

    if (!instance)
        PyErr_SetString(PyExc_ValueError, "the instance is closed");
    return instance;
}

static PyObject *answer(int error)
{
    if (!error)
        Py_RETURN_NONE;
    if (error == -ENOMEM)
        return PyErr_NoMemory();
    errno = -error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

/* ---- coming and going */

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
    struct instance *self;
    Py_ssize_t buffer_kb = 1408;
    const char *name;
    int overwrite = 1, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "s|$np:Instance", names, &name, &buffer_kb, &overwrite) ||
        set_name(&config, name) != 0)
        return NULL;
    config.scope = fg_engine_here();
    self = config.scope ? (struct instance *)type->tp_alloc(type, 0) : NULL;
    if (!self)
        return NULL;
    config.ring.buffer_bytes = buffer_kb > 0 ? (size_t)buffer_kb * 1024 : 0;
    config.ring.mode = overwrite ? FG_RING_OVERWRITE : FG_RING_DROP;
    error = fg_instance_start(&config, &self->handle);
    if (error) {
        self->handle = 0;
        Py_DECREF(self);
        return error == -ENOSPC ? fg_raise_no_slot() : answer(error);
    }
    return (PyObject *)self;
}

static int stop(struct instance *self)
{
    int error = self->handle ? fg_instance_stop(self->handle) : 0;

    if (error != -EBUSY)
        self->handle = 0;
    fg_hooks_stop_if_unused();
    return error == -EINVAL ? 0 : error;
}

static PyObject *instance_close(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return answer(stop((struct instance *)self));
}

static void instance_dealloc(PyObject *self)
{
    PyTypeObject *type = Py_TYPE(self);

    if (!fg_is_finalizing()) /* else it stays as it is: the process ends */
        stop((struct instance *)self);
    type->tp_free(self);
    Py_DECREF(type);
}

/* ---- tracer and buffer */

/* It may need the hooks, and what its filter names of C functions. Takes the instance back. */
static PyObject *change_tracer(struct fg_instance *instance, const struct fg_tracer *tracer)
{
    int error = tracer->init ? fg_hooks_hold() : 0;

    if (error) {
        fg_instance_put(instance);
        return NULL;
    }
    if (tracer->init)
        error = fg_symbols_meet_named_c(fg_interp_known(), &instance->filter);
    if (!error)
        error = fg_instance_set_tracer(instance, tracer);
    if (tracer->init)
        fg_hooks_release();
    fg_instance_put(instance);
    fg_hooks_stop_if_unused();
    return answer(error);
}

/* "function_graph, function, nop" */
static PyObject *tracer_names(void)
{
    PyObject *names = PyUnicode_FromString("");

    for (unsigned i = 0; names && fg_tracer_at(i); i++)
        Py_SETREF(names, PyUnicode_FromFormat(i ? "%U, %s" : "%U%s", names, fg_tracer_at(i)->name));
    return names;
}

const struct fg_tracer *fg_tracer_named(const char *name)
{
    const struct fg_tracer *tracer = fg_tracer_find(name);
    PyObject *names = tracer ? NULL : tracer_names();

    if (names)
        PyErr_Format(PyExc_ValueError, "tracer '%s' is unknown; there are %U", name, names);
    Py_XDECREF(names);
    return tracer;
}

static PyObject *set_tracer(PyObject *self, PyObject *name)
{
    const char *text = PyUnicode_AsUTF8(name);
    const struct fg_tracer *tracer = text ? fg_tracer_named(text) : NULL;
    struct fg_instance *instance = tracer ? instance_of(self) : NULL;

    return instance ? change_tracer(instance, tracer) : NULL;
}

static PyObject *set_buffer_kb(PyObject *self, PyObject *argument)
{
    Py_ssize_t kb = PyLong_AsSsize_t(argument);
    struct fg_instance *instance = kb == -1 && PyErr_Occurred() ? NULL : instance_of(self);
    int error;

    if (!instance)
        return NULL;
    error = fg_instance_set_buffer(instance, kb > 0 && kb < PY_SSIZE_T_MAX / 1024 ? (size_t)kb * 1024 : 1);
    fg_instance_put(instance);
    return answer(error);
}

/* ---- filters */

static int add_tids(struct fg_filter *filter, PyObject *tids)
{
    PyObject *tuple = fg_tid_tuple(tids);
    int error = tuple ? 0 : -1;

    if (tuple && tuple != Py_None)
        error = fg_filter_add_tid_tuple(filter, tuple);
    Py_XDECREF(tuple);
    return error;
}

static int make_filter(struct fg_filter *filter, PyObject *const sets[], PyObject *tids)
{
    int error = 0;

    for (int set = 0; !error && set < FGRAPH_NR_FILTER_SETS; set++) {
        PyObject *tuple = sets[set] ? fg_pattern_tuple(sets[set], fg_filter_set_names[set]) : PyTuple_New(0);

        error = tuple ? fg_filter_add_tuple(filter, (enum fgraph_filter_set)set, tuple) : -1;
        Py_XDECREF(tuple);
    }
    return error ? error : add_tids(filter, tids);
}

static PyObject *set_filter(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"filter", "notrace", "graph", "graph_notrace", "tids", "c_calls", NULL};
    PyObject *sets[FGRAPH_NR_FILTER_SETS] = {NULL}, *tids = Py_None;
    struct fg_filter filter = {0};
    struct fg_instance *instance;
    int c_calls = 0, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$OOOOOp:set_filter", names, &sets[FGRAPH_FILTER],
                                     &sets[FGRAPH_NOTRACE], &sets[FGRAPH_GRAPH], &sets[FGRAPH_GRAPH_NOTRACE],
                                     &tids, &c_calls))
        return NULL;
    filter.c_calls = c_calls;
    instance = make_filter(&filter, sets, tids) == 0 ? instance_of(self) : NULL;
    if (!instance) {
        fg_filter_clear(&filter);
        return NULL;
    }
    error = instance->tracer->init ? fg_symbols_meet_named_c(fg_interp_known(), &filter) : 0;
    if (!error)
        error = fg_instance_set_filter(instance, &filter);
    fg_filter_clear(&filter);
    fg_instance_put(instance);
    return answer(error);
}

/* ---- settings */

static int number_of(PyObject *value, uint64_t most, uint64_t *number)
{
    *number = PyLong_AsUnsignedLongLong(value);
    if (*number == UINT64_MAX && PyErr_Occurred())
        return -1;
    if (*number <= most)
        return 0;
    PyErr_Format(PyExc_ValueError, "%S is more than %llu", value, (unsigned long long)most);
    return -1;
}

static int flag_of(PyObject *value, bool *flag)
{
    int is_true = PyObject_IsTrue(value);

    *flag = is_true == 1;
    return is_true < 0 ? -1 : 0;
}

static int change_setting(struct fg_instance_settings *settings, const char *name, PyObject *value)
{
    uint64_t number = 0;

    if (strcmp(name, "max_graph_depth") == 0) {
        int error = number_of(value, FG_INSTANCE_MAX_DEPTH, &number);

        settings->max_graph_depth = (uint32_t)number;
        return error;
    }
    if (strcmp(name, "thresh_us") == 0)
        return number_of(value, FG_INSTANCE_MAX_THRESH_US, &settings->thresh_us);
#define X(field, option)                                                                                     \
    if (strcmp(name, #field) == 0)                                                                           \
        return flag_of(value, &settings->field);
    FG_INSTANCE_FLAGS(X)
#undef X
    PyErr_Format(PyExc_ValueError, "there is no setting '%s'", name);
    return -1;
}

static PyObject *apply_settings(struct fg_instance *instance, const struct fg_instance_settings *settings)
{
    if (settings->retaddr || settings->stack_trace)
        fg_code_discover_callers();
    return answer(fg_instance_set_settings(instance, settings));
}

static PyObject *set_setting(PyObject *self, PyObject *args)
{
    struct fg_instance_settings settings;
    struct fg_instance *instance;
    PyObject *value, *result;
    const char *name;

    if (!PyArg_ParseTuple(args, "sO:set_setting", &name, &value))
        return NULL;
    instance = instance_of(self);
    if (!instance)
        return NULL;
    settings = fg_instance_settings(instance);
    result = change_setting(&settings, name, value) == 0 ? apply_settings(instance, &settings) : NULL;
    fg_instance_put(instance);
    return result;
}

static PyObject *set_tracing_on(PyObject *self, PyObject *argument)
{
    int on = PyObject_IsTrue(argument), error;
    struct fg_instance *instance = on < 0 ? NULL : instance_of(self);

    if (!instance)
        return NULL;
    error = fg_instance_set_tracing_on(instance, on);
    fg_instance_put(instance);
    return answer(error);
}

static PyObject *set_overwrite(PyObject *self, PyObject *argument)
{
    int overwrite = PyObject_IsTrue(argument);
    struct fg_instance *instance = overwrite < 0 ? NULL : instance_of(self);

    if (!instance)
        return NULL;
    fg_ring_set_mode(&instance->ring, overwrite ? FG_RING_OVERWRITE : FG_RING_DROP);
    fg_instance_put(instance);
    Py_RETURN_NONE;
}

/* ---- reading */

static PyObject *clear(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct fg_instance *instance = instance_of(self);

    if (!instance)
        return NULL;
    fg_ring_clear(&instance->ring);
    fg_instance_put(instance);
    Py_RETURN_NONE;
}

static int64_t copy_to(struct fg_instance *instance, const char *path,
                       const struct fg_ring_copy_options *options)
{
    int64_t bytes;
    int fd;

    Py_BEGIN_ALLOW_THREADS;
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    bytes = fd < 0 ? -errno : fg_ring_copy(&instance->ring, fd, options);
    if (fd >= 0)
        close(fd);
    Py_END_ALLOW_THREADS;
    return bytes;
}

static PyObject *copy(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"path", "consume", NULL};
    struct fg_ring_copy_options options = {0};
    struct fg_instance *instance;
    PyObject *path;
    int64_t bytes;
    int consume = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&|$p:copy", names, PyUnicode_FSConverter, &path,
                                     &consume))
        return NULL;
    options.consumes = consume;
    instance = instance_of(self);
    bytes = instance ? copy_to(instance, PyBytes_AS_STRING(path), &options) : 0;
    Py_DECREF(path);
    if (!instance)
        return NULL;
    fg_instance_put(instance);
    return bytes < 0 ? answer((int)bytes) : PyLong_FromLongLong(bytes);
}

/* ---- texts that the program puts in */

/* The function that calls us, as the engine knows it; 0: it does not. */
static uint32_t caller_id(void)
{
    fg_pyframe *frame = fg_complete_pyframe(fg_current_pyframe(fg_tstate()));
    struct fg_func *func = frame && fg_code_extra_index >= 0 ? fg_code_func(fg_pyframe_code(frame)) : NULL;

    return func ? func->id : 0;
}

#define TOP 0
#define NO_INSTANCE (-1) /* it is closed */

/* To one instance, or (TOP) to all that are the top one. What finds no room is counted, like any record. */
static int put_text(int handle, uint32_t func, const char *text, Py_ssize_t bytes)
{
    struct fg_interp *interp = fg_interp_known();
    int error = 0;

    if (handle != TOP)
        return fg_instance_mark(handle, func, text, (size_t)bytes);
    while (interp && error != -ENOMEM && (handle = fg_instance_next(handle, interp)))
        if (fg_instance_is_top(handle))
            error = fg_instance_mark(handle, func, text, (size_t)bytes);
    return error;
}

/* What a file's write() returns. */
static PyObject *write_text(int handle, uint32_t func, PyObject *text)
{
    Py_ssize_t bytes;
    const char *utf8 = PyUnicode_AsUTF8AndSize(text, &bytes);

    if (!utf8)
        return NULL;
    if (put_text(handle, func, utf8, bytes) == -ENOMEM)
        return PyErr_NoMemory();
    return PyLong_FromSsize_t(PyUnicode_GetLength(text));
}

static int check_text(PyObject *text)
{
    if (PyUnicode_Check(text))
        return 0;
    PyErr_Format(PyExc_TypeError, "a str is needed, not %.100s", Py_TYPE(text)->tp_name);
    return -1;
}

static PyObject *print_text(int handle, PyObject *const *args, Py_ssize_t nargs)
{
    PyObject *values, *text, *result;

    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "trace_printk: a format is needed");
        return NULL;
    }
    values = check_text(args[0]) == 0 ? PyTuple_New(nargs - 1) : NULL;
    if (!values)
        return NULL;
    for (Py_ssize_t i = 1; i < nargs; i++)
        PyTuple_SET_ITEM(values, i - 1, Py_NewRef(args[i]));
    text = PyUnicode_Format(args[0], values);
    Py_DECREF(values);
    result = text ? write_text(handle, caller_id(), text) : NULL;
    Py_XDECREF(text);
    return result;
}

static PyObject *instance_mark(PyObject *self, PyObject *text)
{
    int handle = ((struct instance *)self)->handle;

    if (check_text(text) != 0)
        return NULL;
    return write_text(handle ? handle : NO_INSTANCE, 0, text);
}

static PyObject *instance_printk(PyObject *self, PyObject *const *args, Py_ssize_t nargs)
{
    int handle = ((struct instance *)self)->handle;

    return print_text(handle ? handle : NO_INSTANCE, args, nargs);
}

static PyObject *top_mark(PyObject *Py_UNUSED(module), PyObject *text)
{
    return check_text(text) == 0 ? write_text(TOP, 0, text) : NULL;
}

static PyObject *top_printk(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    return print_text(TOP, args, nargs);
}

/* ---- attributes */

static PyObject *get_handle(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromLong(((struct instance *)self)->handle);
}

static PyObject *get_closed(PyObject *self, void *Py_UNUSED(closure))
{
    struct fg_instance *instance = fg_instance_get(((struct instance *)self)->handle);

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

static PyObject *settings_dict(struct fg_instance *instance)
{
    struct fg_instance_settings settings = fg_instance_settings(instance);

#define FORMAT(name, option) "s:N,"
#define VALUE(name, option) , #name, PyBool_FromLong(settings.name)
    return Py_BuildValue("{" FG_INSTANCE_FLAGS(FORMAT) "s:I,s:K}" FG_INSTANCE_FLAGS(VALUE), "max_graph_depth",
                         settings.max_graph_depth, "thresh_us", (unsigned long long)settings.thresh_us);
#undef FORMAT
#undef VALUE
}

static PyObject *max_latency_us(struct fg_instance *instance)
{
    uint64_t ticks = atomic_load(&instance->max_latency_ticks);

    return PyLong_FromUnsignedLongLong((uint64_t)((double)ticks * fg_clock_ns_per_tick() / 1000.0));
}

/* An attribute's value is that of a function of the instance. */
struct attribute {
    PyObject *(*get)(struct fg_instance *instance);
};

static PyObject *get_attribute(PyObject *self, void *closure)
{
    const struct attribute *attribute = closure;
    struct fg_instance *instance = instance_of(self);
    PyObject *value = instance ? attribute->get(instance) : NULL;

    if (instance)
        fg_instance_put(instance);
    return value;
}

static int set_max_latency_us(PyObject *self, PyObject *value, void *Py_UNUSED(closure))
{
    unsigned long long us = value ? PyLong_AsUnsignedLongLong(value) : 0;
    struct fg_instance *instance =
        us == (unsigned long long)-1 && PyErr_Occurred() ? NULL : instance_of(self);

    if (!instance)
        return -1;
    atomic_store(&instance->max_latency_ticks, fg_instance_thresh_ticks(us));
    fg_instance_put(instance);
    return 0;
}

static const struct attribute of_tracer = {tracer_name}, of_buffer = {buffer_kb}, of_on = {tracing_on},
                              of_unread = {has_unread}, of_settings = {settings_dict},
                              of_latency = {max_latency_us};

static PyGetSetDef attributes[] = {
    {"tracer", get_attribute, NULL, "The name of its tracer.", (void *)&of_tracer},
    {"buffer_kb", get_attribute, NULL, "The size of its buffer, in KiB.", (void *)&of_buffer},
    {"tracing_on", get_attribute, NULL, "Whether it records.", (void *)&of_on},
    {"has_unread", get_attribute, NULL, "Whether a consuming copy would find records.", (void *)&of_unread},
    {"settings", get_attribute, NULL, "What set_setting changes.", (void *)&of_settings},
    {"max_latency_us", get_attribute, set_max_latency_us, "The longest time so far, in us.",
     (void *)&of_latency},
    {"handle", get_handle, NULL, "The number by which the engine knows it; 0: it is closed.", NULL},
    {"closed", get_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"close", instance_close, METH_NOARGS, "close(): nothing of it is left."},
    {"set_tracer", set_tracer, METH_O, "set_tracer(name): another tracer, and an empty buffer."},
    {"set_buffer_kb", set_buffer_kb, METH_O, "set_buffer_kb(kb): another size of the buffer."},
    {"set_filter", FG_KEYWORDS(set_filter), "set_filter(*, ...): which functions and calls; all at once."},
    {"set_setting", set_setting, METH_VARARGS, "set_setting(name, value): one of `settings`."},
    {"set_tracing_on", set_tracing_on, METH_O, "set_tracing_on(on): record, or do not."},
    {"set_overwrite", set_overwrite, METH_O,
     "set_overwrite(on): a full buffer loses the oldest, or the newest."},
    {"clear", clear, METH_NOARGS, "clear(): forget all records."},
    {"copy", FG_KEYWORDS(copy),
     "copy(path, *, consume=False) -> int: write a ring-buffer file of what is there."},
    {"mark", instance_mark, METH_O, "mark(text) -> int: put a text into the trace."},
    {"printk", (PyCFunction)(void (*)(void))instance_printk, METH_FASTCALL,
     "printk(format, *args) -> int: put a text into the trace, as from the function that calls this."},
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
    .basicsize = sizeof(struct instance),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* "sleep-time": ("no_sleep_time", False) and so on, of one flag, whose options have blanks between them. */
static int add_flag_options(PyObject *flags, const char *setting, const char *options)
{
    size_t length;

    for (const char *at = options; *at; at += length + (at[length] == ' ')) {
        bool is_off = strncmp(at, "no", 2) == 0;
        PyObject *option, *value = Py_BuildValue("(sN)", setting, PyBool_FromLong(!is_off));
        int error;

        length = strcspn(at, " ");
        option = PyUnicode_FromStringAndSize(at + 2 * is_off, (Py_ssize_t)(length - 2 * is_off));
        error = option && value ? PyDict_SetItem(flags, option, value) : -1;
        Py_XDECREF(option);
        Py_XDECREF(value);
        if (error)
            return -1;
    }
    return 0;
}

PyObject *fg_instance_flags(void)
{
    PyObject *flags = PyDict_New();

#define X(name, options)                                                                                     \
    if (flags && add_flag_options(flags, #name, options) != 0)                                               \
        Py_CLEAR(flags);
    FG_INSTANCE_FLAGS(X)
#undef X
    return flags;
}

PyObject *fg_instance_limits(void)
{
    PyObject *limits = PyDict_New();

#define X(name, least, most)                                                                                 \
    if (limits) {                                                                                            \
        PyObject *pair = Py_BuildValue("(LL)", (long long)(least), (long long)(most));                       \
                                                                                                             \
        if (!pair || PyDict_SetItemString(limits, #name, pair) != 0)                                         \
            Py_CLEAR(limits);                                                                                \
        Py_XDECREF(pair);                                                                                    \
    }
    FG_INSTANCE_LIMITS(X)
#undef X
    return limits;
}

/* ---- working untraced */

/* The guard is held as in a callback: nothing of what is called is traced, and who unregisters a user waits for us. */
static PyObject *untraced(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t nargs)
{
    struct fg_task *task;
    bool has_entered;
    PyObject *result;

    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "untraced: a function is needed");
        return NULL;
    }
    task = fg_engine_here() ? fg_task_current() : NULL;
    if (!task && PyErr_Occurred())
        return NULL;
    has_entered = task && fg_guard_enter(task);
    fg_untraced++;
    result = PyObject_Vectorcall(args[0], args + 1, (size_t)nargs - 1, NULL);
    fg_untraced--;
    if (has_entered)
        fg_guard_leave(task);
    return result;
}

PyMethodDef fg_instance_functions[] = {
    {"untraced", (PyCFunction)(void (*)(void))untraced, METH_FASTCALL,
     "untraced(function, *args): what it returns; nothing that it calls is traced, by nobody."},
    {"mark", top_mark, METH_O, "mark(text) -> int: put a text into the traces of this process."},
    {"trace_printk", (PyCFunction)(void (*)(void))top_printk, METH_FASTCALL,
     "trace_printk(format, *args) -> int: the same, as from the function that calls this."},
    {NULL, NULL, 0, NULL},
};
