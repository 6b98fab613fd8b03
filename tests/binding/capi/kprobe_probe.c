/* A user of the C API's kprobes and register sets, for tests: one kprobe, one user and one fprobe that note
 * what their handlers find. Compiled by the tests, as C11 and as C++11. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <string.h>

#include <funcgraph.h>

static struct kprobe probe;
static int leaves;      /* the handler unregisters its own kprobe */
static PyObject *calls; /* what the handler calls, or NULL */

/* What the latest handler found. */
static struct found {
    struct ftrace_location at, returns_to;
    int has_frame, has_argument, has_result, frame_line, nr_callers;
    long variable; /* the one called `total`; -1 */
    struct ftrace_pt_regs set;
} found;

static void look(const struct ftrace_regs *regs)
{
    struct ftrace_location callers[64];
    int place = ftrace_regs_query_register_offset(regs, "total");
    PyObject *value = place < 0 ? NULL : ftrace_regs_get_stack_nth(regs, (unsigned)place);
    PyObject *frame = ftrace_get_regs(regs);

    memset(&found, 0, sizeof(found));
    ftrace_regs_get_location(regs, &found.at);
    ftrace_regs_get_return_location(regs, &found.returns_to);
    found.has_frame = frame != NULL;
    found.frame_line = frame ? PyFrame_GetLineNumber((PyFrameObject *)frame) : -1;
    found.has_argument =
        ftrace_regs_get_argument(regs, 0) || ftrace_regs_get_argument_by_name(regs, "prices");
    found.has_result = ftrace_regs_get_return_value(regs) || ftrace_regs_get_exception(regs);
    found.nr_callers = (int)ftrace_regs_get_callchain(regs, callers, 64);
    found.variable = value && PyLong_CheckExact(value) ? PyLong_AsLong(value) : -1;
    ftrace_partial_regs(regs, &found.set);
    Py_XDECREF(frame);
}

static int on_place(struct kprobe *kp, struct ftrace_regs *regs)
{
    ++*(int *)kp->private_data;
    look(regs);
    if (calls)
        Py_XDECREF(PyObject_CallNoArgs(calls));
    if (leaves)
        unregister_kprobe(kp);
    return 0;
}

static int on_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)trace, (void)ops;
    look(regs);
    return 0;
}

static int nr_hits;
static struct fgraph_ops user;

static PyObject *number(long value)
{
    return PyErr_Occurred() ? NULL : PyLong_FromLong(value);
}

/* register(symbol or callable or None, line, offset, leaves, calls) */
static PyObject *register_(PyObject *self, PyObject *args)
{
    PyObject *function, *callee;
    int line, offset;

    (void)self;
    if (!PyArg_ParseTuple(args, "OiipO", &function, &line, &offset, &leaves, &callee))
        return NULL;
    Py_XDECREF(calls);
    calls = callee == Py_None ? NULL : Py_NewRef(callee);
    probe.symbol_name = PyUnicode_Check(function) ? PyUnicode_AsUTF8(function) : NULL;
    probe.func = PyUnicode_Check(function) ? NULL : fgraph_func_of(function);
    probe.line = line;
    probe.offset = (unsigned)offset;
    probe.pre_handler = on_place;
    probe.private_data = &nr_hits;
    return number(register_kprobe(&probe));
}

static PyObject *without_handler(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    struct kprobe kp;
    struct kretprobe rp;

    (void)self;
    memset(&kp, 0, sizeof(kp));
    memset(&rp, 0, sizeof(rp));
    kp.symbol_name = rp.symbol_name = "shop.pay";
    return Py_BuildValue("iiiiii", register_kprobe(&kp), register_kretprobe(&rp), unregister_kretprobe(&rp),
                         enable_kretprobe(&rp), disable_kretprobe(&rp), (int)kretprobe_nmissed(&rp));
}

static PyObject *unregister(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return number(unregister_kprobe(&probe));
}

static PyObject *enable(PyObject *self, PyObject *on)
{
    (void)self;
    return number(PyObject_IsTrue(on) ? enable_kprobe(&probe) : disable_kprobe(&probe));
}

static PyObject *counts(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return Py_BuildValue("KK", (unsigned long long)kprobe_hits(&probe),
                         (unsigned long long)kprobe_nmissed(&probe));
}

static PyObject *take(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *result = Py_BuildValue(
        "{s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:i,s:l,s:I,s:O,s:O,s:i}", "hits", nr_hits, "line", found.at.line,
        "offset", found.at.offset, "caller_line", found.returns_to.line, "has_frame", found.has_frame,
        "frame_line", found.frame_line, "has_argument", found.has_argument, "has_result", found.has_result,
        "total", found.variable, "nr_arguments", found.set.nr_arguments, "set_has_ip",
        found.set.ip && found.set.fp ? Py_True : Py_False, "set_is_located",
        found.set.location.code ? Py_True : Py_False, "nr_callers", found.nr_callers);

    (void)self;
    nr_hits = 0;
    memset(&found, 0, sizeof(found));
    return result;
}

/* start(pattern, flags): a user of the function graph that looks at entries. */
static PyObject *start(PyObject *self, PyObject *args)
{
    const char *pattern;
    unsigned flags;

    (void)self;
    if (!PyArg_ParseTuple(args, "sI", &pattern, &flags))
        return NULL;
    user.entryfunc = on_entry;
    user.name = "look";
    user.flags = flags;
    if (fgraph_set_filter(&user, FGRAPH_FILTER, &pattern, 1, 1) != 0)
        return number(-1);
    return number(register_ftrace_graph(&user));
}

static PyObject *stop(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    (void)self;
    return number(unregister_ftrace_graph(&user));
}

/* call(idx) -> (name, line, caller's line, users) or an error number. */
static PyObject *call(PyObject *self, PyObject *idx)
{
    struct ftrace_ret_stack one;
    int error = ftrace_graph_get_ret_stack(NULL, (unsigned)PyLong_AsUnsignedLong(idx), &one);

    (void)self;
    if (error)
        return number(error);
    return Py_BuildValue("siiK", fgraph_func_qualname(one.func), one.location.line, one.parent.line,
                         (unsigned long long)one.users);
}

#ifdef __cplusplus
extern "C"
#endif
    int
    is_attached(void);

/* For ctypes: also in another interpreter than the one that has the module. */
int is_attached(void)
{
    return probe.engine[0] != 0;
}

static PyMethodDef methods[] = {
    {"register", register_, METH_VARARGS, NULL},
    {"without_handler", without_handler, METH_NOARGS, NULL},
    {"unregister", unregister, METH_NOARGS, NULL},
    {"enable", enable, METH_O, NULL},
    {"counts", counts, METH_NOARGS, NULL},
    {"take", take, METH_NOARGS, NULL},
    {"start", start, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"call", call, METH_O, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "kprobe_probe", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_kprobe_probe(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module_def) : NULL;
}
