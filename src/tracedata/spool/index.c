/* See index.h. */
#include "tracedata/spool/index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/array.h"
#include "tracedata/base/file_io.h"
#include "tracedata/spool/chunk_check.h"
#include "tracedata/spool/chunk_reader.h"

#define SCAN_BYTES 65536u

static bool is_whole(const struct fg_spool_chunk *chunk, uint64_t at, uint64_t file_bytes)
{
    return fg_chunk_is_sound(chunk) && fg_spool_chunk_extent(chunk) <= file_bytes - at;
}

/* Reads the header of a whole chunk at `at`. Return: 1; 0: there is none; or a negative errno. */
static int read_header(int fd, uint64_t file_bytes, uint64_t at, struct fg_spool_chunk *chunk)
{
    int error;

    if (at > file_bytes || file_bytes - at < sizeof(*chunk))
        return 0;
    error = fg_file_read(fd, chunk, sizeof(*chunk), at);
    return error < 0 ? error : is_whole(chunk, at, file_bytes);
}

/* Finds the first whole chunk from *at on by its magic number. Chunks begin at multiples of 8. */
static int search(int fd, uint64_t file_bytes, uint64_t *at, struct fg_spool_chunk *chunk)
{
    uint64_t *words = malloc(SCAN_BYTES), begin = *at;
    int result = 0;

    if (words == NULL)
        return -ENOMEM;
    while (result == 0 && begin + sizeof(*chunk) <= file_bytes) {
        size_t bytes =
            file_bytes - begin < SCAN_BYTES ? (size_t)(file_bytes - begin) & ~(size_t)7 : SCAN_BYTES;

        result = fg_file_read(fd, words, bytes, begin);
        for (size_t i = 0; i < bytes / 8 && result == 0; i++) {
            *at = begin + i * 8;
            if ((uint32_t)words[i] == FG_SPOOL_CHUNK_MAGIC)
                result = read_header(fd, file_bytes, *at, chunk);
        }
        begin += bytes;
    }
    free(words);
    return result;
}

static int note(struct fg_spool_index *index, uint64_t at, const struct fg_spool_chunk *chunk)
{
    if (fg_array_reserve(&index->places, &index->capacity, index->nr_places + 1) < 0)
        return -ENOMEM;
    index->places[index->nr_places++] = (struct fg_spool_place){at, *chunk};
    index->end = at + fg_spool_chunk_extent(chunk);
    return 0;
}

/* Walks from index->end to the end of the file, or to a directory. */
static int walk(int fd, uint64_t file_bytes, struct fg_spool_index *index)
{
    for (;;) {
        struct fg_spool_chunk chunk;
        uint64_t at = index->end;
        int result = read_header(fd, file_bytes, at, &chunk);

        if (result == 0 && file_bytes - at >= sizeof(chunk)) {
            at += 8;
            result = search(fd, file_bytes, &at, &chunk);
            index->nr_gaps += result > 0;
            if (result > 0 && index->damaged_at == 0)
                index->damaged_at = index->end;
        }
        if (result <= 0)
            return result;
        if (chunk.type == FG_SPOOL_DIRECTORY)
            return 0;
        result = note(index, at, &chunk);
        if (result < 0)
            return result;
    }
}

/* Takes over what the directory's chunk says. False: it cannot be true. */
static bool take_directory(struct fg_spool_index *index, const struct fg_spool_chunk *chunk,
                           struct fg_spool_place *places, uint64_t end)
{
    size_t count = chunk->bytes / sizeof(*places);
    uint64_t at = sizeof(struct fg_spool_header);

    if (chunk->type != FG_SPOOL_DIRECTORY || chunk->bytes % sizeof(*places))
        return false;
    for (size_t i = 0; i < count; i++) {
        places[i].chunk.magic = FG_SPOOL_CHUNK_MAGIC;
        if (places[i].offset < at || places[i].offset > end || !fg_chunk_is_sound(&places[i].chunk) ||
            fg_spool_chunk_extent(&places[i].chunk) > end - places[i].offset)
            return false;
        at = places[i].offset + fg_spool_chunk_extent(&places[i].chunk);
    }
    index->nr_places = count;
    index->end = end;
    return true;
}

