/* Runs of coroutines and greenlets: when each one that an event loop runs has the thread, and where. Of a
 * kernel's trace: when each thread has a CPU.
 *
 *     thread, depth 1   handler ---|             other --|   handler -----|
 *     depth 2             fetch -|                             fetch ---|
 *     runs              0 ........ 1 ....... 1             0 ............
 *
 * A root is a coroutine that no traced coroutine awaits: an event loop's task has it. Or it is the
 * outermost call of a greenlet, which is known once the greenlet was switched to. A run is a stretch of
 * a root: all calls of its thread meanwhile, at its depth and deeper, are calls of the task.
 *
 * In a kernel's trace a CPU is a root, and a run is a stretch with events of one thread alone.
 *
 * The memory is bounded: if there are too many runs, those of a root that are close together become one; of
 * CPUs the shortest are left out. If there are too many roots, the later ones are only counted. */
#ifndef FG_RUN_TABLE_H
#define FG_RUN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#define FG_NO_CPU UINT32_MAX

/* X(name, number): what a root is. */
#define FG_ROOT_KINDS(X)                                                                                     \
    X(coroutine, 0)                                                                                          \
    X(greenlet, 1) /* its outermost call */                                                                  \
    X(cpu, 2)

enum fg_root_kind {
#define X(name, value) FG_ROOT_##name = (value),
    FG_ROOT_KINDS(X)
#undef X
        FG_NR_ROOT_KINDS,
};

/* X(name, C type, format of Python's struct module, meaning). */
#define FG_ROOT_COLUMNS(X)                                                                                   \
    X(begin_ns, uint64_t, "Q", "when its first run begins")                                                  \
    X(end_ns, uint64_t, "Q", "when its last run ends")                                                       \
    X(ran_ns, uint64_t, "Q", "how long its runs took")                                                       \
    X(first, uint64_t, "Q", "place of its first run")                                                        \
    X(function, uint32_t, "I", "its index; of a CPU FG_FUNC_UNKNOWN")                                        \
    X(calls, uint64_t, "Q", "how many calls began in its runs")                                              \
    X(runs, uint32_t, "I", "how many runs it has; those that became one are one")                            \
    X(depths, uint32_t, "I", "how many levels of calls its runs have")                                       \
    X(maker, uint32_t, "I", "function of the call around its first run, or FG_FUNC_UNKNOWN")                 \
    X(cpu, uint32_t, "I", "the number of a CPU; else FG_NO_CPU")                                             \
    X(kind, uint8_t, "B", "enum fg_root_kind")

#define FG_RUN_COLUMNS(X)                                                                                    \
    X(begin_ns, uint64_t, "Q", "when it begins")                                                             \
    X(end_ns, uint64_t, "Q", "when it ends")                                                                 \
    X(root, uint32_t, "I", "whose it is: place among the roots")                                             \
    X(task, uint32_t, "I", "number of the thread's task")                                                    \
    X(depth, uint32_t, "I", "of the root in its thread")

/* What a root is. */
struct fg_run_root {
    uint32_t func, maker, cpu;
    enum fg_root_kind kind;
};

struct fg_root_columns {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_ROOT_COLUMNS(X)
#undef X
};

struct fg_run_columns {
    size_t n, capacity;
#define X(name, type, format, text) type *name;
    FG_RUN_COLUMNS(X)
#undef X
};

/* Runs are by (root, begin). */
struct fg_run_table {
    struct fg_root_columns roots;
    struct fg_run_columns runs;
    uint64_t nr_left_out; /* roots */
};

void fg_run_table_free(struct fg_run_table *table);

#endif
