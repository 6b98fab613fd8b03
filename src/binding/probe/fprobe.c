/* Fprobe, and the functions that register it. */
#include "binding/probe/fprobe.h"

#include <errno.h>

#include "arch/cpython/register/fprobes.h"
#include "binding/base/raise.h"
#include "binding/core/call.h"
#include "binding/core/filter.h"
#include "binding/core/view.h"
#include "binding/graph/function.h"
#include "binding/probe/probe.h"
#include "binding/probe/ret_ip.h"
#include "structmember.h"

struct fprobe_object {
    struct fg_python_probe probe;
    struct fprobe fp;
    fg_spare entry_data; /* a view of the entry data */
};

static inline struct fprobe_object *self_of(struct fprobe *fp)
{
    return fg_container_of(fp, struct fprobe_object, fp);
}

/* ---- the handlers. All of this runs at each call of a probed function. */

/* The arguments of a handler besides its fprobe. NULL: absent, or could not be made. */
struct arguments {
    PyObject *entry_ip;
    struct fg_ret_ip *ret_ip; /* with the regs */
    struct fg_buffer *data;
};

/* Return: false with an exception; settle_arguments is due in both cases. */
static inline bool take_arguments(struct arguments *arguments, struct fg_callback *callback,
                                  struct fprobe_object *self, uintptr_t address, void *data)
{
    struct fg_engine_state *state = self->probe.client.state;

    arguments->data = NULL;
    arguments->ret_ip = fg_ret_ip_take(state, &self->probe.ret_ip, callback, address);
    arguments->entry_ip = fg_function_of(state, callback->func);
    if (data)
        arguments->data = fg_entry_data_take(state, &self->entry_data, data, self->fp.entry_data_size);
    return arguments->ret_ip && arguments->entry_ip && (!data || arguments->data);
}

static inline void settle_arguments(const struct arguments *arguments, struct fprobe_object *self)
{
    if (arguments->data)
        fg_entry_data_settle(self->probe.client.state, arguments->data, &self->entry_data);
    Py_XDECREF(arguments->entry_ip);
    if (fg_likely(arguments->ret_ip != NULL))
        fg_ret_ip_settle(arguments->ret_ip, &self->probe.ret_ip);
}

/* The handler's result as `read` understands it; 0 if it raised. */
FG_ALWAYS_INLINE int call(struct fg_callback *callback, PyObject *handler, uintptr_t address, void *data,
                          int (*read)(PyObject *answer))
{
    struct fprobe_object *self = (struct fprobe_object *)callback->self;
    struct arguments arguments;
    int answer = -1;

    if (fg_likely(take_arguments(&arguments, callback, self, address, data))) {
        PyObject *args[6]; /* args[0] is for the callee, see PY_VECTORCALL_ARGUMENTS_OFFSET */

        args[1] = (PyObject *)self;
        args[2] = arguments.entry_ip;
        args[3] = address ? (PyObject *)arguments.ret_ip : Py_None;
        args[4] = (PyObject *)arguments.ret_ip->regs;
        args[5] = arguments.data ? fg_entry_data_view(arguments.data) : Py_None;
        answer = read(fg_callback_call(handler, args + 1, 5));
    }
    if (fg_unlikely(answer < 0)) {
        fg_client_failed(&self->probe.client, handler);
        answer = 0;
    }
    settle_arguments(&arguments, self);
    return answer;
}

static int call_entry_handler(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                              struct ftrace_regs *regs, void *data)
{
    struct fg_client *client = &self_of(fp)->probe.client;
    struct fg_callback callback;
    int skips_return;

    if (fg_client_is_disabled(client))
        return 0;
    fg_callback_enter(&callback, client, func, regs, true);
    skips_return = call(&callback, client->entryfunc, ret_ip, data, fg_truth_of);
    fg_callback_leave(&callback);
    return skips_return;
}

FG_ALWAYS_INLINE void call_exit(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                                struct ftrace_regs *regs, void *data)
{
    struct fg_client *client = &self_of(fp)->probe.client;
    struct fg_callback callback;

    fg_callback_enter(&callback, client, func, regs, false);
    call(&callback, client->retfunc, ret_ip, data, fg_nothing_of);
    fg_callback_leave(&callback);
}

/* The thread is ending, and has detached its thread state. */
FG_COLD static void call_exit_attached(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                                       struct ftrace_regs *regs, void *data)
{
    PyGILState_STATE attached;

    if (fg_callback_attach(func, &attached)) {
        call_exit(fp, func, ret_ip, regs, data);
        fg_callback_detach(attached);
    }
}

