/* A fetch program of native functions: which values an event reads out of registers and memory at its hook,
 * and where they lie in its image (engine/ring/field.h). It is made once, from the event's definition;
 * native_run.h runs it. Words are what fetch arguments of the kernel's probes work with
 * (Documentation/trace/fprobetrace.rst, "FETCHARGS"). */
#ifndef FG_NATIVE_PROGRAM_H
#define FG_NATIVE_PROGRAM_H

#include "engine/core/public.h"
#include "engine/fetch/layout.h"

/* A program for returns keeps arguments from the entry: a word that says which could be read, then these. */
#define FG_NATIVE_MAX_ENTRY_WORDS (FPROBE_MAX_DATA_BYTES / sizeof(uint64_t) - 1)

/* X(id, name in a definition): where the first word comes from, and what its operand is */
#define FG_NATIVE_SOURCES(X)                                                                                 \
    X(ARG, "arg")       /* an integer or a pointer: its number, from 1 */                                    \
    X(RETVAL, "retval") /* the result's first word */                                                        \
    X(REGISTER, "reg")  /* its number */                                                                     \
    X(STACK, "stack")   /* an entry of the stack: its number */                                              \
    X(SP, "sp")         /* the stack pointer */                                                              \
    X(IP, "ip")         /* the address of the function, or of the place in it */                             \
    X(COMM, "comm")     /* the thread's name: a text */                                                      \
    X(SYMBOL, "symbol") /* the function */                                                                   \
    X(IMM, "imm")       /* the operand, or a text */

enum fg_native_source {
#define X(id, name) FG_NATIVE_##id,
    FG_NATIVE_SOURCES(X)
#undef X
};

struct fg_native_field {
    enum fg_native_source source;
    uint64_t operand;
    char *text;         /* of an IMM that is a text; owned */
    uint32_t nr_derefs; /* the word, plus an offset, is the address of the next word or of the value */
    int64_t derefs[FG_FETCH_MAX_STEPS];
    uint8_t first_bit, nr_bits; /* of a bit field; nr_bits 0: it is none */
    uint8_t entry_word;         /* in the entry data, from 1; 0: it is read at the hook */
};

struct fg_native_program {
    struct fg_fetch_layout layout; /* the names are owned by the program */
    uint32_t nr_entry_words;
    struct fg_native_field *of; /* how each field is read */
};

/**
 * fg_native_program_new() - Make a program of @n fields, to be filled in.
 *
 * Then fg_native_program_set() describes each field, and fg_native_program_finish() lays them out.
 *
 * Return: as fg_fetch_layout_new().
 */
int fg_native_program_new(uint32_t n, enum fg_fetch_place place, struct fg_native_program **made,
                          struct fg_fetch_too_long *too_long);

/**
 * fg_native_program_set() - Say how field @i is read.
 * @name: copied
 * @field: taken over; its text is copied
 *
 * Return: 0; -EINVAL: nothing can be read so: an array or a text that is not in memory, bits of a type that
 * is no integer, a type that only objects have; -ENOMEM.
 */
int fg_native_program_set(struct fg_native_program *program, uint32_t i, const char *name,
                          enum fg_field_type type, uint8_t count, const struct fg_native_field *field);

/* Return: 0; -E2BIG: the image or the entry data would be too long, and @too_long is filled in. */
int fg_native_program_finish(struct fg_native_program *program, struct fg_fetch_too_long *too_long);

/* NULL is allowed. */
void fg_native_program_free(struct fg_native_program *program);

/* How many bytes it keeps from the entry; 0: none. */
static inline uint32_t fg_native_entry_bytes(const struct fg_native_program *program)
{
    return program->nr_entry_words ? (program->nr_entry_words + 1) * (uint32_t)sizeof(uint64_t) : 0;
}

#endif
