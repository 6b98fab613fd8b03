/* Users in C of native functions: counting users, fprobes and links, and what they see in registers. None of
 * the callbacks touches Python. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdatomic.h>
#include <string.h>

#include <funcgraph.h>

static _Atomic unsigned long entries, returns, wrong;
static uint64_t argument_words[12], return_words[2];
static double argument_double, return_double;
static uintptr_t ip;
static struct ftrace_native_regs full_at_entry, full_at_exit;
static int nr_known, has_frame, is_native, nr_full;

static int entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t *data = (uint64_t *)fgraph_reserve_data(trace, ops, 8);

    (void)regs;
    entries++;
    if (!data)
        return 0;
    *data = fgraph_func_id(trace->func);
    return 1;
}

static void leave(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    const uint64_t *data = (const uint64_t *)fgraph_retrieve_data(trace, ops, NULL);

    (void)regs;
    returns++;
    wrong += !data || *data != fgraph_func_id(trace->func);
}

static struct fgraph_ops ops;

static PyObject *start(PyObject *module, PyObject *args)
{
    const char *pattern;
    unsigned long flags;
    int error;

    (void)module;
    if (!PyArg_ParseTuple(args, "sk", &pattern, &flags))
        return NULL;
    memset(&ops, 0, sizeof(ops));
    entries = returns = wrong = 0;
    ops.entryfunc = entry;
    ops.retfunc = leave;
    ops.name = "native";
    ops.flags = flags;
    error = fgraph_set_filter(&ops, FGRAPH_FILTER, &pattern, 1, 1);
    if (!error)
        error = register_ftrace_graph(&ops);
    return PyLong_FromLong(error);
}

static PyObject *change(PyObject *module, PyObject *args)
{
    const char *pattern;

    (void)module;
    if (!PyArg_ParseTuple(args, "s", &pattern))
        return NULL;
    return PyLong_FromLong(fgraph_set_filter(&ops, FGRAPH_FILTER, &pattern, 1, 0));
}

static PyObject *stop(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    unregister_ftrace_graph(&ops);
    fgraph_clear_filters(&ops);
    return Py_BuildValue("kkk", (unsigned long)entries, (unsigned long)returns, (unsigned long)wrong);
}

/* ---- registers, in an fprobe */

/* NULL, unless the fprobe has asked for it. */
static void check_full(struct fprobe *fp, struct ftrace_regs *regs, struct ftrace_native_regs *out)
{
    struct ftrace_native_regs full;
    struct ftrace_native_regs *got = ftrace_get_native_regs(regs, &full);
    int is_meant = (fp->flags & FTRACE_OPS_FL_SAVE_REGS) != 0;

    wrong += (got != NULL) != is_meant || (got && got != &full);
    if (!got)
        return;
    wrong += full.sp != ftrace_regs_get_stack_pointer(regs);
    nr_full++;
    *out = full;
}

/* Several threads may be here: what is checked is in variables of each call. */
static int at_entry(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                    void *data)
{
    uintptr_t at = ftrace_regs_get_instruction_pointer(regs), sp = ftrace_regs_get_stack_pointer(regs);
    uintptr_t return_address = ftrace_regs_get_return_address(regs);
    struct ftrace_pt_regs set;
    struct ftrace_perf_regs perf;
    uint64_t word;
    double nothing;
    int n;

    (void)data;
    for (n = 0; n < 12 && ftrace_regs_get_argument_word(regs, (unsigned)n, &word); n++)
        argument_words[n] = word;
    nr_known = n;
    wrong += !ftrace_regs_get_argument_double(regs, 0, &argument_double);
    wrong += ftrace_regs_get_return_word(regs, 0, &word) || ftrace_regs_get_return_double(regs, 0, &nothing);
    wrong += ret_ip != return_address || *(const uintptr_t *)sp != return_address;
    ftrace_partial_regs(regs, &set);
    wrong += set.ip != at || set.sp != sp || set.fp || set.nr_arguments || set.location.code;
    wrong += set.nr_words != 6 || set.return_value || set.exception;
    for (n = 0; n < 6; n++)
        wrong += !ftrace_regs_get_argument_word(regs, (unsigned)n, &word) || set.words[n] != word;
    wrong += !ftrace_fill_perf_regs(regs, &perf) || perf.ip != at || perf.sp != sp || perf.fp || perf.flags;
    check_full(fp, regs, &full_at_entry);
    has_frame = ftrace_get_regs(regs) != NULL || ftrace_regs_get_argument(regs, 0) != NULL ||
                ftrace_regs_get_callable(regs) != NULL || ftrace_regs_get_frame_pointer(regs) != 0;
    is_native = fgraph_func_is_native(func);
    ip = at;
    entries++;
    return 0;
}

