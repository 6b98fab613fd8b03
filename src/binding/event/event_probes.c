/* See event_probes.h. */
#include "binding/event/event_probes.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/register/events.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/static_events.h"
#include "arch/cpython/register/users.h"
#include "binding/base/raise.h"
#include "binding/core/filter.h"
#include "binding/event/event_fields.h"
#include "engine/event/native_event.h"

#define NOT_STATIC (-1)

/* A probe of an event, on functions or on a static event. It is registered while an instance records the
 * event: else its functions run as if there were no event. The engine calls it while it is registered, so it
 * does not move. */
struct fg_event_probe {
    struct fg_probe_event hits;          /* at entries or returns; or */
    struct fg_place_event place;         /* at a place, if it has a symbol; or */
    struct fg_source_probe source_probe; /* on a static event */
    int which;                           /* the number of the static event, or NOT_STATIC */
    struct fg_event_program program;
    PyObject *patterns; /* tuple of str: the functions; of a place: one name */
    bool is_pending;    /* there may be none yet */
    struct fg_event_probe *next;
};

static bool is_at_place(const struct fg_event_probe *probe)
{
    return probe->place.at.symbol;
}

static void detach_one(struct fg_event_probe *probe)
{
    if (probe->which != NOT_STATIC)
        fg_cpython_static_detach(&probe->source_probe);
    else if (is_at_place(probe))
        fg_cpython_detach_place_event(&probe->place);
    else
        fg_cpython_unregister_fprobe(&probe->hits.fp);
}

static void probe_free(struct fg_event_probe *probe)
{
    detach_one(probe);
    fg_event_program_clear(&probe->program);
    Py_XDECREF(probe->patterns);
    free(probe);
}

/* ---- attaching */

/* What to do with the functions that a probe's patterns match. Return: a negative errno; else it is done. */
typedef int (*filter_function)(struct fg_event_probe *probe, struct fg_fprobe_filter *filter);

static int attach_functions(struct fg_event_probe *probe, struct fg_fprobe_filter *filter)
{
    return filter->is_native ? fg_cpython_register_native_fprobe(&probe->hits.fp, filter)
                             : fg_cpython_register_pending_fprobe(&probe->hits.fp, filter);
}

/* Return: 0, or -1 with an exception. */
static int with_filter(struct fg_event_probe *probe, filter_function function)
{
    struct fg_fprobe_filter filter = {0};
    int error = 0;

    if (fg_fprobe_filter_fill(&filter, probe->patterns, "functions", NULL, NULL) == 0) {
        filter.is_native = probe->program.native != NULL;
        error = function(probe, &filter);
    }
    fg_fprobe_filter_clear(&filter);
    if (error < 0)
        fg_event_raise(error);
    return PyErr_Occurred() ? -1 : 0;
}

/* Why a static event cannot be had. */
static PyObject *raise_unavailable(int which, int error)
{
    const struct fg_static_event_names *names = fg_static_names((uint32_t)which);
    const char *why = error == -EOPNOTSUPP ? "this Python does not tell it"
                      : error == -EPERM    ? "an audit hook of the program refuses another one"
                                           : "another interpreter has it, or a collection is in progress";

    if (error != -EOPNOTSUPP && error != -EPERM && error != -EBUSY)
        return fg_event_raise(error);
    return fg_raise_os_error(-error, PyUnicode_FromFormat("%s/%s: %s", names->system, names->name, why));
}

/* Return: 0, or -1 with an exception. */
static int attach_one(struct fg_event_probe *probe)
{
    int error;

    if (probe->which == NOT_STATIC && !is_at_place(probe))
        return with_filter(probe, attach_functions);
    if (is_at_place(probe)) {
        error = fg_cpython_attach_place_event(&probe->place);
        if (error)
            fg_event_raise(error);
        return error ? -1 : 0;
    }
    error = fg_cpython_static_attach(fg_static_source((uint32_t)probe->which), &probe->source_probe);
    if (error && !PyErr_Occurred())
        raise_unavailable(probe->which, error);
    return error ? -1 : 0;
}

