/* The CPUs of one buffer of a kernel's trace, read as one lane. A thread goes from CPU to CPU in the middle
 * of a call. So its events are one after the other only in all CPUs' events, in order of time.
 *
 *     CPU 0:   a() {   ...                } b()        one lane:   a() {   c() {   }   } a()   ...
 *     CPU 1:           c() {   } c   } a()                  each event with the number of its thread */
#ifndef FG_CPUS_H
#define FG_CPUS_H

#include "tracedata/read/cursor_heap.h"
#include "tracedata/read/thread_table.h"

struct fg_cpus {
    struct fg_cursor *cursors;
    uint32_t n;
    struct fg_cursor_heap heap;
    struct fg_thread_table *threads;
};

/**
 * fg_cpus_open() - Read lanes as one.
 * @cursor: is at the first event of all, or at its end; to be closed by fg_cpus_close()
 * @threads: the numbers of all threads; stays the caller's, and must live as long
 * @lanes: of one buffer, in order
 *
 * Return: as fg_cursor_open().
 */
int fg_cpus_open(struct fg_cursor *cursor, const struct fg_trace_file *file, struct fg_thread_table *threads,
                 const uint32_t *lanes, uint32_t nr_lanes, uint32_t window_bytes,
                 char reason[FG_REASON_BYTES]);
void fg_cpus_close(struct fg_cursor *cursor);

#endif
