/* Users of the C API that want entry and return of some functions and do next to nothing there: what a user costs is
 * then the engine's. The benchmark compiles this itself. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <funcgraph.h>

#include <errno.h>
#include <string.h>

#define MAX_USERS 64

static struct fgraph_ops users[MAX_USERS];
static uint64_t returns[MAX_USERS]; /* each user's */
static unsigned nr_users;

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops, (void)regs;
    return 1;
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

static PyObject *add(PyObject *module, PyObject *argument)
{
    const char *pattern = PyUnicode_AsUTF8(argument);
    struct fgraph_ops *ops = &users[nr_users];
    int error;

    (void)module;
    if (!pattern)
        return NULL;
    if (nr_users == MAX_USERS)
        return raise_errno(-ENOSPC);
    *ops = (struct fgraph_ops){
        .entryfunc = entry, .retfunc = ret, .name = "bench", .private_data = &returns[nr_users]};
    returns[nr_users] = 0;
    error = fgraph_set_filter(ops, FGRAPH_FILTER, &pattern, 1, 1);
    if (!error)
        error = register_ftrace_graph(ops);
    if (error)
        return raise_errno(error);
    nr_users++;
    Py_RETURN_NONE;
}

/* Unregisters all; what each user was told of, in order. */
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
    {"add", add, METH_O, "add(pattern): one more user, of the functions that match."},
    {"clear", clear, METH_NOARGS, "clear() -> how many returns each user was told of; they are gone."},
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
