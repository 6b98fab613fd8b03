/* A recorder goes on in another file: what a recording of months is made of. */
#ifndef FG_ROTATION_H
#define FG_ROTATION_H

#include "tracedata/recorder/recorder.h"
#include "tracedata/recorder/recorder_counts.h"

/**
 * fg_recorder_rotate() - Complete the trace, and go on in another file.
 * @path: of the new spool, which must not exist
 * @counts: set to the counts that the old file tells, of all rings
 *
 * The new file is self-contained: it begins with the description, and with each mapped ring, all its symbols
 * so far, and the counts that the old file tells of it. It has nothing of rings that are finished, so a
 * recorder's memory is that of one file. The mapped rings are numbered from 0 in their order;
 * rings[i].former is the number that ring i had. Call it between fg_recorder_drain() and the next one: no
 * record is then lost or in both files.
 *
 * Return: 0; or a negative errno, and the recorder goes on with the old file. -EINVAL: its spool was resumed.
 */
int fg_recorder_rotate(struct fg_recorder *recorder, const char *path, struct fg_recorder_counts *counts);
/* The same with an empty file without a name, as fg_spool_create_in(). */
int fg_recorder_rotate_in(struct fg_recorder *recorder, int fd, struct fg_recorder_counts *counts);

#endif
