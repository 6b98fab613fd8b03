/* The recorder: maps the ring-buffer files of a session's processes, empties them into the spool while the
 * programs run, and knows at any time what it has. One thread at a time. */
#ifndef FG_RECORDER_H
#define FG_RECORDER_H

#include "engine/ring/ring_reader.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/spool.h"
#include <stdbool.h>
#include <stdint.h>

/* A ring that this recorder has mapped, or had. Its number is that of contents.rings. */
struct fg_recorder_ring {
    struct fg_ring_reader *reader; /* NULL: finished, or only known from a resumed spool */
    uint32_t nr_subbufs;           /* a copy: the header is the traced process's, which may go mad */
    struct fg_ring_chunk chunk;    /* claimed and not yet in the spool ... */
    bool has_chunk;                /* ... if this says so: an append failed */
    bool at_leftovers;             /* the queue is done with; what is left is found by its state */
    struct fg_text symbols;        /* read from the ring and not yet in the spool */
    uint64_t symbols_to_skip;      /* these are in the resumed spool already */
    uint64_t *spooled;             /* sorted: sub-buffers that are in the resumed spool already */
    size_t nr_spooled;
    uint64_t state_ns; /* when the ring's state was last written */
};

struct fg_recorder {
    struct fg_spool spool;
    struct fg_contents contents;
    struct fg_recorder_ring *rings;
    size_t nr_rings, rings_capacity;
    bool resumed;
    enum fg_trace_clock clock; /* of a trace that begins; a resumed spool knows its own */
};

/* Makes a new spool at `path` for a trace on this clock, or, to resume, takes in the one that a recorder left
 * there, with its clock. Errors as fg_spool_create and fg_spool_open. */
int fg_recorder_open(struct fg_recorder *recorder, const char *path, enum fg_trace_clock clock, bool resume);
void fg_recorder_close(struct fg_recorder *recorder);

/* Maps a ring file; returns its number or a negative errno (-EINVAL: no ring file, or damaged). A file that
 * the resumed spool knows gets its number again, and what is in the spool is not taken twice. */
int fg_recorder_add_ring(struct fg_recorder *recorder, const char *path);

/* All that follow: -ESRCH for a ring that is not mapped. An error of the spool (-ENOSPC, ...) loses nothing:
 * the call may be repeated. */

/* Takes what is there now: all sub-buffers that were full at the call, and new symbols. Returns the records
 * taken. */
int64_t fg_recorder_drain(struct fg_recorder *recorder, uint32_t ring);

/* The writer is gone or has finished: takes the rest and lets go of the file. */
int fg_recorder_finish(struct fg_recorder *recorder, uint32_t ring);

int fg_recorder_stop_writer(struct fg_recorder *recorder, uint32_t ring);

/* Notes the clock and the counts that the mapped rings have now, in `contents` alone, for a trace that is made before the
 * writers have finished. 0 or -ENOMEM. */
int fg_recorder_refresh(struct fg_recorder *recorder);

/* What the header of a mapped ring says now. */
struct fg_spool_state fg_recorder_ring_state(const struct fg_recorder *recorder,
                                             const struct fg_recorder_ring *ring);

#endif
