/* Kprobe: a probe at a place within a function as a Python object; registering it, and the list of all. */
#include "binding/probe/kprobe.h"

#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/read/code.h"
#include "binding/base/registration.h"
#include "structmember.h"

static struct fg_python_kprobe *self_of(struct fg_kprobe *kp)
{
    return fg_container_of(kp, struct fg_python_kprobe, kp);
}

static bool is_registered(const struct fg_python_kprobe *self)
{
    return atomic_load(&self->kp.is_registered);
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

/* What nobody kept serves the next call. */
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
    PyObject *module = PyType_GetModuleByDef(type, &fg_engine_module_def);
    struct fg_python_kprobe *self = module ? (struct fg_python_kprobe *)type->tp_alloc(type, 0) : NULL;

    if (!self)
        return NULL;
    self->state = fg_engine_state(module);
    self->kp.run = run;
    self->kp.owner = (PyObject *)self;
    atomic_store(&self->kp.is_enabled, true);
    return (PyObject *)self;
}

/* An int of at least `least`, or None for `none`. -1 with an exception. */
static int read_number(PyObject *object, const char *what, int least, int none, int *number)
{
    long value;

    *number = none;
    if (object == Py_None)
        return 0;
    if (!PyLong_Check(object)) {
        PyErr_Format(PyExc_TypeError, "%s: an int is needed, not %.100s", what, Py_TYPE(object)->tp_name);
        return -1;
    }
    value = PyLong_AsLong(object);
    if ((value == -1 && PyErr_Occurred()) || value < least || value > INT_MAX) {
        PyErr_Format(PyExc_ValueError, "%s: %R is none", what, object);
        return -1;
    }
    *number = (int)value;
    return 0;
}

static int set_place(struct fg_python_kprobe *self, PyObject *line, PyObject *offset)
{
    if ((line == Py_None) == (offset == Py_None)) {
        PyErr_SetString(PyExc_TypeError, line == Py_None ? "Kprobe: a line or an offset is needed"
                                                         : "Kprobe: a line and an offset are two places");
        return -1;
    }
    return read_number(line, "line", 1, 0, &self->line) || read_number(offset, "offset", 0, -1, &self->offset)
               ? -1
               : 0;
}

/* By name, or a function: of that only a Function is kept, which keeps nothing of the program's alive. */
static int set_symbol(struct fg_python_kprobe *self, PyObject *symbol)
{
    PyObject *function = NULL, *name;

    if (PyUnicode_Check(symbol)) {
        name = PyUnicode_FromObject(symbol);
    } else {
        function =
            fg_function_of_callable(PyType_GetModuleByDef(Py_TYPE(self), &fg_engine_module_def), symbol);
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
    if (is_registered(self)) {
        PyErr_SetString(PyExc_RuntimeError, "a Kprobe cannot be made anew while it is registered");
        return -1;
    }
    if (!PyCallable_Check(handler)) {
        PyErr_Format(PyExc_TypeError, "handler: a function is needed, not %.100s", Py_TYPE(handler)->tp_name);
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

/* Not registered, or the module's reference would keep it. */
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
               *state = is_registered(self) ? "registered" : "not registered";

    if (!self->symbol)
        return PyUnicode_FromFormat("<%s, not made>", name);
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

static bool is_gone(const struct fg_python_kprobe *self)
{
    return is_registered(self) && !atomic_load(&self->kp.func);
}

static PyObject *get_gone(PyObject *object, void *Py_UNUSED(closure))
{
    return PyBool_FromLong(is_gone((struct fg_python_kprobe *)object));
}

#define MEMBER(name) ((void *)offsetof(struct fg_python_kprobe, name))

static PyGetSetDef attributes[] = {
    {"handler", fg_client_get_object, NULL, "As it was given.", MEMBER(handler)},
    {"symbol", fg_client_get_object, NULL, "The function's name.", MEMBER(symbol)},
    {"function", fg_client_get_object, NULL,
     "The Function; None: it was given by name and is not registered.", MEMBER(function)},
    {"line", get_line, NULL, "As it was given, or None.", NULL},
    {"offset", get_offset, NULL, "As it was given, in bytes, or None.", NULL},
    {"name", fg_client_get_object, NULL, "What kprobes() and error messages call it.", MEMBER(name)},
    {"last_error", fg_client_get_object, NULL, "The latest exception that came out of the handler, or None.",
     MEMBER(last_error)},
    {"errors", get_count, NULL, "Exceptions that came out of the handler.", MEMBER(errors)},
    {"hits", get_count, NULL, "Calls of the handler.", MEMBER(kp.hits)},
    {"nmissed", get_count, NULL, "Times that the place was come to in a callback: the handler is not called.",
     MEMBER(kp.nmissed)},
    {"registered", get_flag, NULL, "It is on its function.", MEMBER(kp.is_registered)},
    {"enabled", get_flag, NULL, "False once disabled: by hand, or because the handler raised.",
     MEMBER(kp.is_enabled)},
    {"gone", get_gone, NULL, "It is registered, and its function is gone.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    {"keep_on_error", T_BOOL, offsetof(struct fg_python_kprobe, keep_on_error), READONLY,
     "It stays enabled after the handler has raised."},
    {"by_name", T_BOOL, offsetof(struct fg_python_kprobe, is_by_name), READONLY,
     "The function was given by its name."},
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

/* ---- where it is to be */

/* "shop.cart.total() has no code at line 12; near it: 10, 14": a line before, a line behind. */
static PyObject *raise_no_line(const struct fg_python_kprobe *self, PyObject *lines)
{
    long before = 0, behind = 0;

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines) && !behind; i++) {
        long line = PyLong_AsLong(PyList_GET_ITEM(lines, i));

        if (line < self->line)
            before = line;
        else
            behind = line;
    }
    if (before && behind)
        return fg_raise_os_error(EINVAL,
                                 PyUnicode_FromFormat("%U() has no code at line %d; near it: %ld, %ld",
                                                      self->symbol, self->line, before, behind));
    if (before || behind)
        return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%U() has no code at line %d; near it: %ld",
                                                              self->symbol, self->line, before + behind));
    return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%U() has no lines", self->symbol));
}

