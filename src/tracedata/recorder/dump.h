/* Writes what a recorder keeps in memory as one trace, while it goes on recording. Its segments are spools
 * that fg_recorder_rotate_in() (rotation.h) began one after the other; the last one is the recorder's own. */
#ifndef FG_DUMP_H
#define FG_DUMP_H

#include "tracedata/recorder/recorder.h"

struct fg_dumped {
    uint64_t records, lost;
};

/**
 * fg_recorder_dump() - Write a trace of the latest segments.
 * @segments: files of the segments before the recorder's own, oldest first
 * @meta: the trace's description, a JSON object
 * @path: of the trace, which appears when it is whole; an existing file is replaced
 *
 * The rings are drained. The trace also has what the tasks have written into the sub-buffers that they own.
 * What later segments repeat of a ring is left out: its name, the symbols and counts up to then.
 *
 * Return: 0; or a negative errno, and there is no trace. That the recorder's own spool takes no more is no
 * error here: the trace has all that was drained before.
 */
int fg_recorder_dump(struct fg_recorder *recorder, const int *segments, size_t nr_segments, const char *meta,
                     size_t meta_bytes, const char *path, struct fg_dumped *dumped);

/**
 * fg_rotation_join() - Write one trace of the files that a recording was rotated into.
 * @files: in any order; a file between two of them may be missing
 * @into: an empty file
 *
 * A ring is one in all files, so a call that spans two of them is one, too.
 *
 * Return: 0; -EINVAL: one is no `.fg`; -EBADMSG: one is damaged; or another negative errno.
 */
int fg_rotation_join(const int *files, size_t nr_files, int into);

#endif
