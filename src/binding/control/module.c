/* funcgraph._control: a native thread that answers requests at a Unix socket, one for the whole process. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "binding/base/raise.h"
#include "binding/base/slots.h"
#include "binding/control/plan.h"
#include "binding/control/process.h"

struct control_state {
    bool has_hooks; /* at exit and fork */
};

static PyObject *control_stop(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return PyBool_FromLong(fg_process_stop());
}

static PyObject *control_path(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    const struct fg_place *place = fg_process_place();
    PyObject *folder, *path;

    if (!place)
        Py_RETURN_NONE;
    folder = PyUnicode_DecodeFSDefault(place->folder);
    path = folder ? PyUnicode_FromFormat("%U/%s", folder, place->name) : NULL;
    Py_XDECREF(folder);
    return path;
}

/* ---- hooks: builtins, so that no tool sees a call of ours */

static PyObject *before_fork(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    fg_process_before_fork();
    Py_RETURN_NONE;
}

static PyObject *after_fork_in_parent(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    fg_process_after_fork_in_parent();
    Py_RETURN_NONE;
}

static PyObject *after_fork_in_child(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    fg_process_after_fork_in_child();
    Py_RETURN_NONE;
}

static PyMethodDef hooks[] = {
    {"before_fork", before_fork, METH_NOARGS, NULL},
    {"after_fork_in_parent", after_fork_in_parent, METH_NOARGS, NULL},
    {"after_fork_in_child", after_fork_in_child, METH_NOARGS, NULL},
    {"stop", control_stop, METH_NOARGS, NULL},
};

static int add_fork_hooks(PyObject *module)
{
    PyObject *os = PyImport_ImportModule("os"), *names = PyDict_New(), *empty = PyTuple_New(0);
    PyObject *add = os ? PyObject_GetAttrString(os, "register_at_fork") : NULL, *result = NULL;
    static const char *const keywords[] = {"before", "after_in_parent", "after_in_child"};
    int error = names ? 0 : -1;

    for (int i = 0; i < 3 && !error; i++) {
        PyObject *function = PyCFunction_New(&hooks[i], module);

        error = function ? PyDict_SetItemString(names, keywords[i], function) : -1;
        Py_XDECREF(function);
    }
    if (add && empty && !error)
        result = PyObject_Call(add, empty, names);
    Py_XDECREF(add);
    Py_XDECREF(empty);
    Py_XDECREF(names);
    Py_XDECREF(os);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int add_exit_hook(PyObject *module)
{
    PyObject *atexit = PyImport_ImportModule("atexit"), *function = PyCFunction_New(&hooks[3], module);
    PyObject *result = atexit && function ? PyObject_CallMethod(atexit, "register", "O", function) : NULL;

    Py_XDECREF(atexit);
    Py_XDECREF(function);
    Py_XDECREF(result);
    return result ? 0 : -1;
}

static int add_hooks(PyObject *module)
{
    struct control_state *state = PyModule_GetState(module);

    if (state->has_hooks)
        return 0;
    if (add_fork_hooks(module) != 0 || add_exit_hook(module) != 0)
        return -1;
    state->has_hooks = true;
    return 0;
}

/* ---- the module's functions */

static PyObject *raise_no_place(int error, const char *why)
{
    if (!*why)
        return fg_raise_errno(error, NULL);
    return fg_raise_os_error(-error, PyUnicode_FromFormat("no folder for the control socket (%s)", why));
}

PyDoc_STRVAR(start_doc, "start($module, folders, handler, follow_fork, /)\n--\n\n"
                        "Start to serve; return the path of the socket. If it serves already, that goes on.");

static PyObject *control_start(PyObject *module, PyObject *args)
{
    PyObject *folders;
    const char *handler;
    struct fg_plan *plan;
    char why[FG_PROCESS_WHY_BYTES] = "";
    int follows_fork, error;

    if (!PyArg_ParseTuple(args, "O!sp:start", &PyTuple_Type, &folders, &handler, &follows_fork))
        return NULL;
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_RuntimeError, "only the main interpreter can serve");
        return NULL;
    }
    if (add_hooks(module) != 0 || !(plan = fg_plan_make(folders, handler, follows_fork)))
        return NULL;
    error = fg_process_start(plan, why);
    return error ? raise_no_place(error, why) : control_path(module, NULL);
}

PyDoc_STRVAR(stop_doc, "stop($module, /)\n--\n\n"
                       "Stop to serve: end the thread, remove the socket. Return whether it did serve.");
PyDoc_STRVAR(path_doc, "path($module, /)\n--\n\nReturn the path of the socket; None: there is none.");

PyDoc_STRVAR(hold_forks_doc, "hold_forks($module, /)\n--\n\n"
                             "Have forks of other threads wait until this thread has ended, for a second.");

static PyObject *control_hold_forks(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    if (add_hooks(module) != 0)
        return NULL;
    fg_process_hold_forks();
    Py_RETURN_NONE;
}

static PyMethodDef control_methods[] = {
    {"start", control_start, METH_VARARGS, start_doc},
    {"stop", control_stop, METH_NOARGS, stop_doc},
    {"hold_forks", control_hold_forks, METH_NOARGS, hold_forks_doc},
    {"path", control_path, METH_NOARGS, path_doc},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot control_slots[] = {
    FG_LAST_SLOTS,
};

static struct PyModuleDef control_module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "funcgraph._control",
    .m_doc = "A native thread that answers requests at a Unix socket.",
    .m_size = sizeof(struct control_state),
    .m_methods = control_methods,
    .m_slots = control_slots,
};

PyMODINIT_FUNC PyInit__control(void)
{
    return PyModuleDef_Init(&control_module);
}
