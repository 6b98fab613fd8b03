/* Registering kprobes: the place that each probes, and the list of all. */
#include "binding/probe/kprobe_registration.h"

#include <errno.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/register/users.h"
#include "binding/base/raise.h"
#include "binding/core/error.h"
#include "binding/probe/kprobe.h"

/* ---- the place */

/* "shop.cart.total() has no code at line 12; nearest lines: 10, 14": one line before, one after. */
static PyObject *raise_no_line(const struct fg_python_kprobe *self, PyObject *lines)
{
    long before = 0, after = 0;

    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(lines) && !after; i++) {
        long line = PyLong_AsLong(PyList_GET_ITEM(lines, i));

        if (line < self->line)
            before = line;
        else
            after = line;
    }
    if (before && after)
        return fg_raise_os_error(EINVAL,
                                 PyUnicode_FromFormat("%U() has no code at line %d; nearest lines: %ld, %ld",
                                                      self->symbol, self->line, before, after));
    if (before || after)
        return fg_raise_os_error(EINVAL,
                                 PyUnicode_FromFormat("%U() has no code at line %d; nearest lines: %ld",
                                                      self->symbol, self->line, before + after));
    return fg_raise_os_error(EINVAL, PyUnicode_FromFormat("%U() has no lines", self->symbol));
}

static int find_line(struct fg_python_kprobe *self, PyCodeObject *code)
{
    PyObject *lines = fg_kprobe_lines(code), *line = lines ? PyLong_FromLong(self->line) : NULL;
    int found = line ? PySequence_Contains(lines, line) : -1;

    if (found > 0)
        self->kp.line = self->line;
    else if (found == 0)
        raise_no_line(self, lines);
    Py_XDECREF(line);
    Py_XDECREF(lines);
    return found > 0 ? 0 : -1;
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
                          PyUnicode_FromFormat("%U() cannot be probed at offset %d: the offset is outside "
                                               "the code, or CPython reports no event for that instruction",
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
        fg_raise_type("kprobe", "Kprobe", object);
    else if (!self->handler)
        PyErr_SetString(PyExc_RuntimeError, "Kprobe.__init__ was not called");
    else
        return self;
    return NULL;
}

/* Adds the kprobe to, or removes it from, the dict {address: Kprobe} of all registered kprobes of the
 * interpreter, which holds a reference to each. -1 with an exception. */
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

/* Registers in the engine, and in the dict. -1 with an exception. */
static int put_on(struct fg_python_kprobe *self, struct fg_func *func)
{
    int error = remember(self, true) == 0 ? fg_kprobe_register(&self->kp, func) : -EIO;

    if (!error)
        return 0;
    if (error == -EEXIST) { /* another thread was quicker: the dict is right */
        raise_registered(self);
        return -1;
    }
    forget(self);
    if (error == -ENOMEM)
        PyErr_NoMemory();
    else if (error == -ENODEV)
        fg_raise_killed();
    return -1;
}

/* Holds the hooks until unregister_kprobe(). */
static int attach(struct fg_python_kprobe *self, struct fg_func *func)
{
    if (fg_hooks_hold() != 0)
        return -1;
    if (put_on(self, func) == 0)
        return 0;
    fg_hooks_release();
    return -1;
}

static int find_place(struct fg_python_kprobe *self, PyCodeObject *code)
{
    if (fg_python_kprobe_is_registered(self)) {
        raise_registered(self);
        return -1;
    }
    return self->line ? find_line(self, code) : find_offset(self, code);
}

static int attach_to_code(struct fg_python_kprobe *self, PyObject *function, PyCodeObject *code)
{
    if (find_place(self, code) != 0)
        return -1;
    atomic_store(&self->kp.is_enabled, true); /* a registration starts afresh */
    if (attach(self, fg_code_func(code)) != 0)
        return -1;
    if (self->is_by_name)
        Py_XSETREF(self->function, Py_NewRef(function));
    return 0;
}

/* The code of a Function. New reference, or NULL with an exception. */
static PyCodeObject *code_of(const struct fg_python_kprobe *self, PyObject *function)
{
    PyObject *code = PyObject_GetAttrString(function, "code");

    if (code != Py_None)
        return (PyCodeObject *)code;
    Py_DECREF(code);
    fg_raise_os_error(ENOENT,
                      PyUnicode_FromFormat("%U() is not a Python function, or is gone", self->symbol));
    return NULL;
}

/* The arguments (kprobe, function). NULL with an exception. */
static struct fg_python_kprobe *parse(PyObject *module, PyObject *args, PyObject **function)
{
    PyObject *object;

    if (!PyArg_ParseTuple(args, "OO!", &object, fg_engine_state(module)->function_type, function))
        return NULL;
    return check_kprobe(module, object);
}

static PyObject *register_kprobe(PyObject *module, PyObject *args)
{
    PyObject *function;
    struct fg_python_kprobe *self = parse(module, args, &function);
    PyCodeObject *code;
    int error = -1;

    if (!self)
        return NULL;
    if (fg_engine_check_open(fg_engine_state(module), "kprobes can no longer be registered") != 0)
        return NULL;
    code = code_of(self, function);
    if (code)
        error = attach_to_code(self, function, code);
    Py_XDECREF(code);
    return error ? NULL : Py_NewRef(Py_None);
}

static PyObject *check_kprobe_at(PyObject *module, PyObject *args)
{
    PyObject *function;
    struct fg_python_kprobe *self = parse(module, args, &function);
    PyCodeObject *code = self ? code_of(self, function) : NULL;
    int error = code ? find_place(self, code) : -1;

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
    if (!fg_python_kprobe_is_registered(self))
        return raise_not_registered(self);
    if (fg_python_kprobe_is_gone(self))
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
    return fg_raise_type("code", "a code object", code);
}

PyMethodDef fg_kprobe_functions[] = {
    {"register_kprobe_at", register_kprobe, METH_VARARGS,
     "register_kprobe_at(kprobe, function): register_kprobe() for a Function."},
    {"check_kprobe_at", check_kprobe_at, METH_VARARGS,
     "check_kprobe_at(kprobe, function): raise the error of a place that the function does not have."},
    {"unregister_kprobe", unregister_kprobe, METH_O,
     "unregister_kprobe(kprobe): return when its handler no longer runs, except the caller itself."},
    {"enable_kprobe", enable_kprobe, METH_O, "enable_kprobe(kprobe): call its handler again."},
    {"disable_kprobe", disable_kprobe, METH_O,
     "disable_kprobe(kprobe): stop calling its handler; it stays registered."},
    {"kprobes", kprobes, METH_NOARGS,
     "kprobes() -> list[Kprobe]: all registered kprobes, in order of registration."},
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
