/* A user of the C API for tests: registers users of the graph, notes what its callbacks are told, and
 * lets Python ask for it. Compiled by the tests themselves, as C11 and as C++11: written in what both know.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <funcgraph.h>

#define MAX_PROBES 80 /* more than there are slots */
#define MAX_EVENTS 256
#define TEXT_BYTES 80
#define MAX_STACK 8

/* What a callback was told, and what it found when it asked. */
struct event {
    const char *kind;
    char func[TEXT_BYTES];
    unsigned depth, id;
    int end;           /* enum fg_end; -1 at entries */
    uint64_t serial;   /* what the data holds; 0: there is none */
    uint64_t parent;   /* what that of the caller's frame holds */
    size_t bytes;      /* size of the data */
    uint64_t task_var; /* after it was counted up */
    long argument;     /* the first one, if it is an int; -1 */
    unsigned nr_arguments;
    long named;         /* the one called `number`, if it is an int; -1 */
    long nth;           /* what lies in its place; -1 */
    int place;          /* of `number`; -1 */
    PyObject *callable; /* only compared */
    struct ftrace_location at, returns_to;
    int is_located, is_return_located;
    uintptr_t frame_pointer, stack_pointer;
    long result; /* if it is an int; -1 */
    char exception[TEXT_BYTES];
    int was_zeroed, could_twice, is_own_task;
    uint64_t ran_ns;
    size_t nr_stack;
    char stack[MAX_STACK][TEXT_BYTES];
    uint64_t stack_users[MAX_STACK];
};

struct probe {
    struct fgraph_ops ops;
    size_t data_bytes;     /* to reserve at each entry */
    int refuses;           /* the return */
    const char *leaves_at; /* the kind of event at which it unregisters itself */
    int leave_error;
    PyObject *calls; /* what its entry function calls, or NULL */
    struct event events[MAX_EVENTS];
    int nr_events;
};

static struct probe *probes[MAX_PROBES];
static int nr_probes;
static uint64_t last_serial;

/* ---- callbacks */

static void copy_text(char *to, const char *from)
{
    strncpy(to, from, TEXT_BYTES - 1);
}

static long as_long(PyObject *value)
{
    return value && PyLong_CheckExact(value) ? PyLong_AsLong(value) : -1;
}

static void note_stack(struct event *event)
{
    struct fgraph_ret_frame frames[MAX_STACK];

    event->nr_stack = fgraph_get_ret_stack(frames, MAX_STACK);
    for (size_t i = 0; i < event->nr_stack; i++) {
        copy_text(event->stack[i], fgraph_func_qualname(frames[i].func));
        event->stack_users[i] = frames[i].users;
    }
}

static struct event *note(struct probe *probe, const char *kind, struct fg_func *func, struct fg_task *task,
                          unsigned depth)
{
    static struct event overflow;
    struct event *event = probe->nr_events < MAX_EVENTS ? &probe->events[probe->nr_events++] : &overflow;

    memset(event, 0, sizeof(*event));
    event->kind = kind;
    copy_text(event->func, fgraph_func_name(func));
    event->id = fgraph_func_id(func);
    event->depth = depth;
    event->end = -1;
    event->argument = event->result = -1;
    event->task_var = ++*fgraph_get_task_var(task, &probe->ops);
    event->is_own_task = task == fgraph_current_task() && fgraph_task_tid(task) == gettid();
    note_stack(event);
    return event;
}

static void note_regs(struct event *event, const struct ftrace_regs *regs)
{
    PyObject *exception = ftrace_regs_get_exception(regs);

    while (ftrace_regs_get_argument(regs, event->nr_arguments))
        event->nr_arguments++;
    event->argument = as_long(ftrace_regs_get_argument(regs, 0));
    event->named = as_long(ftrace_regs_get_argument_by_name(regs, "number"));
    event->place = ftrace_regs_query_register_offset(regs, "number");
    event->nth = event->place < 0 ? -1 : as_long(ftrace_regs_get_stack_nth(regs, (unsigned)event->place));
    event->callable = ftrace_regs_get_callable(regs);
    event->is_located = ftrace_regs_get_location(regs, &event->at);
    event->is_return_located = ftrace_regs_get_return_location(regs, &event->returns_to);
    event->frame_pointer = ftrace_regs_get_frame_pointer(regs);
    event->stack_pointer = ftrace_regs_get_stack_pointer(regs);
    event->result = as_long(ftrace_regs_get_return_value(regs));
    if (exception) /* before 3.12 it may be no more than a class */
        copy_text(event->exception, PyExceptionClass_Check(exception) ? ((PyTypeObject *)exception)->tp_name
                                                                      : Py_TYPE(exception)->tp_name);
}

