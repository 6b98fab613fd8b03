/* See expect.h. */
#include "binding/tracedata/expect.h"

#include <stdlib.h>
#include <string.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/base/names.h"
#include "binding/tracedata/expectation.h"
#include "binding/tracedata/question.h"
#include "engine/base/array.h"
#include "tracedata/answers/expect.h"

#define CALLS_AT_ONCE 65536 /* between checks for a signal */

static const char *const difference_names[] = {
#define X(name) #name,
    FG_MATCH_DIFFERENCES(X)
#undef X
};

/* ---- Reader.expect(): the arguments */

struct arguments {
    struct fg_question question;
    struct fg_expectation expectation;
    struct fg_expect_input input;
    Py_buffer threads, sections;
    PyObject *moved;
    struct fg_moved_call *calls; /* of `moved` */
};

static int parse_moved(struct arguments *arguments)
{
    Py_ssize_t n = PyTuple_GET_SIZE(arguments->moved);

    arguments->calls = PyMem_Calloc((size_t)n + 1, sizeof(*arguments->calls));
    if (!arguments->calls) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        unsigned long long number;

        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments->moved, i), "KI;a moved call must be (number, task)",
                              &number, &arguments->calls[i].task))
            return -1;
        arguments->calls[i].number = number;
    }
    arguments->input.moved = arguments->calls;
    arguments->input.nr_moved = (size_t)n;
    return 0;
}

static int check_input(struct arguments *arguments)
{
    struct fg_expect_input *input = &arguments->input;
    uint32_t nr_sections = arguments->expectation.nr_sections;

    input->expectation = &arguments->expectation;
    input->threads = arguments->threads.buf;
    input->nr_tasks = (size_t)arguments->threads.len / sizeof(*input->threads);
    input->sections = arguments->sections.buf;
    if (arguments->expectation.nr_functions <= arguments->question.names.nr_functions) {
        PyErr_SetString(PyExc_ValueError, "the expectation must have a name for each function, and one more");
        return -1;
    }
    if ((size_t)arguments->sections.len != (size_t)input->nr_threads * nr_sections) {
        PyErr_SetString(PyExc_ValueError, "sections must have a byte for each section and thread");
        return -1;
    }
    for (size_t i = 0; i < input->nr_tasks; i++)
        if (input->threads[i] >= input->nr_threads) {
            PyErr_Format(PyExc_ValueError, "task %zu has the thread %u of %u", i, input->threads[i],
                         input->nr_threads);
            return -1;
        }
    return 0;
}

static void free_arguments(struct arguments *arguments)
{
    fg_question_close(&arguments->question);
    fg_expectation_free(&arguments->expectation);
    PyMem_Free(arguments->calls);
    if (arguments->threads.obj)
        PyBuffer_Release(&arguments->threads);
    if (arguments->sections.obj)
        PyBuffer_Release(&arguments->sections);
}

/* ---- Reader.expect(): what was found */

static PyObject *differences_of(const struct fg_expect *expect, const struct fg_expect_thread *thread,
                                uint32_t nr_sections)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < nr_sections; i++)
        fg_list_append(&list, fg_difference_tuple(
                                  fg_match_thread_difference(fg_expect_matcher(expect), thread->match, i)));
    return list;
}

/* (first, task, differences) */
static PyObject *thread_list(const struct arguments *arguments, const struct fg_expect *expect)
{
    const struct fg_expect_thread *threads = fg_expect_threads(expect);
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < arguments->input.nr_threads; i++)
        if (threads[i].first)
            fg_list_append(
                &list,
                Py_BuildValue("(KIN)", (unsigned long long)threads[i].first, threads[i].task,
                              differences_of(expect, &threads[i], arguments->expectation.nr_sections)));
    return list;
}

