/* A user of the C API's fprobes and links of kprobe_multi, and of its ways of finding functions, for tests:
 * one fprobe and one link, which count. Compiled by the tests, as C11 and as C++11. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <funcgraph.h>

#define MAX_FUNCS 64

/* How often its functions ran, what each returned with, and what the cookies came to. */
static struct counts {
    unsigned long entries, exits, wrong_data, cookies;
} counts, link_counts;

static int on_entry(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *entry_data)
{
    (void)fp, (void)ret_ip, (void)regs;
    counts.entries++;
    *(uint32_t *)entry_data = fgraph_func_id(entry_ip);
    return 0;
}

static void on_exit_(struct fprobe *fp, struct fg_func *entry_ip, uintptr_t ret_ip, struct ftrace_regs *regs,
                     void *entry_data)
{
    (void)fp, (void)ret_ip, (void)regs;
    counts.exits++;
    counts.wrong_data += *(uint32_t *)entry_data != fgraph_func_id(entry_ip);
}

static int on_link(struct kprobe_multi_ctx *ctx)
{
    if (ctx->is_return)
        link_counts.exits++;
    else
        link_counts.entries++;
    link_counts.cookies += (unsigned long)ctx->cookie;
    return 0;
}

static struct fprobe probe;
static struct kprobe_multi_link link_;

static struct fprobe *fresh_probe(void)
{
    if (!fprobe_is_registered(&probe)) {
        memset(&probe, 0, sizeof(probe));
        memset(&counts, 0, sizeof(counts));
        probe.entry_handler = on_entry;
        probe.exit_handler = on_exit_;
        probe.entry_data_size = sizeof(uint32_t);
    }
    return &probe;
}

static struct kprobe_multi_link *fresh_link(void)
{
    memset(&link_, 0, sizeof(link_));
    memset(&link_counts, 0, sizeof(link_counts));
    link_.prog = on_link;
    link_.kind = KPROBE_MULTI_SESSION;
    return &link_;
}

/* Looks up the records of the callables. Return: their number, or -1 with an exception. */
static int funcs_of(PyObject *callables, struct fg_func *funcs[MAX_FUNCS])
{
    int n = (int)PyList_Size(callables);

    for (int i = 0; i < n && i < MAX_FUNCS; i++)
        funcs[i] = fgraph_func_of(PyList_GetItem(callables, i));
    return n;
}

static PyObject *number(long value)
{
    /* Pass a pending exception on to the test. */
    return PyErr_Occurred() ? NULL : PyLong_FromLong(value);
}

static PyObject *register_filter(PyObject *self, PyObject *args)
{
    const char *filter, *notfilter = NULL;

    (void)self;
    return PyArg_ParseTuple(args, "z|z", &filter, &notfilter)
               ? number(register_fprobe(fresh_probe(), filter, notfilter))
               : NULL;
}

static PyObject *register_syms(PyObject *self, PyObject *names)
{
    const char *texts[MAX_FUNCS] = {NULL};
    Py_ssize_t n = PyList_Size(names);

    (void)self;
    for (Py_ssize_t i = 0; i < n; i++)
        texts[i] =
            PyUnicode_Check(PyList_GetItem(names, i)) ? PyUnicode_AsUTF8(PyList_GetItem(names, i)) : NULL;
    return number(register_fprobe_syms(fresh_probe(), texts, (size_t)n));
}

static PyObject *register_ips(PyObject *self, PyObject *callables)
{
    struct fg_func *funcs[MAX_FUNCS];
    int n = funcs_of(callables, funcs);

    (void)self;
    return number(register_fprobe_ips(fresh_probe(), funcs, (size_t)n));
}

static PyObject *unregister(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return number(unregister_fprobe(&probe));
}

static PyObject *unregister_async(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return number(unregister_fprobe_async(&probe));
}

static PyObject *enable(PyObject *self, PyObject *on)
{
    (void)self;
    return number(PyObject_IsTrue(on) ? enable_fprobe(&probe) : disable_fprobe(&probe));
}

