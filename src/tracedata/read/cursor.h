/* Walks one lane of a trace, event by event: that of a `.fg` (row_lane.h), or the pages of a trace.dat. Of a
 * kernel's trace also all lanes of a buffer as one (cpus.h).
 *
 *     +----------------+ page
 *     | u64 timestamp  |
 *     | u64 commit     |  bytes used; bit 31: events were lost just before,
 *     +----------------+  bit 30: their number lies after the data
 *     | u32 type_len:5 time_delta:27, payload
 *     | ...            |
 *
 * Commit and the number of lost events are words of the machine: u32 on one of 32 bits. */
#ifndef FG_CURSOR_H
#define FG_CURSOR_H

#include <stdbool.h>

#include "tracedata/base/trace_event.h"
#include "tracedata/read/fg/row_lane.h"
#include "tracedata/read/trace_file.h"

struct fg_cpus;

struct fg_cursor {
    const struct fg_trace_file *file;
    struct fg_event head; /* the current event, without its task */
    uint32_t number;      /* among those of a merge */
    bool at_end;
    bool is_idle;             /* set by a stage of the merge: see fg_merge_stage.wakes */
    struct fg_row_lane *rows; /* of a .fg, or NULL */
    struct fg_cpus *cpus;     /* several lanes read as one, or NULL. Without both: a lane of a trace.dat */
    int (*advance_cpus)(struct fg_cursor *cursor, char reason[FG_REASON_BYTES]);

    const uint8_t *position, *page_end; /* after `head`, in the current page */
    uint64_t time_ns;
    uint64_t lost; /* just before the next event */

    /* Pages are read in windows. There are two, so that an event stays valid while the next one is looked
     * at, even if a window ends between them. A window of a compressed lane has a chunk of it. */
    struct fg_window windows[2];
    unsigned window;
    uint32_t window_bytes;
    const uint8_t *next_page, *window_end;
    uint64_t file_offset, file_end; /* ends of the window and of the lane */
    uint64_t chunk_offset;          /* of the window's chunk */
    uint32_t chunks_left;

    /* The decoded data of `head` and of the event before it. */
    uint8_t *made;
    uint32_t made_bytes; /* of one */
    unsigned made_last;
};

/* Moves to the lane's first event, or to its end if there is none. @pass is that of a .fg, else NULL. Events
 * before @from_ns are left out as far as they need not be read for that. Return: 0, or an error of
 * fg_trace_file_read(). The cursor must be closed in any case. */
int fg_cursor_open(struct fg_cursor *cursor, const struct fg_trace_file *file, struct fg_row_pass *pass,
                   uint32_t lane, uint64_t from_ns, uint32_t window_bytes, char reason[FG_REASON_BYTES]);
void fg_cursor_close(struct fg_cursor *cursor);

/* Moves to the next event. The data of the event before stays valid until the next call. */
int fg_cursor_advance(struct fg_cursor *cursor, char reason[FG_REASON_BYTES]);

#endif
