/* Reader: an opened trace.dat. Python decodes the trace's JSON, and hands what it says in as names. */
#include "binding/tracedata/reader.h"

#include <errno.h>

#include "binding/base/critical_section.h"
#include "binding/base/file_arg.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/tracedata/answers.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/base/state.h"
#include "binding/tracedata/call_index.h"
#include "binding/tracedata/call_parts.h"
#include "binding/tracedata/calls.h"
#include "binding/tracedata/columns.h"
#include "binding/tracedata/expect.h"
#include "binding/tracedata/kernel.h"
#include "binding/tracedata/lockstep.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/report.h"
#include "binding/tracedata/run_table.h"
#include "binding/tracedata/selection.h"
#include "binding/tracedata/summary.h"

static int open_file(struct fg_reader *reader, const struct fg_file_arg *file, char reason[FG_REASON_BYTES])
{
    if (!file->path)
        return fg_trace_file_open_fd(file->fd, &reader->file, reason);
    return fg_trace_file_open(PyBytes_AS_STRING(file->path), &reader->file, reason);
}

static PyObject *reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *keywords[] = {"path", "progress", NULL};
    struct fg_file_arg file = {.fd = -1};
    PyObject *progress = Py_None;
    struct fg_reader *reader = NULL;
    char reason[FG_REASON_BYTES];
    int error;

    if (PyArg_ParseTupleAndKeywords(args, kwargs, "O&|O:Reader", keywords, fg_file_arg_convert, &file,
                                    &progress))
        reader = (struct fg_reader *)type->tp_alloc(type, 0);
    if (reader) {
        reader->file.fd = -1;
        reader->progress = progress == Py_None ? NULL : Py_NewRef(progress);
        reader->path =
            file.path ? PyUnicode_DecodeFSDefault(PyBytes_AS_STRING(file.path)) : PyLong_FromLong(file.fd);
        if (!reader->path)
            Py_CLEAR(reader);
    }
    if (reader) {
        Py_BEGIN_ALLOW_THREADS
        error = open_file(reader, &file, reason);
        Py_END_ALLOW_THREADS
        reader->file.reading = &reader->reading;
        if (error) {
            fg_reader_raise(reader, error, reason);
            Py_CLEAR(reader);
        }
    }
    fg_file_arg_clear(&file);
    return (PyObject *)reader;
}

static void reader_dealloc(PyObject *self)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    PyTypeObject *type = Py_TYPE(self);
    fg_trace_file_close(&reader->file);
    fg_name_table_free(&reader->names);
    Py_XDECREF(reader->path);
    Py_XDECREF(reader->progress);
    type->tp_free(self);
    Py_DECREF(type);
}

PyDoc_STRVAR(set_names_doc,
             "set_names($self, functions, tasks, select_unknown)\n--\n\n"
             "Set the functions and tasks that the trace's JSON names: before anything is read, and\n"
             "again while no iterator over a report exists.\n\n"
             "functions: of each (name, argument names joined by ',', size in bytes of native "
             "code, else 0): what has a len() and is gone through once.\n"
             "tasks: (lane, tid, pid, name, first_ns, last_ns, selected); only events of "
             "selected tasks are read. select_unknown: "
             "also read events of tasks that are not listed.");

static PyObject *reader_set_names(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    PyObject *functions, *tasks;
    int select_unknown, error;
    if (!PyArg_ParseTuple(args, "OO!p:set_names", &functions, &PyList_Type, &tasks, &select_unknown))
        return NULL;
    if (reader->is_busy || atomic_load(&reader->nr_reports)) {
        PyErr_SetString(PyExc_RuntimeError, "a report is still being read");
        return NULL;
    }
    fg_name_table_free(&reader->names);
    reader->has_names = false;
    reader->is_busy = true; /* an iterator of Python's lets other threads run */
    error = fg_fill_names(&reader->names, &reader->file, functions, tasks, select_unknown);
    reader->is_busy = false;
    if (error < 0) {
        fg_name_table_free(&reader->names);
        return NULL;
    }
    reader->has_names = true;
    Py_RETURN_NONE;
}

static int add_event(struct fg_reader *reader, PyObject *item)
{
    struct fg_event_words words;
    int error;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "an event must be a tuple (system, name, fields_at, fields)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "ssIs;an event must be (system, name, fields_at, fields)", &words.system,
                          &words.name, &words.fields_at, &words.fields))
        return -1;
    error = fg_trace_file_add_event(&reader->file, &words);
    if (error == -ENOMEM)
        PyErr_NoMemory();
    else if (error)
        PyErr_Format(PyExc_ValueError, "damaged: %R is no kind of event", item);
    return error;
}

