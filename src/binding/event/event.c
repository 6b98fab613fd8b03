/* See event.h. */
#define _GNU_SOURCE
#include "binding/event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/register/events.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/static_events.h"
#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/event/event_switch.h"
#include "binding/event/made.h"
#include "binding/event/trigger.h"
#include "engine/graph/users.h"

#define NOT_STATIC (-1)

/* A probe of an event, on functions or on a static event. It is registered while an instance records the
 * event: else its functions run as if there were no event. The engine calls it while it is registered, so it
 * does not move. */
struct probe {
    struct fg_probe_event hits;  /* at entries or returns; or */
    struct fg_place_event place; /* at a place, if it has a symbol; or */
    struct fg_source_probe told; /* on a static event */
    int which;                   /* enum fg_static_event, or NOT_STATIC */
    struct fg_fetch_program *program;
    PyObject *patterns; /* tuple of str: the functions; of a place: one name */
    bool is_pending;    /* there may be none yet */
    struct probe *next;
};

struct event_object {
    PyObject_HEAD struct fg_event *event; /* NULL: closed */
    char *layout;                         /* of the fields, as in the symbol */
    struct fg_field *fields;              /* for filters and triggers */
    const char **names;                   /* of the fields; one allocation with their texts */
    uint32_t nr_fields;
    PyTypeObject *trigger_type, *switch_type;
    PyObject *triggers; /* dict: handle of an instance -> its triggers and its switch */
    enum fg_fetch_place place;
    bool is_attached;           /* its probes are registered */
    struct probe *probes;       /* the latest first */
    struct fg_made_event *made; /* of an event that others make; else NULL */
    struct fg_eprobe_parts *on; /* of one on the fields of another event */
    struct event_object *base;  /* that one */
};

/* ---- the layout of the fields: `TYPE NAME COUNT OFFSET` of each, joined by ';' */

static const char *const type_names[] = {
#define X(type, name, bytes) name,
    FG_FIELD_TYPES(X)
#undef X
};

/* Return: a new text, or NULL with MemoryError. */
static char *layout_of(const struct fg_hist_fields *fields)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    for (uint32_t i = 0; stream && i < fields->n; i++) {
        const struct fg_field *field = &fields->fields[i];

        fprintf(stream, "%s%s %s %u %u", i ? ";" : "", type_names[field->type], fields->names[i],
                field->count, field->offset);
    }
    if (stream && fclose(stream) == 0)
        return text;
    free(text);
    PyErr_NoMemory();
    return NULL;
}

/* ---- probes */

static bool is_at_place(const struct probe *probe)
{
    return probe->place.at.symbol;
}

static void detach_one(struct probe *probe)
{
    if (probe->which != NOT_STATIC)
        fg_cpython_static_detach(&probe->told);
    else if (is_at_place(probe))
        fg_cpython_detach_place_event(&probe->place);
    else
        fg_cpython_unregister_fprobe(&probe->hits.fp);
}

static void probe_free(struct probe *probe)
{
    detach_one(probe);
    fg_fetch_program_free(probe->program);
    Py_XDECREF(probe->patterns);
    free(probe);
}

static struct event_object *open_event(PyObject *object)
{
    struct event_object *self = (struct event_object *)object;

    if (self->event)
        return self;
    PyErr_SetString(PyExc_ValueError, "the event is closed");
    return NULL;
}

static struct fg_hist_fields fields_of(const struct fg_fetch_program *program)
{
    return (struct fg_hist_fields){program->names, program->fields, program->nr_fields, 0};
}

/* NULL with an exception: the fields are no fields, or others than the event's. */
static struct fg_fetch_program *program_of(const struct event_object *self, PyObject *fields)
{
    struct fg_fetch_program *program = NULL;
    struct fg_hist_fields its_fields;
    char *layout;
    bool is_same;

    if (fg_fetch_program_new(fields, self->place, &program) != 0)
        return NULL;
    its_fields = fields_of(program);
    layout = layout_of(&its_fields);
    is_same = layout && (!self->layout || strcmp(layout, self->layout) == 0);
    if (layout && !is_same)
        fg_raise_os_error(EEXIST, PyUnicode_FromFormat("the event has other fields: %s", self->layout));
    free(layout);
    if (is_same)
        return program;
    fg_fetch_program_free(program);
    return NULL;
}

