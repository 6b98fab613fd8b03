/* A trace, opened and checked: a `.fg` (recorded.h), or a trace.dat of version 6 or 7: where each lane's
 * pages lie, and the trace's own JSON. A trace.dat that trace-cmd recorded has no JSON: its head has the
 * texts that tell its events and names (dat_head.h, kernel.h).
 *
 * It is read with pread() and not mapped. So a file that is truncated meanwhile gives an error and no
 * SIGBUS, and no more memory is used than is asked for. */
#ifndef FG_TRACE_FILE_H
#define FG_TRACE_FILE_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/trace_clock.h"
#include "tracedata/read/dat/dat_head.h"
#include "tracedata/read/dat/kernel.h"
#include "tracedata/read/dat/section_walk.h"
#include "tracedata/read/fg/recorded.h"

struct fg_trace_file {
    int fd;
    uint64_t bytes;
    uint32_t nr_cpus; /* lanes of each buffer */
    uint32_t nr_buffers;
    uint32_t nr_lanes;
    struct fg_lane_data *lanes; /* of the top instance's buffer, then of the others */
    size_t lanes_capacity;
    enum fg_clock_unit unit; /* of the times of events */
    char *meta;              /* JSON; NULL of a kernel's trace */
    size_t meta_bytes;
    uint32_t nr_unlisted;             /* functions of a .fg, if they are too many for `meta`: else 0 */
    struct fg_dat_head head;          /* of a trace.dat */
    uint32_t page_header_bytes;       /* before the data of a page */
    struct fg_kernel *kernel;         /* of a kernel's trace: what its records are; NULL of funcgraph's own */
    struct fg_blocks *blocks;         /* of version 7, for one thread at a time; NULL of version 6 */
    bool has_chunks;                  /* the lanes are compressed, see sections.h */
    struct fg_recorded *recorded;     /* of a .fg, which has no `lanes` here; NULL of a trace.dat */
    struct fg_event_table own_events; /* of a trace.dat: those that its JSON names */
    struct fg_reading *reading;       /* of all that is read of the lanes; NULL: nobody counts */
};

/* Return: 0; -EINVAL: the file is not a trace, or -ENOTSUP: it is compressed, and nothing here
 * can decompress it (codec.h), and in both cases `reason` says why; or another negative errno, and `reason`
 * is empty. */
int fg_trace_file_open(const char *path, struct fg_trace_file *file, char reason[FG_REASON_BYTES]);
/* The same for a file that is open for reading. @fd stays the caller's, who may close it. */
int fg_trace_file_open_fd(int fd, struct fg_trace_file *file, char reason[FG_REASON_BYTES]);
void fg_trace_file_close(struct fg_trace_file *file);

/* Appends one of the functions that `meta` does not list, as its list would have it (trace_meta.h).
 * @number: below file->nr_unlisted */
void fg_trace_file_put_function(const struct fg_trace_file *file, uint32_t number, struct fg_text *json);

/* Says what the next kind of event of a trace.dat is; of a .fg it is known already. Return: 0; -EINVAL:
 * @words describe no event; or -ENOMEM. */
int fg_trace_file_add_event(struct fg_trace_file *file, const struct fg_event_words *words);

/* What the events from FG_EVENT_FIRST_DYNAMIC on are. */
static inline const struct fg_event_table *fg_trace_file_events(const struct fg_trace_file *file)
{
    return file->recorded ? &file->recorded->contents.events : &file->own_events;
}

/* How many cursors read it: one for each lane; of a kernel's trace one for each buffer. */
static inline uint32_t fg_trace_file_nr_cursors(const struct fg_trace_file *file)
{
    return file->kernel ? file->nr_buffers : file->nr_lanes;
}

/* Appends a part of a trace.dat's head; nothing if the file lacks it. Return: as fg_trace_file_read(). */
int fg_trace_file_read_part(const struct fg_trace_file *file, enum fg_dat_part_name name,
                            struct fg_text *text, char reason[FG_REASON_BYTES]);

/* Reads exactly `bytes` at `offset`. Return: as fg_trace_file_open(). */
int fg_trace_file_read(const struct fg_trace_file *file, uint64_t offset, void *into, size_t bytes,
                       char reason[FG_REASON_BYTES]);

#endif
