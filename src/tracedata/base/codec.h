/* Codecs: compressing a chunk of a file, and decompressing it to a size that is known.
 *
 * zstd and zlib are the C libraries of the system where there are any: they are loaded at the first use, so
 * nothing is needed to build and nothing is loaded in a program that does not use them. Where there is no
 * library the owner of the process may provide a codec of the same id (fg_codec_provide()).
 *
 *     const struct fg_codec *codec = fg_codec_best();
 *     void *state = codec->state_new(codec);
 *     ...
 *     int64_t packed = codec->compress(state, into, codec->bound(bytes), from, bytes);
 *     ...
 *     codec->state_free(state);
 */
#ifndef FG_CODEC_H
#define FG_CODEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* X(enum name, id in files, name in files). */
#define FG_CODECS(X)                                                                                         \
    X(NONE, 0, "none")                                                                                       \
    X(ZSTD, 1, "zstd")                                                                                       \
    X(ZLIB, 2, "zlib")

enum fg_codec_id {
#define X(name, id, text) FG_CODEC_##name = (id),
    FG_CODECS(X)
#undef X
        FG_NR_CODECS
};

struct fg_codec {
    uint32_t id;
    const char *name;
    /* Its functions wait for nothing that a thread may hold which waits for them, as Python's lock. */
    bool is_for_all_threads;

    /* What one thread at a time needs to compress or decompress; it is used again for each chunk. NULL:
     * memory is short. A dense one takes five times as long to compress pages of events, for an eighth
     * less. */
    void *(*state_new)(const struct fg_codec *codec);
    void *(*state_new_dense)(const struct fg_codec *codec);
    void (*state_free)(void *state); /* NULL is let through */

    /* The room that compress() needs at most for this many bytes. */
    size_t (*bound)(size_t bytes);

    /* Return: how many bytes were written to `into`; -ENOBUFS: they do not fit in `room`; -ENOMEM; or -EIO:
     * any other failure. */
    int64_t (*compress)(void *state, void *into, size_t room, const void *from, size_t bytes);

    /* Decompresses to exactly `bytes`, of which there is at least one. No data makes it write more than
     * that, or take more memory than the state's own and a copy of it.
     * Return: 0; -EBADMSG: the data is damaged, or decompresses to another number of bytes, and `into` has
     * something or other; or -ENOMEM. */
    int (*decompress)(void *state, void *into, size_t bytes, const void *from, size_t from_bytes);
};

/* The name of a codec by its id, there or not; NULL: no codec has this id. */
const char *fg_codec_name(uint32_t id);

/* NULL: no codec has this id, or it is not there. Any thread. */
const struct fg_codec *fg_codec_by_id(uint32_t id);

/* zstd if it is there, else zlib, else none. */
const struct fg_codec *fg_codec_best(void);

/**
 * fg_codec_provide() - Hand in a codec for an id whose library the system does not have.
 * @codec: lives as long as the process
 *
 * Return: 0; -EEXIST: the codec is there; -EINVAL: no such id. Any thread.
 */
int fg_codec_provide(const struct fg_codec *codec);

/* Whether all codecs that were used or provided are. Any thread. */
bool fg_codecs_are_for_all_threads(void);

/* For tests: from now on the codec is not there, as on a system without its library. */
void fg_codec_forget(uint32_t id);

#endif
