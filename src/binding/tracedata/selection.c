/* See selection.h. */
#include "binding/tracedata/selection.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/base/progress.h"
#include "engine/core/pattern.h"
#include "engine/filter/filter.h"
#include "tracedata/select/call_image.h"
#include "tracedata/select/find_calls.h"

#define SELECTION_TEXT                                                                                       \
    "a selection must be a tuple (functions, has_names, has_roots, from, to, max_depth, longer_ns, "         \
    "hides_calls, events, values)"
#define VALUES_TEXT                                                                                          \
    "the values of a selection must be a tuple (filters, made, nr_callers, has_callees, check)"
#define FILTER_TEXT "a filter of a selection must be a tuple (program, fields, attributes)"
#define ATTRIBUTE_TEXT "an attribute of a filter must be a tuple (of, name)"
#define EVENT_TEXT "an event of a selection must be a tuple (type, program, fields)"

void fg_selected_free(struct fg_selected *selected)
{
    fg_select_free(selected->select);
    selected->select = NULL;
    fg_fold_free(selected->fold);
    selected->fold = NULL;
    Py_CLEAR(selected->marks);
    fg_selection_free(&selected->selection);
}

int fg_selected_open(struct fg_selected *selected, struct fg_merge *merge, const struct fg_trace_file *file,
                     struct fg_name_table *names)
{
    struct fg_merge_stage *stage = selected->fold ? fg_fold_stage(selected->fold) : NULL;

    if (selected->select) {
        fg_select_stage(selected->select)->below = stage;
        stage = fg_select_stage(selected->select);
    }
    return fg_merge_open_selected(merge, file, names, stage);
}

/* ---- events */

static int parse_field(PyObject *item, struct fg_field *field)
{
    const char *type;
    unsigned int count, offset, fault_bit;
    int number;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a field must be a tuple (type, count, offset, fault_bit)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "sIII;a field must be (type, count, offset, fault_bit)", &type, &count,
                          &offset, &fault_bit))
        return -1;
    number = fg_field_type_by_name(type);
    if (number < 0 || count > UINT8_MAX || offset > UINT16_MAX || fault_bit > UINT16_MAX) {
        PyErr_Format(PyExc_ValueError, "%R is no field", item);
        return -1;
    }
    *field = (struct fg_field){.offset = (uint16_t)offset,
                               .type = (uint8_t)number,
                               .count = (uint8_t)count,
                               .fault_bit = (uint16_t)fault_bit};
    return 0;
}

static int make_filter(struct fg_event_filter **filter, const char *program, Py_ssize_t program_bytes,
                       PyObject *fields)
{
    Py_ssize_t nr_fields = PyList_GET_SIZE(fields);
    struct fg_field *made = PyMem_Calloc((size_t)nr_fields + 1, sizeof(*made));
    int error = made ? 0 : -ENOMEM;

    for (Py_ssize_t i = 0; !error && i < nr_fields; i++)
        if (parse_field(PyList_GET_ITEM(fields, i), &made[i]) < 0)
            goto fail;
    if (!error)
        error = fg_event_filter_make(filter, program, (size_t)program_bytes, made, (uint32_t)nr_fields);
    if (!error) {
        PyMem_Free(made);
        return 0;
    }
    if (error == -ENOMEM)
        PyErr_NoMemory();
    else
        PyErr_SetString(PyExc_ValueError, "the bytes are no filter for these fields");
fail:
    PyMem_Free(made);
    return -1;
}

static int parse_event(PyObject *item, struct fg_selected_event *event)
{
    const char *program;
    Py_ssize_t program_bytes;
    PyObject *fields;
    unsigned int type;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, EVENT_TEXT);
        return -1;
    }
    if (!PyArg_ParseTuple(item, "Iz#O!;" EVENT_TEXT, &type, &program, &program_bytes, &PyList_Type, &fields))
        return -1;
    event->type = type;
    return program ? make_filter(&event->filter, program, program_bytes, fields) : 0;
}

static int compare_types(const void *left, const void *right)
{
    uint32_t a = ((const struct fg_selected_event *)left)->type;
    uint32_t b = ((const struct fg_selected_event *)right)->type;

    return a < b ? -1 : a > b;
}

