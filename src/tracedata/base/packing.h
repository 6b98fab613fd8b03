/* Packing: payloads of chunks, compressed if that makes them smaller, and back. Both keep the codec's state
 * and memory from one payload to the next. One thread at a time. */
#ifndef FG_PACKING_H
#define FG_PACKING_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/codec.h"
#include "tracedata/base/text.h"

/* All zeros: it takes the best codec there is. */
struct fg_packer {
    const struct fg_codec *codec;
    void *state;
    struct fg_text packed;
};

/* @packed is set to @payload itself (then it is not compressed), or to memory of the packer's that stays
 * until the next call. Return: 0 or a negative errno. */
int fg_pack(struct fg_packer *packer, const void *payload, size_t bytes, const void **packed,
            size_t *packed_bytes);
void fg_packer_free(struct fg_packer *packer);

/* All zeros: ready for use. */
struct fg_unpacker {
    void *states[FG_NR_CODECS];
};

/* Return: 0, and `into` has exactly @bytes; -EBADMSG: the data is damaged; -ENOTSUP: this codec is not there;
 * or -ENOMEM. */
int fg_unpack(struct fg_unpacker *unpacker, uint32_t codec, void *into, size_t bytes, const void *packed,
              size_t packed_bytes);
void fg_unpacker_free(struct fg_unpacker *unpacker);

#endif
