/* KprobeMultiLink: one program on many functions, with a cookie for each. */
#include "binding/probe/kprobe_multi.h"

#include <errno.h>
#include <stdlib.h>

#include "arch/cpython/register/fprobes.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/core/call.h"
#include "binding/core/filter.h"
#include "binding/probe/kprobe_multi_ctx.h"
#include "binding/probe/probe.h"
#include "structmember.h"

struct link_object {
    struct fg_python_probe probe;
    struct kprobe_multi_link link;
    fg_spare ctx;
};

/* ---- the program. All of this runs at each call of a probed function. */

static inline struct fg_kprobe_multi_ctx *take_ctx(const struct fg_callback *callback,
                                                   struct link_object *self, struct fg_ret_ip *ret_ip,
                                                   const struct kprobe_multi_ctx *call_ctx)
{
    struct fg_kprobe_multi_ctx *ctx = fg_spare_take(&self->ctx);

    if (fg_unlikely(!ctx))
        ctx = fg_kprobe_multi_ctx_new(self->probe.client.state);
    if (fg_unlikely(!ctx))
        return NULL;
    ctx->callback = callback;
    ctx->ret_ip = ret_ip;
    ctx->link = (PyObject *)self;
    ctx->session_word = call_ctx->session_cookie;
    ctx->is_session = call_ctx->session_cookie != NULL;
    ctx->cookie = call_ctx->cookie;
    ctx->is_return = call_ctx->is_return;
    return ctx;
}

static inline void settle_ctx(struct fg_kprobe_multi_ctx *ctx, struct link_object *self)
{
    if (fg_unlikely(Py_REFCNT(ctx) != 1)) {
        fg_kprobe_multi_ctx_keep(ctx);
        return;
    }
    Py_CLEAR(ctx->func);
    ctx->link = NULL;
    ctx->ret_ip = NULL;
    fg_spare_put(&self->ctx, ctx);
}

/* The program's result as a truth value; 0 if it raised. */
static int call(struct fg_callback *callback, struct link_object *self,
                const struct kprobe_multi_ctx *call_ctx)
{
    PyObject *prog = self->probe.client.entryfunc;
    struct fg_ret_ip *ret_ip =
        fg_ret_ip_take(self->probe.client.state, &self->probe.ret_ip, callback, call_ctx->ret_ip);
    struct fg_kprobe_multi_ctx *ctx = ret_ip ? take_ctx(callback, self, ret_ip, call_ctx) : NULL;
    int answer = -1;

    if (fg_likely(ctx != NULL)) {
        PyObject *args[2]; /* args[0] is for the callee, see PY_VECTORCALL_ARGUMENTS_OFFSET */

        args[1] = (PyObject *)ctx;
        answer = fg_truth_of(fg_callback_call(prog, args + 1, 1));
    }
    if (fg_unlikely(answer < 0)) {
        fg_client_failed(&self->probe.client, prog);
        answer = 0;
    }
    if (fg_likely(ctx != NULL))
        settle_ctx(ctx, self);
    if (fg_likely(ret_ip != NULL))
        fg_ret_ip_settle(ret_ip, &self->probe.ret_ip);
    return answer;
}

static inline int run_in(struct link_object *self, const struct kprobe_multi_ctx *call_ctx)
{
    struct fg_callback callback;
    int answer;

    fg_callback_enter(&callback, &self->probe.client, call_ctx->func, call_ctx->regs, !call_ctx->is_return);
    answer = call(&callback, self, call_ctx);
    fg_callback_leave(&callback);
    return answer;
}

/* The thread is ending, and has detached its thread state. */
FG_COLD static int run_attached(struct link_object *self, const struct kprobe_multi_ctx *call_ctx)
{
    PyGILState_STATE attached;

    if (fg_callback_attach(call_ctx->func, &attached)) {
        run_in(self, call_ctx);
        fg_callback_detach(attached);
    }
    return 0;
}

