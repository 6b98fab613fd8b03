/* Promises: a checksum is zlib's; what a codec compressed it decompresses to the same; damaged data, and
 * data of another size than said, is an error and never written beyond its room; a codec whose library is not
 * there can be provided. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/base/codec.h"
#include "tracedata/base/crc32.h"

#define CANARY 0xa5
#define CANARY_BYTES 64u
#define ROUNDS 3000

static uint64_t chance(uint64_t *state)
{
    *state ^= *state << 13; /* xorshift64, Marsaglia 2003 */
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* ---- checksums */

static uint32_t crc_bit_by_bit(const uint8_t *data, size_t bytes)
{
    uint32_t crc = UINT32_MAX;

    while (bytes-- > 0) {
        crc ^= *data++;
        for (int bit = 0; bit < 8; bit++)
            crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
    return ~crc;
}

static void checksums_are_those_of_zlib(void)
{
    static const struct {
        const char *text;
        uint32_t crc;
    } known[] = {
        {"", 0},
        {"a", 0xe8b7be43},
        {"123456789", 0xcbf43926}, /* the "check" of the catalogue of CRC algorithms */
        {"The quick brown fox jumps over the lazy dog", 0x414fa339},
    };
    uint64_t seed = 88172645463325252u;
    uint8_t data[200];

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
        assert(fg_crc32(0, known[i].text, strlen(known[i].text)) == known[i].crc);
    for (size_t i = 0; i < sizeof(data); i++)
        data[i] = (uint8_t)chance(&seed);
    for (size_t begin = 0; begin < 9; begin++)
        for (size_t bytes = 0; begin + bytes <= sizeof(data); bytes++) {
            size_t part = bytes ? chance(&seed) % bytes : 0;
            uint32_t crc = crc_bit_by_bit(data + begin, bytes);

            assert(fg_crc32(0, data + begin, bytes) == crc);
            assert(fg_crc32(fg_crc32(0, data + begin, part), data + begin + part, bytes - part) == crc);
        }
}

/* ---- codecs */

/* Data that repeats itself as events do, with some chance in it. */
static uint8_t *make_data(size_t bytes, uint64_t seed)
{
    uint8_t *data = malloc(bytes);

    assert(data);
    for (size_t i = 0; i < bytes; i++)
        data[i] = (uint8_t)(i % 16 < 12 ? i % 16 : chance(&seed));
    return data;
}

/* Decompresses into `bytes` that lie before a canary. */
static int decompress(const struct fg_codec *codec, void *state, uint8_t *into, size_t bytes,
                      const uint8_t *from, size_t from_bytes)
{
    int error;

    memset(into + bytes, CANARY, CANARY_BYTES);
    error = codec->decompress(state, into, bytes, from, from_bytes);
    for (size_t i = 0; i < CANARY_BYTES; i++)
        assert(into[bytes + i] == CANARY);
    return error;
}

struct packed {
    uint8_t *data, *packed, *unpacked;
    size_t bytes, packed_bytes;
};

static struct packed pack(const struct fg_codec *codec, void *state, size_t bytes, uint64_t seed)
{
    struct packed packed = {.data = make_data(bytes, seed), .bytes = bytes};
    size_t room = codec->bound(bytes);
    int64_t written;

    assert(room >= bytes);
    packed.packed = calloc(room + 1, 1);
    packed.unpacked = malloc(bytes + 1 + CANARY_BYTES);
    assert(packed.packed && packed.unpacked);
    written = codec->compress(state, packed.packed, room, packed.data, bytes);
    assert(written > 0 && (size_t)written <= room);
    packed.packed_bytes = (size_t)written;
    return packed;
}

static void packed_free(struct packed *packed)
{
    free(packed->data);
    free(packed->packed);
    free(packed->unpacked);
}

static void data_is_the_same_again(const struct fg_codec *codec, void *state)
{
    static const size_t sizes[] = {1, 2, 7, 100, 4096, 65536, 1u << 20};

    for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
        struct packed it = pack(codec, state, sizes[i], 1 + i);

        assert(decompress(codec, state, it.unpacked, it.bytes, it.packed, it.packed_bytes) == 0);
        assert(memcmp(it.unpacked, it.data, it.bytes) == 0);
        if (codec->id != FG_CODEC_NONE && it.bytes >= 4096)
            assert(it.packed_bytes < it.bytes / 2);
        packed_free(&it);
    }
}

static void another_size_is_an_error(const struct fg_codec *codec, void *state)
{
    struct packed it = pack(codec, state, 5000, 3);

    assert(decompress(codec, state, it.unpacked, it.bytes - 1, it.packed, it.packed_bytes) == -EBADMSG);
    assert(decompress(codec, state, it.unpacked, it.bytes + 1, it.packed, it.packed_bytes) == -EBADMSG);
    assert(decompress(codec, state, it.unpacked, it.bytes, it.packed, it.packed_bytes - 1) == -EBADMSG);
    assert(decompress(codec, state, it.unpacked, it.bytes, it.packed, 0) == -EBADMSG);
    assert(decompress(codec, state, it.unpacked, it.bytes, it.packed, it.packed_bytes + 1) == -EBADMSG);
    assert(codec->compress(state, it.unpacked, it.packed_bytes - 1, it.data, it.bytes) == -ENOBUFS);
    /* After errors the state can be used as before. */
    assert(decompress(codec, state, it.unpacked, it.bytes, it.packed, it.packed_bytes) == 0);
    packed_free(&it);
}

