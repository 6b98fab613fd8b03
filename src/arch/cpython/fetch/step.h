/* A step of a fetch program: from an object to its attribute, its item, its length or some of its bits. */
#ifndef FG_CPYTHON_FETCH_STEP_H
#define FG_CPYTHON_FETCH_STEP_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

/* X(id, name in a definition, what follows the name there) */
#define FG_FETCH_STEPS(X)                                                                                    \
    X(ATTR, "attr", TEXT)                                                                                    \
    X(INDEX, "index", NUMBER)                                                                                \
    X(KEY, "key", EITHER)                                                                                    \
    X(LEN, "len", NOTHING)                                                                                   \
    X(BITS, "bits", NUMBER)

enum fg_fetch_step_kind {
#define X(id, name, operand) FG_FETCH_STEP_##id,
    FG_FETCH_STEPS(X)
#undef X
};

/* The operand of "bits": the first bit, from the lowest, and how many there are. They lie in 64. */
#define FG_FETCH_FIRST_BIT(number) ((uint64_t)(number)&0xff)
#define FG_FETCH_NR_BITS(number) ((uint64_t)(number) >> 8)

/* What the lookup of an attribute found the last time. It saves the next one the search. It is verified
 * each time, so it may be wrong. Written with the GIL held; not used in builds without it. */
struct fg_fetch_hint {
    const PyTypeObject *type; /* where `found` was looked up, with this version; 0: nothing is known */
    uint32_t version;
    uint8_t way;       /* enum way of attr.c */
    uint8_t member;    /* the type of a member */
    int32_t entry;     /* among the keys of instance dictionaries */
    PyObject *found;   /* in the type, which keeps it alive as long as it has this version; or NULL */
    Py_ssize_t offset; /* in an instance */
};

/* The name, text or number that a source or a step has. */
struct fg_fetch_operand {
    PyObject *key;    /* an interned str, or an exact int; owned. NULL: there is none */
    Py_hash_t hash;   /* of it */
    const char *text; /* UTF-8 with a NUL, owned by `key`; NULL: it is an int */
    int64_t number;   /* the int */
};

struct fg_fetch_step {
    enum fg_fetch_step_kind kind;
    struct fg_fetch_operand operand;
    struct fg_fetch_operand hidden; /* of the attributes value and name: where an enum keeps them */
    PyObject *enum_property;        /* of enum.Enum, which they are read through; owned; or NULL */
    struct fg_fetch_operand method; /* "__getattribute__" or "__getitem__", which a class may have */
    struct fg_fetch_hint *hint;
};

#endif
