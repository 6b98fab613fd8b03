/* See kprobe.h. */
#include "binding/probe/kprobe.h"

#include <limits.h>

#include "arch/cpython/base/callback.h"
#include "binding/base/raise.h"
#include "binding/core/client.h"
#include "binding/core/error.h"
#include "binding/graph/symbols.h"
#include "binding/probe/kprobe_regs.h"
#include "structmember.h"

static struct fg_python_kprobe *self_of(struct fg_kprobe *kp)
{
    return fg_container_of(kp, struct fg_python_kprobe, kp);
}

/* ---- the handler */

static struct fg_kprobe_regs *take_regs(struct fg_python_kprobe *self, const struct fg_kprobe_site *site)
{
    struct fg_kprobe_regs *regs = fg_spare_take(&self->regs);

    if (!regs)
        regs = PyObject_New(struct fg_kprobe_regs, self->state->kprobe_regs_type);
    if (regs) {
        regs->site = site;
        regs->state = self->state;
    }
    return regs;
}

/* An object that nobody kept serves the next call. */
static void settle_regs(struct fg_python_kprobe *self, struct fg_kprobe_regs *regs)
{
    regs->site = NULL;
    if (Py_REFCNT(regs) == 1)
        fg_spare_put(&self->regs, regs);
    else
        Py_DECREF(regs);
}

static void failed(struct fg_python_kprobe *self)
{
    if (!fg_error_report((PyObject *)self, self->handler, &self->last_error, &self->errors))
        return;
    if (!self->keep_on_error && fg_kprobe_set_enabled(&self->kp, false) != 0)
        PyErr_Clear();
}

static void run(struct fg_kprobe *kp, const struct fg_kprobe_site *site)
{
    struct fg_python_kprobe *self = self_of(kp);
    struct fg_callback_scope scope;
    struct fg_kprobe_regs *regs;
    PyObject *answer = NULL;

    fg_callback_begin(&scope, NULL, site->tstate, site->frame);
    regs = take_regs(self, site);
    if (fg_likely(regs != NULL)) {
        PyObject *args[] = {NULL, (PyObject *)self, (PyObject *)regs};

        answer = fg_callback_call(self->handler, args + 1, 2);
    }
    if (fg_unlikely(!answer))
        failed(self);
    Py_XDECREF(answer);
    if (fg_likely(regs != NULL))
        settle_regs(self, regs);
    fg_callback_end(&scope, site->tstate);
}

/* ---- making one */

static PyObject *kprobe_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    PyObject *module = fg_engine_module_of(type);
    struct fg_python_kprobe *self = module ? (struct fg_python_kprobe *)type->tp_alloc(type, 0) : NULL;

    if (!self)
        return NULL;
    self->state = fg_engine_state(module);
    self->kp.arch = &fg_kprobe_cpython;
    self->kp.run = run;
    self->kp.owner = self;
    atomic_store(&self->kp.is_enabled, true);
    return (PyObject *)self;
}

/* Reads an int of at least `least`, or None, which stands for `none`. -1 with an exception. */
static int read_number(PyObject *object, const char *what, int least, int none, int *number)
{
    long value;

    *number = none;
    if (object == Py_None)
        return 0;
    if (!PyLong_Check(object)) {
        fg_raise_type(what, "int", object);
        return -1;
    }
    value = PyLong_AsLong(object);
    if ((value == -1 && PyErr_Occurred()) || value < least || value > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "%s must be in %d to %d, got %R", what, least, INT_MAX, object);
        return -1;
    }
    *number = (int)value;
    return 0;
}

static int set_place(struct fg_python_kprobe *self, PyObject *line, PyObject *offset)
{
    if ((line == Py_None) == (offset == Py_None)) {
        PyErr_SetString(PyExc_TypeError, line == Py_None ? "Kprobe needs a line or an offset"
                                                         : "Kprobe takes a line or an offset, not both");
        return -1;
    }
    return read_number(line, "line", 1, 0, &self->line) || read_number(offset, "offset", 0, -1, &self->offset)
               ? -1
               : 0;
}

/* A name, or a function. The probe keeps a Function instead of the function, to keep no object of the
 * program alive. */
static int set_symbol(struct fg_python_kprobe *self, PyObject *symbol)
{
    PyObject *function = NULL, *name;

    if (PyUnicode_Check(symbol)) {
        name = PyUnicode_FromObject(symbol);
    } else {
        function = fg_function_of_callable(fg_engine_module_of(Py_TYPE(self)), symbol);
        name = function ? PyObject_GetAttrString(function, "name") : NULL;
    }
    if (!name) {
        Py_XDECREF(function);
        return -1;
    }
    Py_XSETREF(self->symbol, name);
    Py_XSETREF(self->function, function);
    self->is_by_name = !function;
    return 0;
}

static int set_name(struct fg_python_kprobe *self, PyObject *name)
{
    if (name)
        Py_INCREF(name);
    else if (self->line)
        name = PyUnicode_FromFormat("%U:%d", self->symbol, self->line);
    else
        name = PyUnicode_FromFormat("%U+%d", self->symbol, self->offset);
    if (!name)
        return -1;
    Py_XSETREF(self->name, name);
    return 0;
}