static uint64_t parent_of(struct fg_task *task, uint64_t *frame, struct probe *probe)
{
    uint64_t *data = (uint64_t *)fgraph_retrieve_parent_data(task, frame, &probe->ops, 1, NULL);

    return data ? *data : 0;
}

static void reserve(struct event *event, struct ftrace_graph_ent *trace, struct probe *probe)
{
    unsigned char *data = (unsigned char *)fgraph_reserve_data(trace, &probe->ops, probe->data_bytes);

    event->could_twice = fgraph_reserve_data(trace, &probe->ops, probe->data_bytes) != NULL;
    if (!data)
        return;
    event->was_zeroed = 1;
    for (size_t i = 0; i < probe->data_bytes; i++)
        event->was_zeroed &= !data[i];
    memset(data, 0xff, probe->data_bytes);
    event->serial = ++last_serial;
    if (probe->data_bytes >= sizeof(uint64_t))
        *(uint64_t *)(void *)data = event->serial;
}

static void maybe_leave(struct probe *probe, const char *kind)
{
    if (probe->leaves_at && strcmp(probe->leaves_at, kind) == 0)
        probe->leave_error = unregister_ftrace_graph(&probe->ops);
}

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = (struct probe *)ops->private_data;
    struct event *event = note(probe, "entry", trace->func, trace->task, trace->depth);

    note_regs(event, regs);
    if (probe->data_bytes)
        reserve(event, trace, probe);
    event->parent = parent_of(trace->task, trace->frame, probe);
    if (probe->calls)
        Py_XDECREF(PyObject_CallNoArgs(probe->calls));
    maybe_leave(probe, "entry");
    return !probe->refuses;
}

static void at_end(const char *kind, struct ftrace_graph_ret *trace, struct fgraph_ops *ops,
                   struct ftrace_regs *regs)
{
    struct probe *probe = (struct probe *)ops->private_data;
    struct event *event = note(probe, kind, trace->func, trace->task, trace->depth);
    uint64_t *data = (uint64_t *)fgraph_retrieve_data(trace, ops, &event->bytes);

    note_regs(event, regs);
    event->end = (int)trace->end;
    event->serial = data ? *data : 0;
    event->parent = parent_of(trace->task, trace->frame, probe);
    event->ran_ns = fgraph_duration_ns(trace->rettime - trace->calltime);
    maybe_leave(probe, kind);
}

static void ret(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    at_end("return", trace, ops, regs);
}

static void suspend(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    at_end("suspend", trace, ops, regs);
}

static void resume(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    struct probe *probe = (struct probe *)ops->private_data;
    struct event *event = note(probe, "resume", trace->func, trace->task, trace->depth);
    uint64_t *data =
        (uint64_t *)fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 0, &event->bytes);

    note_regs(event, regs);
    event->serial = data ? *data : 0;
}

/* ---- for Python: a probe is a number, an error is one too */

static struct probe *probe_at(int i)
{
    if (i >= 0 && i < nr_probes)
        return probes[i];
    PyErr_SetString(PyExc_IndexError, "no such probe");
    return NULL;
}

static PyObject *probe_new(PyObject *module, PyObject *args, PyObject *kwargs)
{
    static const char *names[] = {"data_bytes", "refuses", "leaves_at", "calls", "plain", NULL};
    struct probe *probe = nr_probes < MAX_PROBES ? (struct probe *)PyMem_Calloc(1, sizeof(*probe)) : NULL;
    Py_ssize_t data_bytes = 0;
    int plain = 0;

    (void)module;
    if (!probe)
        return PyErr_NoMemory();
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|$npzOp", (char **)names, &data_bytes, &probe->refuses,
                                     &probe->leaves_at, &probe->calls, &plain))
        return NULL;
    Py_XINCREF(probe->calls);
    probe->data_bytes = (size_t)data_bytes;
    probe->ops.name = "probe";
    probe->ops.private_data = probe;
    if (!plain) {
        probe->ops.entryfunc = entry;
        probe->ops.suspendfunc = suspend;
        probe->ops.resumefunc = resume;
    }
    probe->ops.retfunc = ret;
    probes[nr_probes] = probe;
    return PyLong_FromLong(nr_probes++);
}

/* Frees all probes; none may still be registered. */
static PyObject *forget(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    (void)module;
    for (int i = 0; i < nr_probes; i++) {
        Py_XDECREF(probes[i]->calls);
        PyMem_Free(probes[i]);
    }
    nr_probes = 0;
    Py_RETURN_NONE;
}

