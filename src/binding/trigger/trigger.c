/* See trigger.h. */
#include "binding/trigger/trigger.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/hook/dump.h"
#include "arch/cpython/register/users.h"
#include "binding/base/raise.h"
#include "binding/core/state.h"
#include "binding/trigger/event_switch.h"
#include "binding/trigger/hist_plan.h"
#include "engine/core/task.h"
#include "engine/event/event.h"
#include "engine/users/users.h"

/* It lives as long as an event has it: the Event holds a reference. */
struct trigger_object {
    PyObject_HEAD struct fg_trigger trigger;
    uint32_t size;    /* of its histogram's table */
    PyObject *target; /* what it acts on, or NULL */
    PyObject *links;  /* keeps the histograms and events that its own refers to */
};

struct fg_trigger *fg_trigger_of(PyObject *object)
{
    return &((struct trigger_object *)object)->trigger;
}

/* NULL with ValueError. */
static struct fg_hist *hist_of(PyObject *object)
{
    struct fg_hist *hist = fg_trigger_of(object)->hist;

    if (!hist)
        PyErr_SetString(PyExc_ValueError, "the trigger is no histogram");
    return hist;
}

void fg_trigger_fill(PyObject *object, int kind, int64_t count, struct fg_event_filter *filter)
{
    struct fg_trigger *trigger = fg_trigger_of(object);

    trigger->kind = (enum fg_trigger_kind)kind;
    atomic_init(&trigger->left, count);
    trigger->filter = filter;
}

void fg_trigger_set_target(PyObject *object, PyObject *target, struct fg_event_switch *switched,
                           struct fg_event *event)
{
    struct fg_trigger *trigger = fg_trigger_of(object);

    ((struct trigger_object *)object)->target = Py_XNewRef(target);
    trigger->switched = switched;
    trigger->target = event ? &event->files : NULL;
}

/* ---- a histogram, and what it refers to */

static int refuse(const char *what)
{
    PyErr_Format(PyExc_ValueError, "a histogram's links: %s", what);
    return -1;
}

/* Return: the histogram of a Trigger, or NULL with an exception. */
static struct fg_hist *other_hist(PyObject *self, PyObject *other)
{
    if (PyObject_TypeCheck(other, Py_TYPE(self)))
        return hist_of(other);
    fg_raise_type("a linked trigger", "a Trigger", other);
    return NULL;
}

static int fill_references(PyObject *self, struct fg_hist_actions *actions, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (n > (Py_ssize_t)FG_HIST_MAX_REFERENCES)
        return refuse("too many variables of others");
    for (Py_ssize_t i = 0; i < n; i++) {
        struct fg_hist_reference *reference = &actions->references[i];
        PyObject *pair = PyTuple_GET_ITEM(tuple, i), *other;

        if (!PyTuple_Check(pair))
            return refuse("a reference must be a tuple");
        if (!PyArg_ParseTuple(pair, "OI", &other, &reference->index))
            return -1;
        reference->hist = other_hist(self, other);
        if (!reference->hist)
            return -1;
    }
    actions->nr_references = (uint32_t)n;
    return 0;
}

static int fill_values(struct fg_hist_action *action, PyObject *values, const struct fg_hist_fields *fields)
{
    Py_ssize_t n = PyTuple_GET_SIZE(values);

    action->values = calloc((size_t)n + 1, sizeof(action->values[0]));
    if (!action->values) {
        PyErr_NoMemory();
        return -1;
    }
    for (; action->nr_values < (uint32_t)n; action->nr_values++) {
        PyObject *value = PyTuple_GET_ITEM(values, action->nr_values);

        if (fg_hist_term_fill(&action->values[action->nr_values], value, fields) != 0)
            return -1;
    }
    return 0;
}

static int fill_action(struct fg_hist_action *action, PyObject *tuple, const struct fg_hist_fields *fields,
                       const struct fg_event_type_of *events)
{
    PyObject *event, *values;
    int is_snapshot;

    if (!PyTuple_Check(tuple))
        return refuse("an action must be a tuple");
    if (!PyArg_ParseTuple(tuple, "iOO!p", &action->tracked, &event, &PyTuple_Type, &values, &is_snapshot))
        return -1;
    action->is_snapshot = is_snapshot;
    if (event != Py_None)
        action->sink = PyObject_TypeCheck(event, events->type) ? events->sink(event) : NULL;
    if (event != Py_None && !action->sink)
        return refuse("an action's event is one that others make");
    return fill_values(action, values, fields);
}

/* Return: 0, or -1 with MemoryError. */
static int have_taken(struct fg_hist_actions *actions)
{
    if (!actions->taken)
        actions->taken = calloc(1, sizeof(*actions->taken));
    if (actions->taken)
        return 0;
    PyErr_NoMemory();
    return -1;
}

