/* The image of an index: its bytes in a file, which is read instead of the trace. It is input like any other:
 * all that a query relies on is checked, so a wrong image gives wrong answers at worst.
 *
 *     +-------------------------+ 0
 *     | struct fg_index_header  |
 *     +-------------------------+
 *     | struct fg_index_lane    | lanes
 *     | struct fg_index_task    | tasks
 *     | struct fg_span          | spans, by (lane, depth, class, begin)
 *     | uint32_t                | numbers of spans: by_function
 *     | uint32_t                | numbers of spans: raised
 *     | struct fg_span_cell     | cells of level 0, by (lane, depth, slot); of level 2; ... of level 32
 *     | struct fg_index_block   | blocks, by (lane, time)
 *     | struct fg_index_short   | counts, by (function, block)
 *     | struct fg_index_mark    | marks, by (lane, kind, time)
 *     | struct fg_index_function| functions that were called, by number
 *     | roots and runs          | the columns of FG_ROOT_COLUMNS and FG_RUN_COLUMNS, if it has them
 *     +-------------------------+ header.bytes
 *
 * Zeros follow each of them, up to a multiple of 8 bytes. All numbers are little-endian.
 * docs/reference/trace-file.md describes it. */
#ifndef FG_INDEX_IMAGE_H
#define FG_INDEX_IMAGE_H

#include "tracedata/index/call_index.h"

#define FG_INDEX_MAGIC "FGINDEX\2" /* the last byte is the version */
#define FG_INDEX_KEY_BYTES 32
#define FG_INDEX_MAX_IMAGE_BYTES (UINT64_C(1) << 30)

struct fg_index_header {
    char magic[8];
    uint8_t key[FG_INDEX_KEY_BYTES]; /* says of which trace it is: whoever writes and reads it chooses it */
    uint64_t bytes;                  /* of the image */
    uint32_t crc;                    /* CRC-32 of all after the header */
    uint32_t header_crc;             /* CRC-32 of the header, with 0 here */
    uint32_t base, top;              /* levels */
    uint32_t nr_functions;           /* of the trace */
    uint32_t nr_called;              /* functions */
    uint64_t nr_lanes, nr_tasks, nr_spans, nr_raised, nr_blocks, nr_shorts, nr_marks;
    uint64_t first_ns, last_ns;
    uint64_t nr_cells[FG_INDEX_MAX_LEVELS]; /* of the levels 0, 2, ... 32 */
    uint32_t has_runs;                      /* whether the runs were read: 0 or 1 */
    uint32_t nr_roots;
    uint64_t nr_runs, nr_left_out;
};

/* What an image is of. */
struct fg_index_trace {
    uint8_t key[FG_INDEX_KEY_BYTES];
    uint32_t nr_functions, nr_tasks, nr_lanes; /* that the trace has */
};

/* Writes the image to an empty file. @runs: NULL: they were not read. Return: 0 or a negative errno. */
int fg_index_image_write(const struct fg_call_index *index, const struct fg_run_table *runs, int fd,
                         const uint8_t key[FG_INDEX_KEY_BYTES]);

/* Reads an index from its image. Return: 0; -EBADMSG: it is not that of this trace, or damaged; or another
 * negative errno. */
int fg_index_image_read(int fd, const struct fg_index_trace *trace, struct fg_call_index **index);

#endif
