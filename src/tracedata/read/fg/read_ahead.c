/* See read_ahead.h. */
#define _GNU_SOURCE /* sched_getaffinity */
#include "tracedata/read/fg/read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "tracedata/base/codec.h"

#define NR_SLOTS 32u             /* of at most FG_RING_SUBBUF_BYTES_MAX each */
#define WAKE_AT 4u               /* pieces that wait: the thread does not wake for each */
#define MOST_TAKES 64u           /* of other pieces, before a slot is given away */
#define STACK_BYTES (256u << 10) /* zstd decompresses with less than 16 KiB */

enum slot_state {
    FREE,
    QUEUED,
    READING,
    READY,
};

struct slot {
    const struct fg_piece *piece;
    enum slot_state state;
    int result;
    uint64_t order; /* in which pieces were wanted */
    uint64_t takes; /* how many there were then */
    struct fg_spool_chunk chunk;
    uint64_t *records;
    size_t records_bytes;
};

struct fg_read_ahead {
    pid_t pid; /* the child of a fork has no thread */
    pthread_t thread;
    struct fg_chunk_reader reader; /* the thread's */

    pthread_mutex_t lock; /* of all that follows, but for the content of a slot that is read */
    pthread_cond_t wake, has_read;
    bool is_over, is_waited_for;
    uint32_t nr_queued;
    uint64_t nr_wants, nr_takes;
    struct slot slots[NR_SLOTS];
};

static void swap_records(struct slot *slot, struct fg_chunk_reader *reader)
{
    uint64_t *records = slot->records;
    size_t bytes = slot->records_bytes;

    slot->records = reader->records;
    slot->records_bytes = reader->records_bytes;
    reader->records = records;
    reader->records_bytes = bytes;
}

/* ---- the thread */

/* The slot that waits longest. NULL: none does. */
static struct slot *first_queued(struct fg_read_ahead *ahead)
{
    struct slot *first = NULL;

    for (uint32_t i = 0; i < NR_SLOTS; i++) {
        struct slot *slot = &ahead->slots[i];

        if (slot->state == QUEUED && (!first || slot->order < first->order))
            first = slot;
    }
    return first;
}

/* Reads a slot's piece; the lock is let go of meanwhile. */
static void read_slot(struct fg_read_ahead *ahead, struct slot *slot)
{
    slot->state = READING;
    ahead->nr_queued--;
    pthread_mutex_unlock(&ahead->lock);
    slot->result =
        fg_chunk_read_records(&ahead->reader, slot->piece->offset, slot->piece->stored_bytes, &slot->chunk);
    swap_records(slot, &ahead->reader);
    pthread_mutex_lock(&ahead->lock);
    slot->state = READY;
    if (ahead->is_waited_for)
        pthread_cond_signal(&ahead->has_read);
}

static void *run(void *argument)
{
    struct fg_read_ahead *ahead = argument;

    pthread_mutex_lock(&ahead->lock);
    while (!ahead->is_over) {
        struct slot *slot = first_queued(ahead);

        if (slot)
            read_slot(ahead, slot);
        else
            pthread_cond_wait(&ahead->wake, &ahead->lock);
    }
    pthread_mutex_unlock(&ahead->lock);
    return NULL;
}

static bool has_processors(void)
{
    cpu_set_t set;

    /* There are more of them than the set has room for. */
    return sched_getaffinity(0, sizeof(set), &set) < 0 ? errno == EINVAL : CPU_COUNT(&set) > 1;
}

/* Starts the thread. No signal is handled in it. Return: 0 or an errno. */
static int start(struct fg_read_ahead *ahead)
{
    pthread_attr_t attributes;
    sigset_t all, before;
    int error = pthread_attr_init(&attributes);

    if (error)
        return error;
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    error = pthread_create(&ahead->thread, &attributes, run, ahead);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return error;
}

/* ---- the reader */

