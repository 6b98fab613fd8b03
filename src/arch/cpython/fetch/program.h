/* A fetch program: which values an event reads out of Python objects at its hook, and where they lie in
 * its image (engine/ring/field.h). It is made once, from the event's definition; run.h runs it. */
#ifndef FG_CPYTHON_FETCH_PROGRAM_H
#define FG_CPYTHON_FETCH_PROGRAM_H

#include "arch/cpython/fetch/step.h"
#include "engine/core/public.h"
#include "engine/fetch/layout.h"

/* What an event at a return can keep from the entry: what an fprobe can. */
#define FG_FETCH_MAX_ENTRY_BYTES FPROBE_MAX_DATA_BYTES

/* X(id, name in a definition, what follows the name there) */
#define FG_FETCH_SOURCES(X)                                                                                  \
    X(NAME, "name", TEXT)                                                                                    \
    X(ARG, "arg", NUMBER)                                                                                    \
    X(RETVAL, "retval", NOTHING)                                                                             \
    X(EXC, "exc", NOTHING)                                                                                   \
    X(COMM, "comm", NOTHING)                                                                                 \
    X(STACK, "stack", NUMBER)                                                                                \
    X(SYMBOL, "symbol", NOTHING)                                                                             \
    X(IMM, "imm", EITHER)

enum fg_fetch_source {
#define X(id, name, operand) FG_FETCH_##id,
    FG_FETCH_SOURCES(X)
#undef X
};

struct fg_fetch_field {
    PyObject *name; /* owned */
    enum fg_fetch_source source;
    struct fg_fetch_operand operand;
    bool is_of_entry;         /* of a program for returns: it is read at the entry */
    uint8_t int_bytes;        /* of an integer type that is no array: its length; else 0 */
    struct fg_field in_entry; /* as the program's fields, in the entry data; if is_of_entry */
    /* How many bytes of the entry data the texts of the fields after it need at least. */
    uint16_t later_in_entry;
    uint32_t nr_steps;
    struct fg_fetch_step *steps;
    struct fg_fetch_operand getitem; /* "__getitem__", if the field is an array */
    atomic_int *slot;                /* the variable with this name in the frame that was looked at last */
};

struct fg_fetch_program {
    struct fg_fetch_layout image;
    /* How many bytes a program for returns keeps from the entry; 0: none. At most FG_FETCH_MAX_ENTRY_BYTES.
     * The fixed parts of the fields are the first entry_fixed of them. Their faults begin at
     * entry_faults_at. */
    uint16_t entry_bytes, entry_fixed, entry_faults_at;
    struct fg_fetch_field *of; /* how each field is read; it owns the names */
};

/**
 * fg_fetch_program_new() - Make a program.
 * @fields: a sequence of (name, type, count, source, steps), all of them tuples, str and int:
 *   type is a name of FG_FIELD_TYPES; count is the number of elements, 0 where the field is no array;
 *   source is ("name", NAME), ("arg", N) from 1, ("retval",), ("exc",), ("comm",), ("stack", N),
 *   ("symbol",) or ("imm", INT or TEXT); steps is a tuple of ("attr", NAME), ("index", N),
 *   ("key", TEXT or INT), ("len",) and ("bits", FIRST | N << 8)
 * @place: where the event is; at a return the fields with the sources name and arg are read at the entry
 * @made: set to the program, or to NULL
 *
 * A field of type "value" whose source says its type has that type: "symbol" of ("symbol",) without
 * steps, "string" of ("comm",) and of a text.
 *
 * Return: 0; or with an exception set -EINVAL: this is no such sequence (TypeError, ValueError), or this
 * CPython's objects are laid out otherwise than known (RuntimeError); -E2BIG:
 * the image or the entry data would be too long (OSError), -ENOMEM.
 * Context: the GIL.
 */
int fg_fetch_program_new(PyObject *fields, enum fg_fetch_place place, struct fg_fetch_program **made);

/* Raises OSError: an event takes too much room. Return: -E2BIG. */
int fg_fetch_raise_too_long(const struct fg_fetch_too_long *too_long);

/* With the GIL. NULL is allowed. */
void fg_fetch_program_free(struct fg_fetch_program *program);

#endif
