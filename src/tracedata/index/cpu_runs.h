/* Runs of threads on the CPUs of a kernel's trace. */
#ifndef FG_CPU_RUNS_H
#define FG_CPU_RUNS_H

#include "tracedata/index/run_set.h"
#include "tracedata/read/merge.h"

/* Reads a whole trace. Return: 0; -ENOMEM; or an error of fg_merge_next(). */
int fg_cpu_runs_make(struct fg_run_set *set, struct fg_merge *merge);

#endif
