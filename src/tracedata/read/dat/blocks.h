/* Compressed blocks of a file (struct fg_dat_block in sections.h): reading and decompressing them. No block
 * takes more memory than its limit, and all windows together no more than FG_BLOCKS_WINDOWS_BYTES. */
#ifndef FG_BLOCKS_H
#define FG_BLOCKS_H

#include <stdatomic.h>

#include "tracedata/base/codec.h"
#include "tracedata/base/sections.h"
#include "tracedata/read/dat/input.h"

#define FG_BLOCKS_WINDOWS_BYTES (UINT64_C(1) << 30)

/* What reads one block at a time: several threads may read a file. */
struct fg_block_reader;

struct fg_blocks {
    struct fg_input input;
    const struct fg_codec *codec;
    struct fg_block_reader *_Atomic idle; /* one that nobody uses; or NULL */
    _Atomic uint64_t windows_bytes;       /* of all windows */
};

/* A buffer for one block at a time. All zeros: there is none yet. */
struct fg_window {
    uint8_t *data;
    size_t room;
};

/**
 * fg_blocks_new() - Get ready to read the blocks of a file.
 * @codec_name: as the file has it
 *
 * Return: 0; -EINVAL: no such codec; -ENOTSUP: it is not there; and in both cases `reason` says so; -ENOMEM.
 */
int fg_blocks_new(struct fg_input input, const char *codec_name, struct fg_blocks **blocks,
                  char reason[FG_REASON_BYTES]);
void fg_blocks_free(struct fg_blocks *blocks); /* NULL is let through */

/**
 * fg_block_open() - Read the sizes of a block, and check them.
 * @offset: where it lies
 * @end: of what it lies in
 * @most: bytes that it may decompress to
 *
 * Return: as fg_input_read().
 */
int fg_block_open(const struct fg_blocks *blocks, uint64_t offset, uint64_t end, uint32_t most,
                  struct fg_dat_block *block, char reason[FG_REASON_BYTES]);

/* Reads a block that was opened into block->bytes. Return: as fg_input_read(). */
int fg_block_read(struct fg_blocks *blocks, uint64_t offset, const struct fg_dat_block *block, void *into,
                  char reason[FG_REASON_BYTES]);

/* Makes room in a window. What is in it is lost. Return: as fg_input_read(). */
int fg_window_reserve(struct fg_blocks *blocks, struct fg_window *window, size_t bytes,
                      char reason[FG_REASON_BYTES]);
void fg_window_free(struct fg_blocks *blocks, struct fg_window *window);

#endif