struct fg_read_ahead *fg_read_ahead_new(int fd)
{
    struct fg_read_ahead *ahead =
        has_processors() && fg_codecs_are_for_all_threads() ? calloc(1, sizeof(*ahead)) : NULL;

    if (!ahead)
        return NULL;
    ahead->pid = getpid();
    ahead->reader.fd = fd;
    pthread_mutex_init(&ahead->lock, NULL);
    pthread_cond_init(&ahead->wake, NULL);
    pthread_cond_init(&ahead->has_read, NULL);
    if (start(ahead) == 0)
        return ahead;
    free(ahead);
    return NULL;
}

static bool has_thread(const struct fg_read_ahead *ahead)
{
    return ahead->pid == getpid();
}

static void stop(struct fg_read_ahead *ahead)
{
    pthread_mutex_lock(&ahead->lock);
    ahead->is_over = true;
    pthread_cond_signal(&ahead->wake);
    pthread_mutex_unlock(&ahead->lock);
    pthread_join(ahead->thread, NULL);
}

void fg_read_ahead_free(struct fg_read_ahead *ahead)
{
    /* In the child of a fork the memory is lost: the thread may have been about to free some of it. */
    if (!ahead || !has_thread(ahead))
        return;
    stop(ahead);
    for (uint32_t i = 0; i < NR_SLOTS; i++)
        free(ahead->slots[i].records);
    fg_chunk_reader_free(&ahead->reader);
    free(ahead);
}

/* A slot without a piece, or whose piece was not taken for long. NULL: there is none. */
static struct slot *free_slot(struct fg_read_ahead *ahead)
{
    for (uint32_t i = 0; i < NR_SLOTS; i++) {
        struct slot *slot = &ahead->slots[i];

        if (slot->state == FREE || (slot->state == READY && ahead->nr_takes - slot->takes > MOST_TAKES))
            return slot;
    }
    return NULL;
}

bool fg_read_ahead_want(struct fg_read_ahead *ahead, const struct fg_piece *piece)
{
    struct slot *slot;

    if (!has_thread(ahead))
        return false;
    pthread_mutex_lock(&ahead->lock);
    slot = free_slot(ahead);
    if (slot) {
        slot->piece = piece;
        slot->state = QUEUED;
        slot->order = ahead->nr_wants++;
        slot->takes = ahead->nr_takes;
        if (++ahead->nr_queued == WAKE_AT)
            pthread_cond_signal(&ahead->wake);
    }
    pthread_mutex_unlock(&ahead->lock);
    return slot != NULL;
}

static struct slot *slot_of(struct fg_read_ahead *ahead, const struct fg_piece *piece)
{
    for (uint32_t i = 0; i < NR_SLOTS; i++)
        if (ahead->slots[i].state != FREE && ahead->slots[i].piece == piece)
            return &ahead->slots[i];
    return NULL;
}

/* Whether a piece's slot has its records; they are waited for if the thread reads them now. */
static bool is_there(struct fg_read_ahead *ahead, struct slot *slot)
{
    if (slot->state == QUEUED) { /* to read it here is sooner */
        slot->state = FREE;
        ahead->nr_queued--;
        return false;
    }
    ahead->is_waited_for = true;
    while (slot->state == READING)
        pthread_cond_wait(&ahead->has_read, &ahead->lock);
    ahead->is_waited_for = false;
    return true;
}

bool fg_read_ahead_take(struct fg_read_ahead *ahead, const struct fg_piece *piece,
                        struct fg_chunk_reader *reader, struct fg_spool_chunk *chunk, int *result)
{
    struct slot *slot;

    if (!has_thread(ahead))
        return false;
    pthread_mutex_lock(&ahead->lock);
    ahead->nr_takes++;
    slot = slot_of(ahead, piece);
    if (slot && !is_there(ahead, slot))
        slot = NULL;
    if (slot) {
        swap_records(slot, reader);
        *chunk = slot->chunk;
        *result = slot->result;
        slot->state = FREE;
    }
    pthread_mutex_unlock(&ahead->lock);
    return slot != NULL;
}
