/* The filter of an FgraphOps. The object keeps the patterns as given; the engine gets a struct fg_filter
 * made of them. */
#include "binding/graph/ops_filter.h"

#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/core/filter.h"
#include "binding/core/native_patterns.h"
#include "engine/graph/filter.h"
#include "engine/users/users.h"

static int make_filter(const struct fg_python_ops *self, struct fg_filter *filter)
{
    int error = 0;

    for (int set = 0; !error && set < FGRAPH_NR_FILTER_SETS; set++)
        error = fg_filter_add_tuple(filter, (enum fgraph_filter_set)set, self->patterns[set]);
    return error ? error : fg_filter_set_tid_tuples(filter, self->tids, Py_None);
}

static int hand_over(struct fg_python_ops *self, struct fg_filter *filter)
{
    if (fg_user_set_filter(&self->ops, filter) == 0 && fg_cpython_filter_changed(&self->ops) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

int fg_ops_apply_filters(struct fg_python_ops *self)
{
    struct fg_filter filter = {0};
    int error = make_filter(self, &filter);

    /* A disabled object stays detached; its next registration applies the filter. */
    if (!error && !atomic_load(&self->client.is_disabled))
        error = hand_over(self, &filter);
    fg_filter_clear(&filter);
    return error;
}

void fg_ops_detach(struct fg_client *client)
{
    struct fg_python_ops *self = (struct fg_python_ops *)client;
    struct fg_filter filter;

    /* Without memory the object stays attached; its functions return at once, because it is disabled. */
    Py_BEGIN_CRITICAL_SECTION(self);
    if (fg_filter_make_none(&filter) == 0)
        fg_user_set_filter(&self->ops, &filter);
    Py_END_CRITICAL_SECTION();
    fg_filter_clear(&filter);
}

/* ---- native functions: Python callbacks cannot run in the middle of their calls */

static int refuse_native(enum fgraph_filter_set set, PyObject *patterns)
{
    struct fg_filter filter = {0};
    int error = set == FGRAPH_NOTRACE ? 0 : fg_filter_add_tuple(&filter, set, patterns);

    if (!error)
        error = fg_native_refuse(&filter.sets[set]);
    fg_filter_clear(&filter);
    return error;
}

int fg_ops_refuse_native(struct fg_python_ops *self)
{
    PyObject *patterns;
    int error = 0;

    for (int set = 0; !error && set < FGRAPH_NR_FILTER_SETS; set++) {
        Py_BEGIN_CRITICAL_SECTION(self);
        patterns = Py_NewRef(self->patterns[set]);
        Py_END_CRITICAL_SECTION();
        error = refuse_native((enum fgraph_filter_set)set, patterns);
        Py_DECREF(patterns);
    }
    return error;
}

/* ---- changing it */

/* Replaces one part of the filter, unless the engine refuses. Steals the reference to `value`.
 *
 * Nothing releases the GIL (or the object's lock) between the change here and the engine's. So when two
 * threads change filters, the object and the engine agree afterwards. */
static int exchange(struct fg_python_ops *self, PyObject **at, PyObject *value)
{
    PyObject *old = *at;
    int error;

    *at = value;
    error = fg_ops_apply_filters(self);
    if (error && *at == value) {
        *at = old;
        old = value;
    }
    Py_DECREF(old);
    return error;
}

int fg_ops_edit_filter(PyObject *object, enum fgraph_filter_set set, PyObject *patterns, bool reset)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *value;
    int error = -1;

    if (fg_user_slot(&self->ops) >= 0 && refuse_native(set, patterns) != 0)
        return -1;
    Py_BEGIN_CRITICAL_SECTION(object);
    value = reset ? Py_NewRef(patterns) : PySequence_Concat(self->patterns[set], patterns);
    if (value)
        error = exchange(self, &self->patterns[set], value);
    Py_END_CRITICAL_SECTION();
    return error;
}

PyObject *fg_ops_set_tids(PyObject *object, PyObject *tids)
{
    struct fg_python_ops *self = (struct fg_python_ops *)object;
    PyObject *tuple = fg_tid_tuple(tids);
    int error;

    if (!tuple)
        return NULL;
    Py_BEGIN_CRITICAL_SECTION(self);
    error = exchange(self, &self->tids, tuple);
    Py_END_CRITICAL_SECTION();
    return error ? NULL : Py_NewRef(Py_None);
}
