/* Which functions, and which calls of them, a user wants. */
#ifndef FG_FILTER_H
#define FG_FILTER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/function.h"
#include "engine/core/pattern.h"
#include "engine/core/public.h"

/* How a user sees calls that the interpreter makes to handle a signal. */
enum fg_irqs {
    FG_IRQS_ARE_CALLS, /* as any other call */
    FG_IRQS_MARKED,    /* fg_frame_is_irq() tells them from other calls */
    FG_IRQS_HIDDEN,    /* the user sees neither these calls nor what they call */
};

/* A filter without FGRAPH_FILTER patterns wants all functions but native ones: of these, only patterns
 * with ":mod:" select any, those of FGRAPH_GRAPH, too. */
struct fg_filter {
    struct fg_patterns sets[FGRAPH_NR_FILTER_SETS]; /* by enum fgraph_filter_set */
    struct fg_tids *tids;                           /* only calls in threads of this set; NULL: in all */
    /* Also C functions, when functions of the filter call them; not subject to FGRAPH_FILTER. */
    bool c_calls;
    bool no_brief; /* of these, none that is FG_FUNC_BRIEF */
    enum fg_irqs irqs;
};

/* What must be checked at each call of a function before a user's entryfunc (marks.c). 0: nothing. */
#define FG_USER_TIDS 1u           /* is the call in one of the user's threads? */
#define FG_USER_GRAPH_ONLY 2u     /* is it below a function of the user's graph set? */
#define FG_USER_GRAPH_ROOT 4u     /* the function is in that set */
#define FG_USER_GRAPH_MAY_HIDE 8u /* is it below a function of the user's graph_notrace set? */
#define FG_USER_GRAPH_HIDES 16u   /* the function is in that set */
#define FG_USER_SILENT 32u        /* the user does not see the calls, only what they begin or hide */
#define FG_USER_CALLER 64u        /* a C function: is its caller one that the user is attached to? */
#define FG_USER_IRQ 128u          /* does the interpreter make the call to handle a signal? */
#define FG_USER_IRQ_HIDES 256u    /* if so, the user sees neither the call nor what it calls */

void fg_filter_clear(struct fg_filter *filter);
/* -ENOMEM: @to is empty. */
int fg_filter_copy(struct fg_filter *to, const struct fg_filter *from);

/**
 * fg_filter_add() - Add patterns to one of a filter's sets.
 * @filter: keeps the patterns before the first bad one
 * @set: which set
 * @texts: the patterns
 * @n: how many
 * @error: filled in with -EINVAL
 *
 * Return: 0; -EINVAL: one of them is not a pattern; -ENOMEM.
 */
int fg_filter_add(struct fg_filter *filter, enum fgraph_filter_set set, const char *const texts[], size_t n,
                  struct fg_pattern_error *error);
/* A filter that wants no function. -ENOMEM: @filter is empty. */
int fg_filter_make_none(struct fg_filter *filter);

/* True if the user must be attached to the function. fg_filter_flags() returns what to check
 * at its calls. */
bool fg_filter_matches(const struct fg_filter *filter, const struct fg_func *func);
/* True if one of the patterns is the function's whole name. Only a whole name selects a C function
 * for all callers. */
bool fg_filter_names(const struct fg_filter *filter, const struct fg_func *func);
uint32_t fg_filter_flags(const struct fg_filter *filter, const struct fg_func *func);

/**
 * fg_tids_new() - Make a set of threads.
 * @only: its @n threads; NULL: all threads
 * @never: @n_never threads that are not in it, whatever @only has
 *
 * Return: the set, to be freed with free(); NULL: memory is short.
 */
struct fg_tids *fg_tids_new(const int only[], size_t n, const int never[], size_t n_never);
/* The threads of @only; NULL: all threads. */
const int *fg_tids_array(const struct fg_tids *set, size_t *n);
bool fg_tids_has(const struct fg_tids *set, int tid);

#endif