/* Reads the directory that the footer names. Return: 1; 0: there is none, or it is damaged; or a negative
 * errno. */
static int read_directory(int fd, uint64_t file_bytes, struct fg_spool_index *index)
{
    struct fg_chunk_reader reader = {.fd = fd};
    struct fg_spool_footer footer;
    struct fg_spool_chunk chunk;
    int result;

    if (file_bytes < sizeof(struct fg_spool_header) + sizeof(footer))
        return 0;
    result = fg_file_read(fd, &footer, sizeof(footer), file_bytes - sizeof(footer));
    if (result < 0 || memcmp(footer.magic, FG_SPOOL_FOOTER_MAGIC, sizeof(footer.magic)) != 0)
        return result;
    result = read_header(fd, file_bytes, footer.offset, &chunk);
    if (result == 1)
        result = fg_chunk_read(&reader, footer.offset, chunk.stored_bytes, &chunk);
    else
        result = result == 0 ? -EBADMSG : result;
    if (result == 0) {
        result = fg_array_reserve(&index->places, &index->capacity, chunk.bytes / sizeof(*index->places) + 1);
        if (result == 0 && chunk.bytes)
            memcpy(index->places, reader.payload.data, chunk.bytes - chunk.bytes % sizeof(*index->places));
        if (result == 0)
            result = take_directory(index, &chunk, index->places, footer.offset);
    }
    fg_chunk_reader_free(&reader);
    return result == -EBADMSG || result == -ENOTSUP ? 0 : result;
}

static int file_size(int fd, uint64_t *bytes)
{
    struct stat status;

    if (fstat(fd, &status) < 0)
        return -errno;
    *bytes = (uint64_t)status.st_size;
    return 0;
}

int fg_spool_index_read(int fd, struct fg_spool_index *index)
{
    struct fg_spool_header header;
    uint64_t file_bytes = 0;
    int result;

    *index = (struct fg_spool_index){.end = sizeof(header)};
    result = file_size(fd, &file_bytes);
    if (result == 0)
        result = file_bytes < sizeof(header) ? -EINVAL : fg_file_read(fd, &header, sizeof(header), 0);
    if (result == 0 && memcmp(header.magic, FG_SPOOL_MAGIC, sizeof(header.magic)) != 0)
        result = -EINVAL;
    if (result != 0)
        return result;
    index->whole_bytes = header.bytes;
    result = read_directory(fd, file_bytes, index);
    if (result < 0)
        return result;
    index->is_complete = result == 1 || file_bytes == header.bytes;
    return result == 1 ? 0 : walk(fd, file_bytes, index);
}

/* The walk has ended: is the directory there that the footer names? */
static int find_footer(int fd, uint64_t file_bytes, struct fg_spool_index *index)
{
    struct fg_spool_footer footer;
    int error;

    if (file_bytes < index->end + sizeof(footer))
        return 0;
    error = fg_file_read(fd, &footer, sizeof(footer), file_bytes - sizeof(footer));
    index->is_complete = error == 0 && footer.offset == index->end &&
                         memcmp(footer.magic, FG_SPOOL_FOOTER_MAGIC, sizeof(footer.magic)) == 0;
    return error;
}

int fg_spool_index_follow(int fd, struct fg_spool_index *index)
{
    uint64_t file_bytes = 0;
    int error = file_size(fd, &file_bytes);

    if (error == 0)
        error = walk(fd, file_bytes, index);
    return error < 0 ? error : find_footer(fd, file_bytes, index);
}

void fg_spool_index_free(struct fg_spool_index *index)
{
    free(index->places);
    *index = (struct fg_spool_index){0};
}
