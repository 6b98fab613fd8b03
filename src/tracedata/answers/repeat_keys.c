/* See repeat_keys.h. */
#include "tracedata/answers/repeat_keys.h"

#include <stdlib.h>

#include "engine/base/array.h"

#define MOST_TEXT_BYTES 512u         /* of a key */
#define MOST_TEXTS_BYTES (64u << 20) /* of all */

void fg_repeat_keys_free(struct fg_repeat_keys *keys)
{
    free(keys->keys);
    fg_hash_clear(&keys->table);
    fg_text_free(&keys->texts);
}

/* Equal hashes count as equal keys: they have 64 good bits, and a wrong count harms nobody. */
struct fg_repeat_key *fg_repeat_keys_find(const struct fg_repeat_keys *keys, uint64_t hash)
{
    uint64_t place = fg_hash_find(&keys->table, hash);

    return place ? &keys->keys[place - 1] : NULL;
}

/* Forgets the keys that were met at most @calls times. */
static void forget(struct fg_repeat_keys *keys, uint64_t calls)
{
    size_t kept = 0;

    memset(keys->table.slots, 0, keys->table.nr_slots * sizeof(*keys->table.slots));
    keys->table.n = 0;
    for (size_t i = 0; i < keys->n; i++) {
        if (keys->keys[i].calls <= calls) {
            keys->forgotten += keys->keys[i].calls;
            continue;
        }
        keys->keys[kept++] = keys->keys[i];
        fg_hash_add(&keys->table, keys->keys[kept - 1].hash, kept); /* there is room: there were more */
    }
    keys->n = kept;
}

static void make_room(struct fg_repeat_keys *keys)
{
    for (uint64_t calls = 1; keys->n > FG_MOST_KEYS / 2; calls *= 2)
        forget(keys, calls);
}

static void keep_text(struct fg_repeat_keys *keys, struct fg_repeat_key *key, const void *text, size_t bytes)
{
    if (!bytes || bytes > MOST_TEXT_BYTES || keys->texts.bytes + bytes > MOST_TEXTS_BYTES)
        return;
    key->text_at = (uint32_t)keys->texts.bytes;
    key->text_bytes = (uint32_t)bytes;
    fg_text_put(&keys->texts, text, bytes);
}

static struct fg_repeat_key *add(struct fg_repeat_keys *keys, uint64_t hash, uint32_t func)
{
    if (keys->n == FG_MOST_KEYS)
        make_room(keys);
    if (fg_array_reserve(&keys->keys, &keys->capacity, keys->n + 1) < 0 ||
        fg_hash_add(&keys->table, hash, keys->n + 1) < 0)
        return NULL;
    keys->keys[keys->n] = (struct fg_repeat_key){.hash = hash, .func = func};
    return &keys->keys[keys->n++];
}

struct fg_repeat_key *fg_repeat_keys_count(struct fg_repeat_keys *keys, uint64_t hash, uint32_t func,
                                           const void *text, size_t bytes)
{
    struct fg_repeat_key *key = fg_repeat_keys_find(keys, hash);

    if (!key)
        key = add(keys, hash, func);
    if (key && ++key->calls == 2)
        keep_text(keys, key, text, bytes);
    return keys->texts.failed ? NULL : key;
}
