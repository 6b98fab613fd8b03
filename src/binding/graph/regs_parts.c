/* See regs_parts.h. */
#include "binding/graph/regs_parts.h"

#include "arch/cpython/read/code.h"
#include "arch/cpython/read/regs.h"
#include "binding/base/types.h"
#include "binding/core/callback.h"
#include "binding/core/client.h"
#include "binding/graph/function.h"

const struct fg_callback *fg_regs_live(PyObject *object)
{
    const struct fg_callback *callback = ((struct fg_regs *)object)->callback;

    if (!callback)
        PyErr_SetString(PyExc_RuntimeError, "regs used after its callback: the frame that it showed is gone");
    return callback;
}

PyObject *fg_regs_arguments(const struct fg_callback *callback)
{
    PyCodeObject *code = fg_pyframe_code(fg_regs_frame(callback->regs));
    PyObject *dict = PyDict_New();
    int error = 0;

    for (int i = 0; dict && !error && i < fg_code_argument_count(code); i++) {
        PyObject *value = Py_XNewRef(fg_regs_argument(callback->regs, (unsigned)i));

        if (value)
            error = PyDict_SetItem(dict, PyTuple_GET_ITEM(code->co_localsplusnames, i), value);
        Py_XDECREF(value);
    }
    if (error)
        Py_CLEAR(dict);
    return dict;
}

PyObject *fg_regs_value(const struct fg_callback *callback)
{
    PyObject *value = fg_regs_result(callback->regs);

    return value ? value : fg_regs_exception(callback->regs);
}

static PyStructSequence_Field instruction_pointer_fields[] = {
    {"func", "the function, a Function"},
    {"offset", "offset of the instruction in its code, in bytes"},
    {"line", "line of the instruction, or None"},
    {NULL, NULL},
};

PyStructSequence_Desc fg_instruction_pointer_desc = {
    .name = "funcgraph._engine.InstructionPointer",
    .doc = "Place of an instruction.",
    .fields = instruction_pointer_fields,
    .n_in_sequence = 3,
};

PyObject *fg_regs_place(const struct fg_callback *callback)
{
    struct ftrace_location location;

    fg_regs_location(callback->regs, &location);
    {
        PyObject *const items[] = {
            location.func ? fg_function_of(callback->self->state, location.func) : Py_NewRef(Py_None),
            PyLong_FromLong(location.offset),
            location.line >= 0 ? PyLong_FromLong(location.line) : Py_NewRef(Py_None),
        };

        return fg_sequence_of(callback->self->state->instruction_pointer_type, items, 3);
    }
}
