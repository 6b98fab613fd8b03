/* See answers.h. */
#include "binding/tracedata/answers.h"

#include <string.h>

#include "binding/base/sequences.h"
#include "binding/tracedata/question.h"
#include "tracedata/answers/call_choice.h"
#include "tracedata/answers/repeats.h"
#include "tracedata/answers/value_groups.h"

/* (calls, open, suspended) */
static PyObject *call_counts(const struct fg_answer *answer)
{
    return Py_BuildValue("(KKK)", (unsigned long long)answer->nr_calls, (unsigned long long)answer->nr_open,
                         (unsigned long long)answer->nr_suspended);
}

static PyObject *bytes_at(const uint8_t *texts, uint32_t at, uint32_t bytes)
{
    return PyBytes_FromStringAndSize(bytes ? (const char *)texts + at : NULL, (Py_ssize_t)bytes);
}

static PyObject *import_names(const struct fg_name_table *names)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < names->nr_imports; i++)
        fg_list_append(&list, PyUnicode_DecodeUTF8(names->imports[i].text,
                                                   (Py_ssize_t)names->imports[i].bytes, "replace"));
    return list;
}

/* ---- call_values() */

static PyObject *value_group(const uint8_t *keys, const struct fg_value_group *group)
{
    return Py_BuildValue("(NKKKKKKdKKIN)", bytes_at(keys, group->key_at, group->key_bytes),
                         (unsigned long long)group->calls, (unsigned long long)group->raised,
                         (unsigned long long)group->timed, (unsigned long long)group->total_ns,
                         (unsigned long long)group->min_ns, (unsigned long long)group->max_ns, group->log_sum,
                         (unsigned long long)group->slowest_begin_ns,
                         (unsigned long long)group->slowest_end_ns, group->slowest_task,
                         PyBytes_FromStringAndSize((const char *)group->bins, sizeof(group->bins)));
}

/* (groups, the rest or None) */
static PyObject *value_grouping(const uint8_t *keys, const struct fg_value_grouping *grouping)
{
    PyObject *groups = PyList_New(0);

    for (size_t i = 1; groups && i <= grouping->n; i++)
        fg_list_append(&groups, value_group(keys, &grouping->groups[i]));
    if (!groups)
        return NULL;
    if (!grouping->distinct_later)
        return Py_BuildValue("(NO)", groups, Py_None);
    return Py_BuildValue("(NN)", groups, value_group(keys, &grouping->groups[0]));
}

static PyObject *value_field(const uint8_t *keys, const struct fg_value_field *field)
{
    PyObject *by_value = value_grouping(keys, &field->groupings[FG_GROUP_BY_VALUE]);
    PyObject *by_size = by_value ? value_grouping(keys, &field->groupings[FG_GROUP_BY_SIZE]) : NULL;

    if (!by_size) {
        Py_XDECREF(by_value);
        return NULL;
    }
    return Py_BuildValue("(NN)", by_value, by_size);
}

static PyObject *value_fields(const uint8_t *keys, const struct fg_value_field *fields, uint32_t n)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < n; i++)
        fg_list_append(&list, value_field(keys, &fields[i]));
    return list;
}

/* (whether it is of an argument, which argument or outcome, name, field) */
static PyObject *value_attribute(const uint8_t *keys, const struct fg_value_attribute *attribute)
{
    bool is_argument = attribute->of < FG_MOST_VALUE_FIELDS;

    return Py_BuildValue("(OINN)", is_argument ? Py_True : Py_False,
                         attribute->of - (is_argument ? 0 : FG_MOST_VALUE_FIELDS),
                         PyUnicode_DecodeUTF8((const char *)keys + attribute->name_at,
                                              (Py_ssize_t)attribute->name_bytes, "replace"),
                         value_field(keys, &attribute->field));
}

static PyObject *value_attributes(const uint8_t *keys, const struct fg_value_function *function)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < function->nr_attributes; i++)
        fg_list_append(&list, value_attribute(keys, &function->attributes[i]));
    return list;
}

static PyObject *value_function(const uint8_t *keys, const struct fg_value_function *function)
{
    return Py_BuildValue("(INdKNNN)", function->func, value_group(keys, &function->all),
                         function->log_squares, (unsigned long long)function->nr_open,
                         value_fields(keys, function->arguments, function->nr_arguments),
                         value_fields(keys, function->outcomes, FG_NR_OUTCOMES),
                         value_attributes(keys, function));
}