static void at_exit_of(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip, struct ftrace_regs *regs,
                       void *data)
{
    struct ftrace_pt_regs set;
    uint64_t word;

    (void)data, (void)func;
    wrong += ftrace_regs_get_argument_word(regs, 0, &argument_words[11]);
    wrong += !ftrace_regs_get_return_word(regs, 0, &return_words[0]) ||
             !ftrace_regs_get_return_word(regs, 1, &return_words[1]) ||
             ftrace_regs_get_return_word(regs, 2, &argument_words[11]) ||
             !ftrace_regs_get_return_double(regs, 0, &return_double);
    wrong += ret_ip != ftrace_regs_get_return_address(regs) || ftrace_get_regs(regs) != NULL ||
             ftrace_regs_get_return_value(regs) != NULL;
    ftrace_partial_regs(regs, &set);
    wrong += set.nr_words != 2 || set.nr_arguments || set.return_value || set.exception;
    wrong += !ftrace_regs_get_return_word(regs, 0, &word) || set.words[0] != word;
    wrong += !ftrace_regs_get_return_word(regs, 1, &word) || set.words[1] != word;
    wrong += set.words[2] != 0;
    check_full(fp, regs, &full_at_exit);
    returns++;
}

static struct fprobe fp;

static PyObject *watch(PyObject *module, PyObject *args)
{
    const char *pattern;
    unsigned long flags;

    (void)module;
    if (!PyArg_ParseTuple(args, "sk", &pattern, &flags))
        return NULL;
    memset(&fp, 0, sizeof(fp));
    entries = returns = wrong = 0;
    nr_full = 0;
    fp.entry_handler = at_entry;
    fp.exit_handler = at_exit_of;
    fp.flags = flags;
    return PyLong_FromLong(register_fprobe(&fp, pattern, NULL));
}

static PyObject *watched(PyObject *module, PyObject *ignored)
{
    PyObject *words = PyTuple_New(nr_known);

    (void)module, (void)ignored;
    for (int i = 0; words && i < nr_known; i++)
        PyTuple_SET_ITEM(words, i, PyLong_FromUnsignedLongLong(argument_words[i]));
    return Py_BuildValue("{s:k,s:k,s:k,s:N,s:d,s:K,s:K,s:d,s:K,s:i,s:i}", "entries", (unsigned long)entries,
                         "returns", (unsigned long)returns, "wrong", (unsigned long)wrong, "words", words,
                         "double", argument_double, "result", (unsigned long long)return_words[0], "second",
                         (unsigned long long)return_words[1], "result_double", return_double, "ip",
                         (unsigned long long)ip, "has_frame", has_frame, "is_native", is_native);
}

