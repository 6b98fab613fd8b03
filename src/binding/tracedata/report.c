/* See report.h. */
#include "binding/tracedata/report.h"

#include <string.h>

#include "binding/base/critical_section.h"
#include "binding/base/types.h"
#include "binding/tracedata/base/state.h"
#include "binding/tracedata/kernel.h"
#include "binding/tracedata/reader_object.h"
#include "binding/tracedata/selection.h"
#include "tracedata/text/report.h"

#define CHUNK_BYTES (256u << 10) /* of text at a time */

struct report_iterator {
    PyObject_HEAD struct fg_reader *reader;
    struct fg_selected selected;
    struct fg_merge merge;
    struct fg_report *report;
    struct fg_source_link *links; /* what it points to belongs to `addresses` */
    PyObject *addresses;          /* a tuple, or NULL */
    struct fg_text text;
    int error; /* found after the lines that were returned last */
    bool at_end;
};

/* ---- Reader.report() */

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
    } else if (strcmp(layout, "trace-cmd") == 0) {
        style->layout = FG_LAYOUT_TRACE_CMD;
    } else if (strcmp(layout, "function_graph") != 0) {
        PyErr_Format(PyExc_ValueError, "layout must be 'function', 'function_graph' or 'trace-cmd', got '%s'",
                     layout);
        return -1;
    }
    return 0;
}

/* One style for each of the trace's buffers; their texts belong to `buffers`. Or NULL with an exception. */
static struct fg_report_style *parse_styles(struct fg_reader *reader, PyObject *buffers, unsigned int header,
                                            int color)
{
    Py_ssize_t nr_styles = PyList_GET_SIZE(buffers);
    struct fg_report_style *styles;

    if ((size_t)nr_styles != reader->file.nr_buffers || header >= (size_t)nr_styles) {
        PyErr_SetString(
            PyExc_ValueError,
            "buffers must have an item for each buffer of the trace, and header must be the index of one");
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
        if ((styles[i].layout == FG_LAYOUT_TRACE_CMD) != (reader->file.kernel != NULL)) {
            PyErr_SetString(PyExc_ValueError,
                            "a kernel's trace has the layout 'trace-cmd', and no other has");
            PyMem_Free(styles);
            return NULL;
        }
    }
    return styles;
}

static int parse_link(PyObject *item, struct fg_source_link *link)
{
    unsigned int line;
    Py_ssize_t bytes;

    if (item == Py_None)
        return 0;
    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a link must be a tuple (address, line), or None");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "y#I;a link must be (address, line)", &link->address, &bytes, &line))
        return -1;
    link->bytes = (size_t)bytes;
    link->line = line;
    return 0;
}

/* The argument `links`, for all styles. Return: 0, or -1 with an exception. */
static int parse_links(struct report_iterator *iterator, PyObject *argument, struct fg_report_style *styles)
{
    size_t n;

    if (!argument || argument == Py_None)
        return 0;
    if (!PyTuple_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, "links must be a tuple");
        return -1;
    }
    n = (size_t)PyTuple_GET_SIZE(argument);
    iterator->addresses = Py_NewRef(argument);
    iterator->links = PyMem_Calloc(n + 1, sizeof(*iterator->links));
    if (!iterator->links) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < n; i++)
        if (parse_link(PyTuple_GET_ITEM(argument, (Py_ssize_t)i), &iterator->links[i]) < 0)
            return -1;
    for (uint32_t i = 0; i < iterator->reader->file.nr_buffers; i++) {
        styles[i].links = iterator->links;
        styles[i].nr_links = n > UINT32_MAX ? UINT32_MAX : (uint32_t)n;
    }
    return 0;
}

/* Opens the lanes. Return: 0, or -1 with an exception. */
static int begin(struct report_iterator *iterator, const struct fg_report_style *styles, unsigned int header)
{
    struct fg_reader *reader = iterator->reader;
    int error;

    Py_BEGIN_ALLOW_THREADS;
    error = fg_selected_open(&iterator->selected, &iterator->merge, &reader->file, &reader->names);
    if (!error)
        error = fg_report_new(styles, reader->file.nr_buffers, header, &iterator->merge, &iterator->report);
    Py_END_ALLOW_THREADS;
    if (error)
        fg_reader_raise(reader, error, iterator->merge.reason);
    return error ? -1 : 0;
}