static PyObject *value_functions(const struct fg_value_groups *groups)
{
    size_t n;
    const struct fg_value_function *functions = fg_value_groups_functions(groups, &n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        fg_list_append(&list, value_function(fg_value_groups_keys(groups), &functions[i]));
    return list;
}

static int step_values(void *answer, uint64_t events)
{
    return fg_value_groups_run(answer, events);
}

PyObject *fg_reader_call_values(PyObject *self, PyObject *args)
{
    struct fg_question question = {.reader = (struct fg_reader *)self};
    struct fg_value_groups *groups = NULL;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "OO!py#O:call_values", &question.functions, &PyList_Type, &question.tasks,
                          &question.select_unknown, &question.function_mask, &question.function_mask_bytes,
                          &question.selection))
        return NULL;
    if (fg_question_open(&question) == 0) {
        if (fg_value_groups_new(&question.merge, (const uint8_t *)question.function_mask, &groups) < 0)
            PyErr_NoMemory();
        else if (fg_question_run(&question, step_values, groups) == 0)
            result = value_functions(groups);
    }
    fg_value_groups_free(groups);
    fg_question_close(&question);
    return result;
}

/* ---- exceptions() */

static const char *const fate_names[] = {
#define X(name) #name,
    FG_EXCEPTION_FATES(X)
#undef X
};

static PyObject *type_name(const struct fg_exception_type *type)
{
    return PyUnicode_DecodeUTF8(type->text, type->bytes, "backslashreplace");
}

static PyObject *frames_of(const struct fg_exception *exception)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < exception->nr_frames; i++)
        fg_list_append(&list,
                       Py_BuildValue("(II)", exception->frames[i].func, exception->frames[i].caller_line));
    return list;
}

static PyObject *exception_row(const struct fg_exception *exception)
{
    return Py_BuildValue(
        "(KNiKKKKIINKINy#)", (unsigned long long)exception->number, type_name(&exception->type),
        (int)exception->fate, (unsigned long long)exception->identity,
        (unsigned long long)exception->begin_ns, (unsigned long long)exception->raised_ns,
        (unsigned long long)exception->left_ns, exception->task, exception->handler, frames_of(exception),
        (unsigned long long)exception->after, exception->after_func, type_name(&exception->after_type),
        (const char *)exception->cause.value, (Py_ssize_t)exception->cause.bytes);
}

static PyObject *exception_groups(const struct fg_exceptions *exceptions)
{
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < exceptions->nr_groups; i++) {
        const struct fg_exception_group *group = &exceptions->groups[i];

        fg_list_append(
            &list, Py_BuildValue("(NKKK)", exception_row(&group->first), (unsigned long long)group->count,
                                 (unsigned long long)group->last_number, (unsigned long long)group->last_ns));
    }
    return list;
}

static PyObject *exceptions_tuple(const struct fg_exceptions *exceptions)
{
    const struct fg_exception *found = &exceptions->found;

    return Py_BuildValue("(NKKN)", exception_groups(exceptions),
                         (unsigned long long)exceptions->nr_exceptions,
                         (unsigned long long)exceptions->nr_left_out,
                         found->number ? exception_row(found) : Py_NewRef(Py_None));
}

static int step_exceptions(void *answer, uint64_t events)
{
    return fg_exception_answer_run(answer, events);
}

PyObject *fg_reader_exceptions(PyObject *self, PyObject *args)
{
    struct fg_question question = {.reader = (struct fg_reader *)self};
    struct fg_exception_answer *answer = NULL;
    unsigned long long number;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "OO!pKOO:exceptions", &question.functions, &PyList_Type, &question.tasks,
                          &question.select_unknown, &number, &question.selection, &question.folds))
        return NULL;
    if (fg_question_open(&question) == 0) {
        if (fg_exception_answer_new(&question.merge, number, &answer) < 0)
            PyErr_NoMemory();
        else if (fg_question_run(&question, step_exceptions, answer) == 0)
            result =
                Py_BuildValue("(NNN)", exceptions_tuple(fg_exception_answer_result(answer)),
                              call_counts(fg_exception_answer_calls(answer)), import_names(&question.names));
    }
    fg_exception_answer_free(answer);
    fg_question_close(&question);
    return result;
}

