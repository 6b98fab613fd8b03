/* What this Python can tell: one table, for the C API, the Python API and `funcgraph status`. */
#ifndef FG_CPYTHON_CAPABILITIES_H
#define FG_CPYTHON_CAPABILITIES_H

#include "arch/cpython/base/compat/python.h"

#include <stdbool.h>
#include <stddef.h>

#ifdef Py_GIL_DISABLED
#define FG_HAVE_GIL 0
#else
#define FG_HAVE_GIL 1
#endif

/* X(name, whether this Python has it, meaning): the names are public. docs/reference/compatibility.md has
 * the same rows, and tests/binding/graph/test_capabilities.py compares each with what really happens. */
#define FG_CAPABILITIES(X)                                                                                   \
    X(c_arguments, FG_HAVE_MONITORING, "the first argument of a C function's call, if passed by position")   \
    X(exact_nmissed, !FG_HAVE_MONITORING, "nmissed counts every call that a callback made")                  \
    X(other_threads, FG_HAVE_GIL, "the calls in progress of other threads can be read")                      \
    X(free_kprobes, FG_HAVE_MONITORING &&FG_HAVE_GIL,                                                        \
      "a kprobe costs nothing at other places of its function")                                              \
    X(free_unselected, FG_HAVE_MONITORING &&FG_HAVE_GIL, "functions that no user selected cost nothing")

struct fg_capability {
    const char *name, *meaning;
    bool is_there;
};

extern const struct fg_capability fg_capabilities[];
extern const size_t fg_nr_capabilities;

/* Return: 1: this Python has it; 0: it has not; -EINVAL: there is no such name. */
int fg_capability(const char *name);

#endif
