/* Users of the C API that want entry and return of some functions and do next to nothing there, so that
 * their cost is the engine's. The benchmark compiles this file. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>
#include <string.h>

#include <funcgraph.h>

#define MAX_USERS 64

static struct fgraph_ops users[MAX_USERS];
static uint64_t returns[MAX_USERS]; /* per user */
static const char *argument;        /* the argument that reading users read */
static unsigned times;              /* how often they read it at each entry */
static unsigned nr_users;

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 1;
}

/* Does not want the return if there is no such argument: the number of returns then shows the mistake. */
static int entry_reading(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    int found = 1;

    (void)trace, (void)ops;
    for (unsigned i = 0; i < times; i++)
        found &= ftrace_regs_get_argument_by_name(regs, argument) != NULL;
    return found;
}

static void ret(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)regs;
    ++*(uint64_t *)ops->private_data;
}

static PyObject *raise_errno(int error)
{
    errno = -error;
    return PyErr_SetFromErrno(PyExc_OSError);
}

static PyObject *add_user(trace_func_graph_ent_t entryfunc, const char *pattern)
{
    struct fgraph_ops *ops = &users[nr_users];
    int error;

    if (nr_users == MAX_USERS)
        return raise_errno(-ENOSPC);
    *ops = (struct fgraph_ops){
        .entryfunc = entryfunc, .retfunc = ret, .name = "bench", .private_data = &returns[nr_users]};
    returns[nr_users] = 0;
    error = fgraph_set_filter(ops, FGRAPH_FILTER, &pattern, 1, 1);
    if (!error)
        error = register_ftrace_graph(ops);
    if (error)
        return raise_errno(error);
    nr_users++;
    Py_RETURN_NONE;
}

static PyObject *add(PyObject *module, PyObject *pattern)
{
    const char *text = PyUnicode_AsUTF8(pattern);

    (void)module;
    return text ? add_user(entry, text) : NULL;
}

/* Only one such user at a time. The caller keeps the str of the argument's name alive. */
static PyObject *add_reading(PyObject *module, PyObject *args)
{
    const char *pattern;

    (void)module;
    return PyArg_ParseTuple(args, "ssI", &pattern, &argument, &times) ? add_user(entry_reading, pattern)
                                                                      : NULL;
}

/* Unregisters all; returns each user's number of returns, in order. */
static PyObject *clear(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    PyObject *counts = PyList_New(0);

    (void)module;
    for (unsigned i = 0; i < nr_users; i++) {
        int error = unregister_ftrace_graph(&users[i]);
        PyObject *count = PyLong_FromUnsignedLongLong(returns[i]);

        fgraph_clear_filters(&users[i]);
        if (counts && (error || !count || PyList_Append(counts, count) != 0))
            Py_CLEAR(counts);
        Py_XDECREF(count);
    }
    nr_users = 0;
    return counts;
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add(pattern): register another user of the functions that match."},
    {"add_reading", add_reading, METH_VARARGS,
     "add_reading(pattern, name, times): register a user that reads this argument `times` times per entry."},
    {"clear", clear, METH_NOARGS, "clear() -> [returns of each user]: unregister all."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "native_users",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_native_users(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module) : NULL;
}