/* ---- repeats() */

static PyObject *repeat_group(const uint8_t *texts, const struct fg_repeat_group *group)
{
    return Py_BuildValue("(IIiKKKKKKKIN)", group->below, group->func, (int)group->kind,
                         (unsigned long long)group->runs, (unsigned long long)group->calls,
                         (unsigned long long)group->ran_ns, (unsigned long long)group->repeated_ns,
                         (unsigned long long)group->most, (unsigned long long)group->most_begin_ns,
                         (unsigned long long)group->most_end_ns, group->most_task,
                         bytes_at(texts, group->text_at, group->text_bytes));
}

static PyObject *repeat_groups(const struct fg_repeats *repeats)
{
    size_t n;
    const struct fg_repeat_group *groups = fg_repeats_groups(repeats, &n);
    PyObject *list = PyList_New(0);

    for (size_t i = 0; list && i < n; i++)
        fg_list_append(&list, repeat_group(fg_repeats_texts(repeats), &groups[i]));
    return list;
}

static PyObject *repeat_function(const uint8_t *texts, uint32_t func,
                                 const struct fg_repeat_function *function)
{
    return Py_BuildValue("(IKKKKKKKNii)", func, (unsigned long long)function->calls,
                         (unsigned long long)function->hits, (unsigned long long)function->hit_ns,
                         (unsigned long long)function->differing, (unsigned long long)function->repeated,
                         (unsigned long long)function->best_calls, (unsigned long long)function->best_ns,
                         bytes_at(texts, function->best_at, function->best_bytes), function->is_none,
                         function->is_partial);
}

static PyObject *repeat_functions(const struct fg_repeats *repeats, uint32_t nr_functions)
{
    const struct fg_repeat_function *functions = fg_repeats_functions(repeats);
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < nr_functions; i++)
        if (functions[i].hits)
            fg_list_append(&list, repeat_function(fg_repeats_texts(repeats), i, &functions[i]));
    return list;
}

static PyObject *discards_function(uint32_t func, const struct fg_discards_function *function)
{
    return Py_BuildValue("(IKKKKKKI)", func, (unsigned long long)function->calls,
                         (unsigned long long)function->results, (unsigned long long)function->discarded,
                         (unsigned long long)function->ran_ns, (unsigned long long)function->longest_begin_ns,
                         (unsigned long long)function->longest_end_ns, function->longest_task);
}

static PyObject *discards_functions(const struct fg_discards *discards)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < discards->nr_functions; i++)
        if (discards->functions[i].results)
            fg_list_append(&list, discards_function(i, &discards->functions[i]));
    return list;
}

static PyObject *repeats_tuple(const struct fg_question *question, const struct fg_repeats *repeats)
{
    return Py_BuildValue(
        "(NNNNKNN)", repeat_groups(repeats), repeat_functions(repeats, question->names.nr_functions),
        discards_functions(fg_repeats_discards(repeats)), exceptions_tuple(fg_repeats_exceptions(repeats)),
        (unsigned long long)fg_repeats_forgotten(repeats), call_counts(fg_repeats_calls(repeats)),
        import_names(&question->names));
}

static int step_repeats(void *answer, uint64_t events)
{
    return fg_repeats_run(answer, events);
}

PyObject *fg_reader_repeats(PyObject *self, PyObject *args)
{
    struct fg_question question = {.reader = (struct fg_reader *)self};
    struct fg_repeats *repeats = NULL;
    unsigned long long least;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "OO!py#KOO:repeats", &question.functions, &PyList_Type, &question.tasks,
                          &question.select_unknown, &question.function_mask, &question.function_mask_bytes,
                          &least, &question.selection, &question.folds))
        return NULL;
    if (least < 2)
        return PyErr_Format(PyExc_ValueError, "least must be at least 2, got %llu", least);
    if (fg_question_open(&question) == 0) {
        if (fg_repeats_new(&question.merge, (const uint8_t *)question.function_mask, least, &repeats) < 0)
            PyErr_NoMemory();
        else if (fg_question_run(&question, step_repeats, repeats) == 0)
            result = repeats_tuple(&question, repeats);
    }
    fg_repeats_free(repeats);
    fg_question_close(&question);
    return result;
}

/* ---- slow_calls() */

