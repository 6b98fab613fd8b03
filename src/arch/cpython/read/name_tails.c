/* See name_tails.h. */
#include "arch/cpython/read/name_tails.h"

static uint64_t bit_of_last(const char *name, size_t length)
{
    return length ? UINT64_C(1) << ((unsigned char)name[length - 1] & 63) : 1;
}

/* From the end to the last dot. */
static uint64_t hash_of_tail(const char *name, size_t length)
{
    uint64_t hash = FG_HASH_BYTES_BEGIN;

    while (length && name[length - 1] != '.')
        hash = fg_hash_bytes(hash, &name[--length], 1);
    return hash;
}

int fg_name_tails_add(struct fg_name_tails *tails, const char *name)
{
    size_t length = strlen(name);
    uint64_t hash = hash_of_tail(name, length);

    tails->last_characters |= bit_of_last(name, length);
    return fg_hash_find(&tails->hashes, hash) ? 0 : fg_hash_add(&tails->hashes, hash, 1);
}

int fg_name_tails_add_patterns(struct fg_name_tails *tails, const struct fg_patterns *patterns)
{
    int error = 0;

    for (size_t i = 0; i < patterns->nr_names && !error; i++)
        error = fg_name_tails_add(tails, patterns->items[patterns->order[i]].name);
    return error;
}

bool fg_name_tails_may_have(const struct fg_name_tails *tails, const char *name, size_t length)
{
    return tails->last_characters & bit_of_last(name, length) &&
           fg_hash_find(&tails->hashes, hash_of_tail(name, length));
}

void fg_name_tails_clear(struct fg_name_tails *tails)
{
    fg_hash_clear(&tails->hashes);
    tails->last_characters = 0;
}
