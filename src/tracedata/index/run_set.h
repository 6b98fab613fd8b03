/* Collects the roots and runs of a table (run_table.h), in bounded memory. */
#ifndef FG_RUN_SET_H
#define FG_RUN_SET_H

#include <stdbool.h>

#include "tracedata/index/run_table.h"

#define FG_LEFT_OUT (UINT32_MAX - 1) /* a root that is only counted */

struct fg_run {
    uint64_t begin_ns, end_ns;
    uint64_t nr_calls;
    uint32_t root, task, depth, nr_depths;
};

struct fg_run_set {
    struct fg_run_table *table; /* gets the roots at once, the runs at the end */
    struct fg_run *runs;
    size_t nr_runs, capacity;
    size_t most_runs, most_roots;
    unsigned gap_bits;
    /* Runs of one root are of many threads, so those that are close together are not one. If there are too
     * many, the shortest are left out. */
    bool drops_short;
};

/* A root is what @root says of its function, maker, kind and CPU. Sets @number to its place, or FG_LEFT_OUT.
 * Return: 0 or -ENOMEM. */
int fg_run_set_add_root(struct fg_run_set *set, const struct fg_run_root *root, uint32_t *number);
/* Return: 0 or -ENOMEM. */
int fg_run_set_add(struct fg_run_set *set, const struct fg_run *run);
/* Gives the runs to the table. Return: 0 or -ENOMEM. */
int fg_run_set_finish(struct fg_run_set *set);
void fg_run_set_free(struct fg_run_set *set); /* not the table */

#endif