/* The first probe first: functions of several have their hits in the order in which the probes were added.
 * Return: 0, or -1 with an exception. */
static int attach_from(struct fg_event_probe *probe)
{
    if (probe && attach_from(probe->next) != 0)
        return -1;
    return probe ? attach_one(probe) : 0;
}

int fg_event_attach_probes(struct fg_event_object *self)
{
    return attach_from(self->probes);
}

void fg_event_detach_probes(struct fg_event_object *self)
{
    for (struct fg_event_probe *probe = self->probes; probe; probe = probe->next)
        detach_one(probe);
}

void fg_event_free_probes(struct fg_event_probe *probes)
{
    while (probes) {
        struct fg_event_probe *probe = probes;

        probes = probe->next;
        probe_free(probe);
    }
}

/* ---- adding and removing */

static int check(struct fg_event_probe *probe, struct fg_fprobe_filter *filter)
{
    return probe->is_pending ? 0 : fg_cpython_check_functions(filter);
}

/* A probe that is not attached. NULL with an exception. */
static struct fg_event_probe *probe_new(const struct fg_event_object *self, PyObject *patterns,
                                        PyObject *fields)
{
    struct fg_event_probe *probe = calloc(1, sizeof(*probe));

    if (!probe) {
        PyErr_NoMemory();
        return NULL;
    }
    probe->which = NOT_STATIC;
    probe->patterns = fg_pattern_tuple(patterns, "functions");
    if (probe->patterns && fg_event_program(self, fields, &probe->program) == 0)
        return probe;
    probe_free(probe);
    return NULL;
}

/* NULL with an exception. */
static struct fg_event_probe *static_probe_new(const struct fg_event_object *self, int which,
                                               PyObject *fields)
{
    struct fg_event_probe *probe = calloc(1, sizeof(*probe));

    if (!probe) {
        PyErr_NoMemory();
        return NULL;
    }
    probe->which = which;
    if (fg_event_program(self, fields, &probe->program) == 0) {
        fg_cpython_static_probe_init(&probe->source_probe, self->event, probe->program.python);
        return probe;
    }
    probe_free(probe);
    return NULL;
}

/* Takes the probe, and attaches it if the event is. NULL with an exception. */
static PyObject *take_probe(struct fg_event_object *self, struct fg_event_probe *probe)
{
    if (self->is_attached && attach_one(probe) != 0) {
        probe_free(probe);
        return NULL;
    }
    probe->next = self->probes;
    self->probes = probe;
    Py_RETURN_NONE;
}

PyObject *fg_event_add_probe(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    PyObject *patterns, *fields;
    struct fg_event_probe *probe;
    int is_pending;

    if (!self || !PyArg_ParseTuple(args, "OOp:add_probe", &patterns, &fields, &is_pending))
        return NULL;
    if (self->made)
        return PyErr_Format(PyExc_ValueError, "the event has no probes");
    probe = probe_new(self, patterns, fields);
    if (!probe)
        return NULL;
    probe->is_pending = is_pending;
    if (probe->program.native)
        fg_native_event_init(&probe->hits, self->event, probe->program.native);
    else
        fg_cpython_probe_event_init(&probe->hits, self->event, probe->program.python);
    if (with_filter(probe, check) == 0)
        return take_probe(self, probe);
    probe_free(probe);
    return NULL;
}

