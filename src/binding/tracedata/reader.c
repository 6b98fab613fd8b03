/* Traces are read: the classes Reader and ReportIterator of funcgraph._tracedata, over report.h and
 * summary.h. What the trace's JSON says is decoded in Python and handed in as names. */
#include "binding/tracedata/reader.h"

#include <errno.h>

#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/tracedata/state.h"
#include "tracedata/read/trace_file.h"
#include "tracedata/view/report.h"
#include "tracedata/view/summary.h"

#define CHUNK_BYTES (256u << 10)  /* of report text a time */
#define SUMMARY_EVENTS (4u << 20) /* between looks for a signal, a few tenths of a second */

struct reader {
    PyObject_HEAD PyObject *path;
    struct fg_trace_file file;
    struct fg_name_table names;
    bool has_names;
    bool is_busy; /* a thread reads without the GIL; unknown tasks it meets change `names` */
};

struct report_iterator {
    PyObject_HEAD struct reader *reader;
    struct fg_merge merge;
    struct fg_report *report;
    struct fg_text text;
    int error; /* met behind the lines handed out last */
    bool at_end;
};

/* Raises what an error of the C side means. `reason`: what is wrong with the file, for -EINVAL. Return: NULL. */
static PyObject *raise_error(struct reader *reader, int error, const char *reason)
{
    if (error != -EINVAL || !reason[0])
        return fg_raise_errno(error, reader->path);
    PyErr_SetString(PyExc_ValueError, reason);
    return NULL;
}

static bool reader_begin(struct reader *reader)
{
    if (!reader->has_names || reader->is_busy) {
        PyErr_SetString(PyExc_RuntimeError,
                        reader->is_busy ? "another thread is reading" : "call set_names() first");
        return false;
    }
    reader->is_busy = true;
    return true;
}

/* Reader */

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"path", NULL};
    PyObject *encoded = NULL;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O&:Reader", keywords, PyUnicode_FSConverter, &encoded))
        return NULL;
    struct reader *reader = (struct reader *)type->tp_alloc(type, 0);
    if (!reader) {
        Py_DECREF(encoded);
        return NULL;
    }
    char reason[FG_REASON_BYTES];
    int error;
    reader->file.fd = -1;
    reader->path = PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(encoded));
    if (!reader->path) {
        Py_DECREF(encoded);
        Py_DECREF(reader);
        return NULL;
    }
    Py_BEGIN_ALLOW_THREADS error = fg_trace_file_open(PyBytes_AS_STRING(encoded), &reader->file, reason);
    Py_END_ALLOW_THREADS Py_DECREF(encoded);
    if (error) {
        raise_error(reader, error, reason);
        Py_DECREF(reader);
        return NULL;
    }
    return (PyObject *)reader;
}

static void reader_dealloc(PyObject *self)
{
    struct reader *reader = (struct reader *)self;
    PyTypeObject *type = Py_TYPE(self);
    fg_trace_file_close(&reader->file);
    fg_name_table_free(&reader->names);
    Py_XDECREF(reader->path);
    type->tp_free(self);
    Py_DECREF(type);
}

