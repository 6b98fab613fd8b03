/* See spool.h. */
#include "tracedata/spool/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/base/array.h"
#include "tracedata/base/crc32.h"
#include "tracedata/base/file_io.h"
#include "tracedata/base/output_folder.h"
#include "tracedata/spool/chunk_check.h"

/* The kernel drops the lock with the last process that has the file open, so the spool of a killed
 * recorder is free. */
static int spool_lock(int fd)
{
    return flock(fd, LOCK_EX | LOCK_NB) < 0 ? -errno : 0;
}

static int write_header(const struct fg_spool *spool, uint64_t bytes)
{
    struct fg_spool_header header = {.bytes = bytes};

    memcpy(header.magic, FG_SPOOL_MAGIC, sizeof(header.magic));
    return fg_file_write(spool->fd, &header, sizeof(header), 0);
}

/* Begins a spool in spool->fd, an empty file. */
static int spool_begin(struct fg_spool *spool)
{
    int error;

    spool->end = sizeof(struct fg_spool_header);
    if (spool->fd < 0)
        return -errno;
    error = spool_lock(spool->fd);
    return error < 0 ? error : write_header(spool, 0);
}

int fg_spool_create(struct fg_spool *spool, const char *path)
{
    const char *name;
    int folder = fg_output_folder_open(path, &name), error;

    *spool = (struct fg_spool){.fd = -1};
    if (folder < 0)
        return folder;
    spool->fd = openat(folder, name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    error = spool_begin(spool);
    if (error < 0 && spool->fd >= 0) {
        unlinkat(folder, name, 0);
        fg_spool_close(spool);
    }
    close(folder);
    return error;
}

int fg_spool_create_in(struct fg_spool *spool, int fd)
{
    int error;

    *spool = (struct fg_spool){.fd = fcntl(fd, F_DUPFD_CLOEXEC, 0)};
    error = spool_begin(spool);
    if (error < 0)
        fg_spool_close(spool);
    return error;
}

/* Opens a file that is there, to write to it. Return: its descriptor or a negative errno. */
static int open_there(const char *path)
{
    const char *name;
    struct stat status;
    int folder = fg_output_folder_open(path, &name), fd, error;

    if (folder < 0)
        return folder;
    fd = openat(folder, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    error = fd < 0 || fstat(fd, &status) < 0 ? -errno : fg_output_check(folder, &status);
    /* Another name of a file that is ours, too. */
    if (error == 0 && status.st_nlink > 1 && fg_output_is_shared(folder))
        error = -EACCES;
    close(folder);
    if (error == 0)
        return fd;
    if (fd >= 0)
        close(fd);
    return error;
}

int fg_spool_open(struct fg_spool *spool, const char *path)
{
    struct fg_spool_header header;
    int error;

    *spool = (struct fg_spool){.fd = open_there(path)};
    if (spool->fd < 0) {
        error = spool->fd;
        spool->fd = -1;
        return error;
    }
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
    fg_packer_free(&spool->packer);
    free(spool->places);
    *spool = (struct fg_spool){.fd = -1};
}

static int note_place(struct fg_spool *spool, const struct fg_spool_chunk *chunk)
{
    if (fg_array_reserve(&spool->places, &spool->places_capacity, spool->nr_places + 1) < 0)
        return -ENOMEM;
    spool->places[spool->nr_places] = (struct fg_spool_place){spool->end, *chunk};
    return 0;
}

static int write_chunk(struct fg_spool *spool, const struct fg_spool_chunk *chunk, const void *stored)
{
    static const char zeros[8];
    struct iovec pieces[3] = {
        {(void *)chunk, sizeof(*chunk)},
        {(void *)stored, chunk->stored_bytes},
        {(void *)zeros, -(size_t)chunk->stored_bytes & 7u},
    };
    int error = fg_file_write_pieces(spool->fd, pieces, 3, spool->end);

    /* The disk may be full: free what was written. If that fails too, the next append overwrites it, and
     * readers pass over an incomplete chunk. */
    if (error < 0 && ftruncate(spool->fd, (off_t)spool->end) < 0)
        return error;
    return error;
}

int fg_spool_append_stored(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *stored)
{
    int error;

    chunk->header_crc = fg_chunk_header_crc(*chunk);
    error = note_place(spool, chunk);
    if (error == 0)
        error = write_chunk(spool, chunk, stored);
    if (error < 0)
        return error;
    spool->nr_places++;
    spool->end += fg_spool_chunk_extent(chunk);
    return 0;
}

int fg_spool_append(struct fg_spool *spool, struct fg_spool_chunk *chunk, const void *payload, size_t bytes,
                    uint64_t *offset)
{
    const void *stored;
    size_t stored_bytes;
    int error;

    if (bytes > FG_SPOOL_MAX_BYTES)
        return -EFBIG;
    error = fg_pack(&spool->packer, payload, bytes, &stored, &stored_bytes);
    if (error < 0)
        return error;
    chunk->magic = FG_SPOOL_CHUNK_MAGIC;
    chunk->codec = stored == payload ? FG_CODEC_NONE : (uint8_t)spool->packer.codec->id;
    chunk->bytes = (uint32_t)bytes;
    chunk->stored_bytes = (uint32_t)stored_bytes;
    chunk->payload_crc = fg_crc32(0, stored, stored_bytes);
    *offset = spool->end;
    return fg_spool_append_stored(spool, chunk, stored);
}

/* The places of all chunks, as they go into the file or are in memory. */
static void set_magic(struct fg_spool *spool, uint32_t magic)
{
    for (size_t i = 0; i < spool->nr_places; i++)
        spool->places[i].chunk.magic = magic;
}

int fg_spool_complete(struct fg_spool *spool)
{
    struct fg_spool_chunk chunk = {.type = FG_SPOOL_DIRECTORY};
    struct fg_spool_footer footer = {0};
    size_t bytes = spool->nr_places * sizeof(*spool->places);
    int error;

    /* Readers walk through a trace of so many chunks. */
    if (bytes > FG_SPOOL_MAX_BYTES)
        return write_header(spool, spool->end);
    /* The places are the payload: they must not move while the directory gets its own. */
    if (fg_array_reserve(&spool->places, &spool->places_capacity, spool->nr_places + 1) < 0)
        return -ENOMEM;
    memcpy(footer.magic, FG_SPOOL_FOOTER_MAGIC, sizeof(footer.magic));
    set_magic(spool, 0);
    error = fg_spool_append(spool, &chunk, spool->places, bytes, &footer.offset);
    set_magic(spool, FG_SPOOL_CHUNK_MAGIC);
    if (error < 0)
        return error;
    error = fg_file_write(spool->fd, &footer, sizeof(footer), spool->end);
    if (error == 0)
        error = write_header(spool, spool->end + sizeof(footer));
    if (error < 0)
        fg_spool_undo(spool); /* the call may be repeated */
    return error;
}

void fg_spool_undo(struct fg_spool *spool)
{
    spool->end = spool->places[--spool->nr_places].offset;
    if (ftruncate(spool->fd, (off_t)spool->end) < 0)
        return; /* the next append overwrites it */
}

int fg_spool_resume(struct fg_spool *spool, const struct fg_spool_index *index)
{
    if (index->whole_bytes && write_header(spool, 0) < 0)
        return -errno;
    if (ftruncate(spool->fd, (off_t)index->end) < 0)
        return -errno;
    if (fg_array_reserve(&spool->places, &spool->places_capacity, index->nr_places) < 0)
        return -ENOMEM;
    if (index->nr_places)
        memcpy(spool->places, index->places, index->nr_places * sizeof(*index->places));
    spool->nr_places = index->nr_places;
    spool->end = index->end;
    return 0;
}
