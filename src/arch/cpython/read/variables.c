/* See variables.h. */
#include "arch/cpython/read/variables.h"

#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/value/utf8.h"
#include "engine/base/compiler.h"

/* ---- slots */

static inline bool is_free_variable(const PyCodeObject *code, int i)
{
    return i >= code->co_nlocalsplus - code->co_nfreevars;
}

/* At the entry on 3.11 only the function has the free variables, until COPY_FREE_VARS copies them into
 * the frame. */
static PyObject *free_variable(fg_pyframe *frame, const PyCodeObject *code, int i)
{
    PyObject *value = fg_pyframe_local(frame, i);
    PyObject *function = fg_pyframe_function(frame);
    PyObject *closure = fg_is_function(function) ? PyFunction_GET_CLOSURE(function) : NULL;

    if (value || !closure || fg_pyframe_has_begun(frame))
        return value;
    return PyTuple_GET_ITEM(closure, i - (code->co_nlocalsplus - code->co_nfreevars));
}

PyObject *fg_pyframe_place(fg_pyframe *frame, unsigned n, int depth, bool *is_cell)
{
    PyCodeObject *code = fg_pyframe_code(frame);
    PyObject *value;

    *is_cell = false;
    if (n >= (unsigned)code->co_nlocalsplus) {
        n -= (unsigned)code->co_nlocalsplus;
        return depth > 0 && n < (unsigned)depth ? fg_pyframe_stack_item(frame, (int)n) : NULL;
    }
    value =
        is_free_variable(code, (int)n) ? free_variable(frame, code, (int)n) : fg_pyframe_local(frame, (int)n);
    *is_cell = value && PyCell_Check(value) && fg_variable_is_in_cell(frame, code, (int)n);
    return value;
}

int fg_pyframe_operands(fg_pyframe *frame, const PyObject *result)
{
    int depth = fg_pyframe_stack_depth(frame);

    if (fg_pyframe_is_at_start(frame)) /* a generator's stack has the value sent to it (3.11) */
        return 0;
    if (depth > 0 && result && fg_pyframe_stack_item(frame, depth - 1) == result)
        return depth - 1;
    /* 3.12 and 3.13 do not store the depth at a return, but only the result was left on the stack. At a
     * yield more may be left. */
    return depth < 0 && result && !fg_code_is_generator(fg_pyframe_code(frame)) ? 0 : depth;
}

/* ---- names */

FG_NOINLINE static bool is_other_name(PyObject *text, const char *name)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(text);

    for (Py_ssize_t i = 0; i < length; i++) {
        uint8_t utf8[4];
        size_t bytes = fg_utf8_of(PyUnicode_READ_CHAR(text, i), utf8);

        if (strncmp((const char *)utf8, name, bytes) != 0)
            return false;
        name += bytes;
    }
    return !*name;
}

/* Compares byte by byte, because names are short and differ early. Skips checks that hold for every
 * code object's names. */
static inline bool is_name(PyObject *text, const char *name)
{
    const PyASCIIObject *ascii = (const PyASCIIObject *)text;
    const char *data = (const char *)(ascii + 1);
    Py_ssize_t i = 0;

    if (fg_unlikely(!ascii->state.ascii || !ascii->state.compact))
        return is_other_name(text, name);
    while (data[i] == name[i] && name[i])
        i++;
    return !name[i] && i == ascii->length;
}

int fg_code_variable(PyCodeObject *code, int n, const char *name)
{
    PyObject *const *names = ((PyTupleObject *)code->co_localsplusnames)->ob_item;

    for (int i = 0; i < n; i++) {
        if (is_name(names[i], name))
            return i;
    }
    return -1;
}