static PyObject *longest_call(const struct fg_ranked_calls *ranked)
{
    const struct fg_longest_call *call = &ranked->longest;

    if (!ranked->n)
        return Py_NewRef(Py_None);
    return Py_BuildValue("(KKKII)", (unsigned long long)call->number, (unsigned long long)call->begin_ns,
                         (unsigned long long)call->end_ns, call->task, call->resumes);
}

static PyObject *call_groups(const struct fg_call_choice *choice)
{
    PyObject *list = PyList_New(0);

    for (uint32_t i = 0; list && i < choice->nr_groups; i++)
        fg_list_append(&list, Py_BuildValue("(KKK)", (unsigned long long)choice->groups[i].nr_calls,
                                            (unsigned long long)choice->groups[i].least_ns,
                                            (unsigned long long)choice->groups[i].most_ns));
    return list;
}

static PyObject *chosen_begins(const struct fg_call_choice *choice)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(choice->n * sizeof(uint64_t)));

    for (size_t i = 0; bytes && i < choice->n; i++)
        memcpy(PyBytes_AS_STRING(bytes) + i * sizeof(uint64_t), &choice->calls[i].begin_ns, sizeof(uint64_t));
    return bytes;
}

static PyObject *chosen_groups(const struct fg_call_choice *choice)
{
    PyObject *bytes = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)choice->n);

    for (size_t i = 0; bytes && i < choice->n; i++)
        PyBytes_AS_STRING(bytes)[i] = (char)choice->calls[i].group;
    return bytes;
}

static PyObject *slow_calls_tuple(const struct fg_ranked_calls *ranked,
                                  const struct fg_call_choice_limits *limits)
{
    struct fg_call_choice choice = {0};
    PyObject *result = NULL;
    int error = 0;

    if (!ranked)
        Py_RETURN_NONE;
    Py_BEGIN_ALLOW_THREADS;
    if (ranked->n)
        error = fg_call_choice_make(&choice, ranked, limits);
    Py_END_ALLOW_THREADS;
    if (error)
        PyErr_NoMemory();
    else
        result = Py_BuildValue("(IKKNNNN)", ranked->key, (unsigned long long)ranked->n,
                               (unsigned long long)ranked->nr_unfinished, longest_call(ranked),
                               call_groups(&choice), chosen_begins(&choice), chosen_groups(&choice));
    fg_call_choice_free(&choice);
    return result;
}

static int step_slow_calls(void *answer, uint64_t events)
{
    return fg_slow_calls_run(answer, events);
}

static PyObject *read_slow_calls(struct fg_question *question, const uint32_t *keys,
                                 const struct fg_call_choice_limits *limits)
{
    struct fg_slow_calls *slow = NULL;
    PyObject *result = NULL;

    if (fg_slow_calls_new(&question->merge, keys, &slow) < 0)
        PyErr_NoMemory();
    else if (fg_question_run(question, step_slow_calls, slow) == 0)
        result = slow_calls_tuple(fg_slow_calls_most_used(slow), limits);
    fg_slow_calls_free(slow);
    return result;
}

PyObject *fg_reader_slow_calls(PyObject *self, PyObject *args)
{
    struct fg_question question = {.reader = (struct fg_reader *)self};
    struct fg_call_choice_limits limits;
    Py_buffer keys;
    Py_ssize_t ranked, chosen;
    PyObject *result = NULL;

    if (!PyArg_ParseTuple(args, "OO!py*O(nn):slow_calls", &question.functions, &PyList_Type, &question.tasks,
                          &question.select_unknown, &keys, &question.selection, &ranked, &chosen))
        return NULL;
    limits = (struct fg_call_choice_limits){(size_t)ranked, (size_t)chosen};
    if (ranked < 1 || chosen < 1)
        PyErr_Format(PyExc_ValueError, "limits must be at least 1, got %zd and %zd", ranked, chosen);
    else if (fg_question_open(&question) == 0) {
        if ((size_t)keys.len != question.names.nr_functions * sizeof(uint32_t))
            PyErr_SetString(PyExc_ValueError, "keys must have a 32-bit word for each function of the trace");
        else
            result = read_slow_calls(&question, keys.buf, &limits);
    }
    fg_question_close(&question);
    PyBuffer_Release(&keys);
    return result;
}

int fg_add_answer_names(PyObject *module)
{
    return fg_add_names(module, "EXCEPTION_FATES", fate_names, FG_NR_ITEMS(fate_names));
}