static PyObject *raise_for(int error)
{
    if (error == -ENOENT)
        return fg_raise_os_error(ENOENT, PyUnicode_FromString("no function matches"));
    return PyErr_Occurred() ? NULL : fg_raise_errno(error, NULL);
}

/* What to do with the functions that a probe's patterns match. Return: a negative errno; else it is done. */
typedef int (*filter_function)(struct probe *probe, struct fg_fprobe_filter *filter);

static int attach_functions(struct probe *probe, struct fg_fprobe_filter *filter)
{
    return fg_cpython_register_pending_fprobe(&probe->hits.fp, filter);
}

static int count(struct probe *probe, struct fg_fprobe_filter *filter)
{
    return probe->is_pending ? 0 : fg_cpython_count_ips(filter);
}

/* Return: 0, or -1 with an exception. */
static int with_filter(struct probe *probe, filter_function function)
{
    struct fg_fprobe_filter filter = {0};
    int error = 0;

    if (fg_fprobe_filter_fill(&filter, probe->patterns, "functions", NULL, NULL) == 0)
        error = function(probe, &filter);
    fg_fprobe_filter_clear(&filter);
    if (error < 0)
        raise_for(error);
    return PyErr_Occurred() ? -1 : 0;
}

/* What the instance wants of the event is changed: attach or detach the probes. */
static int follow_use(struct event_object *self);

/* The other event is used by whoever listens to it. Return: 0, or -1 with an exception. */
static int follow_base(struct event_object *self)
{
    int error;

    Py_BEGIN_CRITICAL_SECTION(self->base);
    error = self->base->event ? follow_use(self->base) : 0;
    Py_END_CRITICAL_SECTION();
    return error;
}

/* Why a static event cannot be had. */
static PyObject *raise_untold(enum fg_static_event which, int error)
{
    const struct fg_static_event_names *names = &fg_static_events[which];
    const char *why = error == -EOPNOTSUPP ? "this Python does not tell it"
                      : error == -EPERM    ? "an audit hook of the program refuses another one"
                                           : "another interpreter has it, or a collection is in progress";

    if (error != -EOPNOTSUPP && error != -EPERM && error != -EBUSY)
        return raise_for(error);
    return fg_raise_os_error(-error, PyUnicode_FromFormat("%s/%s: %s", names->system, names->name, why));
}

/* Return: 0, or -1 with an exception. */
static int attach_one(struct probe *probe)
{
    int error;

    if (probe->which == NOT_STATIC && !is_at_place(probe))
        return with_filter(probe, attach_functions);
    if (is_at_place(probe)) {
        error = fg_cpython_attach_place_event(&probe->place);
        if (error)
            raise_for(error);
        return error ? -1 : 0;
    }
    error = fg_cpython_static_attach((enum fg_static_event)probe->which, &probe->told);
    if (error && !PyErr_Occurred())
        raise_untold((enum fg_static_event)probe->which, error);
    return error ? -1 : 0;
}

static void detach(struct event_object *self)
{
    self->is_attached = false;
    for (struct probe *probe = self->probes; probe; probe = probe->next)
        detach_one(probe);
    if (self->on && self->base->event) {
        fg_event_unlisten(self->base->event, &self->on->probe.listener);
        follow_base(self);
    }
}

/* Return: 0, or -1 with an exception. */
static int attach_to_base(struct event_object *self)
{
    int error = self->base->event ? fg_event_listen(self->base->event, &self->on->probe.listener) : -ENODEV;

    if (error)
        fg_raise_errno(error, NULL);
    return error ? -1 : follow_base(self);
}

/* The first probe first: functions of several have their hits in the order in which the probes were added.
 * Return: 0, or -1 with an exception. */
static int attach_from(struct probe *probe)
{
    if (probe && attach_from(probe->next) != 0)
        return -1;
    return probe ? attach_one(probe) : 0;
}

static int attach(struct event_object *self)
{
    if (self->is_attached)
        return 0;
    self->is_attached = true;
    if ((self->on ? attach_to_base(self) : attach_from(self->probes)) == 0)
        return 0;
    detach(self);
    return -1;
}

