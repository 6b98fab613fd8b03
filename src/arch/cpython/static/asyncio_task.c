/* See asyncio_task.h. */
#include "arch/cpython/static/asyncio_task.h"

#include <stdio.h>
#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/static/peek.h"
#include "arch/cpython/static/text_writer.h"
#include "arch/cpython/value/utf8.h"

static PyTypeObject *class_of(PyObject *module, const char *name)
{
    PyObject *class = fg_dict_get(PyModule_GetDict(module), name);

    if (class && !PyType_Check(class))
        Py_CLEAR(class);
    return (PyTypeObject *)class;
}

bool fg_task_types_find(struct fg_task_types *types)
{
    PyObject *python = fg_imported("asyncio.tasks", strlen("asyncio.tasks"));
    PyObject *c = fg_imported("_asyncio", strlen("_asyncio"));

    *types = (struct fg_task_types){0};
    if (python)
        types->in_python = class_of(python, "_PyTask");
    if (c)
        types->in_c = class_of(c, "Task");
    Py_XDECREF(python);
    Py_XDECREF(c);
    PyErr_Clear();
    return types->in_c || types->in_python;
}

void fg_task_types_clear(struct fg_task_types *types)
{
    Py_CLEAR(types->in_c);
    Py_CLEAR(types->in_python);
}

/* ---- which task a callback steps */

/* Methods of tasks that a handle may run: those which step them, and others, as cancel(). */
static bool is_step(const char *name)
{
    return strstr(name, "step") || strstr(name, "wakeup") || strstr(name, "Wakeup");
}

static PyObject *owner_of_method(PyObject *callback)
{
    PyObject *function = PyMethod_GET_FUNCTION(callback);
    char name[32];

    fg_peek_text(function, "__name__", name, sizeof(name));
    return is_step(name) ? PyMethod_GET_SELF(callback) : NULL;
}

/* _asyncio's TaskStepMethWrapper. It keeps the task. */
static PyObject *owner_of_wrapper(PyObject *callback)
{
    PyObject *task =
        strstr(Py_TYPE(callback)->tp_name, "TaskStepMethWrapper") ? fg_peek(callback, "__self__") : NULL;

    Py_XDECREF(task);
    return task;
}

PyObject *fg_task_stepped_by(const struct fg_task_types *types, PyObject *callback)
{
    PyObject *owner;

    if (PyMethod_Check(callback))
        owner = owner_of_method(callback);
    else if (PyCFunction_Check(callback))
        owner =
            is_step(((PyCFunctionObject *)callback)->m_ml->ml_name) ? PyCFunction_GET_SELF(callback) : NULL;
    else
        owner = owner_of_wrapper(callback);
    return owner && fg_is_task(types, owner) ? owner : NULL;
}

/* ---- what is stored in a task */

/* get_name() of _asyncio.Task, called as C code. New reference, or NULL. */
static PyObject *name_from_c(PyObject *task)
{
    PyObject *key = PyUnicode_InternFromString("get_name");
    PyObject *method = key ? fg_type_lookup(Py_TYPE(task), key) : NULL;
    PyObject *name = NULL;

    if (method && Py_IS_TYPE(method, &PyMethodDescr_Type) &&
        strcmp(PyDescr_TYPE(method)->tp_name, "_asyncio.Task") == 0)
        name = ((PyMethodDescrObject *)method)->d_method->ml_meth(task, NULL);
    Py_XDECREF(key);
    Py_XDECREF(method);
    PyErr_Clear();
    return name;
}

void fg_task_name(PyObject *task, char text[FG_TASK_TEXT_BYTES])
{
    PyObject *name = name_from_c(task);

    if (name)
        fg_utf8_copy(name, text, FG_TASK_TEXT_BYTES);
    else
        fg_peek_text(task, "_name", text, FG_TASK_TEXT_BYTES);
    Py_XDECREF(name);
}

void fg_task_coro_name(PyObject *coroutine, char text[FG_TASK_TEXT_BYTES])
{
    fg_peek_text(coroutine, "__qualname__", text, FG_TASK_TEXT_BYTES);
    if (!text[0])
        snprintf(text, FG_TASK_TEXT_BYTES, "%s", fg_type_name(Py_TYPE(coroutine)));
}

void fg_task_coro(PyObject *task, char text[FG_TASK_TEXT_BYTES])
{
    PyObject *coroutine = fg_peek(task, "_coro");

    text[0] = 0;
    if (coroutine && coroutine != Py_None)
        fg_task_coro_name(coroutine, text);
    Py_XDECREF(coroutine);
}

static bool is_in_state(PyObject *task, const char *state)
{
    char text[16];

    fg_peek_text(task, "_state", text, sizeof(text));
    return strcmp(text, state) == 0;
}

bool fg_task_is_done(PyObject *task)
{
    return is_in_state(task, "FINISHED") || is_in_state(task, "CANCELLED");
}

void fg_task_result(PyObject *task, char text[FG_TASK_TEXT_BYTES])
{
    PyObject *exception = fg_peek(task, "_exception");
    const char *result = exception && exception != Py_None ? fg_type_name(Py_TYPE(exception)) : "finished";

    snprintf(text, FG_TASK_TEXT_BYTES, "%s", is_in_state(task, "CANCELLED") ? "cancelled" : result);
    Py_XDECREF(exception);
}
