/* GraphEnt and GraphRet. One object serves call after call. If a callback keeps it, the object keeps the
 * facts of that call, and the next call gets another object. */
#include "binding/graph/trace.h"

#include "binding/base/critical_section.h"
#include "binding/core/client.h"
#include "binding/graph/function.h"
#include "binding/graph/ret_stack.h"
#include "engine/base/clock.h"
#include "structmember.h"

static struct fg_trace *trace_new(const struct fg_callback *callback)
{
    struct fg_engine_state *state = callback->self->state;
    struct fg_regs *regs = PyObject_New(struct fg_regs, state->regs_type);
    struct fg_trace *trace =
        regs ? PyObject_New(struct fg_trace, callback->entry ? state->ent_type : state->ret_type) : NULL;

    if (!trace) {
        Py_XDECREF(regs);
        return NULL;
    }
    trace->regs = regs;
    trace->func = trace->parent = NULL;
    return trace;
}

struct fg_trace *fg_trace_about(struct fg_trace *trace, const struct fg_callback *callback,
                                struct fg_func *func)
{
    PyObject *function = fg_function_of(callback->self->state, func);

    if (function && !trace)
        trace = trace_new(callback);
    if (!function || !trace) {
        Py_XDECREF(function);
        Py_XDECREF(trace);
        return NULL;
    }
    Py_XSETREF(trace->func, function);
    return trace;
}

static struct fg_trace_facts facts_of_entry(const struct ftrace_graph_ent *entry)
{
    return (struct fg_trace_facts){.calltime = entry->calltime, .start = entry->start, .depth = entry->depth};
}

static struct fg_trace_facts facts_of_end(const struct ftrace_graph_ret *end)
{
    return (struct fg_trace_facts){
        .calltime = end->calltime,
        .start = end->start,
        .rettime = end->rettime,
        .overrun = atomic_load_explicit(&end->task->overrun, memory_order_relaxed),
        .depth = end->depth,
        .end = end->end,
    };
}

static struct fg_trace_facts facts_of(PyObject *object)
{
    const struct fg_trace *self = (struct fg_trace *)object;
    const struct fg_callback *callback = self->callback;

    if (!callback)
        return self->facts;
    return callback->entry ? facts_of_entry(callback->entry) : facts_of_end(callback->end);
}

static PyObject *resolve_parent(struct fg_trace *self)
{
    if (!self->parent && self->callback)
        self->parent = fg_callback_return_location(self->callback);
    return self->parent;
}

/* The program kept the object: copies the facts of its call. */
FG_COLD static void keep_facts(struct fg_trace *trace)
{
    Py_BEGIN_CRITICAL_SECTION(trace);
    if (!resolve_parent(trace))
        PyErr_Clear(); /* no memory: reading `parent` raises later */
    trace->facts = facts_of((PyObject *)trace);
    trace->callback = NULL;
    Py_END_CRITICAL_SECTION();
}

void fg_trace_settle(struct fg_trace *trace, fg_spare *spare)
{
    if (fg_likely(Py_REFCNT(trace) == 1 && Py_REFCNT(trace->regs) == 1)) {
        Py_CLEAR(trace->parent);
        fg_spare_put(spare, trace);
        return;
    }
    trace->regs->callback = NULL;
    Py_CLEAR(trace->regs);
    if (Py_REFCNT(trace) != 1)
        keep_facts(trace);
    Py_DECREF(trace);
}

static void dealloc(PyObject *object)
{
    struct fg_trace *self = (struct fg_trace *)object;
    PyTypeObject *type = Py_TYPE(object);

    Py_CLEAR(self->regs);
    Py_CLEAR(self->func);
    Py_CLEAR(self->parent);
    PyObject_Free(object);
    Py_DECREF(type);
}

static PyObject *get_parent(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *value;

    Py_BEGIN_CRITICAL_SECTION(object);
    value = Py_XNewRef(resolve_parent((struct fg_trace *)object));
    Py_END_CRITICAL_SECTION();
    return value || PyErr_Occurred() ? value : PyErr_NoMemory();
}

static PyObject *get_depth(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLong(facts_of(object).depth);
}

static PyObject *get_time(PyObject *object, void *offset)
{
    struct fg_trace_facts facts = facts_of(object);

    return PyLong_FromUnsignedLongLong(fg_clock_to_ns(*(uint64_t *)((char *)&facts + (uintptr_t)offset)));
}

static PyObject *get_overrun(PyObject *object, void *Py_UNUSED(closure))
{
    return PyLong_FromUnsignedLongLong(facts_of(object).overrun);
}

static PyObject *get_end(PyObject *object, void *Py_UNUSED(closure))
{
    static const char *const names[] = {
        [FG_END_RETURN] = "return", [FG_END_RAISE] = "raise", [FG_END_CLOSE] = "close"};

    return PyUnicode_InternFromString(names[facts_of(object).end]);
}

#define FACT(member) ((void *)offsetof(struct fg_trace_facts, member))

#define COMMON_ATTRIBUTES                                                                                    \
    {"depth", get_depth, NULL, "Number of calls of this user in progress that this call is nested in.",      \
     NULL},                                                                                                  \
        {"parent", get_parent, NULL, "Where the call returns to, or None at the bottom of a thread.", NULL}, \
        {"calltime_ns", get_time, NULL,                                                                      \
         "Time at which the call began or was last resumed (CLOCK_MONOTONIC).", FACT(calltime)},             \
    {                                                                                                        \
        "start_ns", get_time, NULL, "Time at which the call first began.", FACT(start)                       \
    }

/* A member, because nearly every callback reads it: CPython reads members without a call. */
static PyMemberDef members[] = {
    {"func", T_OBJECT_EX, offsetof(struct fg_trace, func), READONLY, "Called function, a Function."},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef ent_attributes[] = {
    COMMON_ATTRIBUTES,
    {NULL, NULL, NULL, NULL, NULL},
};

static PyGetSetDef ret_attributes[] = {
    COMMON_ATTRIBUTES,
    {"rettime_ns", get_time, NULL, "Time at which the call ended.", FACT(rettime)},
    {"overrun", get_overrun, NULL, "Number of calls of this thread that found no room on its shadow stack.",
     NULL},
    {"end", get_end, NULL, "How the call ended: 'return', 'raise' or 'close'.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyType_Slot ent_slots[] = {
    {Py_tp_doc, "A call, as an entry function sees it."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_getset, ent_attributes},
    {Py_tp_members, members},
    {0, NULL},
};

static PyType_Slot ret_slots[] = {
    {Py_tp_doc, "A call, as a return function sees it."},
    {Py_tp_dealloc, dealloc},
    {Py_tp_getset, ret_attributes},
    {Py_tp_members, members},
    {0, NULL},
};

#define FLAGS (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE)

PyType_Spec fg_ent_spec = {
    .name = "funcgraph._engine.GraphEnt",
    .basicsize = sizeof(struct fg_trace),
    .flags = FLAGS,
    .slots = ent_slots,
};

PyType_Spec fg_ret_spec = {
    .name = "funcgraph._engine.GraphRet",
    .basicsize = sizeof(struct fg_trace),
    .flags = FLAGS,
    .slots = ret_slots,
};