static int set_function(struct reader *reader, uint32_t index, PyObject *item)
{
    const char *name, *arguments;
    Py_ssize_t name_bytes, arguments_bytes;
    unsigned int size_bytes;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a function is a tuple (name, arguments, size_bytes)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "s#s#I;a function is (name, arguments, size_bytes)", &name, &name_bytes,
                          &arguments, &arguments_bytes, &size_bytes))
        return -1;
    if (fg_name_table_set_function(&reader->names, index, name, (size_t)name_bytes, arguments,
                                   (size_t)arguments_bytes, size_bytes)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static int add_task(struct reader *reader, PyObject *item)
{
    const char *name;
    unsigned int lane;
    int tid, pid, selected;
    unsigned long long first_ns, last_ns;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError,
                        "a task is a tuple (lane, tid, pid, name, first_ns, last_ns, selected)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "IiisKKp;a task is (lane, tid, pid, name, first_ns, last_ns, selected)",
                          &lane, &tid, &pid, &name, &first_ns, &last_ns, &selected))
        return -1;
    struct fg_task_name task = {.name = (char *)name,
                                .lane = lane,
                                .tid = tid,
                                .pid = pid,
                                .first_ns = first_ns,
                                .last_ns = last_ns,
                                .selected = selected};
    if (fg_name_table_add_task(&reader->names, &task)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

PyDoc_STRVAR(set_names_doc, "set_names($self, functions, tasks, select_unknown)\n--\n\n"
                            "Hand in what the trace's JSON says, once, before anything is read.\n\n"
                            "functions: (name, argument names joined by ',', size in bytes if it is "
                            "native code, else 0) by index.\n"
                            "tasks: (lane, tid, pid, name, first_ns, last_ns, selected); only the events of "
                            "selected tasks are read. select_unknown: so are "
                            "those of tasks not listed.");

static PyObject *reader_set_names(PyObject *self, PyObject *args)
{
    struct reader *reader = (struct reader *)self;
    PyObject *functions, *tasks;
    int select_unknown;
    if (!PyArg_ParseTuple(args, "O!O!p:set_names", &PyList_Type, &functions, &PyList_Type, &tasks,
                          &select_unknown))
        return NULL;
    if (reader->has_names) {
        PyErr_SetString(PyExc_RuntimeError, "the names are set already");
        return NULL;
    }
    Py_ssize_t nr_functions = PyList_GET_SIZE(functions), nr_tasks = PyList_GET_SIZE(tasks);
    if (nr_functions > INT32_MAX || nr_tasks > INT32_MAX) {
        PyErr_SetString(PyExc_ValueError, "too many functions or tasks");
        return NULL;
    }
    if (fg_name_table_init(&reader->names, (uint32_t)nr_functions, (uint32_t)nr_tasks)) {
        PyErr_NoMemory();
        goto fail;
    }
    for (Py_ssize_t i = 0; i < nr_functions; i++)
        if (set_function(reader, (uint32_t)i, PyList_GET_ITEM(functions, i)) < 0)
            goto fail;
    for (Py_ssize_t i = 0; i < nr_tasks; i++)
        if (add_task(reader, PyList_GET_ITEM(tasks, i)) < 0)
            goto fail;
    fg_name_table_sort(&reader->names);
    reader->names.select_unknown = select_unknown;
    reader->has_names = true;
    Py_RETURN_NONE;
fail:
    fg_name_table_free(&reader->names);
    return NULL;
}

PyDoc_STRVAR(
    report_doc,
    "report($self, buffers, header, color)\n--\n\n"
    "Return an iterator over the report's text: bytes, whole lines, a piece at a time.\n\n"
    "buffers: for each of the trace's buffers (layout, options, nr_events, nr_lost, prefix): "
    "'function_graph' or\n'function'; bits of REPORT_OPTIONS; two numbers for the header; what stands "
    "before each line, or None.\nheader: number of the buffer whose header is printed.\n"
    "Iterating raises ValueError where the file is damaged, and OSError.");

static int parse_style(PyObject *item, struct fg_report_style *style)
{
    const char *layout;
    unsigned int options;
    unsigned long long nr_events, nr_lost;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a buffer is a tuple (layout, options, nr_events, nr_lost, prefix)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "sIKKz;a buffer is (layout, options, nr_events, nr_lost, prefix)", &layout,
                          &options, &nr_events, &nr_lost, &style->prefix))
        return -1;
    style->options = options;
    style->nr_events = nr_events;
    style->nr_lost = nr_lost;
    if (strcmp(layout, "function") == 0) {
        style->layout = FG_LAYOUT_FUNCTION;
    } else if (strcmp(layout, "function_graph") != 0) {
        PyErr_Format(PyExc_ValueError, "no layout '%s'", layout);
        return -1;
    }
    return 0;
}

/* As many styles as the trace has buffers; they point into `buffers`. NULL with an exception. */
static struct fg_report_style *parse_styles(struct reader *reader, PyObject *buffers, unsigned int header,
                                            int color)
{
    Py_ssize_t nr_styles = PyList_GET_SIZE(buffers);
    struct fg_report_style *styles;

    if ((size_t)nr_styles != reader->file.nr_buffers || header >= (size_t)nr_styles) {
        PyErr_SetString(PyExc_ValueError, "the trace has another number of buffers");
        return NULL;
    }
    styles = PyMem_Calloc((size_t)nr_styles, sizeof(*styles));
    if (!styles) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < nr_styles; i++) {
        styles[i].color = color;
        if (parse_style(PyList_GET_ITEM(buffers, i), &styles[i]) < 0) {
            PyMem_Free(styles);
            return NULL;
        }
    }
    return styles;
}