/* A probe that is not attached. NULL with an exception. */
static struct probe *probe_new(const struct event_object *self, PyObject *patterns, PyObject *fields)
{
    struct probe *probe = calloc(1, sizeof(*probe));

    if (!probe) {
        PyErr_NoMemory();
        return NULL;
    }
    probe->which = NOT_STATIC;
    probe->patterns = fg_pattern_tuple(patterns, "functions");
    probe->program = probe->patterns ? program_of(self, fields) : NULL;
    if (probe->program)
        return probe;
    probe_free(probe);
    return NULL;
}

/* NULL with an exception. */
static struct probe *static_probe_new(const struct event_object *self, int which, PyObject *fields)
{
    struct probe *probe = calloc(1, sizeof(*probe));

    if (!probe) {
        PyErr_NoMemory();
        return NULL;
    }
    probe->which = which;
    probe->program = program_of(self, fields);
    if (probe->program) {
        fg_cpython_static_probe_init(&probe->told, self->event, probe->program);
        return probe;
    }
    probe_free(probe);
    return NULL;
}

/* Takes the probe, and attaches it if the event is. NULL with an exception. */
static PyObject *take_probe(struct event_object *self, struct probe *probe)
{
    if (self->is_attached && attach_one(probe) != 0) {
        probe_free(probe);
        return NULL;
    }
    probe->next = self->probes;
    self->probes = probe;
    Py_RETURN_NONE;
}

static PyObject *add_probe(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    PyObject *patterns, *fields;
    struct probe *probe;
    int is_pending;

    if (!self || !PyArg_ParseTuple(args, "OOp:add_probe", &patterns, &fields, &is_pending))
        return NULL;
    if (self->made)
        return PyErr_Format(PyExc_ValueError, "the event has no probes");
    probe = probe_new(self, patterns, fields);
    if (!probe)
        return NULL;
    probe->is_pending = is_pending;
    fg_cpython_probe_event_init(&probe->hits, self->event, probe->program);
    if (with_filter(probe, count) == 0)
        return take_probe(self, probe);
    probe_free(probe);
    return NULL;
}

static PyObject *add_place(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    PyObject *symbol, *fields, *symbols;
    struct probe *probe;
    int line, offset;

    if (!self || !PyArg_ParseTuple(args, "UiiO:add_place", &symbol, &line, &offset, &fields))
        return NULL;
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
        .program = probe->program,
    };
    if (is_at_place(probe))
        return take_probe(self, probe);
    probe_free(probe);
    return NULL;
}

static PyObject *add_static_probe(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    PyObject *fields;
    struct probe *probe;
    int which;

    if (!self || !PyArg_ParseTuple(args, "iO:add_static_probe", &which, &fields))
        return NULL;
    if (which < 0 || which >= FG_NR_STATIC_EVENTS)
        return fg_raise_os_error(ENOENT, PyUnicode_FromFormat("there is no static event %d", which));
    probe = static_probe_new(self, which, fields);
    return probe ? take_probe(self, probe) : NULL;
}