static int run(struct kprobe_multi_ctx *call_ctx)
{
    struct link_object *self = fg_container_of(call_ctx->link, struct link_object, link);

    if (fg_client_is_disabled(&self->probe.client))
        return 0;
    return fg_callback_needs_attach(fg_task_self, call_ctx->regs) ? run_attached(self, call_ctx)
                                                                  : run_in(self, call_ctx);
}

/* ---- KprobeMultiLink */

static const char *const kind_names[] = {
    [KPROBE_MULTI_ENTRY] = "entry", [KPROBE_MULTI_RETURN] = "return", [KPROBE_MULTI_SESSION] = "session"};

static int attach(struct fg_python_probe *probe, struct fg_probe_target *target)
{
    struct kprobe_multi_link *link = &((struct link_object *)probe)->link;

    if (target->codes)
        return fg_cpython_kprobe_multi_attach(link, target->funcs, target->cookies, target->n);
    return fg_cpython_kprobe_multi_attach_filter(link, &target->filter);
}

static void link_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    Py_XDECREF(fg_spare_take(&((struct link_object *)object)->ctx));
    fg_probe_dealloc(object);
}

static PyObject *link_repr(PyObject *object)
{
    const struct link_object *self = (struct link_object *)object;

    return PyUnicode_FromFormat("<%s %R, %s>", Py_TYPE(object)->tp_name, self->probe.client.name,
                                fg_fprobe_is_registered(self->probe.fp) ? "attached" : "not attached");
}

static PyObject *link_kind(PyObject *object, void *Py_UNUSED(closure))
{
    return PyUnicode_InternFromString(kind_names[((struct link_object *)object)->link.kind]);
}

static PyObject *link_detach(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    return fg_probe_unregister((struct fg_python_probe *)object, true);
}

static PyObject *link_enter(PyObject *object, PyObject *Py_UNUSED(ignored))
{
    return Py_NewRef(object);
}

/* The block may have detached the link. */
static PyObject *link_exit(PyObject *object, PyObject *Py_UNUSED(args))
{
    struct fg_python_probe *self = (struct fg_python_probe *)object;

    if (!fg_fprobe_is_registered(self->fp))
        Py_RETURN_NONE;
    return fg_probe_unregister(self, true);
}

