/* See plain_values.h. Of a container only its length is read, from the C struct. */
#include "arch/cpython/value/plain_values.h"

#include "arch/cpython/value/short_values.h"
#include "arch/cpython/value/utf8.h"

FG_NOINLINE static void put_big_int(struct fg_out *out, PyObject *value, bool is_negative)
{
    uint32_t bits = (uint32_t)_PyLong_NumBits(value);

    fg_put_tag(out, FG_VALUE_BIGINT);
    *out->at++ = is_negative;
    fg_put_bytes(out, &bits, sizeof(bits));
}

void fg_put_int(struct fg_out *out, PyObject *value)
{
    int overflow = 0;
    int64_t number;

    if (fg_unlikely(!fg_int_is_compact(value, &number)))
        number = PyLong_AsLongLongAndOverflow(value, &overflow);
    if (fg_unlikely(overflow))
        put_big_int(out, value, overflow < 0);
    else
        out->at = fg_copy_int(out->at, number);
}

/* ---- texts: a tag, the whole length, a count of one byte, or two if there may be so many, and the bytes */

struct counted {
    uint8_t *count;
    size_t most; /* bytes that may follow */
    bool is_wide;
};

/* @bytes: no fewer than will be written */
static inline struct counted open_text(struct fg_out *out, bool is_str, uint64_t length, size_t bytes)
{
    size_t room = fg_out_room(out) - (1 + 8 + 1);
    size_t most = room < out->style->string_bytes ? room : out->style->string_bytes;
    struct counted counted;

    counted.is_wide = fg_unlikely(bytes > UINT8_MAX && most > UINT8_MAX);
    counted.most = most - (counted.is_wide && most == room);
    if (counted.is_wide)
        fg_put_tag(out, is_str ? FG_VALUE_TEXT : FG_VALUE_DATA);
    else
        fg_put_tag(out, is_str ? FG_VALUE_STR : FG_VALUE_BYTES);
    fg_put_u64(out, length);
    counted.count = out->at;
    out->at += counted.is_wide ? 2 : 1;
    return counted;
}

static inline void close_text(const struct counted *counted, size_t n)
{
    uint16_t wide = (uint16_t)n;

    if (counted->is_wide)
        memcpy(counted->count, &wide, sizeof(wide));
    else
        *counted->count = (uint8_t)n;
}

static inline void put_text(struct fg_out *out, bool is_str, const void *text, size_t bytes, size_t length)
{
    struct counted counted = open_text(out, is_str, length, bytes);
    size_t n = bytes < counted.most ? bytes : counted.most;

    out->at = fg_copy_short(out->at, text, n);
    close_text(&counted, n);
}

/* Writes as many characters from the start as fit whole. */
FG_NOINLINE static void put_wide_str(struct fg_out *out, PyObject *value)
{
    Py_ssize_t length = PyUnicode_GET_LENGTH(value);
    struct counted counted = open_text(out, true, (uint64_t)length, 4 * (size_t)length);
    size_t n = 0;

    for (Py_ssize_t i = 0; i < length; i++) {
        uint8_t utf8[4];
        size_t bytes = fg_utf8_of(PyUnicode_READ_CHAR(value, i), utf8);

        if (n + bytes > counted.most)
            break;
        fg_put_bytes(out, utf8, bytes);
        n += bytes;
    }
    close_text(&counted, n);
}

void fg_put_str(struct fg_out *out, PyObject *value)
{
    size_t length = (size_t)PyUnicode_GET_LENGTH(value);

    if (fg_likely(PyUnicode_IS_ASCII(value)))
        put_text(out, true, PyUnicode_DATA(value), length, length);
    else
        put_wide_str(out, value);
}

void fg_put_utf8(struct fg_out *out, const char *text, size_t bytes, size_t characters)
{
    put_text(out, true, text, bytes, characters);
}

void fg_put_byte_string(struct fg_out *out, PyObject *value)
{
    size_t length = (size_t)PyBytes_GET_SIZE(value);

    put_text(out, false, PyBytes_AS_STRING(value), length, length);
}

Py_ssize_t fg_container_length(PyObject *value)
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

void fg_put_object(struct fg_out *out, PyObject *value)
{
    Py_ssize_t length = fg_container_length(value);

    fg_put_tag(out, length >= 0 ? FG_VALUE_SIZED : FG_VALUE_OBJECT);
    fg_put_u64(out, length >= 0 ? (uint64_t)length : (uint64_t)(uintptr_t)value);
    fg_put_type_name(out, Py_TYPE(value));
}

bool fg_put_exact(struct fg_out *out, PyObject *value)
{
    uint8_t *end = fg_copy_short_value(out->at, value, out->style);

    if (fg_likely(end != NULL))
        out->at = end;
    else if (PyLong_CheckExact(value))
        fg_put_int(out, value);
    else if (PyUnicode_CheckExact(value))
        fg_put_str(out, value);
    else if (PyBytes_CheckExact(value))
        fg_put_byte_string(out, value);
    else
        return false;
    return true;
}
