/* See codec.h. The libraries' functions are declared here, as their headers are not needed to build: zstd.h,
 * https://facebook.github.io/zstd/zstd_manual.html, and zlib.h, https://zlib.net/manual.html. */
#include "tracedata/base/codec.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The recorder has to keep up with programs that do nothing but call. */
enum { ZSTD_LEVEL = 1, ZLIB_LEVEL = 1, ZLIB_LEVEL_DENSE = 6 };

/* Loads a library and those of its functions that a table X(result, name, arguments) names, into the members
 * of the same names. False: the system does not have it, or not with all of them. */
struct library_symbols {
    const char *name;
    void **function;
};

static bool load_library(const char *file, const struct library_symbols *library_symbols, size_t count)
{
    void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);

    if (library == NULL)
        return false;
    for (size_t i = 0; i < count; i++) {
        *library_symbols[i].function = dlsym(library, library_symbols[i].name);
        if (*library_symbols[i].function == NULL) {
            dlclose(library);
            return false;
        }
    }
    return true;
}

#define NR_ITEMS(array) (sizeof(array) / sizeof((array)[0]))

/* ---- none */

static void *none_state_new(const struct fg_codec *codec)
{
    return (void *)codec;
}

static void none_state_free(void *state)
{
    (void)state;
}

static size_t none_bound(size_t bytes)
{
    return bytes;
}

static int64_t none_compress(void *state, void *into, size_t room, const void *from, size_t bytes)
{
    (void)state;
    if (bytes > room)
        return -ENOBUFS;
    memcpy(into, from, bytes);
    return (int64_t)bytes;
}

static int none_decompress(void *state, void *into, size_t bytes, const void *from, size_t from_bytes)
{
    (void)state;
    if (bytes != from_bytes)
        return -EBADMSG;
    memcpy(into, from, bytes);
    return 0;
}

static const struct fg_codec none = {
    .id = FG_CODEC_NONE,
    .name = "none",
    .is_for_all_threads = true,
    .state_new = none_state_new,
    .state_new_dense = none_state_new,
    .state_free = none_state_free,
    .bound = none_bound,
    .compress = none_compress,
    .decompress = none_decompress,
};

/* ---- zstd */

/* X(result, name after ZSTD_, arguments) */
#define ZSTD_FUNCTIONS(X)                                                                                    \
    X(void *, createCCtx, (void))                                                                            \
    X(size_t, freeCCtx, (void *))                                                                            \
    X(size_t, CCtx_setParameter, (void *, int, int))                                                         \
    X(size_t, compress2, (void *, void *, size_t, const void *, size_t))                                     \
    X(void *, createDCtx, (void))                                                                            \
    X(size_t, freeDCtx, (void *))                                                                            \
    X(size_t, decompressDCtx, (void *, void *, size_t, const void *, size_t))                                \
    X(size_t, compressBound, (size_t))                                                                       \
    X(unsigned, isError, (size_t))

/* Written once, before the codec can be found. */
static struct {
#define X(result, name, arguments) result(*name) arguments;
    ZSTD_FUNCTIONS(X)
#undef X
} zstd_library;

/* ZSTD_cParameter and ZSTD_strategy of zstd.h. */
enum zstd_parameter {
    ZSTD_COMPRESSION_LEVEL = 100,
    ZSTD_WINDOW_LOG,
    ZSTD_HASH_LOG,
    ZSTD_CHAIN_LOG,
    ZSTD_SEARCH_LOG,
    ZSTD_MIN_MATCH,
    ZSTD_TARGET_LENGTH,
    ZSTD_STRATEGY,
};
enum { ZSTD_LAZY2 = 5 };

struct zstd_setting {
    int parameter, value;
};

/* For rows. Matches of 5 bytes, which the level would take, make files at most 5 in 100 smaller, or larger,
 * and both sides slower. */
static const struct zstd_setting zstd_quick[] = {
    {ZSTD_COMPRESSION_LEVEL, ZSTD_LEVEL}, {ZSTD_MIN_MATCH, 6}, {0, 0}};

/* For pages of events, where no level is as good: each event repeats all but a few bytes of one before it. A
 * match of fewer than 6 bytes takes more to say where it is than the bytes themselves, and one more search
 * finds the event that is alike. docs/reference/performance.md has the figures. */
