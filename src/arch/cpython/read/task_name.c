/* See task_name.h. */
#include "arch/cpython/read/task_name.h"

#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/tstate.h"
#include "engine/core/task.h"

/* New reference; NULL also if @dict is not a plain dict. */
static PyObject *dict_get(PyObject *dict, const char *key)
{
    return dict && PyDict_CheckExact(dict) ? fg_dict_get(dict, key) : NULL;
}

/* threading._active[ident]. New reference. */
static PyObject *active_thread(PyObject *threading)
{
    PyObject *active = dict_get(PyModule_GetDict(threading), "_active");
    PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());
    PyObject *thread = active && PyDict_CheckExact(active) && ident ? fg_dict_get_item(active, ident) : NULL;

    Py_XDECREF(active);
    Py_XDECREF(ident);
    return thread;
}

/* The Thread object whose _bootstrap runs: it adds itself to threading._active only later. New
 * reference. */
static PyObject *bootstrapping_thread(fg_pyframe *frame)
{
    const char *name = frame ? PyUnicode_AsUTF8(fg_pyframe_code(frame)->co_qualname) : NULL;

    return name && strcmp(name, "Thread._bootstrap") == 0 ? Py_XNewRef(fg_pyframe_local(frame, 0)) : NULL;
}

static PyObject *current_thread_object(PyThreadState *tstate)
{
    PyObject *threading = dict_get(PyImport_GetModuleDict(), "threading");
    PyObject *thread = NULL;

    if (threading && PyModule_CheckExact(threading)) {
        thread = active_thread(threading);
        if (!thread)
            thread = bootstrapping_thread(fg_complete_pyframe(fg_current_pyframe(tstate)));
    }
    Py_XDECREF(threading);
    return thread;
}

/* Thread._name, unless looking it up could run code of the program. New reference. */
static PyObject *name_of(PyObject *thread)
{
    PyObject *key = PyUnicode_InternFromString("_name");
    PyObject *name = NULL;

    if (key && !fg_type_has(Py_TYPE(thread), key) && Py_TYPE(thread)->tp_getattro == PyObject_GenericGetAttr)
        name = PyObject_GenericGetAttr(thread, key);
    Py_XDECREF(key);
    return name;
}

/* Steals the reference to @thread. */
static void thread_name(PyObject *thread, char *out, size_t room)
{
    PyObject *name = thread ? name_of(thread) : NULL;
    const char *text = name && PyUnicode_CheckExact(name) ? PyUnicode_AsUTF8(name) : NULL;

    if (text)
        snprintf(out, room, "%s", text);
    Py_XDECREF(name);
    Py_XDECREF(thread);
}

void fg_cpython_task_name(struct fg_task *task, char *out, size_t room)
{
    char comm[16] = "";
    fg_exception aside;
    PyThreadState *tstate = PyGILState_GetThisThreadState();

    snprintf(out, room, "%s", task->name);
    if (task->tid == getpid()) {
        prctl(PR_GET_NAME, comm);
        snprintf(out, room, "%s", comm);
        return;
    }
    if (fg_task_is_in_native(task))
        return;
    /* A thread that is ending may hold no thread state any longer. */
    if (!tstate || !PyGILState_Check() || tstate != fg_tstate())
        return;
    aside = fg_exception_set_aside();
    thread_name(current_thread_object(tstate), out, room);
    fg_exception_put_back(aside);
}

void fg_cpython_task_name_first(struct fg_task *task, fg_pyframe *frame)
{
    fg_exception aside = fg_exception_set_aside();

    thread_name(bootstrapping_thread(frame), task->name, sizeof(task->name));
    fg_exception_put_back(aside);
}

void fg_cpython_task_name_of(struct fg_task *task, PyObject *thread)
{
    fg_exception aside = fg_exception_set_aside();

    thread_name(Py_NewRef(thread), task->name, sizeof(task->name));
    fg_exception_put_back(aside);
}