static int fill_actions(struct fg_hist_actions *actions, PyObject *tuple, const struct fg_hist_fields *fields,
                        const struct fg_event_type_of *events)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);

    if (n > (Py_ssize_t)FG_HIST_MAX_ACTIONS)
        return refuse("too many actions");
    for (; actions->nr_actions < (uint32_t)n;) {
        struct fg_hist_action *action = &actions->actions[actions->nr_actions++];

        if (fill_action(action, PyTuple_GET_ITEM(tuple, actions->nr_actions - 1), fields, events) != 0 ||
            (action->is_snapshot && have_taken(actions) != 0))
            return -1;
    }
    return 0;
}

/* @share: None, or whose table it counts in. Return: 0, or -1 with an exception. */
static int make_table(PyObject *object, const struct fg_hist_plan *plan, PyObject *share)
{
    struct fg_trigger *trigger = fg_trigger_of(object);
    const struct fg_hist *other = share == Py_None ? NULL : other_hist(object, share);
    int error;

    if (share != Py_None && !other)
        return -1;
    error = other ? fg_hist_new_sharing(plan, other, &trigger->hist) : fg_hist_new(plan, &trigger->hist);
    ((struct trigger_object *)object)->size = other ? ((struct trigger_object *)share)->size : plan->size;
    if (!error)
        error = fg_hist_actions_check(&trigger->actions, plan->nr_tracked);
    if (error)
        fg_raise_errno(error, NULL);
    return error ? -1 : 0;
}

int fg_trigger_make_hist(PyObject *object, PyObject *plan_tuple, PyObject *links,
                         const struct fg_hist_fields *fields, const struct fg_event_type_of *events)
{
    struct fg_hist_actions *actions = &fg_trigger_of(object)->actions;
    struct fg_hist_fields all = *fields;
    struct fg_hist_plan plan;
    PyObject *share, *references, *its_actions;

    if (!PyTuple_Check(links))
        return refuse("must be a tuple");
    if (!PyArg_ParseTuple(links, "OO!O!", &share, &PyTuple_Type, &references, &PyTuple_Type, &its_actions))
        return -1;
    ((struct trigger_object *)object)->links = Py_NewRef(links);
    if (fill_references(object, actions, references) != 0)
        return -1;
    all.nr_references = actions->nr_references;
    if (fg_hist_plan_fill(&plan, plan_tuple, &all) != 0 ||
        fill_actions(actions, its_actions, &all, events) != 0)
        return -1;
    return make_table(object, &plan, share);
}

static void free_actions(struct fg_hist_actions *actions)
{
    for (uint32_t i = 0; i < actions->nr_actions; i++)
        free(actions->actions[i].values);
    free(actions->taken);
}