static PyObject *remove_probe(PyObject *object, PyObject *index)
{
    struct event_object *self = open_event(object);
    long at = self ? PyLong_AsLong(index) : -1, n = 0;
    struct probe **place, *probe;

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

/* ---- the list of the interpreter's events, which keeps them until they are closed */

/* Return: 0, or -1 with an exception. */
static int enlist(PyObject *object)
{
    struct fg_interp *interp = fg_engine_here();

    if (interp && !interp->events)
        interp->events = PyList_New(0);
    return interp && interp->events ? PyList_Append(interp->events, object) : -1;
}

static void unlist(PyObject *object)
{
    struct fg_interp *interp = fg_interp_known();
    Py_ssize_t n = interp && interp->events ? PyList_GET_SIZE(interp->events) : 0;

    for (Py_ssize_t i = 0; i < n; i++) {
        if (PyList_GET_ITEM(interp->events, i) == object) {
            PyList_SetSlice(interp->events, i, i + 1, NULL);
            return;
        }
    }
}

/* Forgets the triggers of instances that have stopped. Return: 0, or -1 with an exception. */
static int drop_stale_triggers(struct event_object *self)
{
    PyObject *handles = PyDict_Keys(self->triggers);
    int error = handles ? 0 : -1;

    for (Py_ssize_t i = 0; !error && i < PyList_GET_SIZE(handles); i++) {
        PyObject *handle = PyList_GET_ITEM(handles, i);
        struct fg_instance *instance = fg_instance_get((int)PyLong_AsLong(handle));

        if (instance)
            fg_instance_put(instance);
        else
            error = PyDict_DelItem(self->triggers, handle);
    }
    Py_XDECREF(handles);
    return error;
}

static bool is_unused(const struct event_object *self)
{
    return self->event && self->is_attached && !fg_event_is_used(self->event);
}

static bool is_any(const struct event_object *self)
{
    return self->event && self->is_attached;
}

/* Takes the probes of some events off. An exception that is set stays. */
static void detach_if(struct fg_interp *interp, bool (*is_meant)(const struct event_object *self))
{
    fg_exception before = fg_exception_set_aside();
    PyObject *all = interp->events ? PyList_AsTuple(interp->events) : NULL;

    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        struct event_object *self = (struct event_object *)PyTuple_GET_ITEM(all, i);

        Py_BEGIN_CRITICAL_SECTION(self);
        if (is_meant(self))
            detach(self);
        if (drop_stale_triggers(self) != 0)
            PyErr_Clear(); /* they go with the event */
        Py_END_CRITICAL_SECTION();
    }
    Py_XDECREF(all);
    fg_exception_put_back(before);
}

static void detach_unused(struct fg_interp *interp)
{
    detach_if(interp, is_unused);
}

void fg_event_begin(void)
{
    fg_cpython_on_instance_stopped(detach_unused);
}

void fg_event_end(void)
{
    struct fg_interp *interp = fg_interp_known();

    if (interp)
        detach_if(interp, is_any);
}

/* ---- the object's life */

/* Nobody records it any longer when this returns. */
static void close_event(struct event_object *self)
{
    struct probe *probes = self->probes;
    struct fg_event *event = self->event;

    if (self->is_attached && self->on)
        detach(self);
    self->probes = NULL;
    self->event = NULL;
    if (self->made) {
        /* A thread that sets a trigger may have found it before it was removed. */
        atomic_store(&self->made->event, NULL);
        fg_users_synchronize();
    }
    while (probes) {
        struct probe *probe = probes;

        probes = probe->next;
        probe_free(probe);
    }
    if (event)
        fg_event_free(event);
    if (self->triggers)
        PyDict_Clear(self->triggers); /* one may keep an event whose trigger keeps this one */
}

/* Copies names, of which there are n. NULL with MemoryError. */
static const char **copy_names(const char *const *names, uint32_t n)
{
    size_t bytes = n * sizeof(char *);
    const char **copy;
    char *at;

    for (uint32_t i = 0; i < n; i++)
        bytes += strlen(names[i]) + 1;
    copy = malloc(bytes + 1);
    if (!copy) {
        PyErr_NoMemory();
        return NULL;
    }
    at = (char *)(copy + n);
    for (uint32_t i = 0; i < n; i++) {
        copy[i] = at;
        at = stpcpy(at, names[i]) + 1;
    }
    return copy;
}

/* Return: 0, or -1 with an exception. */
static int take_fields(struct event_object *self, const struct fg_hist_fields *fields)
{
    size_t bytes = fields->n * sizeof(self->fields[0]);

    self->layout = layout_of(fields);
    self->names = copy_names(fields->names, fields->n);
    self->fields = malloc(bytes + 1);
    if (!self->fields)
        PyErr_NoMemory();
    if (!self->layout || !self->names || !self->fields)
        return -1;
    memcpy(self->fields, fields->fields, bytes);
    self->nr_fields = fields->n;
    return 0;
}

/* Return: 0, or -1 with an exception. */
static int take_types(struct event_object *self)
{
    PyObject *module = fg_engine_module_of(Py_TYPE(self));

    if (!module)
        return -1;
    self->trigger_type = (PyTypeObject *)Py_NewRef(fg_engine_state(module)->trigger_type);
    self->switch_type = (PyTypeObject *)Py_NewRef(fg_engine_state(module)->event_switch_type);
    self->triggers = PyDict_New();
    return self->triggers ? 0 : -1;
}

