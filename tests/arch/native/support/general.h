/* Fprobes whose handlers use general registers only (FTRACE_OPS_FL_GENERAL_REGS). */
#ifndef FG_TEST_GENERAL_H
#define FG_TEST_GENERAL_H

#include <stddef.h>
#include <stdint.h>

#include "engine/core/public.h"

/* What the handlers have seen; of the latest call. */
extern struct general {
    uint64_t entries, exits, wrong;
    uint64_t saved; /* entries and exits on the slow path */
    uint64_t ip, sp, arguments[6], reals[8];
    uint64_t results[2], real_results[2];
    int skips;                                   /* what the entry handler answers */
    void (*calls)(void), (*calls_at_exit)(void); /* what the handlers call, or NULL */
} general;

/* Makes a counting fprobe, and zeroes what the handlers have seen. */
void general_probe(struct fprobe *fp, size_t entry_data_size);
/* One whose handlers do nothing. */
void general_probe_nothing(struct fprobe *fp);

#endif