static PyObject *count(PyObject *self, PyObject *args)
{
    const char *filter, *notfilter = NULL;

    (void)self;
    return PyArg_ParseTuple(args, "z|z", &filter, &notfilter)
               ? number(fprobe_count_ips_from_filter(filter, notfilter))
               : NULL;
}

static PyObject *take(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct counts was = counts;

    (void)self;
    memset(&counts, 0, sizeof(counts));
    return Py_BuildValue("kkkK", was.entries, was.exits, was.wrong_data,
                         (unsigned long long)fprobe_nmissed(&probe));
}

static PyObject *attach(PyObject *self, PyObject *args)
{
    struct fg_func *funcs[MAX_FUNCS];
    uint64_t cookies[MAX_FUNCS];
    PyObject *callables, *numbers = NULL;
    int n;

    (void)self;
    if (!PyArg_ParseTuple(args, "O|O", &callables, &numbers))
        return NULL;
    n = funcs_of(callables, funcs);
    for (int i = 0; numbers && i < n; i++)
        cookies[i] = PyLong_AsUnsignedLongLong(PyList_GetItem(numbers, i));
    return number(kprobe_multi_attach(fresh_link(), funcs, numbers ? cookies : NULL, (size_t)n));
}

static PyObject *attach_filter(PyObject *self, PyObject *args)
{
    const char *filter;

    (void)self;
    return PyArg_ParseTuple(args, "z", &filter) ? number(kprobe_multi_attach_filter(fresh_link(), filter))
                                                : NULL;
}

static PyObject *detach(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return number(kprobe_multi_detach(&link_));
}

static PyObject *take_link(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return Py_BuildValue("kkkK", link_counts.entries, link_counts.exits, link_counts.cookies,
                         (unsigned long long)kprobe_multi_nmissed(&link_));
}

static PyObject *func_of(PyObject *self, PyObject *callable)
{
    struct fg_func *func = fgraph_func_of(callable);

    (void)self;
    if (PyErr_Occurred())
        return NULL;
    return func ? PyUnicode_FromString(fgraph_func_name(func)) : Py_NewRef(Py_None);
}

/* Returns the number of functions with the name, and the files of the first `room`. */
static PyObject *funcs_named(PyObject *self, PyObject *args)
{
    struct fg_func *funcs[MAX_FUNCS];
    const char *name;
    Py_ssize_t room;
    PyObject *files;
    size_t n;

    (void)self;
    if (!PyArg_ParseTuple(args, "sn", &name, &room))
        return NULL;
    n = fgraph_funcs_named(name, funcs, (size_t)room);
    files = PyErr_Occurred() ? NULL : PyList_New(0);
    for (size_t i = 0; files && i < n && i < (size_t)room; i++) {
        PyObject *file = PyUnicode_FromString(fgraph_func_file(funcs[i]));

        if (!file || PyList_Append(files, file) != 0)
            Py_CLEAR(files);
        Py_XDECREF(file);
    }
    return files ? Py_BuildValue("nN", (Py_ssize_t)n, files) : NULL;
}

static PyMethodDef methods[] = {
    {"register", register_filter, METH_VARARGS, NULL},
    {"register_syms", register_syms, METH_O, NULL},
    {"register_ips", register_ips, METH_O, NULL},
    {"unregister", unregister, METH_NOARGS, NULL},
    {"unregister_async", unregister_async, METH_NOARGS, NULL},
    {"enable", enable, METH_O, NULL},
    {"count", count, METH_VARARGS, NULL},
    {"take", take, METH_NOARGS, NULL},
    {"attach", attach, METH_VARARGS, NULL},
    {"attach_filter", attach_filter, METH_VARARGS, NULL},
    {"detach", detach, METH_NOARGS, NULL},
    {"take_link", take_link, METH_NOARGS, NULL},
    {"func_of", func_of, METH_O, NULL},
    {"funcs_named", funcs_named, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "fprobe_probe", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_fprobe_probe(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module_def) : NULL;
}
