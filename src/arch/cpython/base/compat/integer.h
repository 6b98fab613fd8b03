/* The numbers that ints hold, also ints of a subclass. Nothing here allocates or raises. */
#ifndef FG_COMPAT_INTEGER_H
#define FG_COMPAT_INTEGER_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

/* The number, if it takes one digit; nearly all do. */
static inline bool fg_int_is_compact(PyObject *object, int64_t *number)
{
#if PY_VERSION_HEX >= 0x030C0000
    if (!PyUnstable_Long_IsCompact((PyLongObject *)object))
        return false;
    *number = PyUnstable_Long_CompactValue((PyLongObject *)object);
    return true;
#else
    Py_ssize_t size = Py_SIZE(object);

    if (size < -1 || size > 1)
        return false;
    *number = (int64_t)size * ((PyLongObject *)object)->ob_digit[0];
    return true;
#endif
}

/* Stores the int's low 64 bits in two's complement. Return: 0: it fits int64_t; 1: it fits uint64_t only;
 * 2: it is greater, 3: it is less than what fits. */
static inline int fg_int_bits(PyObject *object, uint64_t *bits)
{
    int64_t number;
    int overflow = 0;

    if (!fg_int_is_compact(object, &number))
        number = PyLong_AsLongLongAndOverflow(object, &overflow);
    *bits = (uint64_t)number;
    if (overflow == 0)
        return 0;
    *bits = PyLong_AsUnsignedLongLongMask(object);
    if (overflow < 0)
        return 3;
    return _PyLong_NumBits(object) <= 64 ? 1 : 2;
}

/* Stores a number from 0 on with the highest byte first. Return: false: it is negative, or takes more. */
static inline bool fg_int_bytes(PyObject *object, uint8_t *bytes, size_t n)
{
    uint64_t bits;
    int kind = fg_int_bits(object, &bits);

    if (kind == 3 || (kind == 0 && (int64_t)bits < 0) || (size_t)_PyLong_NumBits(object) > 8 * n)
        return false;
#if PY_VERSION_HEX >= 0x030D0000
    return _PyLong_AsByteArray((PyLongObject *)object, bytes, n, 0, 0, 0) == 0;
#else
    return _PyLong_AsByteArray((PyLongObject *)object, bytes, n, 0, 0) == 0;
#endif
}

/* True if both are the same number; @a has at most 64 bits. */
static inline bool fg_int_equal(PyObject *a, PyObject *b)
{
    uint64_t bits[2];
    int kinds[2] = {fg_int_bits(a, &bits[0]), fg_int_bits(b, &bits[1])};

    return kinds[0] < 2 && kinds[0] == kinds[1] && bits[0] == bits[1];
}

/* True if the int, of at most 64 bits, is the number. */
static inline bool fg_int_is_double(PyObject *object, double real)
{
    uint64_t bits;
    int kind = fg_int_bits(object, &bits);

    if (kind == 0)
        return real >= -0x1p63 && real < 0x1p63 && (int64_t)real == (int64_t)bits &&
               (double)(int64_t)real == real;
    return kind == 1 && real >= 0x1p63 && real < 0x1p64 && (uint64_t)real == bits;
}

#endif
