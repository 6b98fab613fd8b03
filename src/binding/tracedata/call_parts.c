/* See call_parts.h. */
#include "binding/tracedata/call_parts.h"

#include <string.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/reader_object.h"
#include "tracedata/view/call_parts.h"

#define EVENTS (4u << 20) /* between checks for a signal: a few tenths of a second */

static const char *const kind_names[] = {
#define X(name, text) #name,
    FG_CALL_PART_KINDS(X)
#undef X
};

/* The arguments, as far as they are buffers of rows. */
struct arguments {
    PyObject *functions, *tasks;
    Py_buffer classes, begins, groups, gil, ready;
    struct fg_call_parts_input input;
};

static void free_arguments(struct arguments *arguments)
{
    Py_buffer *buffers[] = {&arguments->classes, &arguments->begins, &arguments->groups, &arguments->gil,
                            &arguments->ready};

    for (size_t i = 0; i < FG_NR_ITEMS(buffers); i++)
        PyBuffer_Release(buffers[i]);
    PyMem_Free(arguments->input.calls);
}

/* Puts begins and groups together, and looks at all numbers. Return: false with an exception. */
static bool take_calls(struct arguments *arguments, Py_ssize_t nr_functions)
{
    struct fg_call_parts_input *input = &arguments->input;
    size_t n = (size_t)arguments->begins.len / sizeof(uint64_t);
    const uint8_t *groups = arguments->groups.buf;

    if ((size_t)arguments->groups.len != n || arguments->classes.len != nr_functions) {
        PyErr_SetString(PyExc_ValueError, "a class for each function, a group for each call must be given");
        return false;
    }
    input->calls = PyMem_Calloc(n + 1, sizeof(*input->calls));
    if (!input->calls) {
        PyErr_NoMemory();
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(&input->calls[i].begin_ns, (const char *)arguments->begins.buf + i * sizeof(uint64_t),
               sizeof(uint64_t));
        input->calls[i].group = groups[i];
        if (groups[i] >= input->nr_groups || (i && input->calls[i - 1].begin_ns > input->calls[i].begin_ns)) {
            PyErr_SetString(PyExc_ValueError,
                            "calls must be sorted by their begins, in groups that there are");
            return false;
        }
    }
    input->nr_calls = n;
    input->classes = arguments->classes.buf;
    return true;
}

/* Whether the kinds and the rows of overlays are possible. */
static bool check(const struct arguments *arguments)
{
    const struct fg_call_parts_input *input = &arguments->input;

    for (Py_ssize_t i = 0; i < arguments->classes.len; i++)
        if ((input->classes[i] & ~FG_PART_IS_CHOSEN) >= FG_NR_CALL_PARTS)
            return false;
    for (size_t i = 0; i < input->nr_gil; i++)
        if (input->gil[i].label >= input->nr_labels)
            return false;
    return true;
}

static PyObject *rows_of(const struct fg_part_group *group, uint32_t number, size_t nr_keys, PyObject *rows)
{
    for (size_t i = 0; rows && i < FG_NR_CALL_PARTS * nr_keys; i++) {
        const struct fg_part *part = &group->parts[i];

        if (part->ns || part->count)
            fg_list_append(&rows, Py_BuildValue("(IInKK)", number, (unsigned int)(i / nr_keys),
                                                (Py_ssize_t)(i % nr_keys), (unsigned long long)part->ns,
                                                (unsigned long long)part->count));
    }
    return rows;
}

static PyObject *result_of(const struct fg_call_parts *parts, uint32_t nr_groups)
{
    size_t nr_keys;
    const struct fg_part_group *groups = fg_call_parts_groups(parts, &nr_keys);
    PyObject *rows = PyList_New(0), *totals = PyList_New(0);

    for (uint32_t i = 0; i < nr_groups; i++) {
        rows = rows_of(&groups[i], i, nr_keys, rows);
        if (totals)
            fg_list_append(&totals, Py_BuildValue("(KKK)", (unsigned long long)groups[i].calls,
                                                  (unsigned long long)groups[i].open,
                                                  (unsigned long long)groups[i].total_ns));
    }
    if (rows && totals)
        return Py_BuildValue("(NN)", rows, totals);
    Py_XDECREF(rows);
    Py_XDECREF(totals);
    return NULL;
}

/* Reads all of it. Return: 0, or -1 with an exception. */
static int run(struct fg_reader *reader, struct fg_merge *merge, struct fg_call_parts *parts, int error)
{
    int result = error ? error : 1;

    while (result == 1) {
        if (fg_reader_step(reader) < 0)
            return -1;
        Py_BEGIN_ALLOW_THREADS;
        result = fg_call_parts_run(parts, EVENTS);
        Py_END_ALLOW_THREADS;
    }
    if (result < 0)
        fg_reader_raise(reader, result, merge->reason);
    return result;
}

static PyObject *read_parts(struct fg_reader *reader, struct fg_name_table *names,
                            const struct fg_call_parts_input *input)
{
    struct fg_merge merge = {0};
    struct fg_call_parts *parts = NULL;
    PyObject *result = NULL;
    int error;

    Py_BEGIN_ALLOW_THREADS;
    error = fg_merge_open(&merge, &reader->file, names);
    if (!error)
        error = fg_call_parts_new(&merge, input, &parts);
    Py_END_ALLOW_THREADS;
    if (run(reader, &merge, parts, error) == 0)
        result = result_of(parts, input->nr_groups);
    fg_call_parts_free(parts);
    fg_merge_close(&merge);
    return result;
}

PyObject *fg_reader_call_parts(PyObject *self, PyObject *args)
{
    struct fg_reader *reader = (struct fg_reader *)self;
    struct fg_name_table names = {0};
    struct arguments given = {0};
    PyObject *result = NULL;
    struct fg_call_parts_input *input = &given.input;
    Py_ssize_t nr_functions;

    if (!PyArg_ParseTuple(args, "OO!y*y*y*y*y*(II)(II):call_parts", &given.functions, &PyList_Type,
                          &given.tasks, &given.classes, &given.begins, &given.groups, &given.gil,
                          &given.ready, &input->nr_groups, &input->nr_labels, &input->gc_start,
                          &input->gc_done))
        return NULL;
    input->gil = given.gil.buf;
    input->nr_gil = (size_t)given.gil.len / sizeof(struct fg_overlay);
    input->ready = given.ready.buf;
    input->nr_ready = (size_t)given.ready.len / sizeof(struct fg_overlay);
    nr_functions = PyObject_Size(given.functions);
    if (nr_functions >= 0 && take_calls(&given, nr_functions)) {
        if (!check(&given))
            PyErr_SetString(PyExc_ValueError, "no such kind of part, or no such label");
        else if (fg_fill_names(&names, &reader->file, given.functions, given.tasks, false) == 0)
            result = read_parts(reader, &names, input);
    }
    fg_name_table_free(&names);
    free_arguments(&given);
    return result;
}

int fg_add_call_parts_names(PyObject *module)
{
    return fg_add_names(module, "CALL_PARTS", kind_names, FG_NR_ITEMS(kind_names));
}