static const struct zstd_setting zstd_dense[] = {
    {ZSTD_WINDOW_LOG, 18}, {ZSTD_HASH_LOG, 17},     {ZSTD_CHAIN_LOG, 17},        {ZSTD_SEARCH_LOG, 3},
    {ZSTD_MIN_MATCH, 6},   {ZSTD_TARGET_LENGTH, 0}, {ZSTD_STRATEGY, ZSTD_LAZY2}, {0, 0},
};

/* Each is made when it is first needed: a reader never compresses. */
struct zstd_state {
    void *compressor, *decompressor;
    const struct zstd_setting *settings;
};

static void *zstd_state_with(const struct zstd_setting *settings)
{
    struct zstd_state *zstd = calloc(1, sizeof(*zstd));

    if (zstd)
        zstd->settings = settings;
    return zstd;
}

static void *zstd_state_new(const struct fg_codec *codec)
{
    (void)codec;
    return zstd_state_with(zstd_quick);
}

static void *zstd_state_new_dense(const struct fg_codec *codec)
{
    (void)codec;
    return zstd_state_with(zstd_dense);
}

static void zstd_state_free(void *state)
{
    struct zstd_state *zstd = state;

    if (zstd == NULL)
        return;
    zstd_library.freeCCtx(zstd->compressor);
    zstd_library.freeDCtx(zstd->decompressor);
    free(zstd);
}

static size_t zstd_bound(size_t bytes)
{
    return zstd_library.compressBound(bytes);
}

static void *zstd_compressor_new(const struct zstd_setting *setting)
{
    void *compressor = zstd_library.createCCtx();

    for (; compressor && setting->parameter; setting++)
        zstd_library.CCtx_setParameter(compressor, setting->parameter, setting->value);
    return compressor;
}

static int64_t zstd_compress(void *state, void *into, size_t room, const void *from, size_t bytes)
{
    struct zstd_state *zstd = state;
    size_t written;

    if (zstd->compressor == NULL)
        zstd->compressor = zstd_compressor_new(zstd->settings);
    if (zstd->compressor == NULL)
        return -ENOMEM;
    written = zstd_library.compress2(zstd->compressor, into, room, from, bytes);
    if (!zstd_library.isError(written))
        return (int64_t)written;
    return room < zstd_bound(bytes) ? -ENOBUFS : -ENOMEM;
}

/* In one piece to a buffer of the caller's: no window is allocated, whatever the data asks for. */
static int zstd_decompress(void *state, void *into, size_t bytes, const void *from, size_t from_bytes)
{
    struct zstd_state *zstd = state;
    size_t written;

    if (zstd->decompressor == NULL)
        zstd->decompressor = zstd_library.createDCtx();
    if (zstd->decompressor == NULL)
        return -ENOMEM;
    written = zstd_library.decompressDCtx(zstd->decompressor, into, bytes, from, from_bytes);
    return written == bytes ? 0 : -EBADMSG; /* the numbers of errors are larger than any size */
}

static const struct fg_codec zstd = {
    .id = FG_CODEC_ZSTD,
    .name = "zstd",
    .is_for_all_threads = true,
    .state_new = zstd_state_new,
    .state_new_dense = zstd_state_new_dense,
    .state_free = zstd_state_free,
    .bound = zstd_bound,
    .compress = zstd_compress,
    .decompress = zstd_decompress,
};

/* ---- zlib */

/* X(result, name, arguments) */
#define ZLIB_FUNCTIONS(X)                                                                                    \
    X(unsigned long, compressBound, (unsigned long))                                                         \
    X(int, compress2, (uint8_t *, unsigned long *, const uint8_t *, unsigned long, int))                     \
    X(int, uncompress2, (uint8_t *, unsigned long *, const uint8_t *, unsigned long *))

enum { Z_OK = 0, Z_MEM_ERROR = -4, Z_BUF_ERROR = -5 };

static struct {
#define X(result, name, arguments) result(*name) arguments;
    ZLIB_FUNCTIONS(X)
#undef X
} zlib_library;

static const int zlib_level = ZLIB_LEVEL, zlib_level_dense = ZLIB_LEVEL_DENSE;

/* The state is the level: zlib makes what it needs for each chunk. */
static void *zlib_state_new(const struct fg_codec *codec)
{
    (void)codec;
    return (void *)&zlib_level;
}

static void *zlib_state_new_dense(const struct fg_codec *codec)
{
    (void)codec;
    return (void *)&zlib_level_dense;
}

