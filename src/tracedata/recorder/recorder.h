/* The recorder: maps the ring-buffer files of a session's processes, and drains them into the spool, a
 * `.fg` trace, while the programs run. One thread at a time. */
#ifndef FG_RECORDER_H
#define FG_RECORDER_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/reader/ring_reader.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/contents.h"
#include "tracedata/spool/rows.h"
#include "tracedata/spool/spool.h"

/* A ring that this recorder maps or mapped; it has the same number as in contents.rings. */
struct fg_recorder_ring {
    struct fg_ring_reader *reader; /* NULL: finished, or known only from a resumed spool */
    const char *damage;            /* why it was given up; NULL: it was not */
    struct fg_ring_chunk chunk;    /* a claimed sub-buffer whose append failed, ... */
    bool has_chunk;                /* ... if this is true */
    bool at_leftovers;             /* the queue is no longer read: sub-buffers are found by their state */
    struct fg_text symbols;        /* read from the ring, but not yet in the spool */
    uint64_t symbols_to_skip;      /* in the resumed spool already */
    uint64_t *spooled;             /* sorted seq of sub-buffers in the resumed spool */
    size_t nr_spooled;
    uint64_t state_ns; /* when the ring's last STATE chunk was appended */
    uint32_t former;   /* its number before the latest rotation (rotation.h) */
};

struct fg_recorder {
    struct fg_spool spool;
    struct fg_contents contents;
    struct fg_row_packer rows;
    struct fg_recorder_ring *rings;
    size_t nr_rings, rings_capacity;
    bool resumed;
    enum fg_trace_clock clock; /* of a new spool; a resumed one has its own */
    uint64_t most_ring_bytes;  /* of a ring's sub-buffers; 0: any that a ring may have */
};

/* Creates a spool at `path` for a trace on `clock`; or, with `resume`, takes in the one that a recorder
 * left there, with its clock. Return: 0, or an error of fg_spool_create() or fg_spool_open(). */
int fg_recorder_open(struct fg_recorder *recorder, const char *path, enum fg_trace_clock clock, bool resume);
/* The same with a spool in an empty file, as fg_spool_create_in(). */
int fg_recorder_open_in(struct fg_recorder *recorder, int fd, enum fg_trace_clock clock);
void fg_recorder_close(struct fg_recorder *recorder);

/* What further chunks are compressed with; until then it is the best codec there is. */
void fg_recorder_set_codec(struct fg_recorder *recorder, const struct fg_codec *codec);

/* Rings that are added from now on are damaged if their sub-buffers have more bytes: those that the recorder
 * asked its processes for. */
void fg_recorder_set_ring_bytes(struct fg_recorder *recorder, uint64_t most_bytes);

/* Maps a ring file that is open, as fg_ring_reader_open(). A file that the resumed spool knows gets its
 * former number, and what the spool has of it is not drained again. @name: of the file, by which a resumed
 * spool knows it; empty: it has none. Return: the ring's number, or a negative errno (-EINVAL: not a ring
 * file, or damaged). */
int fg_recorder_add_ring(struct fg_recorder *recorder, int fd, const char *name, bool is_private);

/* The functions below return -ESRCH for a ring that is not mapped. An error of the spool (-ENOSPC, ...)
 * loses nothing: the call may be repeated.
 *
 * -EBADMSG: the ring is damaged, as its owner has truncated it. It is unmapped, the spool has what was
 * drained before, and fg_recorder_damage() says why. */

/* Drains the sub-buffers that are full now, and new symbols. Return: how many records, or a negative
 * errno. */
int64_t fg_recorder_drain(struct fg_recorder *recorder, uint32_t ring);

/* Drains the rest of a ring whose writer has finished or is gone, and unmaps it. Return: 0 or a negative
 * errno. */
int fg_recorder_finish(struct fg_recorder *recorder, uint32_t ring);

/* Why a ring was given up, as a text; NULL: it was not. */
const char *fg_recorder_damage(const struct fg_recorder *recorder, uint32_t ring);

/* Asks the ring's writer to stop recording. */
int fg_recorder_stop_writer(struct fg_recorder *recorder, uint32_t ring);

/* Appends what the recording was asked for, the text of a JSON object; it replaces what was appended
 * before. Return: 0 or a negative errno. */
int fg_recorder_describe(struct fg_recorder *recorder, const char *meta, size_t bytes);

/* Appends the latest symbols, clock and counts, of rings that are still mapped too. Return: 0 or a negative
 * errno. */
int fg_recorder_refresh(struct fg_recorder *recorder);

/* Makes @chunk and rows in recorder->rows of a sub-buffer's records, up to the first that is not sound.
 * Return: 0 or a negative errno. */
int fg_recorder_pack(struct fg_recorder *recorder, uint32_t ring, const struct fg_ring_chunk *records,
                     struct fg_spool_chunk *chunk);

/* Appends the footer. Nothing more can be appended then. Return: 0 or a negative errno. */
int fg_recorder_complete(struct fg_recorder *recorder);

/**
 * fg_recorder_carry() - Begin a recorder's next file (rotation.h).
 * @next: a recorder with a spool that has only its header
 *
 * The file gets the description, and of each mapped ring the name, the symbols and the counts that
 * @recorder's file tells. Both recorders then have the readers, of which one must let go.
 *
 * Return: 0; or a negative errno, and the symbols of @recorder's rings are read from anywhere.
 */
int fg_recorder_carry(struct fg_recorder *next, const struct fg_recorder *recorder);

/* What the header of a mapped ring counts since the ring began: in @counts, and as the spool has it. */
struct fg_spool_state fg_recorder_ring_state(const struct fg_recorder *recorder,
                                             const struct fg_recorder_ring *ring,
                                             struct fg_ring_counts *counts);

#endif