static int parse_events(PyObject *list, struct fg_selection *selection)
{
    if (list == Py_None)
        return 0;
    if (!PyList_Check(list)) {
        PyErr_SetString(PyExc_TypeError, SELECTION_TEXT);
        return -1;
    }
    selection->chooses_events = true;
    selection->events = calloc((size_t)PyList_GET_SIZE(list) + 1, sizeof(*selection->events));
    if (!selection->events) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++, selection->nr_events++)
        if (parse_event(PyList_GET_ITEM(list, i), &selection->events[i]) < 0)
            return -1;
    qsort(selection->events, selection->nr_events, sizeof(*selection->events), compare_types);
    return 0;
}

/* ---- values */

static int parse_attribute(PyObject *item, struct fg_call_attribute *attribute)
{
    const char *name;
    Py_ssize_t bytes;
    int of;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, ATTRIBUTE_TEXT);
        return -1;
    }
    if (!PyArg_ParseTuple(item, "iy#;" ATTRIBUTE_TEXT, &of, &name, &bytes))
        return -1;
    if (of < FG_CALL_OF_EXCEPTION || bytes > UINT8_MAX) { /* a recorded name has no more */
        PyErr_Format(PyExc_ValueError, "%R is no attribute", item);
        return -1;
    }
    attribute->of = of;
    attribute->name_bytes = (uint32_t)bytes;
    attribute->name = malloc((size_t)bytes + 1);
    if (!attribute->name) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(attribute->name, name, (size_t)bytes);
    return 0;
}

static int parse_attributes(PyObject *list, struct fg_call_attributes *attributes)
{
    Py_ssize_t n = PyList_GET_SIZE(list);

    if (n > (Py_ssize_t)FG_CALL_MOST_ATTRIBUTES) {
        PyErr_Format(PyExc_ValueError, "a filter has at most %u attributes", FG_CALL_MOST_ATTRIBUTES);
        return -1;
    }
    attributes->items = calloc((size_t)n + 1, sizeof(*attributes->items));
    if (!attributes->items) {
        PyErr_NoMemory();
        return -1;
    }
    for (; (Py_ssize_t)attributes->n < n; attributes->n++)
        if (parse_attribute(PyList_GET_ITEM(list, attributes->n), &attributes->items[attributes->n]) < 0)
            return -1;
    return 0;
}

/* To be freed after an exception, too. */
static int parse_filter(PyObject *item, struct fg_call_filter *made)
{
    const char *program;
    Py_ssize_t program_bytes;
    PyObject *fields, *attributes;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, FILTER_TEXT);
        return -1;
    }
    if (!PyArg_ParseTuple(item, "y#O!O!;" FILTER_TEXT, &program, &program_bytes, &PyList_Type, &fields,
                          &PyList_Type, &attributes) ||
        parse_attributes(attributes, &made->attributes) < 0)
        return -1;
    return make_filter(&made->filter, program, program_bytes, fields);
}

/* @filters: u32 for each function. */
static int set_filters(struct fg_selected_values *values, const char *filters, Py_ssize_t bytes)
{
    size_t n = (size_t)bytes / sizeof(*values->filters);

    values->filters = malloc(n * sizeof(*values->filters) + 1);
    if (!values->filters) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(values->filters, filters, n * sizeof(*values->filters));
    for (size_t i = 0; i < n; i++)
        if (values->filters[i] > values->nr_made) {
            PyErr_Format(PyExc_ValueError, "function %zu has the filter %u of %zu", i, values->filters[i],
                         values->nr_made);
            return -1;
        }
    values->nr_functions = (uint32_t)n;
    return 0;
}

/* @check: set to what check_attributes() calls, a borrowed reference. */
static int parse_values(PyObject *argument, const struct fg_trace_file *file, struct fg_selection *selection,
                        PyObject **check)
{
    struct fg_selected_values *values;
    unsigned int nr_callers;
    Py_ssize_t bytes;
    const char *filters;
    PyObject *made;
    int has_callees;

    if (argument == Py_None)
        return 0;
    if (file->kernel) {
        PyErr_SetString(PyExc_ValueError, "a kernel's trace cannot be selected by values");
        return -1;
    }
    if (!PyTuple_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, VALUES_TEXT);
        return -1;
    }
    if (!PyArg_ParseTuple(argument, "y#O!IpO;" VALUES_TEXT, &filters, &bytes, &PyList_Type, &made,
                          &nr_callers, &has_callees, check))
        return -1;
    selection->values = values = calloc(1, sizeof(*values));
    if (values)
        values->made = calloc((size_t)PyList_GET_SIZE(made) + 1, sizeof(*values->made));
    if (!values || !values->made) {
        PyErr_NoMemory();
        return -1;
    }
    values->nr_callers = nr_callers;
    values->has_callees = has_callees;
    while (values->nr_made < (size_t)PyList_GET_SIZE(made)) {
        PyObject *item = PyList_GET_ITEM(made, (Py_ssize_t)values->nr_made);

        if (parse_filter(item, &values->made[values->nr_made++]) < 0)
            return -1;
    }
    return set_filters(values, filters, bytes);
}