static PyGetSetDef link_attributes[] = {
    {"handler", fg_client_get_object, NULL, "As given.", FG_CLIENT_OFFSET(entryfunc)},
    FG_CLIENT_STATE_ATTRIBUTES,
    {"kind", link_kind, NULL, "'entry', 'return' or 'session'.", NULL},
    {"nmissed", fg_probe_get_nmissed, NULL, "Number of calls of the handler that could not run.", NULL},
    {"registered", fg_probe_get_registered, NULL, "Whether it is attached.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef link_members[] = {
    FG_CLIENT_MEMBERS,
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef link_methods[] = {
    {"detach", link_detach, METH_NOARGS,
     "detach(): return when its handler no longer runs, except the caller itself."},
    {"__enter__", link_enter, METH_NOARGS, NULL},
    {"__exit__", link_exit, METH_VARARGS, "Detach it, unless the block did."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot link_slots[] = {
    {Py_tp_doc, "One handler on many functions."},
    {Py_tp_traverse, fg_client_traverse},
    {Py_tp_clear, fg_client_clear},
    {Py_tp_dealloc, link_dealloc},
    {Py_tp_repr, link_repr},
    {Py_tp_getset, link_attributes},
    {Py_tp_members, link_members},
    {Py_tp_methods, link_methods},
    {0, NULL},
};

PyType_Spec fg_kprobe_multi_link_spec = {
    .name = "funcgraph._engine.KprobeMultiLink",
    .basicsize = sizeof(struct link_object),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = link_slots,
};

/* ---- kprobe_multi_attach() */

static int read_kind(const char *name, enum kprobe_multi_kind *kind)
{
    for (size_t i = 0; i < sizeof(kind_names) / sizeof(kind_names[0]); i++) {
        if (strcmp(name, kind_names[i]) == 0) {
            *kind = (enum kprobe_multi_kind)i;
            return 0;
        }
    }
    PyErr_Format(PyExc_ValueError, "kind must be 'entry', 'return' or 'session', got '%s'", name);
    return -1;
}

/* The tuple has one cookie for each function of the target. */
static int read_cookies(struct fg_probe_target *target, PyObject *cookies)
{
    target->cookies = malloc((target->n + 1) * sizeof(target->cookies[0]));
    if (!target->cookies) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < target->n; i++) {
        target->cookies[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(cookies, (Py_ssize_t)i));
        if (PyErr_Occurred())
            return -1;
    }
    return 0;
}

static int read_functions(PyObject *module, struct fg_probe_target *target, PyObject *functions,
                          PyObject *cookies)
{
    if (fg_probe_target_functions(module, target, functions) != 0)
        return -1;
    if (cookies == Py_None)
        return 0;
    if ((size_t)PyTuple_GET_SIZE(cookies) != target->n) {
        fg_raise_os_error(EINVAL, PyUnicode_FromFormat("got %zd cookies for %zu functions",
                                                       PyTuple_GET_SIZE(cookies), target->n));
        return -1;
    }
    return read_cookies(target, cookies);
}

static struct link_object *link_new(PyObject *module, PyObject *handler, PyObject *name, const char *kind)
{
    PyTypeObject *type = fg_engine_state(module)->kprobe_multi_link_type;
    struct link_object *self =
        (struct link_object *)fg_probe_new(type, offsetof(struct link_object, link.fprobe));
    uintptr_t prog;

    if (!self)
        return NULL;
    self->probe.attach = attach;
    if (handler == Py_None)
        PyErr_SetString(PyExc_TypeError,
                        "handler must be a function or the address of a C function, not None");
    else if (read_kind(kind, &self->link.kind) == 0 && fg_client_set_name(&self->probe.client, name) &&
             fg_client_resolve(handler, "handler", (uintptr_t)run, &prog) == 0) {
        fg_client_set_functions(&self->probe.client, handler, Py_None);
        self->link.prog = (kprobe_multi_prog_t)prog;
        return self;
    }
    Py_DECREF(self);
    return NULL;
}

/* (handler, functions or None, patterns, cookies: a tuple or None, kind, name, keep_on_error, save_regs) */
static PyObject *kprobe_multi_attach(PyObject *module, PyObject *args)
{
    struct fg_probe_target target = {.n = 0};
    PyObject *handler, *functions, *filter, *cookies, *name, *result = NULL;
    int keep_on_error, save_regs, error;
    struct link_object *self;
    const char *kind;

    if (!PyArg_ParseTuple(args, "OOOOsUpp:kprobe_multi_attach", &handler, &functions, &filter, &cookies,
                          &kind, &name, &keep_on_error, &save_regs))
        return NULL;
    self = link_new(module, handler, name, kind);
    if (!self)
        return NULL;
    self->probe.client.keep_on_error = keep_on_error;
    self->probe.client.save_regs = save_regs;
    error = functions == Py_None ? fg_fprobe_filter_fill(&target.filter, filter, "filter", NULL, NULL)
                                 : read_functions(module, &target, functions, cookies);
    if (!error)
        result = fg_probe_register(&self->probe, &target);
    fg_probe_target_clear(&target);
    Py_XDECREF(result);
    if (result)
        return (PyObject *)self;
    Py_DECREF(self);
    return NULL;
}

PyMethodDef fg_kprobe_multi_functions[] = {
    {"kprobe_multi_attach", kprobe_multi_attach, METH_VARARGS,
     "kprobe_multi_attach(handler, functions, filter, cookies, kind, name, keep_on_error, save_regs)."},
    {NULL, NULL, 0, NULL},
};