PyDoc_STRVAR(set_events_doc,
             "set_events($self, types, /)\n--\n\n"
             "Set what the events of a trace.dat are, before anything is read. See the stub.");

static PyObject *reader_set_events(PyObject *self, PyObject *types)
{
    struct fg_reader *reader = (struct fg_reader *)self;

    if (!PyList_Check(types)) {
        PyErr_SetString(PyExc_TypeError, "types must be a list");
        return NULL;
    }
    if (reader->is_busy || reader->file.own_events.nr_types) {
        PyErr_SetString(PyExc_RuntimeError, "set_events() must be called once, before anything is read");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(types); i++)
        if (add_event(reader, PyList_GET_ITEM(types, i)) < 0)
            return NULL;
    Py_RETURN_NONE;
}

static PyObject *reader_get_meta(PyObject *self, void *Py_UNUSED(closure))
{
    struct fg_reader *reader = (struct fg_reader *)self;
    if (reader->file.kernel)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize(reader->file.meta, (Py_ssize_t)reader->file.meta_bytes);
}

static PyObject *reader_get_nr_unlisted(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((struct fg_reader *)self)->file.nr_unlisted);
}

PyDoc_STRVAR(function_doc, "function($self, number, /)\n--\n\n"
                           "Return one of the functions that `meta` does not list, as JSON. See the stub.");

/* Reads what does not change after the file was opened: any thread may call it at any time. */
static PyObject *reader_function(PyObject *self, PyObject *argument)
{
    const struct fg_trace_file *file = &((struct fg_reader *)self)->file;
    Py_ssize_t number = PyNumber_AsSsize_t(argument, PyExc_IndexError);
    struct fg_text json = {0};
    PyObject *text;

    if (number == -1 && PyErr_Occurred())
        return NULL;
    if (number < 0 || number >= (Py_ssize_t)file->nr_unlisted)
        return PyErr_Format(PyExc_IndexError, "no function %zd: there are %u", number, file->nr_unlisted);
    fg_trace_file_put_function(file, (uint32_t)number, &json);
    text = json.failed ? PyErr_NoMemory() : PyUnicode_DecodeUTF8(json.data, (Py_ssize_t)json.bytes, NULL);
    fg_text_free(&json);
    return text;
}

static PyObject *reader_get_nr_lanes(PyObject *self, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(((struct fg_reader *)self)->file.nr_lanes);
}

static PyObject *reader_get_imports(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_name_table *names = &((struct fg_reader *)self)->names;
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < names->nr_imports; i++)
        fg_list_append(&list,
                       PyUnicode_DecodeUTF8(names->imports[i].text, names->imports[i].bytes, "replace"));
    return list;
}

PyDoc_STRVAR(
    report_doc,
    "report($self, buffers, header, color, selection=None, folds=None, links=None, /)\n--\n\n"
    "Return an iterator over the report's text: bytes, whole lines, a piece at a time.\n\n"
    "buffers: for each of the trace's buffers (layout, options, nr_events, nr_lost, prefix): "
    "'function_graph',\n'function', or 'trace-cmd' for a kernel's trace; bits of REPORT_OPTIONS; "
    "two counts for the header; text before "
    "each line, or None.\nheader: index of the buffer whose header is printed.\n"
    "links: for each function (address, line) or None, to make terminals' links of names and places; a "
    "zero byte in an address stands for a line.\n"
    "Iterating raises ValueError if the file is damaged, and OSError.");

static PyObject *reader_fileno(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyLong_FromLong(((struct fg_reader *)self)->file.fd);
}

static PyObject *reader_get_end(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_recorded *recorded = ((struct fg_reader *)self)->file.recorded;

    if (!recorded)
        Py_RETURN_NONE;
    return PyLong_FromUnsignedLongLong(recorded->end);
}

static PyObject *reader_get_whole_bytes(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_recorded *recorded = ((struct fg_reader *)self)->file.recorded;

    return PyLong_FromUnsignedLongLong(recorded ? recorded->whole_bytes : 0);
}

static PyObject *reader_get_is_complete(PyObject *self, void *Py_UNUSED(closure))
{
    const struct fg_recorded *recorded = ((struct fg_reader *)self)->file.recorded;

    return PyBool_FromLong(!recorded || recorded->is_complete);
}

PyDoc_STRVAR(summary_doc, "summary($self, selection=None, folds=None, /)\n--\n\n"
                          "Read the whole trace. Return a row for each function that was called in it:\n"
                          "(index, calls, resumes, exceptions, total_ns, self_ns, min_ns, max_ns, ended, "
                          "ended_ns). An index beyond\n"
                          "the last function stands for functions without a name. Raises ValueError "
                          "if the file is damaged, and OSError.");