static PyObject *moved_list(const struct fg_expect *expect)
{
    size_t n;
    const struct fg_moved_call *moved = fg_expect_moved(expect, &n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        fg_list_append(&list, Py_BuildValue("(KI)", (unsigned long long)moved[i].number, moved[i].task));
    return list;
}

static PyObject *expect_tuple(const struct arguments *arguments, const struct fg_expect *expect)
{
    const struct fg_name_table *names = &arguments->question.names;

    return Py_BuildValue("(NNNKy#)", thread_list(arguments, expect), moved_list(expect),
                         fg_unknown_tasks(names), (unsigned long long)fg_expect_calls(expect),
                         (const char *)fg_expect_called(expect), (Py_ssize_t)names->nr_functions + 1);
}

static int step_expect(void *answer, uint64_t events)
{
    return fg_expect_run(answer, events);
}

static PyObject *read_expect(struct arguments *arguments)
{
    struct fg_expect *expect = NULL;
    PyObject *result = NULL;

    if (fg_expect_new(&arguments->question.merge, &arguments->input, &expect) < 0)
        PyErr_NoMemory();
    else if (fg_question_run(&arguments->question, step_expect, expect) < 0)
        ;
    else if (fg_call_matcher_is_over(fg_expect_matcher(expect)))
        fg_raise_steps(fg_expect_matcher(expect));
    else
        result = expect_tuple(arguments, expect);
    fg_expect_free(expect);
    return result;
}

PyObject *fg_reader_expect(PyObject *self, PyObject *args)
{
    struct arguments arguments = {.question = {.reader = (struct fg_reader *)self}};
    struct fg_question *question = &arguments.question;
    PyObject *expectation, *result = NULL;
    unsigned long long most_steps;

    if (!PyArg_ParseTuple(args, "OO!pOO!y*y*IO!K:expect", &question->functions, &PyList_Type,
                          &question->tasks, &question->select_unknown, &question->selection, &PyTuple_Type,
                          &expectation, &arguments.threads, &arguments.sections, &arguments.input.nr_threads,
                          &PyTuple_Type, &arguments.moved, &most_steps))
        return NULL;
    arguments.input.most_steps = most_steps;
    if (fg_expectation_parse(&arguments.expectation, expectation) == 0 && parse_moved(&arguments) == 0 &&
        fg_question_open(question) == 0 && check_input(&arguments) == 0)
        result = read_expect(&arguments);
    free_arguments(&arguments);
    return result;
}

/* ---- match_calls(): calls that are in memory */

struct known_call {
    unsigned int depth, func;
    const char *arguments, *result;
    unsigned char ended;
};

struct open_call {
    struct fg_match_call *call; /* NULL: no line is about it */
    struct known_call known;
};

struct matching {
    struct fg_call_matcher matcher;
    struct fg_match_call *thread;
    struct open_call *open; /* by depth */
    size_t n, capacity;
};

static void print_text(struct fg_text *text, const void *source)
{
    fg_text_puts(text, source);
}

/* Return: 0, or -1 with an exception. */
static int end_calls(struct matching *matching, size_t depth)
{
    while (matching->n > depth) {
        const struct open_call *open = &matching->open[--matching->n];

        if (open->call && fg_match_end(&matching->matcher, open->call, open->known.ended, print_text,
                                       open->known.result) < 0) {
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

static int parse_known(const struct fg_expectation *expectation, const struct matching *matching,
                       PyObject *tuple, struct known_call *known)
{
    if (!PyArg_ParseTuple(tuple, "IIssb;a call must be (depth, function, arguments, result, end)",
                          &known->depth, &known->func, &known->arguments, &known->result, &known->ended))
        return -1;
    if (known->depth <= matching->n && known->func < expectation->nr_functions)
        return 0;
    PyErr_SetString(PyExc_ValueError, "a call is too deep, or of a function without a name");
    return -1;
}

static int begin_call(struct matching *matching, const struct known_call *known, uint64_t number)
{
    struct fg_match_call *around = known->depth ? matching->open[known->depth - 1].call : matching->thread;

    if (fg_array_reserve(&matching->open, &matching->capacity, known->depth + (size_t)1) < 0 ||
        fg_match_begin(&matching->matcher, around, number, known->func, print_text, known->arguments,
                       &matching->open[known->depth].call) < 0) {
        PyErr_NoMemory();
        return -1;
    }
    matching->open[known->depth].known = *known;
    matching->n = known->depth + (size_t)1;
    return 0;
}

static int match_all(struct matching *matching, PyObject *calls)
{
    struct known_call known;

    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(calls); i++) {
        if (i % CALLS_AT_ONCE == 0 && PyErr_CheckSignals() < 0)
            return -1;
        if (parse_known(matching->matcher.expectation, matching, PyTuple_GET_ITEM(calls, i), &known) < 0 ||
            end_calls(matching, known.depth) < 0 || begin_call(matching, &known, (uint64_t)i + 1) < 0)
            return -1;
        if (fg_call_matcher_is_over(&matching->matcher)) {
            fg_raise_steps(&matching->matcher);
            return -1;
        }
    }
    return end_calls(matching, 0);
}

static PyObject *match(struct fg_expectation *expectation, PyObject *calls, uint64_t most_steps)
{
    static const uint8_t first_section[] = {1};
    struct matching matching = {.matcher = {.expectation = expectation, .most_steps = most_steps}};
    PyObject *result = NULL;

    matching.thread = fg_match_thread_new(&matching.matcher, first_section);
    if (!matching.thread)
        PyErr_NoMemory();
    else if (match_all(&matching, calls) == 0) {
        if (fg_match_thread_end(&matching.matcher, matching.thread) < 0)
            PyErr_NoMemory();
        else
            result = fg_difference_tuple(fg_match_thread_difference(&matching.matcher, matching.thread, 0));
    }
    fg_match_thread_free(matching.thread);
    fg_call_matcher_free(&matching.matcher);
    free(matching.open);
    return result;
}

static PyObject *match_calls(PyObject *module, PyObject *args)
{
    struct fg_expectation expectation = {0};
    PyObject *tuple, *calls, *result = NULL;
    unsigned long long most_steps;

    (void)module;
    if (!PyArg_ParseTuple(args, "O!O!K:match_calls", &PyTuple_Type, &tuple, &PyTuple_Type, &calls,
                          &most_steps))
        return NULL;
    if (fg_expectation_parse(&expectation, tuple) == 0) {
        if (expectation.nr_sections == 1)
            result = match(&expectation, calls, most_steps);
        else
            PyErr_Format(PyExc_ValueError, "there must be one section, got %u", expectation.nr_sections);
    }
    fg_expectation_free(&expectation);
    return result;
}

PyDoc_STRVAR(match_calls_doc, "match_calls($module, expectation, calls, most_steps, /)\n--\n\n"
                              "Compare calls with an expectation; return where they first differ, or None.");

static PyMethodDef functions[] = {
    {"match_calls", match_calls, METH_VARARGS, match_calls_doc},
    {NULL, NULL, 0, NULL},
};

int fg_add_expect_functions(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return fg_add_names(module, "MATCH_DIFFERENCES", difference_names, FG_NR_ITEMS(difference_names));
}
