/* See kprobe_multi_ctx.h. */
#include "binding/probe/kprobe_multi_ctx.h"

#include "binding/base/critical_section.h"
#include "binding/core/client.h"
#include "binding/graph/function.h"
#include "structmember.h"

struct fg_kprobe_multi_ctx *fg_kprobe_multi_ctx_new(struct fg_engine_state *state)
{
    struct fg_kprobe_multi_ctx *self = PyObject_New(struct fg_kprobe_multi_ctx, state->kprobe_multi_ctx_type);

    if (self) {
        self->link = self->func = NULL;
        self->ret_ip = NULL;
    }
    return self;
}

/* The Function, borrowed; or NULL with an exception. */
static PyObject *resolve_func(struct fg_kprobe_multi_ctx *ctx)
{
    if (!ctx->func && ctx->callback)
        ctx->func = fg_function_of(ctx->callback->self->state, ctx->callback->func);
    return ctx->func;
}

void fg_kprobe_multi_ctx_keep(struct fg_kprobe_multi_ctx *ctx)
{
    Py_BEGIN_CRITICAL_SECTION(ctx);
    if (!resolve_func(ctx))
        PyErr_Clear(); /* no memory: reading `func` raises later */
    if (ctx->session_word)
        ctx->session_cookie = *ctx->session_word;
    ctx->session_word = NULL;
    ctx->callback = NULL;
    Py_INCREF(ctx->link);
    Py_INCREF(ctx->ret_ip);
    Py_END_CRITICAL_SECTION();
    Py_DECREF(ctx);
}

static void ctx_dealloc(PyObject *object)
{
    struct fg_kprobe_multi_ctx *self = (struct fg_kprobe_multi_ctx *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_CLEAR(self->func);
    Py_CLEAR(self->link);
    Py_CLEAR(self->ret_ip);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *ctx_func(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *func;

    Py_BEGIN_CRITICAL_SECTION(object);
    func = Py_XNewRef(resolve_func((struct fg_kprobe_multi_ctx *)object));
    Py_END_CRITICAL_SECTION();
    return func || PyErr_Occurred() ? func : PyErr_NoMemory();
}

static PyObject *ctx_ret_ip(PyObject *object, void *Py_UNUSED(closure))
{
    struct fg_ret_ip *ret_ip = ((struct fg_kprobe_multi_ctx *)object)->ret_ip;

    return Py_NewRef(ret_ip->address ? (PyObject *)ret_ip : Py_None);
}

static PyObject *ctx_regs(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_kprobe_multi_ctx *self = (struct fg_kprobe_multi_ctx *)object;

    if (self->callback)
        return Py_NewRef((PyObject *)self->ret_ip->regs);
    return PyErr_Format(PyExc_RuntimeError, "regs used after its callback: the frame that it showed is gone");
}

static PyObject *ctx_cookie(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(((struct fg_kprobe_multi_ctx *)object)->cookie);
}

static bool check_session(const struct fg_kprobe_multi_ctx *self)
{
    if (!self->is_session)
        PyErr_SetString(PyExc_AttributeError, "session_cookie needs a link of kind 'session'");
    return self->is_session;
}

static PyObject *ctx_session_cookie(PyObject *object, void *Py_UNUSED(closure))
{
    const struct fg_kprobe_multi_ctx *self = (struct fg_kprobe_multi_ctx *)object;

    if (!check_session(self))
        return NULL;
    return PyLong_FromUnsignedLongLong(self->session_word ? *self->session_word : self->session_cookie);
}

static int ctx_set_session_cookie(PyObject *object, PyObject *value, void *Py_UNUSED(closure))
{
    struct fg_kprobe_multi_ctx *self = (struct fg_kprobe_multi_ctx *)object;
    unsigned long long number;

    if (!value) {
        PyErr_SetString(PyExc_AttributeError, "session_cookie cannot be deleted");
        return -1;
    }
    number = check_session(self) ? PyLong_AsUnsignedLongLong(value) : 0;
    if (PyErr_Occurred())
        return -1;
    if (!self->session_word) {
        PyErr_SetString(PyExc_RuntimeError,
                        "session_cookie set after its callback: it can be set in the callback only");
        return -1;
    }
    *self->session_word = number;
    return 0;
}

static PyMemberDef ctx_members[] = {
    {"link", T_OBJECT_EX, offsetof(struct fg_kprobe_multi_ctx, link), READONLY, "The link."},
    {"is_return", T_BOOL, offsetof(struct fg_kprobe_multi_ctx, is_return), READONLY,
     "Whether this is the function's return."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef ctx_attributes[] = {
    {"func", ctx_func, NULL, "Called function, a Function.", NULL},
    {"ret_ip", ctx_ret_ip, NULL, "Place that it returns to, a ReturnAddress or None.", NULL},
    {"regs", ctx_regs, NULL, "FtraceRegs of the call.", NULL},
    {"cookie", ctx_cookie, NULL, "Cookie of the function; 0 without cookies.", NULL},
    {"session_cookie", ctx_session_cookie, ctx_set_session_cookie,
     "Session only: an int that the entry sets for the return.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot ctx_slots[] = {
    {Py_tp_doc, "A call, as the program of a kprobe_multi link sees it."},
    {Py_tp_dealloc, ctx_dealloc},
    {Py_tp_members, ctx_members},
    {Py_tp_getset, ctx_attributes},
    {0, NULL},
};

PyType_Spec fg_kprobe_multi_ctx_spec = {
    .name = "funcgraph._engine.KprobeMultiCtx",
    .basicsize = sizeof(struct fg_kprobe_multi_ctx),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = ctx_slots,
};
