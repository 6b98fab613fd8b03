/* See values.h. The program's classes may override methods, so only exact built-in types are decoded.
 * Of a container only its length is read, from the C struct. */
#include "arch/cpython/read/values.h"

#include <string.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/utf8.h"
#include "arch/cpython/read/variables.h"
#include "engine/ring/record.h"

struct out {
    uint8_t *at, *end;
};

static inline size_t room(const struct out *out)
{
    return (size_t)(out->end - out->at);
}

static inline void put_tag(struct out *out, enum fg_value_tag tag)
{
    *out->at++ = (uint8_t)tag;
}

static inline void put_bytes(struct out *out, const void *bytes, size_t n)
{
    memcpy(out->at, bytes, n);
    out->at += n;
}

static inline void put_u64(struct out *out, uint64_t value)
{
    put_bytes(out, &value, sizeof(value));
}

static void put_counted(struct out *out, const void *text, size_t n)
{
    *out->at++ = (uint8_t)n;
    put_bytes(out, text, n);
}

/* Writes the last part of the type's name: static types are named "module.Name". */
static void put_type_name(struct out *out, const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');
    const char *name = dot ? dot + 1 : type->tp_name;

    put_counted(out, name, strnlen(name, FG_VALUE_MAX_TYPE));
}

static void put_int(struct out *out, PyObject *value)
{
    int overflow;
    long long number = PyLong_AsLongLongAndOverflow(value, &overflow);

    if (overflow) {
        uint32_t bits = (uint32_t)_PyLong_NumBits(value);

        put_tag(out, FG_VALUE_BIGINT);
        *out->at++ = overflow < 0;
        put_bytes(out, &bits, sizeof(bits));
    } else if (number >= INT8_MIN && number <= INT8_MAX) {
        put_tag(out, FG_VALUE_INT8);
        *out->at++ = (uint8_t)(int8_t)number;
    } else {
        put_tag(out, FG_VALUE_INT64);
        put_u64(out, (uint64_t)number);
    }
}

/* Writes as many characters from the start as fit whole. */
static void put_str(struct out *out, PyObject *value)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    uint8_t *count;
    size_t n = 0;

    put_tag(out, FG_VALUE_STR);
    put_u64(out, (uint64_t)length);
    count = out->at++;
    if (PyUnicode_IS_ASCII(value)) {
        n = (size_t)length < FG_VALUE_MAX_TEXT ? (size_t)length : FG_VALUE_MAX_TEXT;
        put_bytes(out, PyUnicode_DATA(value), n);
    } else {
        for (Py_ssize_t i = 0; i < length; i++) {
            uint8_t utf8[4];
            size_t bytes = fg_utf8_of(PyUnicode_READ_CHAR(value, i), utf8);

            if (n + bytes > FG_VALUE_MAX_TEXT)
                break;
            put_bytes(out, utf8, bytes);
            n += bytes;
        }
    }
    *count = (uint8_t)n;
}

static void put_byte_string(struct out *out, PyObject *value)
{
    size_t length = (size_t)PyBytes_GET_SIZE(value);

    put_tag(out, FG_VALUE_BYTES);
    put_u64(out, length);
    put_counted(out, PyBytes_AS_STRING(value), length < FG_VALUE_MAX_TEXT ? length : FG_VALUE_MAX_TEXT);
}

/* The length of a built-in container or of an instance of a subclass; -1: not a container. */
static Py_ssize_t container_length(PyObject *value)
{
    if (PyTuple_Check(value))
        return PyTuple_GET_SIZE(value);
    if (PyList_Check(value))
        return PyList_GET_SIZE(value);
    if (PyDict_Check(value))
        return PyDict_GET_SIZE(value);
    if (PyAnySet_Check(value))
        return PySet_GET_SIZE(value);
    if (PyByteArray_Check(value))
        return PyByteArray_GET_SIZE(value);
    return -1;
}

static void put_object(struct out *out, PyObject *value)
{
    Py_ssize_t length = container_length(value);

    put_tag(out, length >= 0 ? FG_VALUE_SIZED : FG_VALUE_OBJECT);
    put_u64(out, length >= 0 ? (uint64_t)length : (uint64_t)(uintptr_t)value);
    put_type_name(out, Py_TYPE(value));
}

static void put_value(struct out *out, PyObject *value)
{
    if (!value)
        put_tag(out, FG_VALUE_UNBOUND);
    else if (value == Py_None)
        put_tag(out, FG_VALUE_NONE);
    else if (value == Py_True)
        put_tag(out, FG_VALUE_TRUE);
    else if (value == Py_False)
        put_tag(out, FG_VALUE_FALSE);
    else if (PyLong_CheckExact(value))
        put_int(out, value);
    else if (PyFloat_CheckExact(value)) {
        put_tag(out, FG_VALUE_FLOAT);
        put_bytes(out, &((PyFloatObject *)value)->ob_fval, sizeof(double));
    } else if (PyUnicode_CheckExact(value))
        put_str(out, value);
    else if (PyBytes_CheckExact(value))
        put_byte_string(out, value);
    else
        put_object(out, value);
}

size_t fg_encode_arguments(fg_pyframe *frame, uint8_t *buffer, size_t bytes)
{
    struct out out = {buffer, buffer + bytes};
    PyCodeObject *code = fg_pyframe_code(frame);
    int n = fg_code_argument_count(code);

    for (int i = 0; i < n; i++) {
        if (room(&out) < FG_VALUE_MAX_BYTES + 1) {
            put_tag(&out, FG_VALUE_MORE);
            break;
        }
        put_value(&out, fg_pyframe_argument(frame, code, i));
    }
    return (size_t)(out.at - buffer);
}

static void put_exception(struct out *out, PyObject *exception)
{
    put_tag(out, FG_VALUE_OBJECT);
    put_u64(out, (uint64_t)(uintptr_t)exception);
    put_type_name(out, PyExceptionClass_Check(exception) ? (PyTypeObject *)exception : Py_TYPE(exception));
}

/* Return: the bytes written; 0: there is no value, or no room for any. */
static inline size_t encode(void (*put)(struct out *, PyObject *), PyObject *value, uint8_t *buffer,
                            size_t bytes)
{
    struct out out = {buffer, buffer + bytes};

    if (!value || room(&out) < FG_VALUE_MAX_BYTES)
        return 0;
    put(&out, value);
    return (size_t)(out.at - buffer);
}

size_t fg_encode_value(PyObject *value, uint8_t *buffer, size_t bytes)
{
    return encode(put_value, value, buffer, bytes);
}

size_t fg_encode_str(PyObject *text, uint8_t *buffer, size_t bytes)
{
    return encode(put_str, text, buffer, bytes);
}

size_t fg_encode_object(PyObject *value, uint8_t *buffer, size_t bytes)
{
    return encode(put_object, value, buffer, bytes);
}

size_t fg_encode_exception(PyObject *exception, uint8_t *buffer, size_t bytes)
{
    return encode(put_exception, exception, buffer, bytes);
}
