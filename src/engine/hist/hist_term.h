/* Terms: the numbers, texts and stacks that a histogram takes from a hit of its event.
 *
 * A term is a short program in postfix form: `count+1` is FIELD count, NUMBER 1, ADD. Python compiles it when
 * the trigger is set. It runs at each hit and reads only the image and what else the hit brings. */
#ifndef FG_HIST_TERM_H
#define FG_HIST_TERM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/regs.h"
#include "engine/ring/field.h"

/* Three operators, as in the kernel, need seven steps; a minus in front needs one more. */
#define FG_HIST_MAX_STEPS 8u
#define FG_HIST_MAX_STACK 16u /* functions of a stack that are kept */

/* X(step, name in a compiled term). TIME is in ns. */
#define FG_HIST_STEPS(X)                                                                                     \
    X(FIELD, "field")                                                                                        \
    X(NUMBER, "number")                                                                                      \
    X(PID, "pid")                                                                                            \
    X(CPU, "cpu")                                                                                            \
    X(TIME, "time")                                                                                          \
    X(TIME_USECS, "time_usecs")                                                                              \
    X(VARIABLE, "variable")                                                                                  \
    X(COMM, "comm")                                                                                          \
    X(STACK, "stack")                                                                                        \
    X(NEGATE, "negate")                                                                                      \
    X(ADD, "add")                                                                                            \
    X(SUBTRACT, "subtract")                                                                                  \
    X(MULTIPLY, "multiply")                                                                                  \
    X(DIVIDE, "divide")

enum fg_hist_op {
#define X(op, name) FG_HIST_##op,
    FG_HIST_STEPS(X)
#undef X
        FG_NR_HIST_OPS
};

struct fg_hist_step {
    uint8_t op;            /* enum fg_hist_op */
    uint8_t index;         /* VARIABLE: in hit->variables */
    struct fg_field field; /* FIELD: no array; of a term of kind STACK an array of functions */
    uint64_t number;       /* NUMBER */
};

/* What a key is made of its value. */
enum fg_hist_modifier {
    FG_HIST_PLAIN,
    FG_HIST_LOG2,    /* the exponent of the least power of two that is not below the number */
    FG_HIST_BUCKETS, /* the lower end of the bucket */
};

/* X(kind, name in a compiled term, words of a key). What a term gives, as far as its fields' types tell.
 *   NUMBER   64 bits, signed or not
 *   REAL     a double
 *   FETCHED, FETCHED_REAL   u64 1: it could not be read, else 0; then as NUMBER and REAL
 *   TEXT     u32 bytes, u32 0, then the text, padded with zeros
 *   COMM     the same
 *   VALUE    u8 enum fg_loaded_kind, u8 bytes of the text, u8 tag of what is no number, zeros up to 8;
 *            u64 number or double; the text, padded
 *   STACK    u32 n, u32 0, the ids of n functions as u32, the innermost first, zeros */
#define FG_HIST_KINDS(X)                                                                                     \
    X(NUMBER, "number", 1)                                                                                   \
    X(REAL, "real", 1)                                                                                       \
    X(FETCHED, "fetched", 2)                                                                                 \
    X(FETCHED_REAL, "fetched_real", 2)                                                                       \
    X(TEXT, "text", 15)                                                                                      \
    X(COMM, "comm", 3)                                                                                       \
    X(VALUE, "value", 8)                                                                                     \
    X(STACK, "stack", 9)

enum fg_hist_kind {
#define X(kind, name, words) FG_HIST_KIND_##kind,
    FG_HIST_KINDS(X)
#undef X
        FG_NR_HIST_KINDS
};

#define FG_HIST_MAX_KEY_WORDS 15u /* of one key: TEXT has most */

struct fg_hist_term {
    uint8_t nr_steps;
    uint8_t kind;     /* enum fg_hist_kind */
    uint8_t modifier; /* enum fg_hist_modifier */
    uint64_t bucket;  /* BUCKETS: the size of one; not 0 */
    struct fg_hist_step steps[FG_HIST_MAX_STEPS];
};

/* A hit, as its event sees it. What fg_hist_needs() does not name may be left zero. */
struct fg_hit {
    const uint8_t *image;
    uint32_t bytes; /* of the image */
    uint32_t cpu;
    uint64_t time_ns;
    const char *comm;                /* the thread's; at most 16 bytes of it count */
    const struct fg_caller *callers; /* the innermost first */
    size_t nr_callers;
    const struct fg_loaded *variables; /* of other histograms: those that the terms refer to */
};

/* What a histogram needs of a hit beside its image. */
enum fg_hist_need {
    FG_HIST_NEEDS_CPU = 1u,
    FG_HIST_NEEDS_TIME = 2u,
    FG_HIST_NEEDS_COMM = 4u,
    FG_HIST_NEEDS_CALLERS = 8u,
};

/* The step of this name, or -1. */
int fg_hist_op_by_name(const char *name);

/* 0, or -EINVAL: a step that has no operands, more than one result, a field that is an array, no bucket. */
int fg_hist_term_check(const struct fg_hist_term *term);
/* A set of enum fg_hist_need. */
uint32_t fg_hist_term_needs(const struct fg_hist_term *term);

/**
 * fg_hist_term_run() - The value of a term at a hit.
 *
 * Integers are 64 bits wide and wrap; a float makes the result a float; division by 0 gives -1. What is not
 * a number makes an expression FG_LOADED_NONE. A container counts with its length. A stack is FG_LOADED_NONE,
 * unless a variable holds it.
 */
struct fg_loaded fg_hist_term_run(const struct fg_hist_term *term, const struct fg_hit *hit);

/**
 * fg_hist_term_stack() - The stack that a term of kind STACK is at a hit.
 * @functions: FG_HIST_MAX_STACK of them, to which the value may refer
 *
 * Return: FG_LOADED_STACK: who called, an array of the event's, or a variable; FG_LOADED_NONE: there is none.
 */
struct fg_loaded fg_hist_term_stack(const struct fg_hist_term *term, const struct fg_hit *hit,
                                    uint32_t *functions);

/* False for a text, None, a stack and what could not be read. */
static inline bool fg_hist_has_number(const struct fg_loaded *value)
{
    return value->kind == FG_LOADED_SIGNED || value->kind == FG_LOADED_UNSIGNED ||
           value->kind == FG_LOADED_FLOAT || value->kind == FG_LOADED_OBJECT;
}

/* False for a text, None and what could not be read, and for a float that is not a number. */
bool fg_hist_is_number(const struct fg_loaded *value);
/* A number as an integer: a float is cut, and what does not fit is the nearest that does; what is no number
 * is 0. */
uint64_t fg_hist_integer(const struct fg_loaded *value);
double fg_hist_real(const struct fg_loaded *value);

#endif
