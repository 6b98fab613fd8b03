/* See pt_regs.h. The values are copied: both objects may be kept. */
#include "binding/graph/pt_regs.h"

#include <limits.h>

#include "arch/cpython/read/regs.h"
#include "binding/base/raise.h"
#include "binding/base/sequences.h"
#include "binding/base/types.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"
#include "binding/graph/regs_parts.h"
#include "binding/graph/ret_stack.h"

/* ---- PartialRegs */

struct partial_regs {
    PyObject_HEAD PyObject *arguments; /* dict; of an end: empty */
    PyObject *value;                   /* the result, or the exception; NULL: at an entry, or not known */
    PyObject *place;                   /* InstructionPointer; NULL: not known */
    uintptr_t sp, fp;                  /* 0: not known */
};

static struct partial_regs *partial_of(PyObject *object)
{
    return (struct partial_regs *)object;
}

/* True: fills `regs`. False with an exception. */
static bool fill(struct partial_regs *regs, const struct fg_callback *callback)
{
    bool has_frame = fg_regs_frame(callback->regs);

    regs->sp = fg_regs_stack_pointer(callback->regs);
    regs->fp = fg_regs_frame_pointer(callback->regs);
    regs->value = callback->is_entry ? NULL : Py_XNewRef(fg_regs_value(callback));
    regs->place = has_frame ? fg_regs_place(callback) : NULL;
    regs->arguments = has_frame ? fg_regs_arguments(callback) : PyDict_New();
    return regs->arguments && (regs->place || !has_frame);
}

PyObject *fg_regs_partial_regs(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_callback *callback = fg_regs_live(self);
    struct partial_regs *regs =
        callback ? PyObject_GC_New(struct partial_regs, callback->self->state->partial_regs_type) : NULL;

    if (!regs)
        return NULL;
    regs->arguments = regs->value = regs->place = NULL;
    if (!fill(regs, callback))
        Py_CLEAR(regs);
    else
        PyObject_GC_Track(regs);
    return (PyObject *)regs;
}

static PyObject *get_local(PyObject *self, PyObject *name)
{
    PyObject *value;

    if (!PyUnicode_Check(name))
        return fg_raise_type("name", "the name of a variable", name);
    value = PyDict_GetItemWithError(partial_of(self)->arguments, name);
    if (!value && !PyErr_Occurred())
        PyErr_Format(PyExc_KeyError, "'%U' is not in these partial regs: they have the arguments of an entry",
                     name);
    return Py_XNewRef(value);
}

static PyObject *locals(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return PyDict_Copy(partial_of(self)->arguments);
}

static PyObject *get_return_value(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *value = partial_of(self)->value;

    if (!value)
        PyErr_SetString(PyExc_RuntimeError, "these partial regs have no return value");
    return Py_XNewRef(value);
}

static PyObject *get_instruction_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    PyObject *place = partial_of(self)->place;

    if (!place)
        PyErr_SetString(PyExc_RuntimeError, "these partial regs have no instruction pointer");
    return Py_XNewRef(place);
}

static PyObject *address(uintptr_t value, const char *what)
{
    if (value)
        return PyLong_FromSize_t(value);
    PyErr_Format(PyExc_RuntimeError, "these partial regs have no %s", what);
    return NULL;
}

static PyObject *get_frame_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return address(partial_of(self)->fp, "frame pointer");
}

static PyObject *get_stack_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    return address(partial_of(self)->sp, "stack pointer");
}

static PyObject *get_regs(PyObject *Py_UNUSED(self), PyObject *Py_UNUSED(ignored))
{
    PyErr_SetString(PyExc_RuntimeError,
                    "these regs are partial and have no frame: use FtraceRegs.get_regs(), with save_regs");
    return NULL;
}

static PyObject *get_partial(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    Py_RETURN_TRUE;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    struct partial_regs *self = partial_of(object);

    Py_VISIT(Py_TYPE(object));
    Py_VISIT(self->arguments);
    Py_VISIT(self->value);
    Py_VISIT(self->place);
    return 0;
}