static void call_exit_handler(struct fprobe *fp, struct fg_func *func, uintptr_t ret_ip,
                              struct ftrace_regs *regs, void *data)
{
    if (fg_client_is_disabled(&self_of(fp)->probe.client))
        return;
    if (fg_callback_needs_attach(fg_task_self, regs))
        call_exit_attached(fp, func, ret_ip, regs, data);
    else
        call_exit(fp, func, ret_ip, regs, data);
}

/* ---- making one */

static int attach(struct fg_python_probe *probe, struct fg_probe_target *target)
{
    if (target->codes)
        return fg_cpython_register_fprobe_ips(probe->fp, target->funcs, target->n);
    return fg_cpython_register_fprobe(probe->fp, &target->filter);
}

static PyObject *fprobe_new(PyTypeObject *type, PyObject *Py_UNUSED(args), PyObject *Py_UNUSED(kwargs))
{
    struct fg_python_probe *self = fg_probe_new(type, offsetof(struct fprobe_object, fp));

    if (self)
        self->attach = attach;
    return (PyObject *)self;
}

static int set_handlers(struct fprobe_object *self, PyObject *entry_handler, PyObject *exit_handler)
{
    uintptr_t entry, exit;

    if (fg_client_resolve(entry_handler, "entry_handler", (uintptr_t)call_entry_handler, &entry) != 0 ||
        fg_client_resolve(exit_handler, "exit_handler", (uintptr_t)call_exit_handler, &exit) != 0)
        return -1;
    fg_client_set_functions(&self->probe.client, entry_handler, exit_handler);
    self->fp.entry_handler = (fprobe_entry_cb)entry;
    self->fp.exit_handler = (fprobe_exit_cb)exit;
    return 0;
}

static int fprobe_init(PyObject *object, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {
        "entry_handler", "exit_handler", "entry_data_size", "name", "keep_on_error", "save_regs", NULL};
    struct fprobe_object *self = (struct fprobe_object *)object;
    struct fg_client *client = &self->probe.client;
    PyObject *entry_handler = Py_None, *exit_handler = Py_None, *name = client->name;
    int keep_on_error = 0, save_regs = 0;
    Py_ssize_t size = 0;

    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOn$Upp:Fprobe", names, &entry_handler, &exit_handler,
                                     &size, &name, &keep_on_error, &save_regs))
        return -1;
    if (self->probe.at) {
        PyErr_SetString(PyExc_RuntimeError, "Fprobe.__init__ called while the object is registered");
        return -1;
    }
    if (size < 0) {
        PyErr_Format(PyExc_ValueError, "entry_data_size must be >= 0, got %zd", size);
        return -1;
    }
    if (set_handlers(self, entry_handler, exit_handler) != 0 || !fg_client_set_name(client, name))
        return -1;
    Py_XDECREF(fg_spare_take(&self->entry_data)); /* of another size */
    self->fp.entry_data_size = (size_t)size;
    client->keep_on_error = keep_on_error;
    client->save_regs = save_regs;
    return 0;
}

static void fprobe_dealloc(PyObject *object)
{
    struct fprobe_object *self = (struct fprobe_object *)object;

    PyObject_GC_UnTrack(object);
    Py_XDECREF(fg_spare_take(&self->entry_data));
    fg_probe_dealloc(object);
}

static PyObject *fprobe_repr(PyObject *object)
{
    const struct fprobe_object *self = (struct fprobe_object *)object;

    return PyUnicode_FromFormat("<%s %R, %s>", Py_TYPE(object)->tp_name, self->probe.client.name,
                                fg_fprobe_is_registered(&self->fp) ? "registered" : "not registered");
}

static PyObject *get_entry_data_size(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromSize_t(((struct fprobe_object *)object)->fp.entry_data_size);
}

static PyGetSetDef attributes[] = {
    FG_CLIENT_ATTRIBUTES("entry_handler", "exit_handler"),
    {"entry_data_size", get_entry_data_size, NULL, "Number of bytes kept from entry to exit.", NULL},
    {"nmissed", fg_probe_get_nmissed, NULL, "Number of handler calls that could not run.", NULL},
    {"registered", fg_probe_get_registered, NULL, "Whether it is registered.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef members[] = {
    FG_CLIENT_MEMBERS,
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "Handlers at the entry and exit of functions."},
    {Py_tp_new, fprobe_new},
    {Py_tp_init, fprobe_init},
    {Py_tp_traverse, fg_client_traverse},
    {Py_tp_clear, fg_client_clear},
    {Py_tp_dealloc, fprobe_dealloc},
    {Py_tp_repr, fprobe_repr},
    {Py_tp_getset, attributes},
    {Py_tp_members, members},
    {0, NULL},
};

