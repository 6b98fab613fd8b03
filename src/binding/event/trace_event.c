/* See trace_event.h.
 *
 * While nobody wants the event, a call compares the names of its arguments and reads one word. So a call that
 * is wrong fails in the same way whether somebody records the program or not. */
#include "binding/event/trace_event.h"

#include <stddef.h>

#include "arch/cpython/static/program_event.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/core/state.h"
#include "engine/base/compiler.h"
#include "structmember.h"

struct trace_event {
    PyObject_HEAD vectorcallfunc vectorcall;
    struct fg_program_event *event; /* it stays for ever */
    PyObject *fields;               /* tuple of interned str: their names */
    PyObject *types;                /* dict: the name of each -> that of its type */
};

/* ---- arguments */

/* True if each field has a value, and the values stand in the order of the fields. Keywords that a call names
 * are interned, and so are the names: nearly all calls need no look at characters. */
static inline bool is_in_order(const struct trace_event *self, Py_ssize_t nargs, PyObject *kwnames)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->fields);

    if (!kwnames)
        return nargs == n;
    if (nargs + PyTuple_GET_SIZE(kwnames) != n)
        return false;
    for (Py_ssize_t i = nargs; i < n; i++) {
        if (PyTuple_GET_ITEM(kwnames, i - nargs) != PyTuple_GET_ITEM(self->fields, i))
            return false;
    }
    return true;
}

static PyObject *raise_too_many(const struct trace_event *self, Py_ssize_t nargs)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->fields);

    return PyErr_Format(PyExc_TypeError, "%s() takes %zd positional argument%s but %zd %s given",
                        self->event->names.name, n, n == 1 ? "" : "s", nargs, nargs == 1 ? "was" : "were");
}

/* As CPython has it: 'a', then 'a' and 'b', then 'a', 'b', and 'c'. New reference, or NULL with an
 * exception. */
static PyObject *listed(PyObject *names)
{
    Py_ssize_t n = PyList_GET_SIZE(names);
    PyObject *text = PyUnicode_FromFormat("%R", PyList_GET_ITEM(names, 0));

    for (Py_ssize_t i = 1; text && i < n; i++) {
        const char *join = i + 1 < n ? "," : n == 2 ? " and" : ", and";
        PyObject *longer = PyUnicode_FromFormat("%U%s %R", text, join, PyList_GET_ITEM(names, i));

        Py_SETREF(text, longer);
    }
    return text;
}

static PyObject *raise_missing(const struct trace_event *self, PyObject *const *values)
{
    PyObject *missing = PyList_New(0), *text;

    for (Py_ssize_t i = 0; missing && i < PyTuple_GET_SIZE(self->fields); i++) {
        if (!values[i] && PyList_Append(missing, PyTuple_GET_ITEM(self->fields, i)) != 0)
            Py_CLEAR(missing);
    }
    text = missing ? listed(missing) : NULL;
    if (text)
        PyErr_Format(PyExc_TypeError, "%s() missing %zd required argument%s: %U", self->event->names.name,
                     PyList_GET_SIZE(missing), PyList_GET_SIZE(missing) == 1 ? "" : "s", text);
    Py_XDECREF(text);
    Py_XDECREF(missing);
    return NULL;
}

/* The field of a keyword; -1 with an exception: there is none. */
static Py_ssize_t field_of(const struct trace_event *self, PyObject *keyword)
{
    Py_ssize_t i = PySequence_Index(self->fields, keyword);

    if (i >= 0)
        return i;
    PyErr_Clear();
    PyErr_Format(PyExc_TypeError, "%s() got an unexpected keyword argument '%U'", self->event->names.name,
                 keyword);
    return -1;
}

/* Sorts the arguments of a call by field. Return: 0, or -1 with TypeError. */
static int sort(const struct trace_event *self, PyObject *const *args, Py_ssize_t nargs, PyObject *kwnames,
                PyObject **values)
{
    Py_ssize_t n = PyTuple_GET_SIZE(self->fields), nr_keywords = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    bool is_complete = true;

    if (nargs > n) {
        raise_too_many(self, nargs);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        values[i] = i < nargs ? args[i] : NULL;
    for (Py_ssize_t i = 0; i < nr_keywords; i++) {
        Py_ssize_t field = field_of(self, PyTuple_GET_ITEM(kwnames, i));

        if (field >= 0 && values[field])
            PyErr_Format(PyExc_TypeError, "%s() got multiple values for argument '%U'",
                         self->event->names.name, PyTuple_GET_ITEM(kwnames, i));
        if (field < 0 || values[field])
            return -1;
        values[field] = args[nargs + i];
    }
    for (Py_ssize_t i = 0; i < n; i++)
        is_complete = is_complete && values[i];
    if (!is_complete)
        raise_missing(self, values);
    return is_complete ? 0 : -1;
}

FG_NOINLINE static PyObject *call_out_of_order(const struct trace_event *self, PyObject *const *args,
                                               Py_ssize_t nargs, PyObject *kwnames)
{
    PyObject *values[FG_EVENT_MAX_FIELDS];

    if (sort(self, args, nargs, kwnames, values) != 0)
        return NULL;
    if (fg_program_event_is_enabled(self->event))
        fg_program_event_hit(self->event, values);
    Py_RETURN_NONE;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    const struct trace_event *self = (struct trace_event *)object;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);

    if (fg_unlikely(!is_in_order(self, nargs, kwnames)))
        return call_out_of_order(self, args, nargs, kwnames);
    if (fg_unlikely(fg_program_event_is_enabled(self->event)))
        fg_program_event_hit(self->event, args);
    Py_RETURN_NONE;
}

/* ---- declaring */

