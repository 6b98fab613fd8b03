/* The spool: a `.fg` file (chunk.h) while it is written. It is the trace from its first chunk on. The
 * recorder appends what it drains from the ring buffers; at the end only the footer is added.
 *
 * A chunk is whole or it does not exist: a failed append is undone, and an incomplete chunk at the end is
 * cut off when the spool is resumed. */
#ifndef FG_SPOOL_H
#define FG_SPOOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/packing.h"
#include "tracedata/base/text.h"
#include "tracedata/spool/chunk.h"
#include "tracedata/spool/index.h"

struct fg_spool {
    int fd;
    uint64_t end; /* of the last whole chunk: the next one goes here */
    /* For appending only */
    struct fg_packer packer;
    struct fg_spool_place *places; /* of all chunks so far */
    size_t nr_places, places_capacity;
};

/* One thread at a time may use a spool. All functions return 0 or a negative errno, if nothing else is
 * said. */

/* Creates a spool; -EEXIST if the file exists. The file is locked (flock) while it is open, so that two
 * processes never append to one spool. */
int fg_spool_create(struct fg_spool *spool, const char *path);
/* The same in an empty file that is open for reading and writing. @fd stays the caller's, who may close
 * it. */
int fg_spool_create_in(struct fg_spool *spool, int fd);

/* Opens a spool that a recorder left, to append to it after fg_spool_resume(). -EINVAL: the file is not a
 * spool. -EWOULDBLOCK: another process has it open. -ELOOP, -EACCES: as fg_output_check(), also if it has
 * another name in a folder that others may write. */
int fg_spool_open(struct fg_spool *spool, const char *path);

/**
 * fg_spool_append() - Append one chunk.
 * @chunk: what describes the file's bytes is filled in
 * @payload: @bytes of them, FG_SPOOL_MAX_BYTES at most
 * @offset: set to where the chunk lies in the file
 *
 * The payload is compressed if that makes it smaller.
 *
 * Return: 0; or an error (-ENOSPC, -EIO, ...): the spool is as before, and the call may be repeated.
 */
int fg_spool_append(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *payload, size_t bytes,
                    uint64_t *offset);

/* Appends a chunk of another spool, @stored with chunk->stored_bytes as it is there. Only its ring may have
 * another number. */
int fg_spool_append_stored(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *stored);

/* Takes back the last append. */
void fg_spool_undo(struct fg_spool *spool);

/* Appends the directory and the footer: the trace is complete, and nothing more is appended. After an error
 * the spool is as before. */
int fg_spool_complete(struct fg_spool *spool);

/* Cuts an opened spool off at index->end: appends go there. */
int fg_spool_resume(struct fg_spool *spool, const struct fg_spool_index *index);

void fg_spool_close(struct fg_spool *spool);

#endif
