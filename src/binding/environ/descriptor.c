/* See descriptor.h. */
#include "binding/environ/descriptor.h"

#include <fcntl.h>
#include <sys/resource.h>

#define ALL_SEALS (F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE)

bool fg_is_sealed(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & ALL_SEALS) == ALL_SEALS;
}

/* Return: the int in a tuple; -1: it is none, or negative. */
static int number_at(PyObject *tuple, Py_ssize_t at)
{
    int overflow;
    PyObject *item = PyTuple_GET_ITEM(tuple, at);
    long number = PyLong_Check(item) ? PyLong_AsLongAndOverflow(item, &overflow) : -1;
    return number < 0 || number > INT_MAX ? -1 : (int)number;
}

static PyObject *spare_of_all(PyObject *Py_UNUSED(module), PyObject *fds_to_keep, int descriptor)
{
    if (!PyTuple_CheckExact(fds_to_keep) || !fg_is_sealed(descriptor))
        return NULL;
    Py_ssize_t size = PyTuple_GET_SIZE(fds_to_keep), at = 0;
    for (; at < size && number_at(fds_to_keep, at) < descriptor; at++) {
        if (number_at(fds_to_keep, at) < 0)
            return NULL;
    }
    if (at < size && number_at(fds_to_keep, at) == descriptor)
        return NULL;
    PyObject *number = PyLong_FromLong(descriptor);
    PyObject *extended = number == NULL ? NULL : PyTuple_New(size + 1);
    for (Py_ssize_t i = 0; extended != NULL && i <= size; i++) {
        PyObject *item = i == at ? number : PyTuple_GET_ITEM(fds_to_keep, i < at ? i : i - 1);
        PyTuple_SET_ITEM(extended, i, Py_NewRef(item));
    }
    Py_XDECREF(number);
    PyErr_Clear();
    return extended;
}

const struct fg_closing fg_close_all = {3, NULL, spare_of_all};

/* Appends (`kind`, `number`). Return: whether it could. */
static bool append_action(PyObject *actions, long kind, int number)
{
    PyObject *action = Py_BuildValue("(li)", kind, number);
    bool done = action != NULL && PyList_Append(actions, action) == 0;
    Py_XDECREF(action);
    return done;
}

/* Return: a constant of the module; -1 without an exception: it has none. */
static long constant(PyObject *module, const char *name)
{
    PyObject *value = module == NULL ? NULL : PyObject_GetAttrString(module, name);
    long number = value == NULL ? -1 : PyLong_AsLong(value);
    Py_XDECREF(value);
    PyErr_Clear();
    return number;
}

/* "Close all from 3 on" becomes: close each below the descriptor, then all from the one after it on. It is no
 * error to close one that is not open, if it is within the limit. */
static PyObject *spare_of_actions(PyObject *module, PyObject *given, int descriptor)
{
    long closefrom = constant(module, "POSIX_SPAWN_CLOSEFROM"),
         close_one = constant(module, "POSIX_SPAWN_CLOSE");
    struct rlimit limit;
    if (closefrom < 0 || close_one < 0 || !(PyList_CheckExact(given) || PyTuple_CheckExact(given)) ||
        !fg_is_sealed(descriptor) || getrlimit(RLIMIT_NOFILE, &limit) < 0 ||
        limit.rlim_cur <= (rlim_t)descriptor)
        return NULL;
    PyObject *own = PySequence_Tuple(given); /* another thread may change a list */
    PyObject *actions = own == NULL ? NULL : PyList_New(0);
    bool done = actions != NULL;
    for (Py_ssize_t i = 0; done && i < PyTuple_GET_SIZE(own); i++) {
        PyObject *action = PyTuple_GET_ITEM(own, i);
        int first = -1;
        if (PyTuple_CheckExact(action) && PyTuple_GET_SIZE(action) == 2 && number_at(action, 0) == closefrom)
            first = number_at(action, 1);
        if (first < 0 || first > descriptor) {
            done = PyList_Append(actions, action) == 0;
            continue;
        }
        for (int fd = first; done && fd < descriptor; fd++)
            done = append_action(actions, close_one, fd);
        done = done && append_action(actions, closefrom, descriptor + 1);
    }
    Py_XDECREF(own);
    if (!done)
        Py_CLEAR(actions);
    PyErr_Clear();
    return actions;
}

const struct fg_closing fg_close_actions = {-1, "file_actions", spare_of_actions};
