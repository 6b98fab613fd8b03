/* See entry.h. */
#include "arch/native/entry.h"

#define CHUNK 16u
#define CHUNKS (FG_NATIVE_ENTRIES / CHUNK)

struct fg_native_entry fg_native_entries[FG_NATIVE_ENTRIES] __attribute__((aligned(64)));

/* A chunk's owner; NULL: none. */
static _Atomic(struct fg_native_calls *) owners[CHUNKS];
/* Owns the chunks in which a thread that has ended left calls that may still return. */
static struct fg_native_calls nobody;

static bool is_in_use(const struct fg_native_entry *entry)
{
    return atomic_load_explicit(&entry->stack, memory_order_relaxed) != 0;
}

static bool any_in_use(const struct fg_native_entry *entries)
{
    for (size_t i = 0; i < CHUNK; i++) {
        if (is_in_use(&entries[i]))
            return true;
    }
    return false;
}

/* The chunk becomes the thread's, if it is nobody's and no call is in progress there. */
static bool take_chunk(struct fg_native_calls *calls, size_t chunk)
{
    struct fg_native_calls *owner = atomic_load_explicit(&owners[chunk], memory_order_relaxed);

    if (owner && (owner != &nobody || any_in_use(&fg_native_entries[chunk * CHUNK])))
        return false;
    return atomic_compare_exchange_strong(&owners[chunk], &owner, calls);
}

bool fg_native_entries_more(struct fg_task *task)
{
    struct fg_native_calls *calls = &task->native;

    for (size_t i = 0; i < CHUNKS; i++) {
        size_t chunk = (task->id + i) % CHUNKS; /* threads begin at different ones */

        if (!take_chunk(calls, chunk))
            continue;
        for (size_t at = CHUNK; at-- > 0;) {
            struct fg_native_entry *entry = &fg_native_entries[chunk * CHUNK + at];

            entry->owner = calls;
            fg_native_entry_give_back(calls, entry);
        }
        return true;
    }
    return false;
}

static void end_chunk(size_t chunk)
{
    struct fg_native_entry *entries = &fg_native_entries[chunk * CHUNK];

    for (size_t i = 0; i < CHUNK; i++)
        entries[i].owner = NULL;
    /* release: the next owner sees the entries as this one left them */
    atomic_store_explicit(&owners[chunk], any_in_use(entries) ? &nobody : NULL, memory_order_release);
}

void fg_native_entries_end(struct fg_task *task)
{
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        if (atomic_load_explicit(&owners[chunk], memory_order_relaxed) == &task->native)
            end_chunk(chunk);
    }
    task->native = (struct fg_native_calls){NULL, NULL};
}

size_t fg_native_entries_lost(void)
{
    size_t n = 0;

    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const struct fg_native_entry *entries = &fg_native_entries[chunk * CHUNK];

        if (atomic_load_explicit(&owners[chunk], memory_order_relaxed) != &nobody)
            continue;
        for (size_t i = 0; i < CHUNK; i++)
            n += is_in_use(&entries[i]);
    }
    return n;
}

void fg_native_entries_fork_child(const struct fg_task *self)
{
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        const struct fg_native_calls *owner = atomic_load_explicit(&owners[chunk], memory_order_relaxed);

        if (owner && owner != &nobody && !(self && owner == &self->native))
            end_chunk(chunk);
    }
}
