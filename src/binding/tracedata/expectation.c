/* See expectation.h. */
#include "binding/tracedata/expectation.h"

#include <string.h>

#include "binding/base/sequences.h"

/* ---- from Python */

/* Room for @n items, zeroed, at least one. */
static void *new_array(Py_ssize_t n, size_t item_bytes)
{
    void *array = n < UINT32_MAX ? PyMem_Calloc((size_t)n + 1, item_bytes) : NULL;

    if (!array)
        PyErr_NoMemory();
    return array;
}

static int parse_names(struct fg_expectation *expectation, PyObject *names)
{
    Py_ssize_t n = PyTuple_GET_SIZE(names);

    expectation->names = new_array(n, sizeof(*expectation->names));
    if (!expectation->names)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++)
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(names, i), "s|s;a name must be (GLOB,) or (GLOB, GLOB)",
                              &expectation->names[i].globs[0], &expectation->names[i].globs[1]))
            return -1;
    expectation->nr_names = (uint32_t)n;
    return 0;
}

static int parse_functions(struct fg_expectation *expectation, PyObject *functions)
{
    Py_ssize_t n = PyTuple_GET_SIZE(functions);

    expectation->functions = new_array(n, sizeof(*expectation->functions));
    expectation->known = new_array(n, sizeof(*expectation->known));
    if (!expectation->functions || !expectation->known)
        return -1;
    for (Py_ssize_t i = 0; i < n; i++) {
        expectation->functions[i] = PyUnicode_AsUTF8(PyTuple_GET_ITEM(functions, i));
        if (!expectation->functions[i])
            return -1;
    }
    expectation->nr_functions = (uint32_t)n;
    return 0;
}

/* @number is that of the line: what it calls comes behind it, but of a section. */
static int parse_items(struct fg_expected_line *line, PyObject *items, uint32_t nr_lines)
{
    Py_ssize_t n = PyTuple_GET_SIZE(items);
    uint32_t *numbers = new_array(n, sizeof(*numbers));
    long last = -1;

    if (!numbers)
        return -1;
    line->items = numbers;
    line->nr_items = (uint32_t)n;
    line->has_items = true;
    for (Py_ssize_t i = 0; i < n; i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(items, i));

        if (number == -1 && PyErr_Occurred())
            return -1;
        numbers[i] = FG_ANY_CALLS;
        if (number == -1)
            continue;
        if (number <= last || number >= (long)nr_lines) {
            PyErr_Format(PyExc_ValueError, "line %ld after %ld, of %u lines", number, last, nr_lines);
            return -1;
        }
        numbers[i] = (uint32_t)number;
        last = number;
    }
    return 0;
}

static int parse_arguments(struct fg_expected_line *line, PyObject *arguments)
{
    Py_ssize_t n = PyTuple_GET_SIZE(arguments);
    struct fg_expected_argument *parsed = new_array(n, sizeof(*parsed));

    if (!parsed)
        return -1;
    line->arguments = parsed;
    line->nr_arguments = (uint32_t)n;
    line->has_arguments = true;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, i), "ss;an argument must be (NAME, GLOB)",
                              &parsed[i].name, &parsed[i].value))
            return -1;
        parsed[i].name_bytes = strlen(parsed[i].name);
    }
    return 0;
}

static int check_tuple(PyObject *object, const char *what)
{
    if (PyTuple_Check(object))
        return 0;
    PyErr_Format(PyExc_TypeError, "%s must be a tuple, not %s", what, Py_TYPE(object)->tp_name);
    return -1;
}

static int parse_line(struct fg_expectation *expectation, struct fg_expected_line *line, PyObject *tuple)
{
    PyObject *items, *arguments;
    int has_more, raises;
    unsigned long least, most;

    if (!PyArg_ParseTuple(
            tuple, "IkkOOpzp;a line must be (name, least, most, items, arguments, more, result, raises)",
            &line->name, &least, &most, &items, &arguments, &has_more, &line->result, &raises))
        return -1;
    if (line->name >= expectation->nr_names) {
        PyErr_Format(PyExc_ValueError, "name %u of %u", line->name, expectation->nr_names);
        return -1;
    }
    line->least = least < FG_ANY_NUMBER ? (uint32_t)least : FG_ANY_NUMBER - 1;
    line->most = most < FG_ANY_NUMBER ? (uint32_t)most : FG_ANY_NUMBER;
    line->has_more = has_more != 0;
    line->raises = raises != 0;
    if (items != Py_None &&
        (check_tuple(items, "items") < 0 || parse_items(line, items, expectation->nr_lines) < 0))
        return -1;
    if (arguments == Py_None)
        return 0;
    return check_tuple(arguments, "arguments") < 0 ? -1 : parse_arguments(line, arguments);
}

int fg_expectation_parse(struct fg_expectation *expectation, PyObject *tuple)
{
    PyObject *names, *lines, *functions;
    Py_ssize_t n;

    if (!PyArg_ParseTuple(tuple, "O!O!IO!;an expectation must be (names, lines, sections, functions)",
                          &PyTuple_Type, &names, &PyTuple_Type, &lines, &expectation->nr_sections,
                          &PyTuple_Type, &functions) ||
        parse_names(expectation, names) < 0 || parse_functions(expectation, functions) < 0)
        return -1;
    n = PyTuple_GET_SIZE(lines);
    if ((size_t)n < expectation->nr_sections) {
        PyErr_Format(PyExc_ValueError, "%u sections in %zd lines", expectation->nr_sections, n);
        return -1;
    }
    expectation->lines = new_array(n, sizeof(*expectation->lines));
    if (!expectation->lines)
        return -1;
    expectation->nr_lines = (uint32_t)n;
    for (Py_ssize_t i = 0; i < n; i++) {
        if (parse_line(expectation, &expectation->lines[i], PyTuple_GET_ITEM(lines, i)) < 0)
            return -1;
        if (i >= n - (Py_ssize_t)expectation->nr_sections && !expectation->lines[i].has_items) {
            PyErr_SetString(PyExc_ValueError, "a section must have items");
            return -1;
        }
    }
    return 0;
}

void fg_expectation_free(struct fg_expectation *expectation)
{
    for (uint32_t i = 0; i < expectation->nr_lines; i++) {
        PyMem_Free((void *)(uintptr_t)expectation->lines[i].items);
        PyMem_Free((void *)(uintptr_t)expectation->lines[i].arguments);
    }
    for (uint32_t i = 0; i < expectation->nr_functions; i++)
        free(expectation->known[i]);
    PyMem_Free(expectation->names);
    PyMem_Free(expectation->lines);
    PyMem_Free(expectation->functions);
    PyMem_Free(expectation->known);
}

/* ---- to Python */

static PyObject *expected_list(const struct fg_match_difference *difference)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < difference->nr_expected; i++)
        fg_list_append(&list, PyLong_FromUnsignedLong(difference->expected[i]));
    return list;
}

PyObject *fg_difference_tuple(const struct fg_match_difference *difference)
{
    PyObject *path;

    if (!difference)
        return Py_NewRef(Py_None);
    path = PyList_New(0);
    for (; difference->inner; difference = difference->inner)
        fg_list_append(&path, PyLong_FromUnsignedLongLong(difference->got));
    return Py_BuildValue("(NiN(KK)K)", path, (int)difference->what, expected_list(difference),
                         (unsigned long long)difference->before[0], (unsigned long long)difference->before[1],
                         (unsigned long long)difference->got);
}

void fg_raise_steps(const struct fg_call_matcher *matcher)
{
    PyErr_Format(PyExc_OverflowError, "it takes more than %llu steps",
                 (unsigned long long)matcher->most_steps);
}