static PyObject *reader_report(PyObject *self, PyObject *args)
{
    struct reader *reader = (struct reader *)self;
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(self));
    struct report_iterator *iterator;
    struct fg_report_style *styles;
    PyObject *buffers;
    unsigned int header;
    int color, error;
    if (!PyArg_ParseTuple(args, "O!Ip:report", &PyList_Type, &buffers, &header, &color))
        return NULL;
    if (!reader_begin(reader))
        return NULL;
    styles = parse_styles(reader, buffers, header, color);
    iterator =
        styles
            ? (struct report_iterator *)state->report_iterator_type->tp_alloc(state->report_iterator_type, 0)
            : NULL;
    if (!iterator) {
        PyMem_Free(styles);
        reader->is_busy = false;
        return NULL;
    }
    iterator->reader = (struct reader *)Py_NewRef(self);
    Py_BEGIN_ALLOW_THREADS error = fg_merge_open(&iterator->merge, &reader->file, &reader->names);
    if (!error)
        error = fg_report_new(styles, reader->file.nr_buffers, header, &iterator->merge, &iterator->report);
    Py_END_ALLOW_THREADS reader->is_busy = false;
    PyMem_Free(styles);
    if (error) {
        raise_error(reader, error, iterator->merge.reason);
        Py_DECREF(iterator);
        return NULL;
    }
    return (PyObject *)iterator;
}

static PyObject *summary_row(uint32_t index, const struct fg_function_summary *row)
{
    unsigned long long min_ns = row->min_ns == UINT64_MAX ? 0 : row->min_ns;
    return Py_BuildValue("(IKKKKKKKKK)", index, (unsigned long long)row->calls,
                         (unsigned long long)row->resumes, (unsigned long long)row->exceptions,
                         (unsigned long long)row->total_ns, (unsigned long long)row->self_ns, min_ns,
                         (unsigned long long)row->max_ns, (unsigned long long)row->ended,
                         (unsigned long long)row->ended_ns);
}

static PyObject *summary_rows(const struct fg_summary *summary, uint32_t nr_functions)
{
    const struct fg_function_summary *functions = fg_summary_functions(summary);
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows && i <= nr_functions; i++) {
        if (!functions[i].calls && !functions[i].resumes && !functions[i].total_ns &&
            !functions[i].exceptions)
            continue;
        fg_list_append(&rows, summary_row(i, &functions[i]));
    }
    return rows;
}

PyDoc_STRVAR(summary_doc, "summary($self)\n--\n\n"
                          "Read the whole trace; return a row for each function that was seen in it:\n"
                          "(index, calls, resumes, exceptions, total_ns, self_ns, min_ns, max_ns, ended, "
                          "ended_ns). An index beyond\n"
                          "the last function stands for functions the trace does not name. Raises ValueError "
                          "where the file is damaged, and OSError.");

static PyObject *reader_summary(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct reader *reader = (struct reader *)self;
    struct fg_merge merge;
    struct fg_summary *summary = NULL;
    PyObject *rows = NULL;
    int result;
    if (!reader_begin(reader))
        return NULL;
    Py_BEGIN_ALLOW_THREADS result = fg_merge_open(&merge, &reader->file, &reader->names);
    if (!result)
        result = fg_summary_new(&merge, &summary);
    Py_END_ALLOW_THREADS if (!result) result = 1;
    while (result == 1) {
        if (PyErr_CheckSignals() < 0)
            goto out;
        Py_BEGIN_ALLOW_THREADS result = fg_summary_run(summary, SUMMARY_EVENTS);
        Py_END_ALLOW_THREADS
    }
    if (result < 0)
        raise_error(reader, result, merge.reason);
    else
        rows = summary_rows(summary, reader->names.nr_functions);
out:
    fg_summary_free(summary);
    fg_merge_close(&merge);
    reader->is_busy = false;
    return rows;
}

static PyObject *reader_get_meta(PyObject *self, void *Py_UNUSED(closure))
{
    struct reader *reader = (struct reader *)self;
    return PyBytes_FromStringAndSize(reader->file.meta, (Py_ssize_t)reader->file.meta_bytes);
}

static PyObject *reader_get_nr_lanes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((struct reader *)self)->file.nr_lanes);
}

FG_ALONE(reader_set_names)
FG_ALONE(reader_report)
FG_ALONE(reader_summary)

