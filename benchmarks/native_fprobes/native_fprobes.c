/* fprobes whose C entry handler reads two ints, with or without an exit handler. The benchmark compiles
 * this file. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <errno.h>

#include <funcgraph.h>

#define MAX_PROBES 256

static struct fprobe probes[MAX_PROBES];
static unsigned nr_probes;
static uint64_t exits;
static long sum;

static int on_entry(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *entry_data)
{
    (void)fp, (void)entry_ip, (void)ret_ip, (void)entry_data;
    sum +=
        PyLong_AsLong(ftrace_regs_get_argument(regs, 0)) + PyLong_AsLong(ftrace_regs_get_argument(regs, 1));
    return 0;
}

static void on_exit_of(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip,
                       struct ftrace_regs *regs, void *entry_data)
{
    (void)fp, (void)entry_ip, (void)ret_ip, (void)regs, (void)entry_data;
    exits++;
}

static PyObject *add_with(PyObject *function, fprobe_exit_cb exit_handler)
{
    struct fg_func *func = fgraph_func_of(function);
    struct fprobe *fp = &probes[nr_probes];
    int error;

    if (nr_probes == MAX_PROBES)
        return PyErr_NoMemory();
    *fp = (struct fprobe){.entry_handler = on_entry, .exit_handler = exit_handler};
    error = register_fprobe_ips(fp, &func, 1);
    if (error) {
        errno = -error;
        return PyErr_SetFromErrno(PyExc_OSError);
    }
    nr_probes++;
    Py_RETURN_NONE;
}

static PyObject *add(PyObject *module, PyObject *function)
{
    (void)module;
    return add_with(function, on_exit_of);
}

static PyObject *add_entry(PyObject *module, PyObject *function)
{
    (void)module;
    return add_with(function, NULL);
}

/* Unregisters all; returns (exits, sum of the arguments) since the last call. */
static PyObject *clear(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    PyObject *counts = Py_BuildValue("Kl", (unsigned long long)exits, sum);

    (void)module;
    while (nr_probes)
        unregister_fprobe(&probes[--nr_probes]);
    exits = 0;
    sum = 0;
    return counts;
}

static PyMethodDef methods[] = {
    {"add", add, METH_O, "add(function): register another fprobe on this function."},
    {"add_entry", add_entry, METH_O, "add_entry(function): the same without an exit handler."},
    {"clear", clear, METH_NOARGS, "clear() -> (exits, sum of the arguments): unregister all."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "native_fprobes",
    .m_methods = methods,
};

PyMODINIT_FUNC PyInit_native_fprobes(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module) : NULL;
}
