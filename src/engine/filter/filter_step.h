/* A step of an event filter: a term of its program, made ready for its field's type. filter_run.c runs steps,
 * filter_make.c makes them, filter_value.c compares values that have no type. */
#ifndef FG_EVENT_FILTER_STEP_H
#define FG_EVENT_FILTER_STEP_H

#include "engine/filter/filter.h"

enum fg_filter_test {
    FG_FILTER_RANGE, /* an integer is in a range: all of == < <= > >= */
    FG_FILTER_CPU_RANGE,
    FG_FILTER_MASK, /* an integer has one of some bits */
    FG_FILTER_SET,  /* an integer is in a set */
    FG_FILTER_NEVER,
    FG_FILTER_REAL, /* a floating-point number compares so */
    FG_FILTER_TEXT, /* a text is this one */
    FG_FILTER_GLOB, /* a text matches */
    FG_FILTER_VALUE /* an object or any value: by what the image has there */
};

enum fg_filter_from {
    FG_FILTER_FROM_IMAGE,
    FG_FILTER_FROM_CHARACTERS, /* a text in an array of characters */
    FG_FILTER_FROM_CPU,
    FG_FILTER_FROM_COMM,
};

struct fg_filter_step {
    uint8_t test; /* enum fg_filter_test */
    uint8_t from; /* enum fg_filter_from */
    uint8_t size; /* of an integer, in bytes: 1, 2, 4 or 8 */
    bool is_signed;
    uint8_t operation; /* enum fg_event_filter_operation */
    uint8_t operand;   /* enum fg_event_filter_operand */
    uint16_t exits[2]; /* when false, when true */
    struct fg_field field;
    union {
        struct {
            uint64_t low, span;
        };
        uint64_t number; /* the bits of an operand that is a number */
        double real;
        struct {
            const char *text; /* or the u64s of a set, not aligned; in the filter's allocation */
            uint32_t bytes;
            bool is_not; /* a glob: texts that it does not match are meant */
        };
    };
};

struct fg_event_filter {
    uint32_t nr_steps;
    struct fg_filter_step steps[]; /* behind them, texts and sets */
};

/* True if the number is one of the step's set. */
bool fg_filter_set_has(const struct fg_filter_step *step, uint64_t number);
/* For FG_FILTER_REAL. */
bool fg_filter_compare_real(const struct fg_filter_step *step, double real);
/* For FG_FILTER_VALUE. */
bool fg_filter_compare_value(const struct fg_filter_step *step, const uint8_t *image, uint32_t bytes);

#endif