PyDoc_STRVAR(call_tree_doc,
             "call_tree($self, group, selection=None, folds=None, /)\n--\n\n"
             "Read the whole trace: (rows as summary() returns them, columns of the merged call "
             "tree, as in TREE_COLUMNS).\n\n"
             "group: one of TREE_GROUPS: what has a root of its own.");

PyDoc_STRVAR(
    columns_doc,
    "columns($self, tasks, select_unknown, size, selection=None, /)\n--\n\n"
    "Return an iterator over the events: for each batch of at most `size` a tuple of columns, as in COLUMNS."
    "\n\ntasks, select_unknown: as for set_names().\n"
    "Iterating raises ValueError if the file is damaged, and OSError.");

PyDoc_STRVAR(calls_doc, "calls($self, functions, tasks, select_unknown, size, selection=None, /)\n--\n\n"
                        "Return an iterator over the calls: for each batch a tuple of columns, as in "
                        "CALL_COLUMNS. See the stub.");

PyDoc_STRVAR(call_index_doc, "call_index($self, functions, tasks, most_bytes, progress=None, /)\n--\n\n"
                             "Read the whole trace, and return the index of its calls. See the stub.");

PyDoc_STRVAR(load_call_index_doc, "load_call_index($self, fd, key, nr_functions, nr_tasks, /)\n--\n\n"
                                  "Read the index of the trace's calls from its image. See the stub.");

PyDoc_STRVAR(run_table_doc,
             "run_table($self, functions, tasks, func_flags, most_runs, most_roots, /)\n--\n\n"
             "Read the whole trace, and return when coroutines and greenlets run. See the stub.");
PyDoc_STRVAR(call_values_doc,
             "call_values($self, functions, tasks, select_unknown, function_mask, selection, /)\n--\n\n"
             "Read the whole trace, and group the calls of some functions by their values. See the stub.");

PyDoc_STRVAR(
    repeats_doc,
    "repeats($self, functions, tasks, select_unknown, function_mask, least, selection, folds, /)\n--\n\n"
    "Read the whole trace, and return which calls were made more than once. See the stub.");

PyDoc_STRVAR(exceptions_doc,
             "exceptions($self, functions, tasks, select_unknown, number, selection, folds, /)\n--\n\n"
             "Read the whole trace, and return where exceptions were raised and handled. See the stub.");

PyDoc_STRVAR(slow_calls_doc,
             "slow_calls($self, functions, tasks, select_unknown, keys, selection, limits, /)\n--\n\n"
             "Read the whole trace, and return which calls of a function took long. See the stub.");

PyDoc_STRVAR(expect_doc,
             "expect($self, functions, tasks, select_unknown, selection, expectation, threads, sections, "
             "nr_threads, moved, most_steps, /)\n--\n\n"
             "Read the whole trace, and compare its calls with an expectation. See the stub.");
PyDoc_STRVAR(lockstep_doc, "lockstep($self, one, reader, other, nr_names, ahead, /)\n--\n\n"
                           "Read two traces, and return where their calls first differ. See the stub.");

PyDoc_STRVAR(call_parts_doc,
             "call_parts($self, functions, tasks, classes, begins, groups, gil, ready, sizes, gc, /)\n--\n\n"
             "Return what chosen calls spent their time on. See the stub.");

FG_ALONE(reader_set_names)
FG_ALONE(reader_set_events)
FG_ALONE(fg_reader_report)
FG_ALONE(fg_reader_summary)
FG_ALONE(fg_reader_call_tree)
FG_ALONE(fg_reader_columns)
FG_ALONE(fg_reader_calls)
FG_ALONE(fg_reader_call_index)
FG_ALONE(fg_reader_load_call_index)
FG_ALONE(fg_reader_run_table)
FG_ALONE(fg_reader_call_values)
FG_ALONE(fg_reader_repeats)
FG_ALONE(fg_reader_exceptions)
FG_ALONE(fg_reader_slow_calls)
FG_ALONE(fg_reader_lockstep)
FG_ALONE(fg_reader_expect)
FG_ALONE(fg_reader_call_parts)
FG_ALONE(fg_reader_part)
FG_ALONE(fg_reader_set_formats)
FG_ALONE(fg_reader_scan)
FG_ALONE(fg_reader_set_addresses)

PyDoc_STRVAR(part_doc, "part($self, name, /)\n--\n\n"
                       "Return a part of a trace.dat's head, one of HEAD_PARTS, as bytes.");
PyDoc_STRVAR(set_formats_doc, "set_formats($self, events, /)\n--\n\n"
                              "Describe the events of a kernel's trace, once: (id, name, role, places).\n\n"
                              "role: one of KERNEL_ROLES. places: (offset, bytes) for each of KERNEL_FIELDS; "
                              "(0, 0): there is none.");
