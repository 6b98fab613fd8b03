/* See func_command.h. */
#include "binding/trigger/func_command.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/register/events.h"
#include "binding/base/critical_section.h"
#include "binding/base/raise.h"
#include "binding/core/state.h"
#include "binding/probe/probe.h"
#include "binding/trigger/trigger.h"

/* The engine calls the command while its fprobe is registered, so it does not move. */
struct command_object {
    PyObject_HEAD struct fg_func_command command;
    PyObject *actions; /* tuple of Trigger, one for each function; NULL: it is closed */
};

static void close_command(struct command_object *self)
{
    if (!self->actions)
        return;
    fg_cpython_remove_command(&self->command);
    Py_CLEAR(self->actions);
}

/* Takes the actions' addresses as cookies. Return: 0, or -1 with an exception. */
static int take_actions(struct command_object *self, struct fg_probe_target *target, PyTypeObject *type)
{
    if ((size_t)PyTuple_GET_SIZE(self->actions) != target->n) {
        PyErr_Format(PyExc_ValueError, "got %zd actions for %zu functions", PyTuple_GET_SIZE(self->actions),
                     target->n);
        return -1;
    }
    target->cookies = malloc((target->n + 1) * sizeof(target->cookies[0]));
    if (!target->cookies) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < target->n; i++) {
        PyObject *action = PyTuple_GET_ITEM(self->actions, (Py_ssize_t)i);

        if (!PyObject_TypeCheck(action, type)) {
            fg_raise_type("actions", "a tuple of Trigger", action);
            return -1;
        }
        target->cookies[i] = (uint64_t)(uintptr_t)fg_trigger_of(action);
    }
    return 0;
}

/* Return: 0, or -1 with an exception. */
static int start(struct command_object *self, PyObject *module, int handle, PyObject *functions)
{
    struct fg_probe_target target = {.n = 0};
    int error = -1;

    if (fg_probe_target_functions(module, &target, functions) == 0 &&
        take_actions(self, &target, fg_engine_state(module)->trigger_type) == 0) {
        error = target.n
                    ? fg_cpython_add_command(&self->command, handle, target.funcs, target.cookies, target.n)
                    : -EINVAL;
        if (error && !PyErr_Occurred())
            fg_raise_errno(error, NULL);
    }
    fg_probe_target_clear(&target);
    return error ? -1 : 0;
}

static PyObject *command_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"handle", "functions", "actions", NULL};
    PyObject *module = fg_engine_module_of(type), *functions, *actions;
    struct command_object *self;
    int handle;

    if (!module || !PyArg_ParseTupleAndKeywords(args, kwargs, "iOO!:FuncCommand", names, &handle, &functions,
                                                &PyTuple_Type, &actions))
        return NULL;
    self = (struct command_object *)type->tp_alloc(type, 0);
    if (!self)
        return NULL;
    self->actions = Py_NewRef(actions);
    if (start(self, module, handle, functions) == 0)
        return (PyObject *)self;
    Py_CLEAR(self->actions);
    Py_DECREF(self);
    return NULL;
}

static void command_dealloc(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);

    close_command((struct command_object *)object);
    type->tp_free(object);
    Py_DECREF(type);
}

static PyObject *command_close(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    close_command((struct command_object *)object);
    Py_RETURN_NONE;
}

FG_ALONE(command_close)

static PyMethodDef methods[] = {
    {"close", command_close_alone, METH_NOARGS, "close(): take it off its functions. May be called twice."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "What calls of functions do in an instance; see the type stub."},
    {Py_tp_new, command_new},
    {Py_tp_dealloc, command_dealloc},
    {Py_tp_methods, methods},
    {0, NULL},
};

PyType_Spec fg_func_command_spec = {
    .name = "funcgraph._engine.FuncCommand",
    .basicsize = sizeof(struct command_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
