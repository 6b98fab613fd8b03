/* Makes the table of runs of a trace. */
#ifndef FG_RUN_MAKER_H
#define FG_RUN_MAKER_H

#include "tracedata/index/run_table.h"
#include "tracedata/read/merge.h"

/* What a table is made from. */
struct fg_run_source {
    struct fg_merge *merge;
    const uint8_t *func_flags; /* enum fg_func_flags of each function */
    size_t nr_functions;
    size_t most_runs, most_roots; /* at least 2 */
};

/* Reads a whole trace. Return: 0; -ENOMEM; or an error of fg_merge_next(). The table must be freed in any
 * case. */
int fg_run_table_make(struct fg_run_table *table, const struct fg_run_source *source);

#endif