static int find_line(struct fg_python_kprobe *self, PyCodeObject *code)
{
    PyObject *lines = fg_kprobe_lines(code), *line = lines ? PyLong_FromLong(self->line) : NULL;
    int is_there = line ? PySequence_Contains(lines, line) : -1;

    if (is_there > 0)
        self->kp.line = self->line;
    else if (is_there == 0)
        raise_no_line(self, lines);
    Py_XDECREF(line);
    Py_XDECREF(lines);
    return is_there > 0 ? 0 : -1;
}

static int find_offset(struct fg_python_kprobe *self, PyCodeObject *code)
{
    int offset = fg_kprobe_offset(code, self->offset);

    self->kp.line = 0;
    self->kp.offset = offset;
    if (offset >= 0)
        return 0;
    if (offset == -EILSEQ)
        fg_raise_os_error(EILSEQ, PyUnicode_FromFormat("no instruction of %U() begins at offset %d",
                                                       self->symbol, self->offset));
    else if (offset == -EINVAL)
        fg_raise_os_error(EINVAL,
                          PyUnicode_FromFormat("%U() cannot be probed at offset %d: it is outside of the "
                                               "code, or CPython tells nobody of that instruction",
                                               self->symbol, self->offset));
    else
        PyErr_NoMemory();
    return -1;
}

/* ---- registering */

static struct fg_python_kprobe *check_kprobe(PyObject *module, PyObject *object)
{
    struct fg_python_kprobe *self = (struct fg_python_kprobe *)object;

    if (!PyObject_TypeCheck(object, fg_engine_state(module)->kprobe_type))
        PyErr_Format(PyExc_TypeError, "a Kprobe is needed, not %.100s", Py_TYPE(object)->tp_name);
    else if (!self->handler)
        PyErr_SetString(PyExc_RuntimeError, "Kprobe.__init__ was not called");
    else
        return self;
    return NULL;
}

/* All of an interpreter, in order of registration: {address: Kprobe}. It holds them. -1 with an exception. */
static int remember(struct fg_python_kprobe *self, bool on)
{
    PyObject *key = PyLong_FromVoidPtr(self);
    int error = -1;

    if (key)
        error = on ? PyDict_SetItem(self->state->kprobes, key, (PyObject *)self)
                   : PyDict_DelItem(self->state->kprobes, key);
    Py_XDECREF(key);
    return error;
}

static void forget(struct fg_python_kprobe *self)
{
    fg_exception aside = fg_exception_set_aside();

    if (remember(self, false) != 0)
        PyErr_Clear();
    fg_exception_put_back(aside);
}

static PyObject *raise_registered(struct fg_python_kprobe *self)
{
    return fg_raise_os_error(EEXIST, PyUnicode_FromFormat("%R is registered already", (PyObject *)self));
}

/* On the function, and in the list. -1 with an exception. */
static int put_on(struct fg_python_kprobe *self, struct fg_func *func)
{
    int error = remember(self, true) == 0 ? fg_kprobe_register(&self->kp, func) : -EIO;

    if (!error)
        return 0;
    if (error == -EEXIST) { /* by another thread, just now: the list is right */
        raise_registered(self);
        return -1;
    }
    forget(self);
    if (error == -ENOMEM)
        PyErr_NoMemory();
    return -1;
}

/* The hooks are held from now on. */
static int attach(struct fg_python_kprobe *self, struct fg_func *func)
{
    if (fg_hooks_hold() != 0)
        return -1;
    if (put_on(self, func) == 0)
        return 0;
    fg_hooks_release();
    return -1;
}