/* Return: 0, or -1 with an exception. */
static int make_event(struct event_object *self, const char *system, const char *name, uint32_t fields_at)
{
    if (fg_event_new(system, name, self->layout, fields_at, &self->event) == 0)
        return 0;
    PyErr_NoMemory();
    return -1;
}

/* An event that probes hit. Return: 0, or -1 with an exception. */
static int make_probed(struct event_object *self, const char *system, const char *name, PyObject *fields)
{
    struct fg_fetch_program *program = program_of(self, fields);
    struct fg_hist_fields its_fields;
    int error = -1;

    if (program) {
        its_fields = fields_of(program);
        error = take_fields(self, &its_fields) || make_event(self, system, name, program->fields_at) ? -1 : 0;
    }
    fg_fetch_program_free(program);
    return error;
}

/* An event that other events make. Return: 0, or -1 with an exception. */
static int make_made(struct event_object *self, const char *system, const char *name, PyObject *fields,
                     PyObject *limits)
{
    const char **names = NULL;
    int error = -1;

    self->made = fg_made_event_of(fields, limits, &names);
    if (self->made) {
        struct fg_hist_fields its_fields = {names, self->made->form.fields, self->made->form.nr_fields, 0};

        error = take_fields(self, &its_fields) || make_event(self, system, name, FG_EVENT_PLAIN_FIELDS_AT)
                    ? -1
                    : 0;
    }
    if (error == 0)
        atomic_store(&self->made->event, self->event);
    free(names);
    return error;
}

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"system", "name", "fields", "is_return", "limits", "is_static", NULL};
    struct event_object *self;
    const char *system, *name;
    PyObject *fields, *limits = Py_None;
    int is_return = 0, is_static = 0, error;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssO|$pOp:Event", names, &system, &name, &fields,
                                     &is_return, &limits, &is_static))
        return NULL;
    self = (struct event_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->place = is_static ? FG_FETCH_AT_NO_FUNCTION : is_return ? FG_FETCH_AT_RETURN : FG_FETCH_AT_ENTRY;
    error = take_types(self);
    if (!error)
        error = limits == Py_None ? make_probed(self, system, name, fields)
                                  : make_made(self, system, name, fields, limits);
    if (!error && enlist((PyObject *)self) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

/* ---- an event on the fields of another one */

static int make_filter(const struct event_object *self, PyObject *program, struct fg_event_filter **filter);

static struct fg_hist_fields described(const struct event_object *self)
{
    return (struct fg_hist_fields){self->names, self->fields, self->nr_fields, 0};
}

static PyObject *set_base(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    struct fg_event_filter *filter = NULL;
    struct fg_hist_fields fields;
    PyObject *base, *values, *program;

    if (!self ||
        !PyArg_ParseTuple(args, "O!O!O:set_base", Py_TYPE(object), &base, &PyTuple_Type, &values, &program))
        return NULL;
    if (!self->made || self->base || !open_event(base))
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_ValueError, "the event cannot be on another one");
    if (make_filter((struct event_object *)base, program, &filter) != 0)
        return NULL;
    fields = described((struct event_object *)base);
    self->on = fg_eprobe_parts_new(self->made, values, &fields, filter);
    if (!self->on)
        return NULL;
    self->base = (struct event_object *)Py_NewRef(base);
    Py_RETURN_NONE;
}

static void event_dealloc(PyObject *object)
{
    struct event_object *self = (struct event_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    close_event(self);
    fg_eprobe_parts_free(self->on);
    free(self->made);
    Py_XDECREF(self->base);
    free(self->layout);
    free(self->names);
    free(self->fields);
    Py_XDECREF(self->triggers);
    Py_XDECREF(self->trigger_type);
    Py_XDECREF(self->switch_type);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *event_close(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    close_event((struct event_object *)object);
    unlist(object);
    Py_RETURN_NONE;
}

/* Return: 0 and *filter, NULL for none; or -1 with an exception. */
static int make_filter(const struct event_object *self, PyObject *program, struct fg_event_filter **filter)
{
    int error;

    *filter = NULL;
    if (program == Py_None)
        return 0;
    if (!PyBytes_Check(program)) {
        fg_raise_type("filter", "bytes or None", program);
        return -1;
    }
    error = fg_event_filter_make(filter, PyBytes_AS_STRING(program), (size_t)PyBytes_GET_SIZE(program),
                                 self->fields, self->nr_fields);
    if (error)
        raise_for(error);
    return error ? -1 : 0;
}

/* What a trigger of a kind acts on: NULL: nothing else. */
static PyTypeObject *target_type(const struct event_object *self, int kind)
{
    switch (kind) {
    case FG_TRIGGER_ENABLE_EVENT:
    case FG_TRIGGER_DISABLE_EVENT:
        return self->switch_type;
    case FG_TRIGGER_ENABLE_HIST:
    case FG_TRIGGER_DISABLE_HIST:
        return Py_TYPE(self);
    default:
        return NULL;
    }
}

/* Return: a kind with its plan and its target; -1 with ValueError. */
static int kind_of(const struct event_object *self, const char *name, PyObject *plan, PyObject *target)
{
    int kind = fg_trigger_by_name(name);
    PyTypeObject *type = target_type(self, kind);
    bool has_target = type ? PyObject_TypeCheck(target, type) : target == Py_None;

    if (kind >= 0 && has_target && (plan != Py_None) == (kind == FG_TRIGGER_HIST))
        return kind;
    PyErr_Format(PyExc_ValueError, "no such trigger: %s", name);
    return -1;
}

/* An event outlives its own triggers. */
static void set_target(const struct event_object *self, PyObject *made, PyObject *target)
{
    if (PyObject_TypeCheck(target, self->switch_type))
        fg_trigger_set_target(made, target, fg_event_switch_of(target), NULL);
    else if (target != Py_None)
        fg_trigger_set_target(made, target == (PyObject *)self ? NULL : target, NULL,
                              ((struct event_object *)target)->event);
}

static struct fg_hist_sink *sink_of(PyObject *object)
{
    struct fg_made_event *made = ((struct event_object *)object)->made;

    return made ? &made->sink : NULL;
}

static PyObject *trigger(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    struct fg_hist_fields fields;
    struct fg_event_filter *filter;
    PyObject *program, *plan, *target, *links, *made;
    const char *name;
    long long count;
    int kind;

    if (!self || !PyArg_ParseTuple(args, "sLOOOO:trigger", &name, &count, &program, &plan, &target, &links))
        return NULL;
    kind = kind_of(self, name, plan, target);
    if (kind < 0)
        return NULL;
    if (make_filter(self, program, &filter) != 0)
        return NULL;
    made = PyType_GenericAlloc(self->trigger_type, 0);
    if (!made) {
        fg_event_filter_free(filter);
        return NULL;
    }
    fg_trigger_fill(made, kind, count, filter);
    set_target(self, made, target);
    fields = described(self);
    if (kind == FG_TRIGGER_HIST &&
        fg_trigger_make_hist(made, plan, links, &fields,
                             &(struct fg_event_type_of){Py_TYPE(object), sink_of}) != 0)
        Py_CLEAR(made);
    return made;
}

/* Return: the engine's triggers, which the caller frees; NULL with an exception. */
static struct fg_trigger **triggers_of(const struct event_object *self, PyObject *tuple)
{
    Py_ssize_t n = PyTuple_GET_SIZE(tuple);
    struct fg_trigger **triggers = malloc(((size_t)n + 1) * sizeof(struct fg_trigger *));

    if (!triggers) {
        PyErr_NoMemory();
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *one = PyTuple_GET_ITEM(tuple, i);

        if (!PyObject_TypeCheck(one, self->trigger_type)) {
            fg_raise_type("triggers", "a tuple of Trigger", one);
            free(triggers);
            return NULL;
        }
        triggers[i] = fg_trigger_of(one);
    }
    return triggers;
}

/* The event keeps the triggers that the engine may use: those that an instance wants now, and in the middle
 * of a change those that it wants next. Return: 0, or -1 with an exception. */
static int keep_triggers(struct event_object *self, int handle, PyObject *tuple, PyObject *soft)
{
    bool keeps = PyTuple_GET_SIZE(tuple) || soft != Py_None;
    PyObject *key = PyLong_FromLong(handle), *kept = keeps ? PyTuple_Pack(2, tuple, soft) : NULL;
    int error = -1;

    if (key && kept)
        error = PyDict_SetItem(self->triggers, key, kept);
    else if (key && !keeps)
        error = PyDict_Contains(self->triggers, key) > 0 ? PyDict_DelItem(self->triggers, key) : 0;
    Py_XDECREF(key);
    Py_XDECREF(kept);
    return error;
}

static int follow_use(struct event_object *self)
{
    if (!is_unused(self))
        return fg_event_is_used(self->event) ? attach(self) : 0;
    detach(self);
    fg_hooks_stop_if_unused();
    return 0;
}

static PyObject *set_wanted(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    struct fg_event_want want = {.records = false};
    struct fg_trigger **triggers;
    PyObject *program, *tuple, *soft = Py_None;
    int handle, records, error;

    if (!self ||
        !PyArg_ParseTuple(args, "ipOO!|O:set", &handle, &records, &program, &PyTuple_Type, &tuple, &soft))
        return NULL;
    if (soft != Py_None && !PyObject_TypeCheck(soft, self->switch_type))
        return fg_raise_type("switch", "an EventSwitch or None", soft);
    triggers = triggers_of(self, tuple);
    if (!triggers)
        return NULL;
    if (make_filter(self, program, &want.filter) != 0) {
        free(triggers);
        return NULL;
    }
    want.records = records;
    want.soft = soft == Py_None ? NULL : fg_event_switch_of(soft);
    want.triggers = triggers;
    want.nr_triggers = (uint32_t)PyTuple_GET_SIZE(tuple);
    error = fg_cpython_event_set(self->event, handle, &want);
    free(triggers);
    if (error || (!want.records && !want.nr_triggers))
        fg_event_filter_free(want.filter);
    if (error)
        return raise_for(error);
    if (keep_triggers(self, handle, tuple, soft) != 0 || follow_use(self) != 0) {
        fg_cpython_event_set(self->event, handle, &(struct fg_event_want){.records = false});
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *is_recorded(PyObject *object, PyObject *handle)
{
    struct event_object *self = open_event(object);
    long number = self ? PyLong_AsLong(handle) : -1;

    if (number == -1 && PyErr_Occurred())
        return NULL;
    return PyBool_FromLong(fg_event_is_recorded(self->event, (int)number));
}

static PyObject *get_number(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = open_event(object);

    return self ? PyLong_FromUnsignedLong(self->event->number) : NULL;
}

static bool makes(const struct fg_trigger *trigger, const void *made)
{
    const struct fg_made_event *event = made;

    return trigger->kind == FG_TRIGGER_HIST && fg_hist_actions_have(&trigger->actions, &event->sink);
}

static PyObject *get_used(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = open_event(object);

    if (!self)
        return NULL;
    return PyBool_FromLong(fg_event_is_used(self->event) ||
                           (self->made && fg_event_find_trigger(makes, self->made)));
}

static PyObject *get_is_base(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = open_event(object);

    return self ? PyBool_FromLong(fg_event_has_listeners(self->event)) : NULL;
}

static PyObject *get_layout(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(((struct event_object *)object)->layout);
}

static PyObject *get_fields_at(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = open_event(object);

    return self ? PyLong_FromUnsignedLong(self->event->fields_at) : NULL;
}

/* What @count counts, of all probes together. */
static PyObject *sum(PyObject *object, unsigned long long (*count)(const struct probe *probe))
{
    unsigned long long total = 0;

    for (const struct probe *probe = ((struct event_object *)object)->probes; probe; probe = probe->next)
        total += count(probe);
    return PyLong_FromUnsignedLongLong(total);
}

static unsigned long long faults_of(const struct probe *probe)
{
    return fg_fetch_faults(probe->program);
}

static unsigned long long nmissed_of(const struct probe *probe)
{
    if (probe->which != NOT_STATIC)
        return fg_source_probe_missed(&probe->told);
    return is_at_place(probe) ? fg_named_kprobe_nmissed(&probe->place.at)
                              : fg_fprobe_nmissed(&probe->hits.fp);
}

static PyObject *get_faults(PyObject *object, void *Py_UNUSED(closure))
{
    return sum(object, faults_of);
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = (struct event_object *)object;

    if (self->made)
        return PyLong_FromUnsignedLongLong(atomic_load(&self->made->nmissed));
    return sum(object, nmissed_of);
}

FG_ALONE(add_probe)
FG_ALONE(add_static_probe)
FG_ALONE(add_place)
FG_ALONE(remove_probe)
FG_ALONE(set_wanted)
FG_ALONE(event_close)

static PyGetSetDef attributes[] = {
    {"number", get_number, NULL, "Number of the event in this process.", NULL},
    {"used", get_used, NULL, "Whether an instance, a trigger or another event uses it.", NULL},
    {"is_base", get_is_base, NULL, "Whether an event on its fields is used.", NULL},
    {"layout", get_layout, NULL, "`TYPE NAME COUNT OFFSET` of each field, joined by ';'.", NULL},
    {"fields_at", get_fields_at, NULL, "Where they begin in its image, in bytes.", NULL},
    {"faults", get_faults, NULL, "How many fields could not be read.", NULL},
    {"nmissed", get_nmissed, NULL,
     "Calls that its probes missed; of an event that others make, hits that would have made "
     "it in itself.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"add_probe", add_probe_alone, METH_VARARGS,
     "add_probe(functions, fields, is_pending): hit the event at functions that match the patterns; "
     "is_pending: "
     "also if none matches yet."},
    {"add_static_probe", add_static_probe_alone, METH_VARARGS,
     "add_static_probe(index, fields): hit the event at hits of the static event with this index."},
    {"add_place", add_place_alone, METH_VARARGS,
     "add_place(function, line, offset, fields): hit the event at a place in functions with this name; line "
     "0: "
     "at the offset."},
    {"remove_probe", remove_probe_alone, METH_O,
     "remove_probe(index): remove the probe that was added as that one."},
    {"set_base", set_base, METH_VARARGS,
     "set_base(event, values, filter): have the hits of another event make this one."},
    {"trigger", trigger, METH_VARARGS,
     "trigger(name, count, filter, plan, target, links) -> Trigger: make one for its hits."},
    {"set", set_wanted_alone, METH_VARARGS,
     "set(handle, records, filter, triggers, switch=None): say what the instance wants of the event."},
    {"is_recorded", is_recorded, METH_O, "is_recorded(handle) -> bool: whether the instance records it."},
    {"close", event_close_alone, METH_NOARGS, "close(): remove the event with its probes."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A kind of event with its probes; see the type stub."},
    {Py_tp_new, event_new},
    {Py_tp_dealloc, event_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_event_spec = {
    .name = "funcgraph._engine.Event",
    .basicsize = sizeof(struct event_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* ---- functions of the module */

struct named {
    uint32_t id;
    char *name; /* NULL: not found */
};

/* The engine's lock is held: no object is made here. */
static void note_name(struct fg_func *func, void *arg)
{
    struct named *named = arg;

    if (func->id == named->id && !named->name)
        named->name = strdup(func->name);
}

static PyObject *function_name(PyObject *Py_UNUSED(module), PyObject *id)
{
    struct named named = {.id = (uint32_t)PyLong_AsUnsignedLongMask(id)};
    PyObject *name;

    if (PyErr_Occurred())
        return NULL;
    fg_func_for_each(note_name, &named);
    if (!named.name)
        Py_RETURN_NONE;
    name = PyUnicode_DecodeUTF8(named.name, (Py_ssize_t)strlen(named.name), "replace");
    free(named.name);
    return name;
}

static PyObject *static_events(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *all = PyList_New(0);

    for (int i = 0; all && i < FG_NR_STATIC_EVENTS; i++) {
        const struct fg_static_event_names *names = &fg_static_events[i];
        PyObject *one = Py_BuildValue("(sss)", names->system, names->name, names->values);

        if (!one || PyList_Append(all, one) != 0)
            Py_CLEAR(all);
        Py_XDECREF(one);
    }
    return all;
}

PyMethodDef fg_event_functions[] = {
    {"static_events", static_events, METH_NOARGS,
     "static_events() -> list[tuple[str, str, str]]: system, name and values of each static event."},
    {"function_name", function_name, METH_O, "function_name(id) -> str | None: the function with this id."},
    {NULL, NULL, 0, NULL},
};
