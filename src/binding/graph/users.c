/* See users.h. */
#include "binding/graph/users.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/interp.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/core/error.h"
#include "binding/core/filter.h"
#include "binding/graph/python_ops.h"
#include "engine/core/root.h"
#include "engine/graph/filter.h"
#include "engine/graph/user.h"
#include "engine/users/users.h"

void fg_python_user_leaves(struct fgraph_ops *ops)
{
    (void)ops;
}

/* ---- all users */

enum user_kind { KIND_PYTHON, KIND_C, KIND_TRACER, KIND_FPROBES };

/* A copy of a user, made under the engine's lock. No Python object may be made there: an allocation can
 * run finalisers, which may call into the engine again. */
struct user_note {
    enum user_kind kind;
    struct fg_python_ops *python; /* an owned reference; NULL for the other kinds */
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

/* Only FgraphOps and the built-in tracers have a leavefunc; only fprobes have a wantsfunc. */
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
    {"name", "name in error messages"},
    {"kind", "'python', 'C', 'tracer' or 'fprobes'"},
    {"slot", "slot in the table of users"},
    {"generation", "number of its registration"},
    {"filter", "only these functions; empty: all"},
    {"notrace", "never these functions"},
    {"graph", "only these functions and what they call"},
    {"graph_notrace", "neither these functions nor what they call"},
    {"tids", "only calls in these threads (native ids); None: in all"},
    {"nmissed", "number of calls of its functions that were not traced because a callback made them"},
    {"errors", "number of exceptions that its callbacks raised"},
    {NULL, NULL},
};
#define NR_USER_FIELDS 11

PyStructSequence_Desc fg_user_desc = {
    .name = "funcgraph._engine.User",
    .doc = "A registered user.",
    .fields = user_fields,
    .n_in_sequence = NR_USER_FIELDS,
};

/* The patterns of an FgraphOps as given, also while it is disabled. */
static PyObject *patterns_of(const struct user_note *note, enum fgraph_filter_set set)
{
    return note->python ? PyObject_GetAttrString((PyObject *)note->python, fg_filter_set_names[set])
                        : fg_patterns_to_tuple(&note->filter.sets[set]);
}

static PyObject *tids_of(const struct user_note *note)
{
    return note->python ? PyObject_GetAttrString((PyObject *)note->python, "tids")
                        : fg_tids_to_tuple(note->filter.tids);
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

/* A list with what `make` makes of each user. */
static PyObject *list_users(PyTypeObject *type,
                            PyObject *(*make)(PyTypeObject *type, const struct user_note *note))
{
    struct user_notes notes = {.n = 0};
    PyObject *list = PyList_New(0);

    fgraph_for_each(note_user, &notes);
    if (notes.has_failed) {
        Py_CLEAR(list);
        PyErr_NoMemory();
    }
    for (int i = 0; list && i < notes.n; i++)
        fg_list_append(&list, make(type, &notes.users[i]));
    forget_notes(&notes);
    return list;
}

PyObject *fg_users(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return list_users(fg_engine_state(module)->user_type, user_of);
}

static PyObject *status_of(PyTypeObject *Py_UNUSED(type), const struct user_note *note)
{
    return Py_BuildValue("{s:s,s:i,s:K,s:K}", "name", note->name, "slot", note->slot, "generation",
                         (unsigned long long)note->generation, "nmissed", (unsigned long long)note->nmissed);
}

PyObject *fg_users_status(void)
{
    return list_users(NULL, status_of);
}

/* ---- errors of registration */

/* "'latency' (python), 'function_graph' (tracer) 3 times": the users that hold slots, equal ones together. */
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
        text = PyUnicode_FromFormat("all %d slots for users are taken, by: %U", notes.n + notes.nr_elsewhere,
                                    held);
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
    case -ENODEV:
        return fg_raise_killed();
    case -EIO:
        return NULL; /* an exception is set */
    default:
        return PyErr_NoMemory();
    }
}
