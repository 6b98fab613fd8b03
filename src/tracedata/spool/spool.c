/* See spool.h. */
#include "tracedata/spool/spool.h"

#include "tracedata/base/file_io.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

_Static_assert(sizeof(struct fg_spool_header) == 16, "the file's layout");
_Static_assert(sizeof(struct fg_spool_chunk) == 64, "the file's layout");

#define SCAN_BYTES 65536u

/* The kernel drops the lock with the last process that has the file open, so the spool of a killed
 * recorder is free. */
static int spool_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

/* Begins a spool in spool->fd, an empty file. */
static int spool_begin(struct fg_spool *spool)
{
    struct fg_spool_header header = {0};
    int error;

    memcpy(header.magic, FG_SPOOL_MAGIC, sizeof(header.magic));
    spool->end = sizeof(header);
    if (spool->fd < 0)
        return -errno;
    error = spool_lock(spool->fd);
    return error < 0 ? error : fg_file_write(spool->fd, &header, sizeof(header), 0);
}

int fg_spool_create(struct fg_spool *spool, const char *path)
{
    int error;

    spool->fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = spool_begin(spool);
    if (error < 0 && spool->fd >= 0) {
        unlink(path);
        fg_spool_close(spool);
    }
    return error;
}

int fg_spool_create_in(struct fg_spool *spool, int fd)
{
    int error;

    spool->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    error = spool_begin(spool);
    if (error < 0)
        fg_spool_close(spool);
    return error;
}

int fg_spool_open(struct fg_spool *spool, const char *path)
{
    struct fg_spool_header header;
    int error;

    spool->end = 0;
    spool->fd = open(path, O_RDWR | O_CLOEXEC);
    if (spool->fd < 0)
        return -errno;
    error = spool_lock(spool->fd);
    if (error == 0) {
        error = fg_file_read(spool->fd, &header, sizeof(header), 0);
        if (error == -EIO || (error == 0 && memcmp(header.magic, FG_SPOOL_MAGIC, sizeof(header.magic)) != 0))
            error = -EINVAL;
    }
    if (error < 0)
        fg_spool_close(spool);
    return error;
}

void fg_spool_close(struct fg_spool *spool)
{
    if (spool->fd >= 0)
        close(spool->fd);
    spool->fd = -1;
}

int fg_spool_append(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *payload, size_t bytes,
                    uint64_t *offset)
{
    static const char zeros[8];
    size_t padding = -bytes & 7u;
    struct iovec pieces[3] = {
        {chunk, sizeof(*chunk)},
        {(void *)payload, bytes},
        {(void *)zeros, padding},
    };
    int error;

    chunk->magic = FG_SPOOL_CHUNK_MAGIC;
    chunk->bytes = bytes + padding;
    error = fg_file_write_pieces(spool->fd, pieces, 3, spool->end);
    if (error < 0) {
        /* The disk may be full: free what was written. If that fails too, the next append overwrites it,
         * and fg_spool_next() passes over an incomplete chunk. */
        if (ftruncate(spool->fd, (off_t)spool->end) < 0)
            return error;
        return error;
    }
    *offset = spool->end + sizeof(*chunk);
    spool->end += sizeof(*chunk) + chunk->bytes;
    return 0;
}

static bool chunk_is_whole(const struct fg_spool_chunk *chunk, uint64_t at, uint64_t file_bytes)
{
    return chunk->magic == FG_SPOOL_CHUNK_MAGIC && chunk->type >= FG_SPOOL_RING &&
           chunk->type <= FG_SPOOL_CLOCK && chunk->bytes % 8 == 0 &&
           chunk->bytes <= file_bytes - at - sizeof(*chunk);
}

/* Finds the first whole chunk from `at` on by its magic number. Chunks begin at multiples of 8. */
static int spool_search(const struct fg_spool *spool, uint64_t at, uint64_t file_bytes, uint64_t *found)
{
    uint64_t *words = malloc(SCAN_BYTES);
    int result = 0;

    if (words == NULL)
        return -ENOMEM;
    while (result == 0 && at + sizeof(struct fg_spool_chunk) <= file_bytes) {
        size_t bytes = file_bytes - at < SCAN_BYTES ? (size_t)(file_bytes - at) & ~(size_t)7 : SCAN_BYTES;

        result = fg_file_read(spool->fd, words, bytes, at);
        for (size_t i = 0; i < bytes / 8 && result == 0; i++) {
            struct fg_spool_chunk chunk;

            *found = at + i * 8;
            if (words[i] != FG_SPOOL_CHUNK_MAGIC || *found + sizeof(chunk) > file_bytes)
                continue;
            result = fg_file_read(spool->fd, &chunk, sizeof(chunk), *found);
            if (result == 0 && chunk_is_whole(&chunk, *found, file_bytes))
                result = 1;
        }
        at += bytes;
    }
    free(words);
    return result;
}

int fg_spool_next(const struct fg_spool *spool, uint64_t *at, struct fg_spool_chunk *chunk, uint64_t *skipped)
{
    uint64_t begin = *at ? *at : sizeof(struct fg_spool_header), found = begin, file_bytes;
    struct stat status;
    int result;

    *skipped = 0;
    if (fstat(spool->fd, &status) < 0)
        return -errno;
    file_bytes = (uint64_t)status.st_size;
    if (begin + sizeof(*chunk) > file_bytes)
        return 0;
    result = fg_file_read(spool->fd, chunk, sizeof(*chunk), begin);
    if (result < 0)
        return result;
    if (!chunk_is_whole(chunk, begin, file_bytes)) {
        result = spool_search(spool, begin + 8, file_bytes, &found);
        if (result <= 0)
            return result;
        result = fg_file_read(spool->fd, chunk, sizeof(*chunk), found);
        if (result < 0)
            return result;
    }
    *skipped = found - begin;
    *at = found + sizeof(*chunk) + chunk->bytes;
    return 1;
}

int fg_spool_resume_at(struct fg_spool *spool, uint64_t end)
{
    if (end < sizeof(struct fg_spool_header))
        end = sizeof(struct fg_spool_header);
    if (ftruncate(spool->fd, (off_t)end) < 0)
        return -errno;
    spool->end = end;
    return 0;
}