PyType_Spec fg_fprobe_spec = {
    .name = "funcgraph._engine.Fprobe",
    .basicsize = sizeof(struct fprobe_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* ---- functions of the module */

static struct fg_python_probe *check_fprobe(PyObject *module, PyObject *object)
{
    if (PyObject_TypeCheck(object, fg_engine_state(module)->fprobe_type))
        return (struct fg_python_probe *)object;
    fg_raise_type("fp", "Fprobe", object);
    return NULL;
}

static PyObject *register_fprobe(PyObject *module, PyObject *args)
{
    struct fg_probe_target target = {.n = 0};
    PyObject *object, *filter, *notfilter, *result = NULL;
    struct fg_python_probe *self;

    if (!PyArg_ParseTuple(args, "OOO:register_fprobe", &object, &filter, &notfilter))
        return NULL;
    self = check_fprobe(module, object);
    if (self && fg_fprobe_filter_fill(&target.filter, filter, "filter", notfilter, "notfilter") == 0)
        result = fg_probe_register(self, &target);
    fg_probe_target_clear(&target);
    return result;
}

static PyObject *register_fprobe_ips(PyObject *module, PyObject *args)
{
    struct fg_probe_target target = {.n = 0};
    PyObject *object, *functions, *result = NULL;
    struct fg_python_probe *self;

    if (!PyArg_ParseTuple(args, "OO:register_fprobe_ips", &object, &functions))
        return NULL;
    self = check_fprobe(module, object);
    if (self && fg_probe_target_functions(module, &target, functions) == 0)
        result = fg_probe_register(self, &target);
    fg_probe_target_clear(&target);
    return result;
}

static PyObject *unregister_fprobe(PyObject *module, PyObject *object)
{
    struct fg_python_probe *self = check_fprobe(module, object);

    return self ? fg_probe_unregister(self, true) : NULL;
}

static PyObject *unregister_fprobe_async(PyObject *module, PyObject *object)
{
    struct fg_python_probe *self = check_fprobe(module, object);

    return self ? fg_probe_unregister(self, false) : NULL;
}

static PyObject *enable_fprobe(PyObject *module, PyObject *object)
{
    struct fg_python_probe *self = check_fprobe(module, object);

    return self ? fg_probe_set_enabled(self, true) : NULL;
}

static PyObject *disable_fprobe(PyObject *module, PyObject *object)
{
    struct fg_python_probe *self = check_fprobe(module, object);

    return self ? fg_probe_set_enabled(self, false) : NULL;
}

static PyObject *fprobe_is_registered(PyObject *module, PyObject *object)
{
    struct fg_python_probe *self = check_fprobe(module, object);

    return self ? PyBool_FromLong(fg_fprobe_is_registered(self->fp)) : NULL;
}

static PyObject *count_ips(PyObject *Py_UNUSED(module), PyObject *args)
{
    struct fg_probe_target target = {.n = 0};
    PyObject *filter, *notfilter;
    int n = -EINVAL;

    if (!PyArg_ParseTuple(args, "OO:fprobe_count_ips_from_filter", &filter, &notfilter))
        return NULL;
    if (fg_fprobe_filter_fill(&target.filter, filter, "filter", notfilter, "notfilter") != 0)
        return NULL;
    n = target.filter.filter.n ? fg_cpython_count_ips(&target.filter) : -EINVAL;
    fg_probe_target_clear(&target);
    return n >= 0 ? PyLong_FromLong(n) : fg_probe_raise(NULL, n);
}

PyMethodDef fg_fprobe_functions[] = {
    {"register_fprobe", register_fprobe, METH_VARARGS,
     "register_fprobe(fp, filter, notfilter): both sequences of patterns."},
    {"register_fprobe_ips", register_fprobe_ips, METH_VARARGS, "register_fprobe_ips(fp, functions)."},
    {"unregister_fprobe", unregister_fprobe, METH_O,
     "unregister_fprobe(fp): return when none of its handlers runs any longer, except the caller itself."},
    {"unregister_fprobe_async", unregister_fprobe_async, METH_O,
     "unregister_fprobe_async(fp): unregister without waiting."},
    {"enable_fprobe", enable_fprobe, METH_O, "enable_fprobe(fp): call its handlers again."},
    {"disable_fprobe", disable_fprobe, METH_O,
     "disable_fprobe(fp): stop calling its handlers; it stays registered."},
    {"fprobe_is_registered", fprobe_is_registered, METH_O, "fprobe_is_registered(fp) -> bool."},
    {"fprobe_count_ips_from_filter", count_ips, METH_VARARGS,
     "fprobe_count_ips_from_filter(filter, notfilter) -> int: both sequences of patterns."},
    {NULL, NULL, 0, NULL},
};
