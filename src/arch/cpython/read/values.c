/* See values.h. */
#include "arch/cpython/read/values.h"

#include "arch/cpython/base/compat/exception.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/variables.h"
#include "arch/cpython/value/plain_values.h"
#include "arch/cpython/value/value_parts.h"
#include "engine/base/compiler.h"

/* A name that is no str cannot be. */
static inline PyObject *argument_name(PyCodeObject *code, int n)
{
    return PyTuple_GET_ITEM(code->co_localsplusnames, n);
}

/* Lets an argument leave room for those after it. */
static inline uint8_t *end_for(const struct fg_out *out, int after)
{
    size_t room = fg_out_room(out), kept = (size_t)after * FG_VALUE_MAX_BYTES;

    return out->at + (room > kept + FG_VALUE_MAX_BYTES ? room - kept : FG_VALUE_MAX_BYTES);
}

size_t fg_encode_arguments(fg_pyframe *frame, const struct fg_value_style *style, uint8_t *buffer,
                           size_t bytes)
{
    struct fg_out out = {buffer, buffer + bytes, style};
    PyCodeObject *code = fg_pyframe_code(frame);
    int n = fg_code_argument_count(code);

    for (int i = 0; i < n; i++) {
        uint8_t *end = out.end;

        if (fg_out_room(&out) < FG_VALUE_MAX_BYTES + 1) {
            fg_put_tag(&out, FG_VALUE_MORE);
            break;
        }
        out.end = end_for(&out, n - i - 1);
        if (fg_unlikely(fg_is_hidden(style, argument_name(code, i))))
            fg_put_tag(&out, FG_VALUE_HIDDEN);
        else
            fg_put_value(&out, fg_pyframe_argument(frame, code, i), style->depth);
        out.end = end;
    }
    return (size_t)(out.at - buffer);
}

size_t fg_encode_result(PyObject *value, bool is_hidden, const struct fg_value_style *style, uint8_t *buffer,
                        size_t bytes)
{
    struct fg_out out = {buffer, buffer + bytes, style};

    if (!value || fg_out_room(&out) < FG_VALUE_MAX_BYTES)
        return 0;
    if (fg_unlikely(is_hidden))
        fg_put_tag(&out, FG_VALUE_HIDDEN);
    else
        fg_put_value(&out, value, style->depth);
    return (size_t)(out.at - buffer);
}

/* An exception that is no instance yet has no address. */
static void put_class(struct fg_out *out, PyObject *exception)
{
    bool is_class = PyExceptionClass_Check(exception);

    fg_put_tag(out, FG_VALUE_OBJECT);
    fg_put_u64(out, is_class ? 0 : (uint64_t)(uintptr_t)exception);
    fg_put_type_name(out, is_class ? (PyTypeObject *)exception : Py_TYPE(exception));
}

size_t fg_encode_exception(PyObject *exception, const struct fg_value_style *style, uint8_t *buffer,
                           size_t bytes)
{
    struct fg_out out = {buffer, buffer + bytes, style};
    PyObject *arguments;

    if (!exception || fg_out_room(&out) < FG_VALUE_MAX_BYTES)
        return 0;
    if (style->depth && PyExceptionInstance_Check(exception))
        fg_put_exception(&out, exception, style->depth);
    else if (style->depth && fg_exception_is_unmade(exception, &arguments))
        fg_put_unmade_exception(&out, (PyTypeObject *)exception, arguments, style->depth);
    else
        put_class(&out, exception);
    return (size_t)(out.at - buffer);
}

/* ---- without parts */

static void put_plain(struct fg_out *out, PyObject *value)
{
    if (!fg_put_exact(out, value))
        fg_put_object(out, value);
}

static inline size_t encode(void (*put)(struct fg_out *, PyObject *), PyObject *value, uint8_t *buffer,
                            size_t bytes)
{
    struct fg_out out = {buffer, buffer + bytes, &fg_plain_values};

    if (!value || fg_out_room(&out) < FG_VALUE_MAX_BYTES)
        return 0;
    put(&out, value);
    return (size_t)(out.at - buffer);
}

size_t fg_encode_value(PyObject *value, uint8_t *buffer, size_t bytes)
{
    return encode(put_plain, value, buffer, bytes);
}

size_t fg_encode_str(PyObject *text, uint8_t *buffer, size_t bytes)
{
    return encode(fg_put_str, text, buffer, bytes);
}

size_t fg_encode_object(PyObject *value, uint8_t *buffer, size_t bytes)
{
    return encode(fg_put_object, value, buffer, bytes);
}
