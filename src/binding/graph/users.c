/* Registering an ops and taking it out again; the list of all users. */
#include "binding/base/binding.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "binding/base/registration.h"
#include "binding/base/types.h"

void fg_python_user_leaves(struct fgraph_ops *ops)
{
    (void)ops; /* whoever unregisters it drops the engine's reference: not here, under the engine's lock */
}

/* ---- all users */

enum user_kind { KIND_PYTHON, KIND_C, KIND_TRACER, KIND_FPROBES };

/* What is noted of a user under the engine's lock, where nothing of Python's may be called: what it frees may come
 * back to us. */
struct user_note {
    enum user_kind kind;
    struct fg_python_ops *python; /* a reference; NULL: another kind */
    char *name;
    int slot;
    uint64_t generation, nmissed;
    struct fg_filter filter;
};

struct user_notes {
    struct user_note users[FG_MAX_USERS];
    int n;
    int nr_elsewhere; /* in other interpreters */
    bool has_failed;
};

/* Only the FgraphOps and the built-in tracers have a function for their leaving; only fprobes decide by themselves. */
static enum user_kind kind_of(const struct fg_user *user)
{
    if (user->leavefunc == fg_python_user_leaves)
        return KIND_PYTHON;
    if (user->wantsfunc)
        return KIND_FPROBES;
    return user->leavefunc ? KIND_TRACER : KIND_C;
}

static void note_user(struct fgraph_ops *ops, void *arg)
{
    struct user_notes *notes = arg;
    struct user_note *note = &notes->users[notes->n];
    const struct fg_user *user = fg_user_of(ops);

    if (user->scope != fg_interp_known()) {
        notes->nr_elsewhere++;
        return;
    }
    notes->n++;
    *note = (struct user_note){.kind = kind_of(user),
                               .name = strdup(ops->name ? ops->name : ""),
                               .slot = user->idx,
                               .generation = user->generation,
                               .nmissed = fgraph_nmissed(ops)};
    if (note->kind == KIND_PYTHON)
        note->python = (struct fg_python_ops *)Py_NewRef(fg_python_ops_of(ops));
    if (!note->name || fg_filter_copy(&note->filter, &user->filter) != 0)
        notes->has_failed = true;
}

static void forget_notes(struct user_notes *notes)
{
    for (int i = 0; i < notes->n; i++) {
        Py_XDECREF(notes->users[i].python);
        fg_filter_clear(&notes->users[i].filter);
        free(notes->users[i].name);
    }
}

static const char *const kind_names[] = {
    [KIND_PYTHON] = "python", [KIND_C] = "C", [KIND_TRACER] = "tracer", [KIND_FPROBES] = "fprobes"};

/* ---- users() */

static PyStructSequence_Field user_fields[] = {
    {"name", "its name"},
    {"kind", "'python', 'C', 'tracer' or 'fprobes'"},
    {"slot", "its slot in the table of users"},
    {"generation", "the number of its registration"},
    {"filter", "only these functions; empty: all"},
    {"notrace", "never these functions"},
    {"graph", "only these functions and what they call"},
    {"graph_notrace", "neither these functions nor what they call"},
    {"tids", "only calls in these threads (native ids); None: in all"},
    {"nmissed", "calls of its functions that callbacks made: they are not traced"},
    {"errors", "exceptions that came out of its callbacks"},
    {NULL, NULL},
};
#define NR_USER_FIELDS 11

PyStructSequence_Desc fg_user_desc = {
    .name = "funcgraph._engine.User",
    .doc = "A registered user.",
    .fields = user_fields,
    .n_in_sequence = NR_USER_FIELDS,
};

PyObject *fg_tuple_of_patterns(const struct fg_patterns *patterns)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)patterns->n);

    for (size_t i = 0; tuple && i < patterns->n; i++) {
        PyObject *text = PyUnicode_FromString(patterns->items[i].text);

        if (text)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

static PyObject *tuple_of_tids(const struct fg_tids *set)
{
    size_t n = 0;
    const int *tids = set ? fg_tids_array(set, &n) : NULL;
    PyObject *tuple = set ? PyTuple_New((Py_ssize_t)n) : Py_NewRef(Py_None);

    for (size_t i = 0; tuple && i < n; i++) {
        PyObject *tid = PyLong_FromLong(tids[i]);

        if (tid)
            PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, tid);
        else
            Py_CLEAR(tuple);
    }
    return tuple;
}

/* Of an FgraphOps it is what was asked for, also while it is disabled. */
static PyObject *patterns_of(const struct user_note *note, enum fgraph_filter_set set)
{
    return note->python ? PyObject_GetAttrString((PyObject *)note->python, fg_filter_set_names[set])
                        : fg_tuple_of_patterns(&note->filter.sets[set]);
}

static PyObject *tids_of(const struct user_note *note)
{
    return note->python ? PyObject_GetAttrString((PyObject *)note->python, "tids")
                        : tuple_of_tids(note->filter.tids);
}