static void trigger_dealloc(PyObject *object)
{
    struct fg_trigger *trigger = fg_trigger_of(object);
    PyTypeObject *type = Py_TYPE(object);

    fg_event_filter_free(trigger->filter);
    if (trigger->hist)
        fg_hist_free(trigger->hist);
    Py_XDECREF(((struct trigger_object *)object)->target);
    free_actions(&trigger->actions);
    Py_XDECREF(((struct trigger_object *)object)->links);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *get_left(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromLongLong(atomic_load(&fg_trigger_of(object)->left));
}

static PyObject *get_paused(PyObject *object, void *Py_UNUSED(closure))
{
    struct fg_hist *hist = hist_of(object);

    return hist ? PyBool_FromLong(fg_hist_is_paused(hist)) : NULL;
}

static PyObject *pause_hist(PyObject *object, PyObject *on)
{
    struct fg_hist *hist = hist_of(object);
    int is_on = hist ? PyObject_IsTrue(on) : -1;

    if (is_on < 0)
        return NULL;
    fg_hist_pause(hist, is_on);
    Py_RETURN_NONE;
}

/* Hits meanwhile are not counted. */
static PyObject *clear_hist(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct fg_hist *hist = hist_of(object);

    if (!hist)
        return NULL;
    fg_hist_close(hist);
    fg_users_synchronize();
    fg_hist_clear(hist);
    Py_RETURN_NONE;
}

/* The rows may become more between two looks: there is room for all that the table can have. */
static PyObject *snapshot(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct fg_hist *hist = hist_of(object);
    size_t row_bytes;
    uint64_t dropped;
    uint32_t room, n;
    PyObject *rows;

    if (!hist)
        return NULL;
    row_bytes = fg_hist_row_words(hist) * sizeof(uint64_t);
    room = ((struct trigger_object *)object)->size;
    rows = PyBytes_FromStringAndSize(NULL, (Py_ssize_t)(room * row_bytes));
    if (!rows)
        return NULL;
    n = fg_hist_snapshot(hist, (uint64_t *)(void *)PyBytes_AS_STRING(rows), room, &dropped);
    if (n < room && _PyBytes_Resize(&rows, (Py_ssize_t)(n * row_bytes)) != 0)
        return NULL;
    return Py_BuildValue("NK", rows, (unsigned long long)dropped);
}

static PyObject *taken(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    struct fg_hist *hist = hist_of(object);
    struct fg_hist_taken *taken = fg_trigger_of(object)->actions.taken;
    uint64_t words[FG_HIST_TAKEN_WORDS];
    uint32_t n;

    if (!hist)
        return NULL;
    n = taken ? fg_hist_taken_read(taken, hist, words) : 0;
    if (!n)
        Py_RETURN_NONE;
    return PyBytes_FromStringAndSize((const char *)words, (Py_ssize_t)(n * sizeof(words[0])));
}

static PyGetSetDef attributes[] = {
    {"left", get_left, NULL, "How often it still acts; -1: without limit.", NULL},
    {"paused", get_paused, NULL, "Whether its histogram is paused.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"pause", pause_hist, METH_O, "pause(on): have its histogram count no hits, or count them again."},
    {"clear", clear_hist, METH_NOARGS, "clear(): forget all hits of its histogram."},
    {"snapshot", snapshot, METH_NOARGS,
     "snapshot() -> tuple[bytes, int]: its histogram's rows, and what was dropped."},
    {"taken", taken, METH_NOARGS,
     "taken() -> bytes | None: what its action snapshot() took the last one of."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What an event does at its hits; see the type stub."},
    {Py_tp_dealloc, trigger_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_trigger_spec = {
    .name = "funcgraph._engine.Trigger",
    .basicsize = sizeof(struct trigger_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = slots,
};

/* ---- functions of the module */

/* Return: the kind of a command's action; -1 with ValueError. */
static int action_kind(const char *name, PyObject *target)
{
    int kind = fg_trigger_by_name(name);
    bool is_switch = kind == FG_TRIGGER_ENABLE_EVENT || kind == FG_TRIGGER_DISABLE_EVENT;

    if (kind >= 0 && kind != FG_TRIGGER_HIST && kind != FG_TRIGGER_ENABLE_HIST &&
        kind != FG_TRIGGER_DISABLE_HIST && is_switch == (target != Py_None))
        return kind;
    PyErr_Format(PyExc_ValueError, "no such command: %s", name);
    return -1;
}

static PyObject *command_action(PyObject *module, PyObject *args)
{
    const struct fg_engine_state *state = fg_engine_state(module);
    PyObject *target = Py_None, *made;
    const char *name;
    long long count;
    int kind;

    if (!PyArg_ParseTuple(args, "sLO:command_action", &name, &count, &target))
        return NULL;
    if (target != Py_None && !PyObject_TypeCheck(target, state->event_switch_type))
        return fg_raise_type("target", "an EventSwitch or None", target);
    kind = action_kind(name, target);
    made = kind < 0 ? NULL : PyType_GenericAlloc(state->trigger_type, 0);
    if (!made)
        return NULL;
    fg_trigger_fill(made, kind, count, NULL);
    if (target != Py_None)
        fg_trigger_set_target(made, target, fg_event_switch_of(target), NULL);
    return made;
}

/* Kept for good: a dump may be on its way. */
static PyObject *set_print_dump(PyObject *Py_UNUSED(module), PyObject *function)
{
    struct fg_interp *interp = fg_engine_here();

    if (!interp)
        return NULL;
    if (!interp->print_dump)
        interp->print_dump = Py_NewRef(function);
    return PyBool_FromLong(interp->is_main);
}

static PyObject *take_dump(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    int handle, tid;

    if (!fg_dump_take(&handle, &tid))
        Py_RETURN_NONE;
    return Py_BuildValue("ii", handle, tid);
}

static PyObject *wait_for_dump(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    Py_BEGIN_ALLOW_THREADS;
    fg_dump_wait();
    Py_END_ALLOW_THREADS;
    Py_RETURN_NONE;
}

PyMethodDef fg_trigger_functions[] = {
    {"take_dump", take_dump, METH_NOARGS,
     "take_dump() -> (handle, tid): what a command of a native function wants printed, or None."},
    {"wait_for_dump", wait_for_dump, METH_NOARGS,
     "wait_for_dump(): wait until take_dump() has something, or a signal comes."},
    {"set_print_dump", set_print_dump, METH_O,
     "set_print_dump(function) -> bool: have function(handle, tid) print the trace of an instance that a "
     "command "
     "dumps."},
    {"command_action", command_action, METH_VARARGS,
     "command_action(name, count, target) -> Trigger: make one for calls of a function."},
    {NULL, NULL, 0, NULL},
};