/* ---- what was met of the attributes that filters name */

static PyObject *names_of_others(const struct fg_call_attribute *attribute)
{
    const struct fg_text *others = &attribute->others;
    PyObject *list = PyList_New(0);
    uint32_t bytes;

    if (others->failed) {
        Py_CLEAR(list);
        return PyErr_NoMemory();
    }
    for (size_t at = 0; list && at < others->bytes; at += bytes) {
        memcpy(&bytes, others->data + at, sizeof(bytes));
        at += sizeof(bytes);
        fg_list_append(&list, PyUnicode_DecodeUTF8(others->data + at, bytes, "replace"));
    }
    return list;
}

/* Return: for each attribute (has_owner, is_found, others). */
static PyObject *met_of_filter(const struct fg_call_attributes *attributes)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < attributes->n; i++) {
        const struct fg_call_attribute *attribute = &attributes->items[i];
        PyObject *others = names_of_others(attribute);

        fg_list_append(&list, others ? Py_BuildValue("(NNN)", PyBool_FromLong(attribute->has_owner),
                                                     PyBool_FromLong(attribute->is_found), others)
                                     : NULL);
    }
    return list;
}

/* Has @check look at what was met, for each filter. Return: 0, or -1 with its exception. */
static int check_attributes(const struct fg_selected_values *values, PyObject *check)
{
    PyObject *list = PyList_New(0), *result = NULL;

    for (size_t i = 0; list && i < values->nr_made; i++)
        fg_list_append(&list, met_of_filter(&values->made[i].attributes));
    if (list)
        result = PyObject_CallOneArg(check, list);
    Py_XDECREF(list);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

/* ---- the argument */

static int set_functions(struct fg_selection *selection, const char *marks, Py_ssize_t bytes)
{
    selection->functions = malloc((size_t)bytes + 1);
    if (!selection->functions) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(selection->functions, marks, (size_t)bytes);
    selection->nr_functions = bytes > UINT32_MAX ? UINT32_MAX : (uint32_t)bytes;
    return 0;
}

/* Finds the calls that are chosen by their values. Its counts are its own: other threads may be reading the
 * file. Return: 0, or -1 with an exception. */
static int find_calls(struct fg_reader *reader, const struct fg_name_table *names,
                      struct fg_selection *selection)
{
    struct fg_trace_file file = reader->file;
    struct fg_progress progress;
    char reason[FG_REASON_BYTES] = "";
    int error;

    fg_progress_begin(&progress, reader->progress);
    file.reading = &progress.reading;
    error = fg_find_calls(selection, &file, names, reason);
    if (fg_progress_end(&progress))
        return -1;
    if (error)
        fg_reader_raise(reader, error, reason);
    return error ? -1 : 0;
}

int fg_selected_parse(struct fg_selected *selected, struct fg_reader *reader,
                      const struct fg_name_table *names, PyObject *argument)
{
    const struct fg_trace_file *file = &reader->file;
    struct fg_selection *selection = &selected->selection;
    unsigned long long from, to, longer_ns;
    const char *marks;
    Py_ssize_t bytes;
    PyObject *events, *values, *check = NULL;
    unsigned int max_depth;
    int has_names, has_roots, hides_calls;

    if (!argument || argument == Py_None)
        return 0;
    if (!PyTuple_Check(argument)) {
        PyErr_SetString(PyExc_TypeError, SELECTION_TEXT);
        return -1;
    }
    if (!PyArg_ParseTuple(argument, "y#ppKKIKpOO;" SELECTION_TEXT, &marks, &bytes, &has_names, &has_roots,
                          &from, &to, &max_depth, &longer_ns, &hides_calls, &events, &values))
        return -1;
    selection->has_names = has_names;
    selection->has_roots = has_roots;
    selection->from = from;
    selection->to = to;
    selection->max_depth = max_depth;
    selection->longer_ns = longer_ns;
    selection->hides_calls = hides_calls;
    if (set_functions(selection, marks, bytes) < 0 || parse_events(events, selection) < 0 ||
        parse_values(values, file, selection, &check) < 0)
        return -1;
    if (fg_select_new(selection, file, &selected->select) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    if (!selection->values)
        return 0;
    if (find_calls(reader, names, selection) < 0)
        return -1;
    return check_attributes(selection->values, check);
}

int fg_selected_parse_folds(struct fg_selected *selected, const struct fg_trace_file *file,
                            struct fg_name_table *names, PyObject *argument)
{
    struct fg_fold_rules rules = {.names = names};

    if (!argument || argument == Py_None)
        return 0;
    if (!PyBytes_Check(argument) || PyBytes_GET_SIZE(argument) != (Py_ssize_t)names->nr_functions) {
        PyErr_SetString(PyExc_ValueError, "folds must be bytes, one for each function of the trace");
        return -1;
    }
    selected->marks = Py_NewRef(argument);
    rules.functions = (const uint8_t *)PyBytes_AS_STRING(argument);
    rules.nr_functions = names->nr_functions;
    if (fg_fold_new(&rules, file, &selected->fold) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* ---- match_functions() */

static int match_one(const struct fg_pattern *pattern, PyObject *item, char *matches)
{
    const char *name, *module;

    if (!PyTuple_Check(item)) {
        PyErr_SetString(PyExc_TypeError, "a function must be a tuple (name, module)");
        return -1;
    }
    if (!PyArg_ParseTuple(item, "ss;a function must be (name, module)", &name, &module))
        return -1;
    *matches = fg_pattern_match(pattern, name, module);
    return 0;
}

static PyObject *match_functions(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_pattern pattern;
    const char *text, *reason;
    size_t column;
    PyObject *names, *result;
    int error;

    if (!PyArg_ParseTuple(args, "sO!:match_functions", &text, &PyList_Type, &names))
        return NULL;
    error = fg_pattern_parse(&pattern, text, &reason, &column);
    if (error == -EINVAL)
        return PyErr_Format(PyExc_ValueError, "%s (column %zu)", reason, column + 1);
    if (error)
        return PyErr_NoMemory();
    result = PyBytes_FromStringAndSize(NULL, PyList_GET_SIZE(names));
    for (Py_ssize_t i = 0; result && i < PyList_GET_SIZE(names); i++)
        if (match_one(&pattern, PyList_GET_ITEM(names, i), PyBytes_AS_STRING(result) + i) < 0)
            Py_CLEAR(result);
    fg_pattern_clear(&pattern);
    return result;
}

/* ---- what filters of calls are made for */

static int add_call_fields(PyObject *module)
{
    PyObject *list = PyList_New(0), *tuple;
    int error;

#define X(field, name, type, offset, fault)                                                                  \
    if (list)                                                                                                \
        fg_list_append(&list, Py_BuildValue("(ssII)", name, fg_field_type_name(FG_FIELD_##type),             \
                                            (unsigned int)(offset), (unsigned int)(fault)));
    FG_CALL_FIELDS(X)
#undef X
    tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    error = tuple ? PyModule_AddObjectRef(module, "CALL_FIELDS", tuple) : -1;
    Py_XDECREF(tuple);
    return error;
}

PyDoc_STRVAR(match_functions_doc,
             "match_functions($module, pattern, functions, /)\n--\n\n"
             "Return for each function (name, module) a byte: 1 if a filter pattern matches it.");

static PyMethodDef functions[] = {
    {"match_functions", match_functions, METH_VARARGS, match_functions_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_selection_functions(PyObject *module)
{
    if (add_call_fields(module) < 0 ||
        PyModule_AddIntConstant(module, "CALL_ARGUMENTS_AT", FG_CALL_ARGUMENTS_AT) < 0 ||
        PyModule_AddIntConstant(module, "CALL_MOST_ARGUMENTS", FG_CALL_MOST_ARGUMENTS) < 0 ||
        PyModule_AddIntConstant(module, "CALL_ATTRIBUTES_AT", FG_CALL_ATTRIBUTES_AT) < 0 ||
        PyModule_AddIntConstant(module, "CALL_MOST_ATTRIBUTES", FG_CALL_MOST_ATTRIBUTES) < 0)
        return -1;
    return PyModule_AddFunctions(module, functions);
}