/* "NAME:TYPE" of each field, joined by blanks, as the table of static events has them. New reference, or NULL
 * with an exception. */
static PyObject *values_of(PyObject *types)
{
    PyObject *text = PyUnicode_FromString(""), *name, *type;
    Py_ssize_t at = 0;

    while (text && PyDict_Next(types, &at, &name, &type)) {
        const char *join = PyUnicode_GET_LENGTH(text) ? " " : "";
        PyObject *longer = PyUnicode_FromFormat("%U%s%U:%U", text, join, name, type);

        Py_SETREF(text, longer);
    }
    return text;
}

/* The type of each field by its name. NULL with an exception. */
static PyObject *types_of(PyObject *fields)
{
    PyObject *types = PyDict_New();

    for (Py_ssize_t i = 0; types && i < PyTuple_GET_SIZE(fields); i++) {
        PyObject *field = PyTuple_GET_ITEM(fields, i);

        if (PyDict_SetItem(types, PyTuple_GET_ITEM(field, 0), PyTuple_GET_ITEM(field, 1)) != 0)
            Py_CLEAR(types);
    }
    return types;
}

/* A tuple of the names of fields, interned. NULL with an exception. */
static PyObject *interned_names(const struct fg_fetch_program *program)
{
    PyObject *names = PyTuple_New(program->image.nr_fields);

    for (uint32_t i = 0; names && i < program->image.nr_fields; i++) {
        PyObject *name = PyUnicode_InternFromString(program->image.names[i]);

        if (name)
            PyTuple_SET_ITEM(names, i, name);
        else
            Py_CLEAR(names);
    }
    return names;
}

static struct fg_program_event *declare(const char *system, const char *name, PyObject *types,
                                        const struct fg_fetch_program *program)
{
    struct fg_static_event_names names = {system, name, NULL};
    PyObject *values = values_of(types);
    struct fg_program_event *event = NULL;
    int error;

    names.values = values ? PyUnicode_AsUTF8(values) : NULL;
    error = names.values ? fg_program_event_declare(&names, program, &event) : 0;
    Py_XDECREF(values);
    if (error)
        fg_raise_errno(error, NULL);
    return error ? NULL : event;
}

/* NULL with an exception. */
static PyObject *object_of(PyTypeObject *type, struct fg_program_event *event,
                           const struct fg_fetch_program *program, PyObject *types)
{
    struct trace_event *self = (struct trace_event *)type->tp_alloc(type, 0);

    if (!self)
        return NULL;
    self->vectorcall = call;
    self->event = event;
    self->types = Py_NewRef(types);
    self->fields = interned_names(program);
    if (!self->fields)
        Py_CLEAR(self);
    return (PyObject *)self;
}

/* NULL with an exception. */
static PyObject *declared(PyTypeObject *type, const char *system, const char *name, PyObject *fields,
                          const struct fg_fetch_program *program)
{
    PyObject *types = types_of(fields), *made = NULL;
    struct fg_program_event *event = types ? declare(system, name, types, program) : NULL;

    if (event)
        made = object_of(type, event, program, types);
    Py_XDECREF(types);
    return made;
}

static PyObject *trace_event(PyObject *module, PyObject *args)
{
    struct fg_fetch_program *program;
    const char *system, *name;
    PyObject *fields, *made;

    if (!PyArg_ParseTuple(args, "ssO!:trace_event", &system, &name, &PyTuple_Type, &fields) ||
        fg_fetch_program_new(fields, FG_FETCH_AT_NO_FUNCTION, &program) != 0)
        return NULL;
    made = declared(fg_engine_state(module)->trace_event_type, system, name, fields, program);
    fg_fetch_program_free(program);
    return made;
}

/* ---- the object */

static void trace_event_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    Py_XDECREF(((struct trace_event *)object)->fields);
    Py_XDECREF(((struct trace_event *)object)->types);
    type->tp_free(object);
    Py_DECREF(type);
}

static const struct fg_static_event_names *names_of(PyObject *object)
{
    return &((struct trace_event *)object)->event->names;
}

static PyObject *trace_event_repr(PyObject *object)
{
    const struct fg_static_event_names *names = names_of(object);

    return PyUnicode_FromFormat("<TraceEvent %s/%s%s%s>", names->system, names->name,
                                *names->values ? " " : "", names->values);
}

static PyObject *get_group(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(names_of(object)->system);
}

static PyObject *get_name(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_FromString(names_of(object)->name);
}

static PyObject *get_fields(PyObject *object, void *Py_UNUSED(closure))
{
    return PyDict_Copy(((struct trace_event *)object)->types);
}

static PyObject *get_enabled(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(fg_program_event_is_enabled(((struct trace_event *)object)->event));
}

static PyGetSetDef attributes[] = {
    {"group", get_group, NULL, "The group.", NULL},
    {"name", get_name, NULL, "The name in the group.", NULL},
    {"__name__", get_name, NULL, NULL, NULL},
    {"fields", get_fields, NULL, "The type of each field by its name, in their order.", NULL},
    {"enabled", get_enabled, NULL, "Whether a call has any effect now.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(struct trace_event, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "An event that the program declares; see the type stub."},
    {Py_tp_dealloc, trace_event_dealloc},
    {Py_tp_repr, trace_event_repr},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, members},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_trace_event_spec = {
    .name = "funcgraph._engine.TraceEvent",
    .basicsize = sizeof(struct trace_event),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

PyMethodDef fg_trace_event_functions[] = {
    {"trace_event", trace_event, METH_VARARGS,
     "trace_event(group, name, fields) -> TraceEvent: declare an event, or find it."},
    {NULL, NULL, 0, NULL},
};
