/* See event.h. */
#define _GNU_SOURCE
#include "binding/event/event.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/register/events.h"
#include "arch/cpython/register/fprobes.h"
#include "arch/cpython/register/users.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/core/filter.h"
#include "binding/core/state.h"
#include "binding/event/trigger.h"

/* A probe of an event. It is registered while an instance records the event: else its functions run as if
 * there were no event. The engine calls it while it is registered, so it does not move. */
struct probe {
    struct fg_probe_event hits;  /* at entries or returns; or */
    struct fg_place_event place; /* at a place, if it has a symbol */
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
    PyTypeObject *trigger_type;
    PyObject *triggers; /* dict: handle of an instance -> its triggers */
    bool is_return;
    bool is_attached;     /* its probes are registered */
    struct probe *probes; /* the latest first */
};

/* ---- the layout of the fields: `TYPE NAME COUNT OFFSET` of each, joined by ';' */

static const char *const type_names[] = {
#define X(type, name, bytes) name,
    FG_FIELD_TYPES(X)
#undef X
};

/* Return: a new text, or NULL with MemoryError. */
static char *layout_of(const struct fg_fetch_program *program)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *stream = open_memstream(&text, &bytes);

    for (uint32_t i = 0; stream && i < program->nr_fields; i++) {
        const struct fg_field *field = &program->fields[i];

        fprintf(stream, "%s%s %s %u %u", i ? ";" : "", type_names[field->type], program->names[i],
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
    if (is_at_place(probe))
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

/* NULL with an exception: the fields are no fields, or others than the event's. */
static struct fg_fetch_program *program_of(const struct event_object *self, PyObject *fields)
{
    struct fg_fetch_program *program = NULL;
    char *layout;
    bool is_same;

    if (fg_fetch_program_new(fields, self->is_return, &program) != 0)
        return NULL;
    layout = layout_of(program);
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

/* Return: 0, or -1 with an exception. */
static int attach_one(struct probe *probe)
{
    int error;

    if (!is_at_place(probe))
        return with_filter(probe, attach_functions);
    error = fg_cpython_attach_place_event(&probe->place);
    if (error)
        raise_for(error);
    return error ? -1 : 0;
}

static void detach(struct event_object *self)
{
    self->is_attached = false;
    for (struct probe *probe = self->probes; probe; probe = probe->next)
        detach_one(probe);
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
    if (attach_from(self->probes) == 0)
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
    probe->patterns = fg_pattern_tuple(patterns, "functions");
    probe->program = probe->patterns ? program_of(self, fields) : NULL;
    if (probe->program)
        return probe;
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

static bool is_unused(const struct event_object *self)
{
    return self->event && self->is_attached && !fg_event_is_used(self->event);
}

/* Takes the probes of events off their functions that no instance records. An exception that is set stays. */
static void detach_unused(struct fg_interp *interp)
{
    fg_exception before = fg_exception_set_aside();
    PyObject *all = interp->events ? PyList_AsTuple(interp->events) : NULL;

    for (Py_ssize_t i = 0; all && i < PyTuple_GET_SIZE(all); i++) {
        struct event_object *self = (struct event_object *)PyTuple_GET_ITEM(all, i);

        Py_BEGIN_CRITICAL_SECTION(self);
        if (is_unused(self))
            detach(self);
        Py_END_CRITICAL_SECTION();
    }
    Py_XDECREF(all);
    fg_exception_put_back(before);
}

void fg_event_begin(void)
{
    fg_cpython_on_instance_stopped(detach_unused);
}

/* ---- the object's life */

/* Nobody records it any longer when this returns. */
static void close_event(struct event_object *self)
{
    struct probe *probes = self->probes;
    struct fg_event *event = self->event;

    self->probes = NULL;
    self->event = NULL;
    while (probes) {
        struct probe *probe = probes;

        probes = probe->next;
        probe_free(probe);
    }
    if (event)
        fg_event_free(event);
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
static int take_fields(struct event_object *self, const struct fg_fetch_program *program)
{
    size_t bytes = program->nr_fields * sizeof(self->fields[0]);

    self->layout = layout_of(program);
    self->names = copy_names(program->names, program->nr_fields);
    self->fields = malloc(bytes + 1);
    if (!self->fields)
        PyErr_NoMemory();
    if (!self->layout || !self->names || !self->fields)
        return -1;
    memcpy(self->fields, program->fields, bytes);
    self->nr_fields = program->nr_fields;
    return 0;
}

/* Return: 0, or -1 with an exception. */
static int take_types(struct event_object *self)
{
    PyObject *module = fg_engine_module_of(Py_TYPE(self));

    if (!module)
        return -1;
    self->trigger_type = (PyTypeObject *)Py_NewRef(fg_engine_state(module)->trigger_type);
    self->triggers = PyDict_New();
    return self->triggers ? 0 : -1;
}

static PyObject *event_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"system", "name", "fields", "is_return", NULL};
    struct event_object *self;
    struct fg_fetch_program *program;
    const char *system, *name;
    PyObject *fields;
    int is_return = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "ssO|$p:Event", names, &system, &name, &fields,
                                     &is_return))
        return NULL;
    self = (struct event_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->is_return = is_return;
    program = program_of(self, fields);
    if (program && take_types(self) == 0 && take_fields(self, program) == 0 &&
        fg_event_new(system, name, self->layout, program->fields_at, &self->event) != 0)
        PyErr_NoMemory();
    fg_fetch_program_free(program);
    if (self->event && enlist((PyObject *)self) == 0)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

static void event_dealloc(PyObject *object)
{
    struct event_object *self = (struct event_object *)object;
    PyTypeObject *type = Py_TYPE(object);

    close_event(self);
    free(self->layout);
    free(self->names);
    free(self->fields);
    Py_XDECREF(self->triggers);
    Py_XDECREF(self->trigger_type);
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

static PyObject *trigger(PyObject *object, PyObject *args)
{
    struct event_object *self = open_event(object);
    struct fg_hist_fields fields;
    struct fg_event_filter *filter;
    PyObject *program, *plan, *made;
    const char *name;
    long long count;
    int kind;

    if (!self || !PyArg_ParseTuple(args, "sLOO:trigger", &name, &count, &program, &plan))
        return NULL;
    kind = fg_trigger_by_name(name);
    if (kind < 0 || (plan != Py_None) != (kind == FG_TRIGGER_HIST)) {
        PyErr_Format(PyExc_ValueError, "no such trigger: %s", name);
        return NULL;
    }
    if (make_filter(self, program, &filter) != 0)
        return NULL;
    made = PyType_GenericAlloc(self->trigger_type, 0);
    if (!made) {
        fg_event_filter_free(filter);
        return NULL;
    }
    fg_trigger_fill(made, kind, count, filter);
    fields = (struct fg_hist_fields){self->names, self->fields, self->nr_fields};
    if (kind == FG_TRIGGER_HIST && fg_trigger_make_hist(made, plan, &fields) != 0)
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
static int keep_triggers(struct event_object *self, int handle, PyObject *tuple)
{
    PyObject *key = PyLong_FromLong(handle);
    int error = -1;

    if (key && PyTuple_GET_SIZE(tuple))
        error = PyDict_SetItem(self->triggers, key, tuple);
    else if (key)
        error = PyDict_Contains(self->triggers, key) > 0 ? PyDict_DelItem(self->triggers, key) : 0;
    Py_XDECREF(key);
    return error;
}

/* What the instance wants of the event is changed: attach or detach the probes. */
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
    PyObject *program, *tuple;
    int handle, records, error;

    if (!self || !PyArg_ParseTuple(args, "ipOO!:set", &handle, &records, &program, &PyTuple_Type, &tuple))
        return NULL;
    triggers = triggers_of(self, tuple);
    if (!triggers)
        return NULL;
    if (make_filter(self, program, &want.filter) != 0) {
        free(triggers);
        return NULL;
    }
    want.records = records;
    want.triggers = triggers;
    want.nr_triggers = (uint32_t)PyTuple_GET_SIZE(tuple);
    error = fg_cpython_event_set(self->event, handle, &want);
    free(triggers);
    if (error || (!want.records && !want.nr_triggers))
        fg_event_filter_free(want.filter);
    if (error)
        return raise_for(error);
    if (keep_triggers(self, handle, tuple) != 0 || follow_use(self) != 0) {
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

static PyObject *get_used(PyObject *object, void *Py_UNUSED(closure))
{
    const struct event_object *self = open_event(object);

    return self ? PyBool_FromLong(fg_event_is_used(self->event)) : NULL;
}

static PyObject *get_layout(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(((struct event_object *)object)->layout);
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
    return is_at_place(probe) ? fg_named_kprobe_nmissed(&probe->place.at)
                              : fg_fprobe_nmissed(&probe->hits.fp);
}

static PyObject *get_faults(PyObject *object, void *Py_UNUSED(closure))
{
    return sum(object, faults_of);
}

static PyObject *get_nmissed(PyObject *object, void *Py_UNUSED(closure))
{
    return sum(object, nmissed_of);
}

FG_ALONE(add_probe)
FG_ALONE(add_place)
FG_ALONE(remove_probe)
FG_ALONE(set_wanted)
FG_ALONE(event_close)

static PyGetSetDef attributes[] = {
    {"number", get_number, NULL, "Number of the event in this process.", NULL},
    {"used", get_used, NULL, "Whether an instance records it.", NULL},
    {"layout", get_layout, NULL, "`TYPE NAME COUNT OFFSET` of each field, joined by ';'.", NULL},
    {"faults", get_faults, NULL, "How many fields could not be read.", NULL},
    {"nmissed", get_nmissed, NULL, "Calls that its probes missed.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"add_probe", add_probe_alone, METH_VARARGS,
     "add_probe(functions, fields, is_pending): hit the event at functions that match the patterns; "
     "is_pending: "
     "also if none matches yet."},
    {"add_place", add_place_alone, METH_VARARGS,
     "add_place(function, line, offset, fields): hit the event at a place in functions with this name; line "
     "0: "
     "at the offset."},
    {"remove_probe", remove_probe_alone, METH_O,
     "remove_probe(index): remove the probe that was added as that one."},
    {"trigger", trigger, METH_VARARGS,
     "trigger(name, count, filter, plan) -> Trigger: make one for its hits."},
    {"set", set_wanted_alone, METH_VARARGS,
     "set(handle, records, filter, triggers): say what the instance wants of the event."},
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

PyMethodDef fg_event_functions[] = {
    {"function_name", function_name, METH_O, "function_name(id) -> str | None: the function with this id."},
    {NULL, NULL, 0, NULL},
};
