/* A trace.dat file, opened and checked: where each lane's pages lie, and the trace's own JSON.
 *
 * Read with pread, not mapped: a file that somebody cuts short while we read it is then an error message and
 * not a signal, and memory use is what we ask for and no more. */
#ifndef FG_TRACE_FILE_H
#define FG_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

/* Why something in the file cannot be read, as one line for a person. */
#define FG_REASON_BYTES 200

struct fg_lane_data {
    uint64_t offset;
    uint64_t bytes;
};

struct fg_trace_file {
    int fd;
    uint64_t bytes;
    uint32_t nr_cpus; /* lanes of each buffer */
    uint32_t nr_buffers;
    uint32_t nr_lanes;
    struct fg_lane_data *lanes; /* of the top instance's buffer, then of the others' */
    size_t lanes_capacity;
    char *meta; /* JSON */
    size_t meta_bytes;
};

/* Returns 0; -EINVAL with `reason` filled for a file that is no trace of ours; or another negative errno
 * with `reason` empty. */
int fg_trace_file_open(const char *path, struct fg_trace_file *file, char reason[FG_REASON_BYTES]);
void fg_trace_file_close(struct fg_trace_file *file);

/* Reads exactly `bytes` at `offset`; same results as fg_trace_file_open. */
int fg_trace_file_read(const struct fg_trace_file *file, uint64_t offset, void *into, size_t bytes,
                       char reason[FG_REASON_BYTES]);

#endif
