/* A `.fg` file as a trace: what its chunks say, with what only all of them together tell: lanes, the numbers
 * of functions, and the line from ticks to nanoseconds. A file that still grows is read as it is now. */
#ifndef FG_RECORDED_H
#define FG_RECORDED_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/reading.h"
#include "tracedata/base/text.h"
#include "tracedata/read/fg/lanes.h"
#include "tracedata/read/fg/ranks.h"
#include "tracedata/spool/contents.h"

struct fg_recorded {
    int fd; /* the file's owner closes it */
    struct fg_contents contents;
    struct fg_lanes lanes;
    size_t *first_tasks;  /* lane -> its first one in lanes.tasks; one more element ends the last */
    uint32_t **functions; /* per ring: function id -> index in the trace, or FG_FUNC_UNKNOWN */
    enum fg_clock_unit unit;
    bool is_complete;     /* the recording has ended */
    uint64_t whole_bytes; /* of the complete file; 0: it never was */
    uint64_t end;         /* of its chunks in the file */
};

/* Return: 0; -EINVAL: the file is no `.fg`; -ENOTSUP: it is compressed in a way that nothing here can
 * decompress; or another negative errno. It must be closed in any case. */
int fg_recorded_open(int fd, struct fg_recorded *recorded);
void fg_recorded_close(struct fg_recorded *recorded);

/* Replaces what the recording was asked for, the text of a JSON object. Return: 0 or -ENOMEM. */
int fg_recorded_set_meta(struct fg_recorded *recorded, const char *meta, size_t bytes);

/* Appends the trace's JSON (trace_meta.h) with the functions from @first_function on. */
void fg_recorded_describe(const struct fg_recorded *recorded, size_t first_function, struct fg_text *json);

/* function id -> index in the trace, for the ids below ring->functions_capacity. NULL: memory is short. */
uint32_t *fg_recorded_functions(const struct fg_symbols *symbols, const struct fg_trace_ring *ring);

/* Pieces that are read one after the other. */
struct fg_piece_run {
    const struct fg_piece *next, *end;
    const struct fg_piece *wanted; /* those before it are read ahead, or were not to be */
    uint32_t nr_read;
};

struct fg_read_ahead;

/* What the lanes of one pass over the trace share. All zeros but for the trace: fg_row_pass_begin(). */
struct fg_row_pass {
    const struct fg_recorded *recorded;
    struct fg_chunk_reader chunks;
    struct fg_read_ahead *ahead; /* NULL: not yet, or there is none */
    bool may_read_ahead;
    struct fg_ranks ranks;      /* on the clock `counter` */
    uint64_t damaged_at;        /* offset of the first damaged place that was found; 0: there is none */
    struct fg_reading *reading; /* NULL: nobody counts */
};

/* Return: 0 or a negative errno. The pass must be ended in any case. */
int fg_row_pass_begin(struct fg_row_pass *pass, const struct fg_recorded *recorded);
void fg_row_pass_end(struct fg_row_pass *pass);

/* The pieces of a task. */
static inline struct fg_piece_run fg_piece_run(const struct fg_trace_task *task)
{
    return (struct fg_piece_run){.next = task->pieces, .end = task->pieces + task->nr_pieces};
}

/* Reads the records of the next piece of a run, which must have one, into pass->chunks.records. Return: 1; 0:
 * the piece is damaged; or a negative errno. */
int fg_row_pass_read(struct fg_row_pass *pass, struct fg_piece_run *run, size_t *record_bytes);

#endif