static PyObject *probe_register(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));

    (void)module;
    return probe ? PyLong_FromLong(register_ftrace_graph(&probe->ops)) : NULL;
}

static PyObject *probe_unregister(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));

    (void)module;
    return probe ? PyLong_FromLong(unregister_ftrace_graph(&probe->ops)) : NULL;
}

/* Registers with an exception set; the same exception must be set afterwards. */
static PyObject *probe_register_while_raising(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));
    int error;

    (void)module;
    if (!probe)
        return NULL;
    PyErr_SetString(PyExc_KeyError, "mine");
    error = register_ftrace_graph(&probe->ops);
    if (PyErr_ExceptionMatches(PyExc_KeyError)) {
        PyErr_Clear();
        return PyLong_FromLong(error);
    }
    return NULL;
}

static PyObject *probe_set_filter(PyObject *module, PyObject *args)
{
    const char *patterns[8] = {NULL};
    PyObject *texts;
    int index, set, reset;
    struct probe *probe;

    (void)module;
    if (!PyArg_ParseTuple(args, "iiO!p", &index, &set, &PyTuple_Type, &texts, &reset))
        return NULL;
    probe = probe_at(index);
    if (!probe)
        return NULL;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(texts) && i < 8; i++) {
        PyObject *text = PyTuple_GET_ITEM(texts, i);

        patterns[i] = text == Py_None ? NULL : PyUnicode_AsUTF8(text);
    }
    return PyLong_FromLong(fgraph_set_filter(&probe->ops, (enum fgraph_filter_set)set, patterns,
                                             (size_t)PyTuple_GET_SIZE(texts), reset));
}

static PyObject *probe_set_tids(PyObject *module, PyObject *args)
{
    int tids[8], index, n = 0;
    PyObject *items;
    struct probe *probe;

    (void)module;
    if (!PyArg_ParseTuple(args, "iO", &index, &items))
        return NULL;
    probe = probe_at(index);
    if (!probe)
        return NULL;
    if (items == Py_None)
        return PyLong_FromLong(fgraph_set_tids(&probe->ops, NULL, 0));
    for (; n < PyTuple_GET_SIZE(items) && n < 8; n++)
        tids[n] = (int)PyLong_AsLong(PyTuple_GET_ITEM(items, n));
    return PyLong_FromLong(fgraph_set_tids(&probe->ops, tids, (size_t)n));
}

static PyObject *probe_clear_filters(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));

    (void)module;
    return probe ? PyLong_FromLong(fgraph_clear_filters(&probe->ops)) : NULL;
}

static PyObject *check_pattern(PyObject *module, PyObject *text)
{
    const char *reason = NULL;
    size_t column = 0;
    int error = fgraph_check_pattern(PyUnicode_AsUTF8(text), &reason, &column);

    (void)module;
    /* The details are optional. */
    if (fgraph_check_pattern(PyUnicode_AsUTF8(text), NULL, NULL) != error)
        return PyErr_Format(PyExc_AssertionError, "two answers");
    return Py_BuildValue("(izn)", error, reason, (Py_ssize_t)column);
}

/* (slot, generation, nmissed, what came of leaving in a callback) */
static PyObject *probe_status(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));
    uint64_t generation = 0;
    int slot;

    (void)module;
    if (!probe)
        return NULL;
    slot = fgraph_slot(&probe->ops, &generation);
    if (fgraph_slot(&probe->ops, NULL) != slot)
        return PyErr_Format(PyExc_AssertionError, "two answers");
    return Py_BuildValue("(iKKi)", slot, (unsigned long long)generation,
                         (unsigned long long)fgraph_nmissed(&probe->ops), probe->leave_error);
}

static PyObject *stack_of(const struct event *event)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < event->nr_stack; i++) {
        PyObject *frame = Py_BuildValue("(sK)", event->stack[i], (unsigned long long)event->stack_users[i]);

        if (!frame || PyList_Append(list, frame) != 0)
            Py_CLEAR(list);
        Py_XDECREF(frame);
    }
    return list;
}

/* (the function's name, id() of the code, offset, line), or None */
static PyObject *location_of(const struct ftrace_location *location, int is_known)
{
    if (!is_known)
        Py_RETURN_NONE;
    return Py_BuildValue("(sKii)", location->func ? fgraph_func_qualname(location->func) : NULL,
                         (unsigned long long)(uintptr_t)location->code, location->offset, location->line);
}

