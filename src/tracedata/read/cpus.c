/* See cpus.h. */
#include "tracedata/read/cpus.h"

#include <errno.h>
#include <stdlib.h>

/* Moves the cursor to the earliest event of all CPUs. */
static void take_head(struct fg_cursor *cursor)
{
    const struct fg_cursor_heap *heap = &cursor->cpus->heap;

    cursor->at_end = heap->n == 0;
    if (heap->n)
        cursor->head = heap->cursors[0]->head;
}

static int advance(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    struct fg_cpus *cpus = cursor->cpus;
    struct fg_cursor *earliest;
    int32_t tid;
    int error;

    if (cpus->heap.n == 0)
        return 0;
    earliest = cpus->heap.cursors[0];
    tid = earliest->head.tid;
    error = fg_cursor_advance(earliest, reason);
    if (!error && !earliest->at_end && earliest->head.tid != tid)
        error = fg_thread_table_find(cpus->threads, &earliest->head);
    if (error)
        return error;
    fg_cursor_heap_settle(&cpus->heap);
    take_head(cursor);
    return 0;
}

static int open_cpu(struct fg_cpus *cpus, const struct fg_trace_file *file, uint32_t lane,
                    uint32_t window_bytes, char reason[FG_REASON_BYTES])
{
    struct fg_cursor *cursor = &cpus->cursors[cpus->n++];
    int error = fg_cursor_open(cursor, file, NULL, lane, 0, window_bytes, reason);

    if (error || cursor->at_end)
        return error;
    cpus->heap.cursors[cpus->heap.n++] = cursor;
    return fg_thread_table_find(cpus->threads, &cursor->head);
}

int fg_cpus_open(struct fg_cursor *cursor, const struct fg_trace_file *file, struct fg_thread_table *threads,
                 const uint32_t *lanes, uint32_t nr_lanes, uint32_t window_bytes,
                 char reason[FG_REASON_BYTES])
{
    struct fg_cpus *cpus = calloc(1, sizeof(*cpus));
    int error = 0;

    *cursor = (struct fg_cursor){.file = file, .cpus = cpus, .advance_cpus = advance, .at_end = true};
    reason[0] = 0;
    if (!cpus)
        return -ENOMEM;
    cpus->threads = threads;
    cpus->cursors = calloc(nr_lanes + (size_t)1, sizeof(*cpus->cursors));
    cpus->heap.cursors = calloc(nr_lanes + (size_t)1, sizeof(*cpus->heap.cursors));
    if (!cpus->cursors || !cpus->heap.cursors)
        return -ENOMEM;
    for (uint32_t i = 0; i < nr_lanes && !error; i++)
        error = open_cpu(cpus, file, lanes[i], window_bytes, reason);
    if (error)
        return error;
    fg_cursor_heap_make(&cpus->heap);
    take_head(cursor);
    return 0;
}

void fg_cpus_close(struct fg_cursor *cursor)
{
    struct fg_cpus *cpus = cursor->cpus;

    if (!cpus)
        return;
    for (uint32_t i = 0; i < cpus->n; i++)
        fg_cursor_close(&cpus->cursors[i]);
    free(cpus->cursors);
    free((void *)cpus->heap.cursors);
    free(cpus);
    *cursor = (struct fg_cursor){0};
}
