/* The lines of an expectation, and whether a recorded call is what a line says by itself: by its function,
 * its arguments and its end. What it calls is compared in call_matcher.h. docs/guides/expect.md has the
 * language. */
#ifndef FG_EXPECTED_CALLS_H
#define FG_EXPECTED_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/text.h"

#define FG_ANY_CALLS UINT32_MAX  /* an item: `...` */
#define FG_ANY_NUMBER UINT32_MAX /* of calls */

/* All globs are texts in UTF-8 that end with a zero. */

struct fg_expected_argument {
    const char *name;
    size_t name_bytes;
    const char *value; /* a glob */
};

/* What the name of a function stands for: `save` also for `shop.Cart.save`. */
struct fg_expected_name {
    const char *globs[2]; /* the second one may be NULL */
};

struct fg_expected_line {
    const uint32_t *items; /* what it calls: numbers of lines, in ascending order, or FG_ANY_CALLS */
    const struct fg_expected_argument *arguments;
    const char *result;   /* a glob for the result or the exception; NULL: it may be anything */
    uint32_t name;        /* its number */
    uint32_t least, most; /* so many such calls, one after the other; `most` may be FG_ANY_NUMBER */
    uint32_t nr_items, nr_arguments;
    bool has_items;     /* else it may call anything */
    bool has_arguments; /* else they may be anything */
    bool has_more;      /* other arguments may follow */
    bool raises;
};

/* Lines in the order of the text, and behind them the sections: lines of which only the items count. */
struct fg_expectation {
    struct fg_expected_name *names;
    struct fg_expected_line *lines;
    const char **functions; /* names of the trace's functions */
    uint8_t **known;        /* by function: which names it has, as far as that was looked at; or NULL */
    uint32_t nr_names, nr_lines, nr_sections, nr_functions;
};

/* Whether the function has the name. */
bool fg_expected_function(const struct fg_expectation *expectation, uint32_t name, uint32_t func);

/* The arguments of a call, from a text like "n=3, s='abc'". */
struct fg_argument_texts {
    struct fg_argument_text {
        const char *name, *value; /* the value ends with a zero */
        size_t name_bytes;
    } * texts;
    size_t n, capacity;
};

/* Takes the text apart: zeros are put into it. Return: 0 or -ENOMEM. */
int fg_split_arguments(struct fg_argument_texts *arguments, struct fg_text *text);
bool fg_expected_arguments(const struct fg_expected_line *line, const struct fg_argument_texts *arguments);

#endif
