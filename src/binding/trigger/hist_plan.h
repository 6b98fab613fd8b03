/* From funcgraph.events.hist_plan.Plan to the engine's plan of a histogram. */
#ifndef FG_BINDING_HIST_PLAN_H
#define FG_BINDING_HIST_PLAN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "engine/hist/hist.h"

/* The fields that its steps name. */
struct fg_hist_fields {
    const char *const *names;
    const struct fg_field *fields;
    uint32_t n;
    uint32_t nr_references; /* to variables of other histograms */
};

/* Return: 0, or -1 with TypeError or ValueError: it is no plan for these fields. */
int fg_hist_plan_fill(struct fg_hist_plan *plan, PyObject *tuple, const struct fg_hist_fields *fields);

/* The same for a single term. */
int fg_hist_term_fill(struct fg_hist_term *term, PyObject *tuple, const struct fg_hist_fields *fields);

#endif
