/* Filters: the patterns and thread ids that Python gives, checked and put into the engine's struct
 * fg_filter. */
#ifndef FG_BINDING_FILTER_H
#define FG_BINDING_FILTER_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "binding/base/types.h"
#include "engine/graph/filter.h"
#include "engine/probe/fprobe.h"

/* Python's names of the sets, by enum fgraph_filter_set. */
extern const char *const fg_filter_set_names[FGRAPH_NR_FILTER_SETS];

/**
 * fg_pattern_tuple - copy a sequence of str into a tuple
 * @what: the argument's name, for error messages
 *
 * The patterns are not parsed. Return: a new reference, or NULL with TypeError.
 */
PyObject *fg_pattern_tuple(PyObject *sequence, const char *what);

/* Parses a tuple of str into one set of a filter. Return: 0, or -1 with ValueError or MemoryError. */
int fg_filter_add_tuple(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *tuple);

/* fg_pattern_tuple and fg_filter_add_tuple. A `sequence` of NULL stands for no patterns. */
int fg_filter_add_sequence(struct fg_filter *filter, enum fgraph_filter_set set, PyObject *sequence,
                           const char *what);

/* fg_filter_add_sequence for all sets. After an error the caller clears the filter, as always. */
int fg_filter_add_sets(struct fg_filter *filter, PyObject *const sequences[FGRAPH_NR_FILTER_SETS]);

/**
 * fg_fprobe_filter_fill - make the filter of fprobes, or of a search, out of two sequences of str
 * @filter: all zeros; the caller clears it, also after an error
 * @what, @notwhat: the arguments' names, for error messages
 * @notpatterns: may be NULL
 *
 * Return: 0, or -1 with TypeError, ValueError or MemoryError.
 */
int fg_fprobe_filter_fill(struct fg_fprobe_filter *filter, PyObject *patterns, const char *what,
                          PyObject *notpatterns, const char *notwhat);

/* Raises ValueError for a pattern that does not parse. Return: NULL. */
PyObject *fg_raise_pattern(const struct fg_pattern_error *error);

/* A tuple of int out of a sequence of native thread ids; None stays None. A new reference, or NULL with
 * TypeError or ValueError. */
PyObject *fg_tid_tuple(PyObject *tids);

/**
 * fg_filter_set_tid_tuples() - Set the filter's threads.
 * @only, @never: what fg_tid_tuple() returned; None: all threads, and none that is left out
 *
 * Return: 0, or -1 with MemoryError.
 */
int fg_filter_set_tid_tuples(struct fg_filter *filter, PyObject *only, PyObject *never);

/**
 * fg_filter_set_tids() - Set the filter's threads, from what a caller gave.
 * @only, @never: sequences of native thread ids; None: all threads, and none that is left out
 *
 * Return: 0, or -1 with TypeError, ValueError or MemoryError.
 */
int fg_filter_set_tids(struct fg_filter *filter, PyObject *only, PyObject *never);

/* The patterns of a set as a tuple of str; thread ids as a tuple of int, or None for all threads. New
 * references, or NULL with an exception. */
PyObject *fg_patterns_to_tuple(const struct fg_patterns *patterns);
PyObject *fg_tids_to_tuple(const struct fg_tids *tids);

/* ---- the methods set_filter, set_notrace, set_graph, set_graph_notrace */

/* Adds patterns, a tuple of str, to a set of the object's filter, or (reset) replaces the set. 0, or -1
 * with an exception. */
typedef int (*fg_edit_filter)(PyObject *self, enum fgraph_filter_set set, PyObject *patterns, bool reset);

/* What each of the methods does. */
PyObject *fg_filter_set_patterns(PyObject *self, enum fgraph_filter_set set, PyObject *args, PyObject *kwargs,
                                 fg_edit_filter edit);

#define FG_FILTER_SETTER(function, set, edit)                                                                \
    static PyObject *function(PyObject *self, PyObject *args, PyObject *kwargs)                              \
    {                                                                                                        \
        return fg_filter_set_patterns(self, set, args, kwargs, edit);                                        \
    }

/* Defines the methods for a type whose objects `edit` changes. */
#define FG_FILTER_SETTERS(edit)                                                                              \
    FG_FILTER_SETTER(set_filter, FGRAPH_FILTER, edit)                                                        \
    FG_FILTER_SETTER(set_notrace, FGRAPH_NOTRACE, edit)                                                      \
    FG_FILTER_SETTER(set_graph, FGRAPH_GRAPH, edit)                                                          \
    FG_FILTER_SETTER(set_graph_notrace, FGRAPH_GRAPH_NOTRACE, edit)

/* Their entries in the type's method table. */
#define FG_FILTER_METHODS                                                                                    \
    {"set_filter", FG_KEYWORDS(set_filter),                                                                  \
     "set_filter(patterns, reset=False): add patterns to `filter`, or replace it."},                         \
        {"set_notrace", FG_KEYWORDS(set_notrace),                                                            \
         "set_notrace(patterns, reset=False): add patterns to `notrace`, or replace it."},                   \
        {"set_graph", FG_KEYWORDS(set_graph),                                                                \
         "set_graph(patterns, reset=False): add patterns to `graph`, or replace it."},                       \
    {                                                                                                        \
        "set_graph_notrace", FG_KEYWORDS(set_graph_notrace),                                                 \
            "set_graph_notrace(patterns, reset=False): add patterns to `graph_notrace`, or replace it."      \
    }

/* ---- the attributes filter, notrace, graph, graph_notrace, which `get` reads: its closure is the set */

#define FG_FILTER_SET_CLOSURE(name) ((void *)(uintptr_t)FGRAPH_##name)

#define FG_FILTER_ATTRIBUTES(get)                                                                            \
    {"filter", get, NULL, "Only these functions; empty: all.", FG_FILTER_SET_CLOSURE(FILTER)},               \
        {"notrace", get, NULL, "Never these functions.", FG_FILTER_SET_CLOSURE(NOTRACE)},                    \
        {"graph", get, NULL, "Only these functions and what they call.", FG_FILTER_SET_CLOSURE(GRAPH)},      \
    {                                                                                                        \
        "graph_notrace", get, NULL, "Neither these functions nor what they call.",                           \
            FG_FILTER_SET_CLOSURE(GRAPH_NOTRACE)                                                             \
    }

#endif