static PyObject *regs_as_dict(const struct event *event)
{
    return Py_BuildValue("{s:l,s:i,s:l,s:K,s:N,s:N,s:K,s:K}", "named", event->named, "place", event->place,
                         "nth", event->nth, "callable", (unsigned long long)(uintptr_t)event->callable, "at",
                         location_of(&event->at, event->is_located), "returns_to",
                         location_of(&event->returns_to, event->is_return_located), "frame_pointer",
                         (unsigned long long)event->frame_pointer, "stack_pointer",
                         (unsigned long long)event->stack_pointer);
}

static PyObject *event_as_dict(const struct event *event)
{
    PyObject *stack = stack_of(event);

    if (!stack)
        return NULL;
    return Py_BuildValue("{s:s,s:s,s:I,s:I,s:i,s:K,s:K,s:n,s:K,s:l,s:I,s:l,s:s,s:i,s:i,s:i,s:K,s:N,s:N}",
                         "kind", event->kind, "func", event->func, "depth", event->depth, "id", event->id,
                         "end", event->end, "serial", (unsigned long long)event->serial, "parent",
                         (unsigned long long)event->parent, "bytes", (Py_ssize_t)event->bytes, "task_var",
                         (unsigned long long)event->task_var, "argument", event->argument, "nr_arguments",
                         event->nr_arguments, "result", event->result, "exception", event->exception,
                         "was_zeroed", event->was_zeroed, "could_twice", event->could_twice, "is_own_task",
                         event->is_own_task, "ran_ns", (unsigned long long)event->ran_ns, "stack", stack,
                         "regs", regs_as_dict(event));
}

/* Returns the events noted since the last call. */
static PyObject *probe_take(PyObject *module, PyObject *index)
{
    struct probe *probe = probe_at((int)PyLong_AsLong(index));
    PyObject *list = probe ? PyList_New(0) : NULL;
    int n = probe ? probe->nr_events : 0;

    (void)module;
    for (int i = 0; list && i < n; i++) {
        PyObject *dict = event_as_dict(&probe->events[i]);

        if (!dict || PyList_Append(list, dict) != 0)
            Py_CLEAR(list);
        Py_XDECREF(dict);
    }
    if (probe)
        probe->nr_events = 0;
    return list;
}

/* (module, qualname, file, line) of the function that runs innermost and is traced, or None. */
static PyObject *innermost(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct fgraph_ret_frame frame;

    (void)module;
    if (!fgraph_get_ret_stack(&frame, 1))
        Py_RETURN_NONE;
    return Py_BuildValue("(sssI)", fgraph_func_module(frame.func), fgraph_func_qualname(frame.func),
                         fgraph_func_file(frame.func), (unsigned)fgraph_func_line(frame.func));
}

/* (OS id, overrun) of the calling thread's task, or None. */
static PyObject *task(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct fg_task *current = fgraph_current_task();

    (void)module;
    if (!current)
        Py_RETURN_NONE;
    return Py_BuildValue("(iK)", fgraph_task_tid(current), (unsigned long long)fgraph_task_overrun(current));
}

/* Nanoseconds of CLOCK_MONOTONIC at which the innermost traced call began. */
static PyObject *began_ns(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct fgraph_ret_frame frame;

    (void)module;
    if (!fgraph_get_ret_stack(&frame, 1))
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(fgraph_ns(frame.calltime));
}

static PyObject *version(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    (void)module;
    return Py_BuildValue("(iinn)", funcgraph_api_->major, funcgraph_api_->minor,
                         (Py_ssize_t)funcgraph_api_->bytes, (Py_ssize_t)sizeof(struct funcgraph_api));
}

#define WITH_KEYWORDS(function) ((PyCFunction)(void (*)(void))(function))

static PyMethodDef methods[] = {
    {"new", WITH_KEYWORDS(probe_new), METH_VARARGS | METH_KEYWORDS, NULL},
    {"forget", forget, METH_NOARGS, NULL},
    {"register", probe_register, METH_O, NULL},
    {"unregister", probe_unregister, METH_O, NULL},
    {"register_while_raising", probe_register_while_raising, METH_O, NULL},
    {"set_filter", probe_set_filter, METH_VARARGS, NULL},
    {"set_tids", probe_set_tids, METH_VARARGS, NULL},
    {"clear_filters", probe_clear_filters, METH_O, NULL},
    {"check_pattern", check_pattern, METH_O, NULL},
    {"status", probe_status, METH_O, NULL},
    {"take", probe_take, METH_O, NULL},
    {"innermost", innermost, METH_NOARGS, NULL},
    {"task", task, METH_NOARGS, NULL},
    {"began_ns", began_ns, METH_NOARGS, NULL},
    {"version", version, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "capi_probe", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_capi_probe(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module_def) : NULL;
}
