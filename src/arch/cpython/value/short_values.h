/* The values that most arguments and attributes have, written inline: None, bools, ints of one digit, floats,
 * short texts of ASCII. Each takes at most FG_VALUE_MAX_BYTES. */
#ifndef FG_CPYTHON_SHORT_VALUES_H
#define FG_CPYTHON_SHORT_VALUES_H

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/base/compat/text.h"
#include "arch/cpython/value/value_out.h"
#include "engine/base/compiler.h"

static inline uint8_t *fg_copy_int(uint8_t *at, int64_t number)
{
    if (number == (int8_t)number) {
        at = fg_copy_tag(at, FG_VALUE_INT8);
        *at = (uint8_t)number;
        return at + 1;
    }
    return fg_copy_u64(fg_copy_tag(at, FG_VALUE_INT64), (uint64_t)number);
}

/* Return: NULL: the text is too long, or not of ASCII. */
static inline uint8_t *fg_copy_short_str(uint8_t *at, PyObject *text, const struct fg_value_style *style)
{
    size_t length = (size_t)PyUnicode_GET_LENGTH(text);

    if (fg_unlikely(!PyUnicode_IS_COMPACT_ASCII(text) || length > FG_VALUE_MAX_TEXT ||
                    length > style->string_bytes))
        return NULL;
    at = fg_copy_u64(fg_copy_tag(at, FG_VALUE_STR), length);
    return fg_copy_counted(at, (const PyASCIIObject *)text + 1, length);
}

/**
 * fg_copy_short_value() - Write a value of an exact type that takes little room.
 *
 * Return: where it ends; NULL: the value is none of these. Bytes at @at may be overwritten then.
 */
static inline uint8_t *fg_copy_short_value(uint8_t *at, PyObject *value, const struct fg_value_style *style)
{
    const PyTypeObject *type = Py_TYPE(value);
    int64_t number;

    if (type == &PyLong_Type)
        return fg_likely(fg_int_is_compact(value, &number)) ? fg_copy_int(at, number) : NULL;
    if (type == &PyUnicode_Type)
        return fg_copy_short_str(at, value, style);
    if (value == Py_None)
        return fg_copy_tag(at, FG_VALUE_NONE);
    if (type == &PyBool_Type)
        return fg_copy_tag(at, value == Py_True ? FG_VALUE_TRUE : FG_VALUE_FALSE);
    if (type == &PyFloat_Type) {
        at = fg_copy_tag(at, FG_VALUE_FLOAT);
        memcpy(at, &((PyFloatObject *)value)->ob_fval, sizeof(double));
        return at + sizeof(double);
    }
    return NULL;
}

#endif
