/* See packing.h. */
#include "tracedata/base/packing.h"

#include <errno.h>

/* Less than this does not get smaller. */
#define LEAST_BYTES 64u

static int packer_begin(struct fg_packer *packer)
{
    if (packer->codec == NULL)
        packer->codec = fg_codec_best();
    if (packer->state == NULL)
        packer->state = packer->codec->state_new(packer->codec);
    return packer->state ? 0 : -ENOMEM;
}

int fg_pack(struct fg_packer *packer, const void *payload, size_t bytes, const void **packed,
            size_t *packed_bytes)
{
    int64_t smaller;

    *packed = payload;
    *packed_bytes = bytes;
    if (bytes < LEAST_BYTES)
        return 0;
    if (packer_begin(packer) < 0)
        return -ENOMEM;
    packer->packed.bytes = 0;
    if (packer->codec->id == FG_CODEC_NONE)
        return 0;
    if (!fg_text_reserve(&packer->packed, packer->codec->bound(bytes)))
        return -ENOMEM;
    smaller =
        packer->codec->compress(packer->state, packer->packed.data, packer->packed.capacity, payload, bytes);
    if (smaller < 0)
        return (int)smaller;
    if ((size_t)smaller >= bytes)
        return 0;
    *packed = packer->packed.data;
    *packed_bytes = (size_t)smaller;
    return 0;
}

void fg_packer_free(struct fg_packer *packer)
{
    if (packer->state)
        packer->codec->state_free(packer->state);
    fg_text_free(&packer->packed);
    *packer = (struct fg_packer){0};
}

int fg_unpack(struct fg_unpacker *unpacker, uint32_t codec_id, void *into, size_t bytes, const void *packed,
              size_t packed_bytes)
{
    const struct fg_codec *codec = fg_codec_by_id(codec_id);

    if (codec == NULL)
        return codec_id < FG_NR_CODECS ? -ENOTSUP : -EBADMSG;
    if (bytes == 0)
        return packed_bytes == 0 ? 0 : -EBADMSG;
    if (unpacker->states[codec_id] == NULL)
        unpacker->states[codec_id] = codec->state_new(codec);
    if (unpacker->states[codec_id] == NULL)
        return -ENOMEM;
    return codec->decompress(unpacker->states[codec_id], into, bytes, packed, packed_bytes);
}

void fg_unpacker_free(struct fg_unpacker *unpacker)
{
    for (uint32_t i = 0; i < FG_NR_CODECS; i++)
        if (unpacker->states[i])
            fg_codec_by_id(i)->state_free(unpacker->states[i]);
    *unpacker = (struct fg_unpacker){0};
}