/* 16 MiB of zeros, said to be 100 bytes. */
static void a_bomb_is_an_error(const struct fg_codec *codec, void *state)
{
    size_t bytes = 16u << 20, room = codec->bound(bytes);
    uint8_t *zeros = calloc(bytes, 1), *packed = malloc(room), unpacked[100 + CANARY_BYTES];
    int64_t written;

    assert(zeros && packed);
    written = codec->compress(state, packed, room, zeros, bytes);
    assert(written > 0);
    assert(decompress(codec, state, unpacked, 100, packed, (size_t)written) == -EBADMSG);
    free(zeros);
    free(packed);
}

static void damage_is_an_error_or_other_data(const struct fg_codec *codec, void *state)
{
    struct packed it = pack(codec, state, 3000, 5);
    uint8_t *damaged = malloc(it.packed_bytes);
    uint64_t seed = 99;
    int nr_errors = 0;

    assert(damaged);
    for (int round = 0; round < ROUNDS; round++) {
        size_t bytes = chance(&seed) % 8 ? it.packed_bytes : chance(&seed) % it.packed_bytes;
        int error;

        memcpy(damaged, it.packed, it.packed_bytes);
        for (uint64_t hits = 1 + chance(&seed) % 4; hits > 0; hits--) {
            size_t reach = chance(&seed) % 2 ? it.packed_bytes : 16; /* the header is a small part of it */

            damaged[chance(&seed) % reach] = (uint8_t)chance(&seed);
        }
        error = decompress(codec, state, it.unpacked, it.bytes, damaged, bytes);
        assert(error == 0 || error == -EBADMSG);
        nr_errors += error != 0;
    }
    assert(nr_errors > ROUNDS / 20);
    free(damaged);
    packed_free(&it);
}

static void test_state(const struct fg_codec *codec, void *state)
{
    assert(state);
    data_is_the_same_again(codec, state);
    another_size_is_an_error(codec, state);
    if (codec->id != FG_CODEC_NONE)
        a_bomb_is_an_error(codec, state);
    damage_is_an_error_or_other_data(codec, state);
    codec->state_free(state);
}

static void *test_codec(void *arg)
{
    const struct fg_codec *codec = arg;

    test_state(codec, codec->state_new(codec));
    test_state(codec, codec->state_new_dense(codec));
    return NULL;
}

/* Each codec in two threads at once, each with a state of its own. */
static void codecs_keep_their_promises(void)
{
    for (uint32_t id = 0; id < FG_NR_CODECS; id++) {
        const struct fg_codec *codec = fg_codec_by_id(id);
        pthread_t thread;

        if (codec == NULL) {
            printf("%s is not there\n", fg_codec_name(id));
            continue;
        }
        assert(codec->id == id && strcmp(codec->name, fg_codec_name(id)) == 0);
        codec->state_free(codec->state_new(codec));
        assert(pthread_create(&thread, NULL, test_codec, (void *)codec) == 0);
        test_codec((void *)codec);
        assert(pthread_join(thread, NULL) == 0);
    }
}

static void a_codec_that_is_not_there_can_be_provided(void)
{
    static struct fg_codec provided[FG_NR_CODECS], unknown;

    assert(fg_codec_by_id(FG_NR_CODECS) == NULL && fg_codec_name(FG_NR_CODECS) == NULL);
    unknown = *fg_codec_by_id(FG_CODEC_NONE);
    unknown.id = FG_NR_CODECS;
    assert(fg_codec_provide(&unknown) == -EINVAL);
    for (uint32_t id = FG_CODEC_ZSTD; id < FG_NR_CODECS; id++) {
        provided[id] = *fg_codec_by_id(FG_CODEC_NONE);
        provided[id].id = id;
        fg_codec_forget(id);
        assert(fg_codec_by_id(id) == NULL);
    }
    assert(fg_codec_best()->id == FG_CODEC_NONE);
    assert(fg_codec_provide(&provided[FG_CODEC_ZLIB]) == 0);
    assert(fg_codec_best() == &provided[FG_CODEC_ZLIB]);
    assert(fg_codec_provide(&provided[FG_CODEC_ZSTD]) == 0);
    assert(fg_codec_best() == &provided[FG_CODEC_ZSTD]);
    assert(fg_codec_provide(&provided[FG_CODEC_ZSTD]) == -EEXIST);
}

int main(void)
{
    checksums_are_those_of_zlib();
    codecs_keep_their_promises();
    a_codec_that_is_not_there_can_be_provided();
    return 0;
}
