/* What has been fetched so far, between two steps of a fetch program. */
#ifndef FG_CPYTHON_FETCHED_H
#define FG_CPYTHON_FETCHED_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

enum fg_fetched_kind {
    FG_FETCHED_FAULT,
    FG_FETCHED_OBJECT,
    FG_FETCHED_SIGNED,   /* a number that no object holds, as a length */
    FG_FETCHED_UNSIGNED, /* one beyond INT64_MAX */
    FG_FETCHED_BIG,      /* one beyond 64 bits: n bits; number: 1 if it is negative */
    FG_FETCHED_REAL,
    FG_FETCHED_CHAR,     /* one character of a str */
    FG_FETCHED_TEXT,     /* UTF-8 that no str holds, as the name of a built-in type */
    FG_FETCHED_LENGTHS,  /* lengths that no tuple holds, as an array's shape */
    FG_FETCHED_FUNCTION, /* the id of a function record */
    FG_FETCHED_RAISED,   /* an exception; before 3.12 perhaps its class alone */
};

struct fg_fetched {
    enum fg_fetched_kind kind;
    uint32_t n; /* bytes of `text`, or how many lengths */
    union {
        PyObject *object; /* borrowed, never NULL */
        int64_t number;
        uint64_t word;
        double real;
        Py_UCS4 character;
        const char *text;
        const Py_ssize_t *lengths;
    };
};

static inline struct fg_fetched fg_fetched_fault(void)
{
    return (struct fg_fetched){.kind = FG_FETCHED_FAULT};
}

/* NULL is a fault. */
static inline struct fg_fetched fg_fetched_object(PyObject *object)
{
    return (struct fg_fetched){.kind = object ? FG_FETCHED_OBJECT : FG_FETCHED_FAULT, .object = object};
}

static inline struct fg_fetched fg_fetched_signed(int64_t number)
{
    return (struct fg_fetched){.kind = FG_FETCHED_SIGNED, .number = number};
}

static inline struct fg_fetched fg_fetched_unsigned(uint64_t number)
{
    return (struct fg_fetched){
        .kind = number > INT64_MAX ? FG_FETCHED_UNSIGNED : FG_FETCHED_SIGNED,
        .word = number,
    };
}

static inline struct fg_fetched fg_fetched_real(double real)
{
    return (struct fg_fetched){.kind = FG_FETCHED_REAL, .real = real};
}

static inline struct fg_fetched fg_fetched_char(Py_UCS4 character)
{
    return (struct fg_fetched){.kind = FG_FETCHED_CHAR, .character = character};
}

#endif