PyObject *fg_reader_report(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_tracedata_state *state = PyType_GetModuleState(Py_TYPE(self));
    struct report_iterator *iterator;
    struct fg_report_style *styles;
    PyObject *buffers, *selection = NULL, *folds = NULL, *links = NULL;
    unsigned int header;
    int color, error;

    if (!PyArg_ParseTuple(args, "O!Ip|OOO:report", &PyList_Type, &buffers, &header, &color, &selection,
                          &folds, &links))
        return NULL;
    if (!fg_reader_begin(reader))
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
    iterator->reader = (struct fg_reader *)Py_NewRef(self);
    atomic_fetch_add(&reader->nr_reports, 1);
    error = parse_links(iterator, links, styles);
    if (!error)
        error = fg_selected_parse(&iterator->selected, reader, &reader->names, selection);
    if (!error)
        error = fg_selected_parse_folds(&iterator->selected, &reader->file, &reader->names, folds);
    if (!error)
        error = begin(iterator, styles, header);
    reader->is_busy = false;
    PyMem_Free(styles);
    if (error)
        Py_CLEAR(iterator);
    return (PyObject *)iterator;
}

/* ---- ReportIterator */

static void report_iterator_dealloc(PyObject *self)
{
    struct report_iterator *iterator = (struct report_iterator *)self;
    PyTypeObject *type = Py_TYPE(self);
    fg_report_free(iterator->report);
    PyMem_Free(iterator->links);
    Py_XDECREF(iterator->addresses);
    if (iterator->merge.file)
        fg_merge_close(&iterator->merge);
    fg_selected_free(&iterator->selected);
    fg_text_free(&iterator->text);
    if (iterator->reader)
        atomic_fetch_sub(&iterator->reader->nr_reports, 1);
    Py_XDECREF(iterator->reader);
    type->tp_free(self);
    Py_DECREF(type);
}

static PyObject *report_iterator_next(PyObject *self)
{
    struct report_iterator *iterator = (struct report_iterator *)self;
    int result;
    if (iterator->error)
        return fg_reader_raise(iterator->reader, iterator->error, iterator->merge.reason);
    if (iterator->at_end || fg_reader_step(iterator->reader) < 0 || !fg_reader_begin(iterator->reader))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    result = fg_report_next(iterator->report, &iterator->text, CHUNK_BYTES);
    Py_END_ALLOW_THREADS
    iterator->reader->is_busy = false;
    iterator->at_end = result == 0;
    if (result < 0)
        iterator->error = result;
    if (iterator->text.bytes)
        return PyBytes_FromStringAndSize(iterator->text.data, (Py_ssize_t)iterator->text.bytes);
    return result < 0 ? fg_reader_raise(iterator->reader, result, iterator->merge.reason) : NULL;
}

/* In the reader's critical section, because it reads the reader's file. */
static PyObject *report_iterator_next_alone(PyObject *self)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(((struct report_iterator *)self)->reader);
    result = report_iterator_next(self);
    Py_END_CRITICAL_SECTION();
    return result;
}

PyDoc_STRVAR(holes_doc,
             "holes($self, /)\n--\n\n"
             "Return what the latest piece lacks, of a kernel's trace: (place in the piece, id of the "
             "event, record).");

static PyObject *report_iterator_holes(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct report_iterator *iterator = (struct report_iterator *)self;

    if (iterator->reader->is_busy) {
        PyErr_SetString(PyExc_RuntimeError, "another thread is reading");
        return NULL;
    }
    return fg_holes_list(fg_report_holes(iterator->report));
}

static PyObject *report_iterator_holes_alone(PyObject *self, PyObject *ignored)
{
    PyObject *result;

    Py_BEGIN_CRITICAL_SECTION(((struct report_iterator *)self)->reader);
    result = report_iterator_holes(self, ignored);
    Py_END_CRITICAL_SECTION();
    return result;
}

static PyMethodDef report_iterator_methods[] = {
    {"holes", report_iterator_holes_alone, METH_NOARGS, holes_doc},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot report_iterator_slots[] = {
    {Py_tp_doc, "Iterator over the text of a report, a piece at a time. Made by Reader.report()."},
    {Py_tp_dealloc, (void *)report_iterator_dealloc},
    {Py_tp_iter, (void *)PyObject_SelfIter},
    {Py_tp_iternext, (void *)report_iterator_next_alone},
    {Py_tp_methods, report_iterator_methods},
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

int fg_add_report_types(PyObject *module)
{
    PyObject *options = report_options();
    int error = options ? PyModule_AddObjectRef(module, "REPORT_OPTIONS", options) : -1;

    Py_XDECREF(options);
    if (error)
        return -1;
    return fg_add_type(module, &report_iterator_spec, &fg_tracedata_state(module)->report_iterator_type);
}
