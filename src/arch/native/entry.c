/* See entry.h. */
#include "arch/native/entry.h"

#include "engine/core/task.h"

#define CHUNK 16u
#define CHUNKS (FG_NATIVE_ENTRIES / CHUNK)
#define THREADS CHUNKS

struct fg_native_entry fg_native_entries[FG_NATIVE_ENTRIES] __attribute__((aligned(64)));

static struct fg_native_thread threads[THREADS];
/* A chunk's owner; NULL: none. */
static _Atomic(struct fg_native_thread *) owners[CHUNKS];
/* Owns the chunks in which a thread that has ended left calls that may still return. */
static struct fg_native_thread nobody;

struct fg_native_thread *fg_native_thread_of(struct fg_task *task)
{
    if (task->native)
        return task->native;
    for (size_t i = 0; i < THREADS; i++) {
        size_t at = (i + task->id) % THREADS;
        bool is_used = false;

        if (atomic_compare_exchange_strong(&threads[at].is_used, &is_used, true))
            return task->native = &threads[at];
    }
    return NULL;
}

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
static bool take_chunk(struct fg_native_thread *thread, size_t chunk)
{
    struct fg_native_thread *owner = atomic_load_explicit(&owners[chunk], memory_order_relaxed);

    if (owner && (owner != &nobody || any_in_use(&fg_native_entries[chunk * CHUNK])))
        return false;
    return atomic_compare_exchange_strong(&owners[chunk], &owner, thread);
}

bool fg_native_entries_more(struct fg_native_thread *thread)
{
    size_t first = (size_t)(thread - threads);

    for (size_t i = 0; i < CHUNKS; i++) {
        size_t chunk = (first + i) % CHUNKS;

        if (!take_chunk(thread, chunk))
            continue;
        for (size_t at = CHUNK; at-- > 0;) {
            struct fg_native_entry *entry = &fg_native_entries[chunk * CHUNK + at];

            entry->thread = thread;
            fg_native_entry_give_back(thread, entry);
        }
        return true;
    }
    return false;
}

static void end_chunk(size_t chunk)
{
    struct fg_native_entry *entries = &fg_native_entries[chunk * CHUNK];

    for (size_t i = 0; i < CHUNK; i++)
        entries[i].thread = NULL;
    /* release: the next owner sees the entries as this one left them */
    atomic_store_explicit(&owners[chunk], any_in_use(entries) ? &nobody : NULL, memory_order_release);
}

static void end(struct fg_native_thread *thread)
{
    for (size_t chunk = 0; chunk < CHUNKS; chunk++) {
        if (atomic_load_explicit(&owners[chunk], memory_order_relaxed) == thread)
            end_chunk(chunk);
    }
    thread->free = thread->newest = NULL;
    atomic_store_explicit(&thread->is_used, false, memory_order_release);
}

void fg_native_thread_end(struct fg_task *task)
{
    struct fg_native_thread *thread = task->native;

    task->native = NULL;
    if (thread)
        end(thread);
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
    for (size_t i = 0; i < THREADS; i++) {
        if (atomic_load(&threads[i].is_used) && (!self || self->native != &threads[i]))
            end(&threads[i]);
    }
}
