/* See blocks.h. */
#include "tracedata/read/dat/blocks.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/base/packing.h"

struct fg_block_reader {
    struct fg_unpacker unpacker;
    struct fg_text packed; /* the block that was read last */
};

static void free_reader(struct fg_block_reader *reader)
{
    if (!reader)
        return;
    fg_unpacker_free(&reader->unpacker);
    fg_text_free(&reader->packed);
    free(reader);
}

/* NULL: memory is short. */
static struct fg_block_reader *take_reader(struct fg_blocks *blocks)
{
    struct fg_block_reader *reader = atomic_exchange(&blocks->idle, NULL);

    return reader ? reader : calloc(1, sizeof(*reader));
}

static void give_reader(struct fg_blocks *blocks, struct fg_block_reader *reader)
{
    free_reader(atomic_exchange(&blocks->idle, reader));
}

int fg_blocks_new(struct fg_input input, const char *codec_name, struct fg_blocks **blocks,
                  char reason[FG_REASON_BYTES])
{
    const struct fg_codec *codec;
    uint32_t id = 0;

    while (id < FG_NR_CODECS && strcmp(codec_name, fg_codec_name(id)) != 0)
        id++;
    if (id == FG_NR_CODECS)
        return fg_refuse(reason, "compressed with '%.40s', which funcgraph does not know", codec_name);
    codec = fg_codec_by_id(id);
    if (!codec) {
        fg_refuse(reason, "compressed with %s, and this system has no %s library", codec_name, codec_name);
        return -ENOTSUP;
    }
    *blocks = calloc(1, sizeof(**blocks));
    if (!*blocks)
        return -ENOMEM;
    (*blocks)->input = input;
    (*blocks)->codec = codec;
    return 0;
}

void fg_blocks_free(struct fg_blocks *blocks)
{
    if (!blocks)
        return;
    free_reader(atomic_load(&blocks->idle));
    free(blocks);
}

int fg_block_open(const struct fg_blocks *blocks, uint64_t offset, uint64_t end, uint32_t most,
                  struct fg_dat_block *block, char reason[FG_REASON_BYTES])
{
    int error;

    if (offset > end || end - offset < sizeof(*block))
        return fg_refuse(reason, "damaged: no room for compressed data at byte %" PRIu64, offset);
    error = fg_input_read(&blocks->input, offset, block, sizeof(*block), reason);
    if (error)
        return error;
    if (block->packed_bytes > end - offset - sizeof(*block))
        return fg_refuse(reason, "damaged at byte %" PRIu64 ": compressed data goes beyond what it lies in",
                         offset);
    /* Data that cannot be compressed grows by less than that. */
    if (block->bytes == 0 || block->bytes > most ||
        block->packed_bytes > (uint64_t)block->bytes + block->bytes / 8 + 1024)
        return fg_refuse(reason,
                         "damaged at byte %" PRIu64 ": impossible sizes of compressed data: %" PRIu32
                         " bytes for %" PRIu32,
                         offset, block->packed_bytes, block->bytes);
    return 0;
}

static int read_block(const struct fg_blocks *blocks, struct fg_block_reader *reader, uint64_t offset,
                      const struct fg_dat_block *block, void *into, char reason[FG_REASON_BYTES])
{
    char *packed;
    int error;

    if (!fg_text_reserve(&reader->packed, block->packed_bytes))
        return -ENOMEM;
    packed = reader->packed.data;
    error = fg_input_read(&blocks->input, offset + sizeof(*block), packed, block->packed_bytes, reason);
    if (error)
        return error;
    return fg_unpack(&reader->unpacker, blocks->codec->id, into, block->bytes, packed, block->packed_bytes);
}

int fg_block_read(struct fg_blocks *blocks, uint64_t offset, const struct fg_dat_block *block, void *into,
                  char reason[FG_REASON_BYTES])
{
    struct fg_block_reader *reader = take_reader(blocks);
    int error = reader ? read_block(blocks, reader, offset, block, into, reason) : -ENOMEM;

    if (reader)
        give_reader(blocks, reader);
    if (error == -EBADMSG)
        error = fg_refuse(reason, "damaged at byte %" PRIu64 ": this is not %s data of %" PRIu32 " bytes",
                          offset, blocks->codec->name, block->bytes);
    return error;
}

int fg_window_reserve(struct fg_blocks *blocks, struct fg_window *window, size_t bytes,
                      char reason[FG_REASON_BYTES])
{
    if (bytes <= window->room)
        return 0;
    fg_window_free(blocks, window);
    if (atomic_fetch_add(&blocks->windows_bytes, bytes) + bytes > FG_BLOCKS_WINDOWS_BYTES) {
        atomic_fetch_sub(&blocks->windows_bytes, bytes);
        return fg_refuse(reason, "its lanes need more than %" PRIu64 " bytes of memory at once",
                         FG_BLOCKS_WINDOWS_BYTES);
    }
    window->data = malloc(bytes);
    window->room = bytes;
    if (window->data)
        return 0;
    fg_window_free(blocks, window);
    return -ENOMEM;
}

void fg_window_free(struct fg_blocks *blocks, struct fg_window *window)
{
    atomic_fetch_sub(&blocks->windows_bytes, window->room);
    free(window->data);
    *window = (struct fg_window){0};
}
