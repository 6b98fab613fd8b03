/* See hist_plan.h. */
#include "binding/trigger/hist_plan.h"

#include <string.h>

#include "engine/hist/hist_key.h"

static int refuse(const char *what)
{
    PyErr_Format(PyExc_ValueError, "a histogram's plan: %s", what);
    return -1;
}

static int fill_field(struct fg_hist_step *step, const char *name, const struct fg_hist_fields *fields)
{
    for (uint32_t i = 0; i < fields->n; i++) {
        if (strcmp(fields->names[i], name) == 0) {
            step->field = fields->fields[i];
            return 0;
        }
    }
    return refuse("no such field");
}

/* The argument of a step: a field's name, a number, the index of a variable. */
static int fill_argument(struct fg_hist_step *step, PyObject *argument, const struct fg_hist_fields *fields)
{
    const char *name = PyUnicode_Check(argument) ? PyUnicode_AsUTF8(argument) : NULL;

    if (name && step->op == FG_HIST_FIELD)
        return fill_field(step, name, fields);
    if (!PyLong_Check(argument) || (step->op != FG_HIST_NUMBER && step->op != FG_HIST_VARIABLE))
        return PyErr_Occurred() ? -1 : refuse("no argument for this step");
    step->number = PyLong_AsUnsignedLongLongMask(argument);
    if (step->op == FG_HIST_VARIABLE && step->number >= fields->nr_references)
        return PyErr_Occurred() ? -1 : refuse("no such variable");
    step->index = (uint8_t)step->number;
    return PyErr_Occurred() ? -1 : 0;
}

static int fill_step(struct fg_hist_step *step, PyObject *tuple, const struct fg_hist_fields *fields)
{
    const char *name;
    PyObject *argument = NULL;
    int op;

    if (!PyTuple_Check(tuple))
        return refuse("a step must be a tuple");
    if (!PyArg_ParseTuple(tuple, "s|O", &name, &argument))
        return -1;
    op = fg_hist_op_by_name(name);
    if (op < 0)
        return refuse("no such step");
    step->op = (uint8_t)op;
    return argument ? fill_argument(step, argument, fields) : 0;
}

static int modifier_by_name(const char *name)
{
    if (!*name)
        return FG_HIST_PLAIN;
    if (strcmp(name, "log2") == 0)
        return FG_HIST_LOG2;
    return strcmp(name, "buckets") == 0 ? FG_HIST_BUCKETS : -1;
}

/* *is_signed: it is a number that can be negative. */
static int fill_term(struct fg_hist_term *term, PyObject *tuple, const struct fg_hist_fields *fields,
                     int *is_signed)
{
    unsigned long long bucket;
    const char *kind, *modifier;
    PyObject *steps;
    int kind_number, modifier_number;

    if (!PyTuple_Check(tuple))
        return refuse("a term must be a tuple");
    if (!PyArg_ParseTuple(tuple, "sO!sKp", &kind, &PyTuple_Type, &steps, &modifier, &bucket, is_signed))
        return -1;
    kind_number = fg_hist_kind_by_name(kind);
    modifier_number = modifier_by_name(modifier);
    if (kind_number < 0 || modifier_number < 0 || PyTuple_GET_SIZE(steps) > FG_HIST_MAX_STEPS)
        return refuse("no such term");
    term->kind = (uint8_t)kind_number;
    term->modifier = (uint8_t)modifier_number;
    term->bucket = bucket;
    term->nr_steps = (uint8_t)PyTuple_GET_SIZE(steps);
    for (uint8_t i = 0; i < term->nr_steps; i++) {
        if (fill_step(&term->steps[i], PyTuple_GET_ITEM(steps, i), fields) != 0)
            return -1;
    }
    return 0;
}

int fg_hist_term_fill(struct fg_hist_term *term, PyObject *tuple, const struct fg_hist_fields *fields)
{
    int ignored;

    memset(term, 0, sizeof(*term));
    return fill_term(term, tuple, fields, &ignored);
}

/* A list of terms of a plan; *signs gets a bit for each that is signed. */
static int fill_terms(struct fg_hist_term *terms, uint32_t most, uint32_t *n, PyObject *tuple,
                      const struct fg_hist_fields *fields, uint32_t *signs)
{
    if (PyTuple_GET_SIZE(tuple) > (Py_ssize_t)most)
        return refuse("too many terms");
    *n = (uint32_t)PyTuple_GET_SIZE(tuple);
    *signs = 0;
    for (uint32_t i = 0; i < *n; i++) {
        int is_signed;

        if (fill_term(&terms[i], PyTuple_GET_ITEM(tuple, i), fields, &is_signed) != 0)
            return -1;
        *signs |= (uint32_t)is_signed << i;
    }
    return 0;
}

static int fill_tracked(struct fg_hist_plan *plan, PyObject *tuple)
{
    if (PyTuple_GET_SIZE(tuple) > (Py_ssize_t)FG_HIST_MAX_TRACKED)
        return refuse("too many actions");
    plan->nr_tracked = (uint32_t)PyTuple_GET_SIZE(tuple);
    for (uint32_t i = 0; i < plan->nr_tracked; i++) {
        PyObject *track = PyTuple_GET_ITEM(tuple, i);
        int is_change;

        if (!PyTuple_Check(track))
            return refuse("a track must be a tuple");
        if (!PyArg_ParseTuple(track, "bp", &plan->tracked[i].variable, &is_change))
            return -1;
        plan->tracked[i].is_change = is_change;
    }
    return 0;
}

int fg_hist_plan_fill(struct fg_hist_plan *plan, PyObject *tuple, const struct fg_hist_fields *fields)
{
    PyObject *keys, *values, *variables, *tracked, *saved;
    uint32_t ignored;
    int keeps_comm, saver;

    memset(plan, 0, sizeof(*plan));
    if (!PyTuple_Check(tuple))
        return refuse("must be a tuple");
    if (!PyArg_ParseTuple(tuple, "IO!O!O!pO!iO!", &plan->size, &PyTuple_Type, &keys, &PyTuple_Type, &values,
                          &PyTuple_Type, &variables, &keeps_comm, &PyTuple_Type, &tracked, &saver,
                          &PyTuple_Type, &saved))
        return -1;
    plan->keeps_comm = keeps_comm;
    plan->saver = saver > 0 ? (uint32_t)saver : 0;
    return fill_terms(plan->keys, FG_HIST_MAX_KEYS, &plan->nr_keys, keys, fields, &ignored) ||
                   fill_terms(plan->values, FG_HIST_MAX_VALUES, &plan->nr_values, values, fields, &ignored) ||
                   fill_terms(plan->variables, FG_HIST_MAX_VARIABLES, &plan->nr_variables, variables, fields,
                              &plan->signed_variables) ||
                   fill_terms(plan->saved, FG_HIST_MAX_SAVED, &plan->nr_saved, saved, fields, &ignored) ||
                   fill_tracked(plan, tracked)
               ? -1
               : 0;
}