static PyObject *user_of(PyTypeObject *type, const struct user_note *note)
{
    PyObject *const items[NR_USER_FIELDS] = {
        PyUnicode_FromString(note->name),
        PyUnicode_FromString(kind_names[note->kind]),
        PyLong_FromLong(note->slot),
        PyLong_FromUnsignedLongLong(note->generation),
        patterns_of(note, FGRAPH_FILTER),
        patterns_of(note, FGRAPH_NOTRACE),
        patterns_of(note, FGRAPH_GRAPH),
        patterns_of(note, FGRAPH_GRAPH_NOTRACE),
        tids_of(note),
        PyLong_FromUnsignedLongLong(note->nmissed),
        PyLong_FromUnsignedLongLong(note->python ? atomic_load(&note->python->client.errors) : 0),
    };

    return fg_sequence_of(type, items, NR_USER_FIELDS);
}

PyObject *fg_users(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    struct user_notes notes = {.n = 0};
    PyObject *list = PyList_New(0);

    fgraph_for_each(note_user, &notes);
    if (notes.has_failed) {
        Py_CLEAR(list);
        PyErr_NoMemory();
    }
    for (int i = 0; list && i < notes.n; i++) {
        PyObject *user = user_of(fg_engine_state(module)->user_type, &notes.users[i]);

        if (!user || PyList_Append(list, user) != 0)
            Py_CLEAR(list);
        Py_XDECREF(user);
    }
    forget_notes(&notes);
    return list;
}

/* ---- registering */

/* "'latency' (python), 'function_graph' (tracer) 3 times": the holders of the slots, equal ones together. */
static PyObject *holders(const struct user_notes *notes)
{
    PyObject *text = PyUnicode_FromString("");

    for (int i = 0; text && i < notes->n; i++) {
        const struct user_note *note = &notes->users[i];
        int first = 0, count = 0;

        while (strcmp(notes->users[first].name, note->name) != 0 || notes->users[first].kind != note->kind)
            first++;
        if (first < i)
            continue;
        for (int j = i; j < notes->n; j++)
            count += strcmp(notes->users[j].name, note->name) == 0 && notes->users[j].kind == note->kind;
        Py_SETREF(text, PyUnicode_FromFormat(count > 1 ? "%U%s'%s' (%s) %d times" : "%U%s'%s' (%s)", text,
                                             i ? ", " : "", note->name, kind_names[note->kind], count));
    }
    if (text && notes->nr_elsewhere)
        Py_SETREF(text, PyUnicode_FromFormat("%U%s%d in other interpreters", text, notes->n ? ", " : "",
                                             notes->nr_elsewhere));
    return text;
}

PyObject *fg_raise_no_slot(void)
{
    struct user_notes notes = {.n = 0};
    PyObject *held = NULL, *text = NULL;

    fgraph_for_each(note_user, &notes);
    if (!notes.has_failed)
        held = holders(&notes);
    else
        PyErr_NoMemory();
    if (held)
        text = PyUnicode_FromFormat("no slot is free for another user, %d are held by: %U",
                                    notes.n + notes.nr_elsewhere, held);
    Py_XDECREF(held);
    forget_notes(&notes);
    return fg_raise_os_error(ENOSPC, text);
}

PyObject *fg_raise_registration(int error, PyObject *object)
{
    switch (error) {
    case -EBUSY:
        return fg_raise_os_error(EBUSY, PyUnicode_FromFormat("%R is registered already", object));
    case -ENOSPC:
        return fg_raise_no_slot();
    case -EIO:
        return NULL; /* the exception is set */
    default:
        return PyErr_NoMemory();
    }
}

static struct fg_python_ops *check_ops(PyObject *module, PyObject *object)
{
    if (PyObject_TypeCheck(object, fg_engine_state(module)->ops_type))
        return (struct fg_python_ops *)object;
    PyErr_Format(PyExc_TypeError, "an FgraphOps is needed, not %.100s", Py_TYPE(object)->tp_name);
    return NULL;
}

/* It begins anew: what disabled it is past. */
static int enable(struct fg_python_ops *self)
{
    int error = 0;

    Py_BEGIN_CRITICAL_SECTION(self);
    if (fg_user_slot(&self->ops) < 0 && atomic_exchange(&self->client.is_disabled, false)) {
        error = fg_ops_apply_filters(self);
        if (error)
            atomic_store(&self->client.is_disabled, true);
    }
    Py_END_CRITICAL_SECTION();
    return error;
}

PyObject *fg_register(PyObject *module, PyObject *object)
{
    struct fg_python_ops *self = check_ops(module, object);
    int error;

    if (!self)
        return NULL;
    if (fg_engine_state(module)->is_closing) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is ending: no user can be registered any more");
        return NULL;
    }
    if (enable(self) != 0)
        return NULL;
    Py_INCREF(self); /* the engine's */
    error = fg_binding_register(&self->ops);
    if (!error)
        Py_RETURN_NONE;
    Py_DECREF(self);
    return fg_raise_registration(error, (PyObject *)self);
}

PyObject *fg_unregister(PyObject *module, PyObject *object)
{
    struct fg_python_ops *self = check_ops(module, object);

    if (!self)
        return NULL;
    if (fg_binding_unregister(&self->ops) != 0)
        return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%R cannot be unregistered", (PyObject *)self));
    Py_DECREF(self); /* the engine's */
    Py_RETURN_NONE;
}