static void dealloc(PyObject *object)
{
    struct partial_regs *self = partial_of(object);
    PyTypeObject *type = Py_TYPE(object);

    PyObject_GC_UnTrack(object);
    Py_CLEAR(self->arguments);
    Py_CLEAR(self->value);
    Py_CLEAR(self->place);
    PyObject_GC_Del(object);
    Py_DECREF(type);
}

static PyMethodDef methods[] = {
    {"get_local", get_local, METH_O, "get_local(name): value of an argument."},
    {"locals", locals, METH_NOARGS, "locals() -> dict: all bound arguments by name."},
    {"get_return_value", get_return_value, METH_NOARGS,
     "get_return_value(): the value that the call returned, or the exception that it raised."},
    {"get_instruction_pointer", get_instruction_pointer, METH_NOARGS,
     "get_instruction_pointer() -> InstructionPointer: the current instruction."},
    {"get_frame_pointer", get_frame_pointer, METH_NOARGS,
     "get_frame_pointer() -> int: the address of the interpreter's frame."},
    {"get_stack_pointer", get_stack_pointer, METH_NOARGS,
     "get_stack_pointer() -> int: the address above the top of the evaluation stack."},
    {"get_regs", get_regs, METH_NOARGS, "get_regs(): raises RuntimeError: partial regs have no frame."},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef attributes[] = {
    {"partial", get_partial, NULL, "True: these are not the full regs.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

/* No tp_clear: the members never change, and the dict breaks cycles. */
static PyType_Slot slots[] = {
    {Py_tp_doc, "What FtraceRegs know of a call, for code that takes the regs of a kprobe."},
    {Py_tp_traverse, traverse},
    {Py_tp_dealloc, dealloc},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_partial_regs_spec = {
    .name = "funcgraph._engine.PartialRegs",
    .basicsize = sizeof(struct partial_regs),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_HAVE_GC |
             Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

/* ---- PerfSample */

static PyStructSequence_Field perf_sample_fields[] = {
    {"ip", "address of the instruction; 0: not known"},
    {"sp", "address above the top of the evaluation stack; 0: not known"},
    {"fp", "address of the interpreter's frame; 0: not known"},
    {"flags", "co_flags of the code; 0: not known"},
    {"callchain", "tuple of ReturnLocation: the call's own place, then its callers outwards"},
    {NULL, NULL},
};

PyStructSequence_Desc fg_perf_sample_desc = {
    .name = "funcgraph._engine.PerfSample",
    .doc = "A sample of a call.",
    .fields = perf_sample_fields,
    .n_in_sequence = 5,
};

static PyObject *callchain(const struct fg_callback *callback, int max_stack)
{
    fg_pyframe *own = fg_regs_frame(callback->regs), *caller = fg_callback_caller(callback);
    PyObject *list = PyList_New(0), *tuple;

    if (own && max_stack-- > 0)
        fg_list_append(&list, fg_callback_location(callback));
    for (; list && caller && max_stack > 0; max_stack--) {
        fg_list_append(&list, fg_return_location(callback->self->state, caller));
        caller = fg_complete_pyframe(caller->previous);
    }
    tuple = list ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *fg_regs_fill_perf_regs(PyObject *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"max_stack", NULL};
    const struct fg_callback *callback = fg_regs_live(self);
    int max_stack = 127; /* the kernel's sysctl kernel.perf_event_max_stack */
    fg_pyframe *frame;

    if (!callback || !PyArg_ParseTupleAndKeywords(args, kwargs, "|i:fill_perf_regs", names, &max_stack))
        return NULL;
    if (max_stack < 0)
        return PyErr_Format(PyExc_ValueError, "max_stack must be >= 0, got %d", max_stack);
    frame = fg_regs_frame(callback->regs);
    {
        PyObject *const items[] = {
            PyLong_FromSize_t(fg_regs_instruction_address(callback->regs)),
            PyLong_FromSize_t(fg_regs_stack_pointer(callback->regs)),
            PyLong_FromSize_t(fg_regs_frame_pointer(callback->regs)),
            PyLong_FromLong(frame ? fg_pyframe_code(frame)->co_flags : 0),
            callchain(callback, max_stack),
        };

        return fg_sequence_of(callback->self->state->perf_sample_type, items, 5);
    }
}