PyDoc_STRVAR(scan_doc, "scan($self, /)\n--\n\n"
                       "Read a kernel's trace whole: (tasks, addresses, lanes).\n\n"
                       "tasks: (lane, tid, first_ns, last_ns, events). addresses: of functions, as 64-bit "
                       "words. lanes: (events, lost).\nData after damage in a lane is left out.");
PyDoc_STRVAR(set_addresses_doc,
             "set_addresses($self, rows, /)\n--\n\n"
             "Hand in the addresses of a kernel's trace: rows of u64 address, u32 index of "
             "the function, u32 offset in it,\nsorted.");

static PyMethodDef reader_methods[] = {
    {"part", fg_reader_part_alone, METH_VARARGS, part_doc},
    {"set_formats", fg_reader_set_formats_alone, METH_VARARGS, set_formats_doc},
    {"scan", fg_reader_scan_alone, METH_NOARGS, scan_doc},
    {"set_addresses", fg_reader_set_addresses_alone, METH_VARARGS, set_addresses_doc},
    {"set_names", reader_set_names_alone, METH_VARARGS, set_names_doc},
    {"set_events", reader_set_events_alone, METH_O, set_events_doc},
    {"report", fg_reader_report_alone, METH_VARARGS, report_doc},
    {"summary", fg_reader_summary_alone, METH_VARARGS, summary_doc},
    {"call_tree", fg_reader_call_tree_alone, METH_VARARGS, call_tree_doc},
    {"columns", fg_reader_columns_alone, METH_VARARGS, columns_doc},
    {"calls", fg_reader_calls_alone, METH_VARARGS, calls_doc},
    {"call_index", fg_reader_call_index_alone, METH_VARARGS, call_index_doc},
    {"load_call_index", fg_reader_load_call_index_alone, METH_VARARGS, load_call_index_doc},
    {"run_table", fg_reader_run_table_alone, METH_VARARGS, run_table_doc},
    {"call_values", fg_reader_call_values_alone, METH_VARARGS, call_values_doc},
    {"repeats", fg_reader_repeats_alone, METH_VARARGS, repeats_doc},
    {"exceptions", fg_reader_exceptions_alone, METH_VARARGS, exceptions_doc},
    {"slow_calls", fg_reader_slow_calls_alone, METH_VARARGS, slow_calls_doc},
    {"expect", fg_reader_expect_alone, METH_VARARGS, expect_doc},
    {"lockstep", fg_reader_lockstep_alone, METH_VARARGS, lockstep_doc},
    {"call_parts", fg_reader_call_parts_alone, METH_VARARGS, call_parts_doc},
    {"function", reader_function, METH_O, function_doc},
    {"fileno", reader_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\nReturn the file's descriptor, which is the Reader's own."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef reader_getset[] = {
    {"meta", reader_get_meta, NULL, "JSON of the trace, undecoded; None of a kernel's trace.", NULL},
    {"nr_unlisted", reader_get_nr_unlisted, NULL, "Number of functions that `meta` does not list.", NULL},
    {"buffer_names", fg_reader_get_buffer_names, NULL, "Names of a trace.dat's buffers.", NULL},
    {"clock", fg_reader_get_clock, NULL, "A trace.dat's clocks, the trace's own in brackets.", NULL},
    {"nr_cpus", fg_reader_get_nr_cpus, NULL, "Number of lanes in each buffer.", NULL},
    {"nr_lanes", reader_get_nr_lanes, NULL, "Number of lanes in all buffers.", NULL},
    {"imports", reader_get_imports, NULL, "Names of the imports that were folded so far.", NULL},
    {"end", reader_get_end, NULL, "Where the chunks of a .fg end in the file; None of a trace.dat.", NULL},
    {"whole_bytes", reader_get_whole_bytes, NULL, "Bytes of a .fg when it was complete; 0: never.", NULL},
    {"is_complete", reader_get_is_complete, NULL, "Whether the recording has ended.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyDoc_STRVAR(reader_doc,
             "Reader(path, progress=None)\n--\n\n"
             "An opened trace. Raises OSError, ValueError if the file is not a complete trace,\nor "
             "NotImplementedError if nothing can decompress it.");

static PyType_Slot reader_slots[] = {
    {Py_tp_doc, (void *)reader_doc}, {Py_tp_new, (void *)reader_new}, {Py_tp_dealloc, (void *)reader_dealloc},
    {Py_tp_methods, reader_methods}, {Py_tp_getset, reader_getset},   {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "funcgraph._tracedata.Reader",
    .basicsize = sizeof(struct fg_reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = reader_slots,
};

int fg_add_reader_types(PyObject *module)
{
    if (fg_add_type(module, &reader_spec, &fg_tracedata_state(module)->reader_type) < 0)
        return -1;
    return fg_add_report_types(module);
}