/* Of the latest call: at the entry, then at the exit. */
static PyObject *watched_full(PyObject *module, PyObject *ignored)
{
    const struct ftrace_native_regs *entry_regs = &full_at_entry, *exit_regs = &full_at_exit;

    (void)module, (void)ignored;
    return Py_BuildValue("{s:i,s:K,s:K,s:K,s:K,s:K,s:K,s:K}", "n", nr_full, "di",
                         (unsigned long long)entry_regs->di, "r9", (unsigned long long)entry_regs->r9, "ip",
                         (unsigned long long)entry_regs->ip, "sp", (unsigned long long)entry_regs->sp, "ax",
                         (unsigned long long)exit_regs->ax, "exit_ip", (unsigned long long)exit_regs->ip,
                         "exit_sp", (unsigned long long)exit_regs->sp);
}

static PyObject *unwatch(PyObject *module, PyObject *ignored)
{
    (void)module, (void)ignored;
    return PyLong_FromLong(unregister_fprobe(&fp));
}

/* ---- cookies, by name */

static struct kprobe_multi_link link_;
static uint64_t cookies_seen[64];
static _Atomic int nr_cookies;

static int prog(struct kprobe_multi_ctx *ctx)
{
    int at = nr_cookies++;

    if (at < 64)
        cookies_seen[at] = ctx->cookie;
    return 0;
}

static PyObject *attach(PyObject *module, PyObject *args)
{
    struct fg_func *funcs[2];
    uint64_t cookies[] = {10, 20};
    const char *names[2];
    unsigned long flags;

    (void)module;
    if (!PyArg_ParseTuple(args, "ssk", &names[0], &names[1], &flags))
        return NULL;
    for (int i = 0; i < 2; i++) {
        if (fgraph_funcs_named(names[i], &funcs[i], 1) != 1)
            return PyLong_FromLong(-1000);
    }
    memset(&link_, 0, sizeof(link_));
    nr_cookies = 0;
    link_.prog = prog;
    link_.kind = KPROBE_MULTI_ENTRY;
    link_.fprobe.flags = flags;
    return PyLong_FromLong(kprobe_multi_attach(&link_, funcs, cookies, 2));
}

static PyObject *detach(PyObject *module, PyObject *ignored)
{
    PyObject *list;

    (void)module, (void)ignored;
    kprobe_multi_detach(&link_);
    list = PyList_New(0);
    for (int i = 0; list && i < nr_cookies && i < 64; i++) {
        PyObject *cookie = PyLong_FromUnsignedLongLong(cookies_seen[i]);

        if (cookie)
            PyList_Append(list, cookie);
        Py_XDECREF(cookie);
    }
    return list;
}

/* ---- kprobes are of Python's instructions */

static int at_place(struct kprobe *kp, struct ftrace_regs *regs)
{
    (void)kp, (void)regs;
    return 0;
}

static PyObject *kprobe_on(PyObject *module, PyObject *args)
{
    static struct kprobe kp;
    struct fg_func *func;
    const char *name;

    (void)module;
    if (!PyArg_ParseTuple(args, "s", &name))
        return NULL;
    if (fgraph_funcs_named(name, &func, 1) != 1)
        return PyLong_FromLong(-1000);
    memset(&kp, 0, sizeof(kp));
    kp.pre_handler = at_place;
    kp.func = func;
    return PyLong_FromLong(register_kprobe(&kp));
}

static PyMethodDef methods[] = {
    {"start", start, METH_VARARGS, NULL},
    {"change", change, METH_VARARGS, NULL},
    {"stop", stop, METH_NOARGS, NULL},
    {"watch", watch, METH_VARARGS, NULL},
    {"watched", watched, METH_NOARGS, NULL},
    {"watched_full", watched_full, METH_NOARGS, NULL},
    {"unwatch", unwatch, METH_NOARGS, NULL},
    {"attach", attach, METH_VARARGS, NULL},
    {"detach", detach, METH_NOARGS, NULL},
    {"kprobe_on", kprobe_on, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef module_def = {
    PyModuleDef_HEAD_INIT, "native_probe", NULL, -1, methods, NULL, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit_native_probe(void)
{
    return funcgraph_import() == 0 ? PyModule_Create(&module_def) : NULL;
}