static int kprobe_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"handler", "symbol", "line", "offset", "name", "keep_on_error", NULL};
    struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;
    PyObject *handler, *symbol, *line = Py_None, *offset = Py_None, *name = NULL;
    int keep_on_error = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|$OOUp:Kprobe", names, &handler, &symbol, &line,
                                     &offset, &name, &keep_on_error))
        return -1;
    if (fg_python_kprobe_is_registered(self)) {
        PyErr_SetString(PyExc_RuntimeError, "Kprobe.__init__ called while the object is registered");
        return -1;
    }
    if (!PyCallable_Check(handler)) {
        fg_raise_type("handler", "a function", handler);
        return -1;
    }
    if (set_place(self, line, offset) != 0 || set_symbol(self, symbol) != 0 || set_name(self, name) != 0)
        return -1;
    Py_XSETREF(self->handler, Py_NewRef(handler));
    self->keep_on_error = keep_on_error;
    return 0;
}

static int kprobe_traverse(PyObject *object, visitproc visit, void *arg)
{
    struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->handler);
    Py_VISIT(self->last_error);
    return 0;
}

/* The object is not registered: the module's reference would keep it alive. */
static int kprobe_clear(PyObject *object)
{
    struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;

    Py_CLEAR(self->handler);
    Py_CLEAR(self->last_error);
    return 0;
}

static void kprobe_dealloc(PyObject *object)
{
    struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    if (self->weakrefs)
        PyObject_ClearWeakRefs(object);
    kprobe_clear(object);
    Py_CLEAR(self->symbol);
    Py_CLEAR(self->function);
    Py_CLEAR(self->name);
    Py_XDECREF(fg_spare_take(&self->regs));
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *kprobe_repr(PyObject *object)
{
    const struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;
    const char *name = Py_TYPE(object)->tp_name,
               *state = fg_python_kprobe_is_registered(self) ? "registered" : "not registered";

    if (!self->symbol)
        return PyUnicode_FromFormat("<%s, not initialised>", name);
    if (self->line)
        return PyUnicode_FromFormat("<%s %R at %U:%d, %s>", name, self->name, self->symbol, self->line,
                                    state);
    return PyUnicode_FromFormat("<%s %R at %U+%d, %s>", name, self->name, self->symbol, self->offset, state);
}

/* ---- attributes */

static PyObject *get_line(PyObject *object, void *Py_UNUSED(closure))
{
    int line = ((struct fg_python_kprobe *)object)->line;

    return line ? PyLong_FromLong(line) : Py_NewRef(Py_None);
}

static PyObject *get_offset(PyObject *object, void *Py_UNUSED(closure))
{
    int offset = ((struct fg_python_kprobe *)object)->offset;

    return offset >= 0 ? PyLong_FromLong(offset) : Py_NewRef(Py_None);
}

static PyObject *get_count(PyObject *object, void *offset)
{
    return PyLong_FromUnsignedLongLong(atomic_load((_Atomic uint64_t *)((char *)object + (uintptr_t)offset)));
}

static PyObject *get_flag(PyObject *object, void *offset)
{
    return PyBool_FromLong(atomic_load((_Atomic bool *)((char *)object + (uintptr_t)offset)));
}

static PyObject *get_gone(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(fg_python_kprobe_is_gone((struct fg_python_kprobe *)object));
}

#define MEMBER(name) ((void *)offsetof(struct fg_python_kprobe, name))

static PyGetSetDef attributes[] = {
    {"handler", fg_client_get_object, NULL, "As given.", MEMBER(handler)},
    {"symbol", fg_client_get_object, NULL, "Name of the function.", MEMBER(symbol)},
    {"function", fg_client_get_object, NULL, "The Function; None if given by name and not registered.",
     MEMBER(function)},
    {"line", get_line, NULL, "Line as given, or None.", NULL},
    {"offset", get_offset, NULL, "Offset as given, in bytes, or None.", NULL},
    {"name", fg_client_get_object, NULL, "Name in kprobes() and error messages.", MEMBER(name)},
    {"last_error", fg_client_get_object, NULL, "Latest exception that the handler raised, or None.",
     MEMBER(last_error)},
    {"errors", get_count, NULL, "Number of exceptions that the handler raised.", MEMBER(errors)},
    {"hits", get_count, NULL, "Number of calls of the handler.", MEMBER(kp.hits)},
    {"nmissed", get_count, NULL,
     "Number of times that a callback reached the place: the handler was not called.", MEMBER(kp.nmissed)},
    {"registered", get_flag, NULL, "Whether it is registered.", MEMBER(kp.is_registered)},
    {"enabled", get_flag, NULL, "False after disabling, or after the handler has raised.",
     MEMBER(kp.is_enabled)},
    {"gone", get_gone, NULL, "Whether it is registered and its function is gone.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"keep_on_error", T_BOOL, offsetof(struct fg_python_kprobe, keep_on_error), READONLY,
     "Whether it stays enabled after the handler has raised."},
    {"by_name", T_BOOL, offsetof(struct fg_python_kprobe, is_by_name), READONLY,
     "Whether the function was given by name."},
    {"__weaklistoffset__", T_PYSSIZET, offsetof(struct fg_python_kprobe, weakrefs), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "A probe at a place within a function."},
    {Py_tp_new, kprobe_new},
    {Py_tp_init, kprobe_init},
    {Py_tp_traverse, kprobe_traverse},
    {Py_tp_clear, kprobe_clear},
    {Py_tp_dealloc, kprobe_dealloc},
    {Py_tp_repr, kprobe_repr},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec fg_kprobe_spec = {
    .name = "funcgraph._engine.Kprobe",
    .basicsize = sizeof(struct fg_python_kprobe),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
