/* Reads all records of a kernel's trace once, for what its head does not tell: which tasks have events in
 * each lane, and which addresses occur. Data after damage in a lane is left out; reading it later tells of
 * it. */
#ifndef FG_KERNEL_SCAN_H
#define FG_KERNEL_SCAN_H

#include "engine/base/hash_table.h"
#include "tracedata/read/trace_file.h"

/* So that a damaged file cannot take all memory. What is beyond has no name. */
#define FG_SCAN_TASKS_MAX (1u << 18)
#define FG_SCAN_ADDRESSES_MAX (1u << 20)

struct fg_scan_task {
    uint32_t lane;
    int32_t tid;
    uint64_t first_ns, last_ns, events;
};

/* All zeros: an empty one. */
struct fg_kernel_scan {
    struct fg_scan_task *tasks;
    size_t nr_tasks, tasks_capacity;
    struct fg_hash_table task_table; /* by lane and tid */
    uint64_t *addresses;
    size_t nr_addresses, addresses_capacity;
    struct fg_hash_table address_table;
    uint64_t events, lost; /* of an unknown number lost: 1; the caller sets them to 0 */
};

/**
 * fg_kernel_scan() - Read all records.
 * @file: a kernel's trace with its events, and without addresses
 * @lane: where to begin; 0, then as it was set. Each call reads one lane
 * @scan: to be freed in any case
 *
 * Return: 1: there are more lanes; 0: that was the last; or a negative errno.
 */
int fg_kernel_scan(const struct fg_trace_file *file, uint32_t *lane, struct fg_kernel_scan *scan);
void fg_kernel_scan_free(struct fg_kernel_scan *scan);

#endif
