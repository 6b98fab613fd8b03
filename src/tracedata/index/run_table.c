/* See run_table.h: the memory of a table. */
#include "tracedata/index/run_table.h"

#include <stdlib.h>

void fg_run_table_free(struct fg_run_table *table)
{
#define X(name, type, format, text) free(table->roots.name);
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text) free(table->runs.name);
    FG_RUN_COLUMNS(X)
#undef X
    *table = (struct fg_run_table){0};
}