PyObject *fg_event_add_place(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    PyObject *symbol, *fields, *symbols;
    struct fg_event_probe *probe;
    int line, offset;

    if (!self || !PyArg_ParseTuple(args, "UiiO:add_place", &symbol, &line, &offset, &fields))
        return NULL;
    if (self->is_native)
        return PyErr_Format(PyExc_ValueError, "the event is on native functions: it has no places");
    symbols = PyTuple_Pack(1, symbol);
    probe = symbols ? probe_new(self, symbols, fields) : NULL;
    Py_XDECREF(symbols);
    if (!probe)
        return NULL;
    probe->place = (struct fg_place_event){
        .at = {.symbol = PyUnicode_AsUTF8(PyTuple_GET_ITEM(probe->patterns, 0)),
               .line = line,
               .offset = offset},
        .event = self->event,
        .program = probe->program.python,
    };
    if (is_at_place(probe))
        return take_probe(self, probe);
    probe_free(probe);
    return NULL;
}

PyObject *fg_event_add_static_probe(PyObject *object, PyObject *args)
{
    struct fg_event_object *self = fg_event_open(object);
    PyObject *fields;
    struct fg_event_probe *probe;
    int which;

    if (!self || !PyArg_ParseTuple(args, "iO:add_static_probe", &which, &fields))
        return NULL;
    if (self->is_native)
        return PyErr_Format(PyExc_ValueError, "the event is on native functions");
    if (which < 0 || !fg_static_names((uint32_t)which))
        return fg_raise_os_error(ENOENT, PyUnicode_FromFormat("there is no static event %d", which));
    probe = static_probe_new(self, which, fields);
    return probe ? take_probe(self, probe) : NULL;
}

PyObject *fg_event_remove_probe(PyObject *object, PyObject *index)
{
    struct fg_event_object *self = fg_event_open(object);
    long at = self ? PyLong_AsLong(index) : -1, n = 0;
    struct fg_event_probe **place, *probe;

    if (at == -1 && PyErr_Occurred())
        return NULL;
    for (probe = self->probes; probe; probe = probe->next)
        n++;
    if (at < 0 || at >= n)
        return fg_raise_os_error(ENOENT, PyUnicode_FromFormat("the event has no probe %ld", at));
    place = &self->probes;
    for (long i = n - 1; i > at; i--)
        place = &(*place)->next;
    probe = *place;
    *place = probe->next;
    probe_free(probe);
    Py_RETURN_NONE;
}

/* ---- what they count */

/* What @count counts, of all probes together. */
static unsigned long long sum(const struct fg_event_object *self,
                              unsigned long long (*count)(const struct fg_event_probe *probe))
{
    unsigned long long total = 0;

    for (const struct fg_event_probe *probe = self->probes; probe; probe = probe->next)
        total += count(probe);
    return total;
}

static unsigned long long faults_of(const struct fg_event_probe *probe)
{
    return fg_fetch_faults(fg_event_program_layout(&probe->program));
}

static unsigned long long nmissed_of(const struct fg_event_probe *probe)
{
    if (probe->which != NOT_STATIC)
        return fg_source_probe_missed(&probe->source_probe);
    return is_at_place(probe) ? fg_named_kprobe_nmissed(&probe->place.at)
                              : fg_fprobe_nmissed(&probe->hits.fp);
}

/* The list has the newest first. */
PyObject *fg_event_probe_counts(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    const struct fg_event_object *self = fg_event_open(object);
    PyObject *counts = self ? PyList_New(0) : NULL;

    for (const struct fg_event_probe *probe = counts ? self->probes : NULL; probe; probe = probe->next) {
        PyObject *pair =
            Py_BuildValue("(KK)", fg_fetch_runs(fg_event_program_layout(&probe->program)), nmissed_of(probe));

        if (!pair || PyList_Insert(counts, 0, pair) != 0) {
            Py_XDECREF(pair);
            Py_CLEAR(counts);
            break;
        }
        Py_DECREF(pair);
    }
    return counts;
}

unsigned long long fg_event_faults(const struct fg_event_object *self)
{
    return sum(self, faults_of);
}

unsigned long long fg_event_nmissed(const struct fg_event_object *self)
{
    return sum(self, nmissed_of);
}
