/* Layouts of objects that a text stands for: Decimal, timezone. Those of dates are public (datetime.h). */
#ifndef FG_COMPAT_SHOWN_H
#define FG_COMPAT_SHOWN_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

/* Modules/_decimal: a Decimal holds a libmpdec number, whose coefficient has words of 19 digits, the least
 * first. */
#define FG_DECIMAL_WORD_DIGITS 19
#define FG_DECIMAL_NEGATIVE 1
#define FG_DECIMAL_INFINITE 2
#define FG_DECIMAL_NAN 4
#define FG_DECIMAL_SNAN 8

struct fg_decimal {
    PyObject_HEAD;
    Py_hash_t hash;
    uint8_t flags;
    Py_ssize_t exponent, digits, len, alloc;
    uint64_t *words;
    uint64_t own_words[4];
};

/* Modules/_datetimemodule.c */
struct fg_timezone {
    PyObject_HEAD;
    PyObject *offset, *name;
};

#endif
