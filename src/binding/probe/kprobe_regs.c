/* KprobeRegs. Reading it runs none of the program's code. */
#include "binding/probe/kprobe_regs.h"

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/tstate.h"
#include "arch/cpython/read/regs.h"
#include "arch/cpython/read/variables.h"
#include "binding/base/raise.h"
#include "binding/base/types.h"
#include "binding/graph/function.h"

/* The place that the program is at, or NULL with an exception. */
static const struct fg_kprobe_site *live(PyObject *object)
{
    const struct fg_kprobe_site *site = ((struct fg_kprobe_regs *)object)->site;

    if (!site)
        PyErr_SetString(PyExc_RuntimeError, "regs used after its handler: the frame that it showed is gone");
    return site;
}

/* ---- the frame object */

/* Searches from the handler's frame outwards. A new reference, or NULL with an exception. */
static PyFrameObject *frame_object(const struct fg_kprobe_site *site)
{
    PyFrameObject *at = site->tstate == fg_tstate() ? PyThreadState_GetFrame(site->tstate) : NULL;

    while (at && at->f_frame != site->frame)
        Py_SETREF(at, PyFrame_GetBack(at));
    if (!at && !PyErr_Occurred())
        PyErr_SetString(PyExc_RuntimeError, "the frame can be read in the thread that runs the handler only");
    return at;
}

static PyObject *get_regs(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_kprobe_site *site = live(self);

    return site ? (PyObject *)frame_object(site) : NULL;
}

/* ---- variables */

/* Whether the code looks variables up by name in a dict, as the body of a class or module does. */
static bool has_namespace(const PyCodeObject *code)
{
    return !(code->co_flags & CO_OPTIMIZED);
}

/* The dict, borrowed; or NULL with RuntimeError: reading any other mapping would run its code. */
static PyObject *namespace_of(fg_pyframe *frame)
{
    if (frame->f_locals && PyDict_CheckExact(frame->f_locals))
        return frame->f_locals;
    PyErr_SetString(PyExc_RuntimeError, "this code keeps its variables in a mapping that is no dict: read "
                                        "get_regs().f_locals, which runs the mapping's code");
    return NULL;
}

/* The value of a variable; the contents of its cell if inner functions share it. A new reference, or
 * NULL: unbound. */
static PyObject *variable(fg_pyframe *frame, PyCodeObject *code, int i)
{
    PyObject *value = fg_pyframe_local(frame, i);

    if (value && PyCell_Check(value) && fg_variable_is_in_cell(frame, code, i))
        return PyCell_Get(value);
    return Py_XNewRef(value);
}

/* In code with a namespace, only variables of inlined comprehensions are in the frame itself. */
static bool is_shown(const PyCodeObject *code, int i)
{
    return !has_namespace(code) || (_PyLocals_GetKind(code->co_localspluskinds, i) & CO_FAST_LOCAL);
}

static PyObject *raise_no_local(const PyCodeObject *code, PyObject *name, bool is_unbound)
{
    return PyErr_Format(PyExc_KeyError,
                        is_unbound ? "'%U' is unbound in %U() at this place" : "no variable '%U' in %U()",
                        name, code->co_qualname);
}

/* A new reference, or NULL: absent, or with an exception. */
static PyObject *in_namespace(fg_pyframe *frame, PyObject *name)
{
    PyObject *variables = namespace_of(frame);

    return variables ? fg_dict_get_item(variables, name) : NULL;
}

static PyObject *get_local(PyObject *self, PyObject *name)
{
    const struct fg_kprobe_site *site = live(self);
    PyCodeObject *code = site ? fg_pyframe_code(site->frame) : NULL;
    bool is_unbound = false;
    PyObject *value = NULL;

    if (!code)
        return NULL;
    if (!PyUnicode_CheckExact(name))
        return fg_raise_type("name", "the name of a variable", name);
    for (int i = 0; !value && i < code->co_nlocalsplus; i++) {
        if (!is_shown(code, i) || PyUnicode_Compare(PyTuple_GET_ITEM(code->co_localsplusnames, i), name) != 0)
            continue;
        is_unbound = true;
        value = variable(site->frame, code, i);
    }
    if (!value && has_namespace(code))
        value = in_namespace(site->frame, name);
    return value || PyErr_Occurred() ? value : raise_no_local(code, name, is_unbound);
}

static int add_variables(PyObject *dict, fg_pyframe *frame, PyCodeObject *code)
{
    for (int i = 0; i < code->co_nlocalsplus; i++) {
        PyObject *value = is_shown(code, i) ? variable(frame, code, i) : NULL;
        int error = value ? PyDict_SetItem(dict, PyTuple_GET_ITEM(code->co_localsplusnames, i), value) : 0;

        Py_XDECREF(value);
        if (error)
            return -1;
    }
    return 0;
}

static PyObject *copy_namespace(fg_pyframe *frame)
{
    PyObject *variables = namespace_of(frame);

    return variables ? PyDict_Copy(variables) : NULL;
}

static PyObject *locals(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_kprobe_site *site = live(self);
    PyCodeObject *code = site ? fg_pyframe_code(site->frame) : NULL;
    PyObject *dict;

    if (!code)
        return NULL;
    dict = has_namespace(code) ? copy_namespace(site->frame) : PyDict_New();
    if (dict && add_variables(dict, site->frame, code) != 0)
        Py_CLEAR(dict);
    return dict;
}

/* ---- the place */

static PyObject *place_of(struct fg_engine_state *state, const struct fg_kprobe_site *site)
{
    int line = fg_pyframe_line(site->frame);
    PyObject *const items[] = {
        fg_function_of(state, site->func),
        PyLong_FromLong(_PyInterpreterFrame_LASTI(site->frame) * (long)sizeof(_Py_CODEUNIT)),
        line ? PyLong_FromLong(line) : Py_NewRef(Py_None),
    };

    return fg_sequence_of(state->instruction_pointer_type, items, 3);
}

static PyObject *get_instruction_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_kprobe_site *site = live(self);

    return site ? place_of(((struct fg_kprobe_regs *)self)->state, site) : NULL;
}

static PyObject *get_frame_pointer(PyObject *self, PyObject *Py_UNUSED(ignored))
{
    const struct fg_kprobe_site *site = live(self);

    return site ? PyLong_FromVoidPtr(site->frame) : NULL;
}

static PyObject *get_partial(PyObject *Py_UNUSED(self), void *Py_UNUSED(closure))
{
    Py_RETURN_FALSE;
}

static PyGetSetDef attributes[] = {
    {"partial", get_partial, NULL, "False: these are the full regs.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef methods[] = {
    {"get_regs", get_regs, METH_NOARGS, "get_regs() -> FrameType: the frame object."},
    {"get_local", get_local, METH_O, "get_local(name): value of a variable."},
    {"locals", locals, METH_NOARGS, "locals() -> dict: all bound variables by name."},
    {"get_instruction_pointer", get_instruction_pointer, METH_NOARGS,
     "get_instruction_pointer() -> InstructionPointer: the current instruction."},
    {"get_frame_pointer", get_frame_pointer, METH_NOARGS,
     "get_frame_pointer() -> int: the address of the interpreter's frame."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_doc, "The frame at the place of a kprobe."},
    {Py_tp_dealloc, fg_dealloc_plain},
    {Py_tp_methods, methods},
    {Py_tp_getset, attributes},
    {0, NULL},
};

PyType_Spec fg_kprobe_regs_spec = {
    .name = "funcgraph._engine.KprobeRegs",
    .basicsize = sizeof(struct fg_kprobe_regs),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};