static PyMethodDef reader_methods[] = {
    {"set_names", reader_set_names_alone, METH_VARARGS, set_names_doc},
    {"report", reader_report_alone, METH_VARARGS, report_doc},
    {"summary", reader_summary_alone, METH_NOARGS, summary_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_getset[] = {
    {"meta", reader_get_meta, NULL, "The trace's own JSON, undecoded.", NULL},
    {"nr_lanes", reader_get_nr_lanes, NULL, "How many lanes the trace has, of all buffers.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(reader_doc, "Reader(path)\n--\n\n"
                         "An opened trace.dat. Raises OSError, and ValueError (why) for a file that is no "
                         "whole trace of funcgraph's.");

static PyType_Slot reader_slots[] = {
    {Py_tp_doc, (void *)reader_doc}, {Py_tp_new, (void *)reader_new}, {Py_tp_dealloc, (void *)reader_dealloc},
    {Py_tp_methods, reader_methods}, {Py_tp_getset, reader_getset},   {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "funcgraph._tracedata.Reader",
    .basicsize = sizeof(struct reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reader_slots,
};

/* ReportIterator */

static void report_iterator_dealloc(PyObject *self)
{
    struct report_iterator *iterator = (struct report_iterator *)self;
    PyTypeObject *type = Py_TYPE(self);
    fg_report_free(iterator->report);
    fg_merge_close(&iterator->merge);
    fg_text_free(&iterator->text);
    Py_XDECREF(iterator->reader);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *report_iterator_next(PyObject *self)
{
    struct report_iterator *iterator = (struct report_iterator *)self;
    int result;
    if (iterator->error)
        return raise_error(iterator->reader, iterator->error, iterator->merge.reason);
    if (iterator->at_end || !reader_begin(iterator->reader))
        return NULL;
    Py_BEGIN_ALLOW_THREADS result = fg_report_next(iterator->report, &iterator->text, CHUNK_BYTES);
    Py_END_ALLOW_THREADS iterator->reader->is_busy = false;
    iterator->at_end = result == 0;
    if (result < 0)
        iterator->error = result;
    if (iterator->text.bytes)
        return PyBytes_FromStringAndSize(iterator->text.data, (Py_ssize_t)iterator->text.bytes);
    return result < 0 ? raise_error(iterator->reader, result, iterator->merge.reason) : NULL;
}

/* The reader's lock: what is read is its file. */
static PyObject *report_iterator_next_alone(PyObject *self)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(((struct report_iterator *)self)->reader);
    result = report_iterator_next(self);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyType_Slot report_iterator_slots[] = {
    {Py_tp_doc, "The text of a report, a piece at a time. Made by Reader.report()."},
    {Py_tp_dealloc, (void *)report_iterator_dealloc},
    {Py_tp_iter, (void *)PyObject_SelfIter},
    {Py_tp_iternext, (void *)report_iterator_next_alone},
    {0, NULL},
};

static PyType_Spec report_iterator_spec = {
    .name = "funcgraph._tracedata.ReportIterator",
    .basicsize = sizeof(struct report_iterator),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = report_iterator_slots,
};

static PyObject *report_options(void)
{
    static const char *const initial_names[] = {
        [FG_OPTION_OFF] = "off", [FG_OPTION_ON] = "on", [FG_OPTION_AUTO] = "auto"};
    static const struct {
        const char *name, *help;
        int initial, bit;
    } options[] = {
#define X(id, name, initial, help) {name, help, FG_OPTION_##initial, FG_REPORT_##id},
        FG_REPORT_OPTIONS(X)
#undef X
    };
    PyObject *tuple = PyTuple_New(FG_REPORT_NR_OPTIONS);
    for (Py_ssize_t i = 0; tuple && i < FG_REPORT_NR_OPTIONS; i++) {
        PyObject *item = Py_BuildValue("(siss)", options[i].name, options[i].bit,
                                       initial_names[options[i].initial], options[i].help);
        if (!item)
            Py_CLEAR(tuple);
        else
            PyTuple_SET_ITEM(tuple, i, item);
    }
    return tuple;
}

int fg_add_reader_types(PyObject *module)
{
    struct fg_tracedata_state *state = fg_tracedata_state(module);
    PyObject *options = report_options();
    if (!options || PyModule_AddObjectRef(module, "REPORT_OPTIONS", options) < 0) {
        Py_XDECREF(options);
        return -1;
    }
    Py_DECREF(options);
    if (fg_add_type(module, &reader_spec, &state->reader_type) < 0)
        return -1;
    return fg_add_type(module, &report_iterator_spec, &state->report_iterator_type);
}