static size_t zlib_bound(size_t bytes)
{
    return zlib_library.compressBound(bytes);
}

static int64_t zlib_compress(void *state, void *into, size_t room, const void *from, size_t bytes)
{
    unsigned long written = room;
    int result = zlib_library.compress2(into, &written, from, bytes, *(const int *)state);

    if (result == Z_OK)
        return (int64_t)written;
    return result == Z_BUF_ERROR ? -ENOBUFS : result == Z_MEM_ERROR ? -ENOMEM : -EIO;
}

static int zlib_decompress(void *state, void *into, size_t bytes, const void *from, size_t from_bytes)
{
    unsigned long written = bytes, read = from_bytes;
    int result = zlib_library.uncompress2(into, &written, from, &read);

    (void)state;
    if (result == Z_MEM_ERROR)
        return -ENOMEM;
    return result == Z_OK && written == bytes && read == from_bytes ? 0 : -EBADMSG;
}

static const struct fg_codec zlib = {
    .id = FG_CODEC_ZLIB,
    .name = "zlib",
    .is_for_all_threads = true,
    .state_new = zlib_state_new,
    .state_new_dense = zlib_state_new_dense,
    .state_free = none_state_free,
    .bound = zlib_bound,
    .compress = zlib_compress,
    .decompress = zlib_decompress,
};

/* ---- which there are */

/* NULL: not there. A provider in one thread races with users in others: what it wrote to the codec must be
 * seen by who finds it here. */
static const struct fg_codec *_Atomic there[FG_NR_CODECS] = {[FG_CODEC_NONE] = &none};

static void load_zstd(void)
{
    const struct library_symbols library_symbols[] = {
#define X(result, name, arguments) {"ZSTD_" #name, (void **)&zstd_library.name},
        ZSTD_FUNCTIONS(X)
#undef X
    };

    if (load_library("libzstd.so.1", library_symbols, NR_ITEMS(library_symbols)))
        atomic_store_explicit(&there[FG_CODEC_ZSTD], &zstd, memory_order_release);
}

static void load_zlib(void)
{
    const struct library_symbols library_symbols[] = {
#define X(result, name, arguments) {#name, (void **)&zlib_library.name},
        ZLIB_FUNCTIONS(X)
#undef X
    };

    if (load_library("libz.so.1", library_symbols, NR_ITEMS(library_symbols)))
        atomic_store_explicit(&there[FG_CODEC_ZLIB], &zlib, memory_order_release);
}

/* Only what is asked for is loaded. */
static void load(uint32_t id)
{
    static pthread_once_t zstd_once = PTHREAD_ONCE_INIT, zlib_once = PTHREAD_ONCE_INIT;

    if (id == FG_CODEC_ZSTD)
        pthread_once(&zstd_once, load_zstd);
    else if (id == FG_CODEC_ZLIB)
        pthread_once(&zlib_once, load_zlib);
}

const char *fg_codec_name(uint32_t id)
{
    static const char *const names[FG_NR_CODECS] = {
#define X(name, id, text) [id] = (text),
        FG_CODECS(X)
#undef X
    };

    return id < FG_NR_CODECS ? names[id] : NULL;
}

const struct fg_codec *fg_codec_by_id(uint32_t id)
{
    if (id >= FG_NR_CODECS)
        return NULL;
    load(id);
    return atomic_load_explicit(&there[id], memory_order_acquire);
}

const struct fg_codec *fg_codec_best(void)
{
    const struct fg_codec *codec = fg_codec_by_id(FG_CODEC_ZSTD);

    if (codec == NULL)
        codec = fg_codec_by_id(FG_CODEC_ZLIB);
    return codec ? codec : &none;
}

int fg_codec_provide(const struct fg_codec *codec)
{
    const struct fg_codec *nothing = NULL;

    if (codec->id >= FG_NR_CODECS)
        return -EINVAL;
    load(codec->id);
    return atomic_compare_exchange_strong(&there[codec->id], &nothing, codec) ? 0 : -EEXIST;
}

bool fg_codecs_are_for_all_threads(void)
{
    for (uint32_t id = 0; id < FG_NR_CODECS; id++) {
        const struct fg_codec *codec = atomic_load_explicit(&there[id], memory_order_acquire);

        if (codec && !codec->is_for_all_threads)
            return false;
    }
    return true;
}

void fg_codec_forget(uint32_t id)
{
    load(id);
    atomic_store(&there[id], NULL);
}