static int attach_to_code(struct fg_python_kprobe *self, PyObject *function, PyCodeObject *code)
{
    if (is_registered(self)) {
        raise_registered(self);
        return -1;
    }
    if ((self->line ? find_line(self, code) : find_offset(self, code)) != 0)
        return -1;
    atomic_store(&self->kp.is_enabled, true); /* it begins anew: what disabled it is past */
    if (attach(self, fg_code_func(code)) != 0)
        return -1;
    if (self->is_by_name)
        Py_XSETREF(self->function, Py_NewRef(function));
    return 0;
}

static PyObject *register_kprobe(PyObject *module, PyObject *args)
{
    PyObject *object, *function, *code;
    struct fg_python_kprobe *self;
    int error = -1;

    if (!PyArg_ParseTuple(args, "OO!:register_kprobe_at", &object, fg_engine_state(module)->function_type,
                          &function))
        return NULL;
    self = check_kprobe(module, object);
    if (!self)
        return NULL;
    if (fg_engine_state(module)->is_closing) {
        PyErr_SetString(PyExc_RuntimeError, "the interpreter is ending: no probe can be registered any more");
        return NULL;
    }
    code = PyObject_GetAttrString(function, "code");
    if (code == Py_None)
        fg_raise_os_error(ENOENT,
                          PyUnicode_FromFormat("%U() is no Python function, or is gone", self->symbol));
    else if (code)
        error = attach_to_code(self, function, (PyCodeObject *)code);
    Py_XDECREF(code);
    return error ? NULL : Py_NewRef(Py_None);
}

static PyObject *raise_not_registered(struct fg_python_kprobe *self)
{
    return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%R is not registered", (PyObject *)self));
}

static PyObject *unregister_kprobe(PyObject *module, PyObject *object)
{
    struct fg_python_kprobe *self = check_kprobe(module, object);

    if (!self)
        return NULL;
    if (fg_kprobe_unregister(&self->kp) != 0)
        return raise_not_registered(self);
    forget(self);
    fg_hooks_release();
    Py_RETURN_NONE;
}

static PyObject *set_enabled(PyObject *module, PyObject *object, bool enabled)
{
    struct fg_python_kprobe *self = check_kprobe(module, object);

    if (!self)
        return NULL;
    if (!is_registered(self))
        return raise_not_registered(self);
    if (is_gone(self))
        return fg_raise_os_error(EINVAL,
                                 PyUnicode_FromFormat("the function of %R is gone", (PyObject *)self));
    return fg_kprobe_set_enabled(&self->kp, enabled) == 0 ? Py_NewRef(Py_None) : NULL;
}

static PyObject *enable_kprobe(PyObject *module, PyObject *object)
{
    return set_enabled(module, object, true);
}

static PyObject *disable_kprobe(PyObject *module, PyObject *object)
{
    return set_enabled(module, object, false);
}

/* ---- all of them */

static PyObject *kprobes(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    return PyDict_Values(fg_engine_state(module)->kprobes);
}

static PyObject *kprobe_lines(PyObject *module, PyObject *code)
{
    (void)module;
    if (PyCode_Check(code))
        return fg_kprobe_lines((PyCodeObject *)code);
    return PyErr_Format(PyExc_TypeError, "a code object is needed, not %.100s", Py_TYPE(code)->tp_name);
}

PyMethodDef fg_kprobe_functions[] = {
    {"register_kprobe_at", register_kprobe, METH_VARARGS,
     "register_kprobe_at(kprobe, function): what funcgraph.register_kprobe does once it knows the function."},
    {"unregister_kprobe", unregister_kprobe, METH_O,
     "unregister_kprobe(kprobe): return when its handler runs no more, but for the caller itself."},
    {"enable_kprobe", enable_kprobe, METH_O, "enable_kprobe(kprobe): its handler is called again."},
    {"disable_kprobe", disable_kprobe, METH_O,
     "disable_kprobe(kprobe): it stays where it is, and its handler is not called."},
    {"kprobes", kprobes, METH_NOARGS,
     "kprobes() -> list[Kprobe]: those registered, in order of registration."},
    {"kprobe_lines", kprobe_lines, METH_O, "kprobe_lines(code) -> list[int]: the lines that can be probed."},
    {NULL, NULL, 0, NULL},
};

/* ---- the end of the interpreter */

void fg_kprobes_mute(struct fg_engine_state *state)
{
    Py_ssize_t at = 0;
    PyObject *kprobe;

    while (PyDict_Next(state->kprobes, &at, NULL, &kprobe))
        atomic_store(&((struct fg_python_kprobe *)kprobe)->kp.is_enabled, false);
}

void fg_kprobes_end(PyObject *module)
{
    PyObject *list = kprobes(module, NULL);

    for (Py_ssize_t i = 0; list && i < PyList_GET_SIZE(list); i++)
        Py_XDECREF(unregister_kprobe(module, PyList_GET_ITEM(list, i)));
    Py_XDECREF(list);
    PyErr_Clear();
}
