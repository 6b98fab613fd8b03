/* The writing side of a ring-buffer file (ring_layout.h): one per traced process and instance.
 *
 * A task owns one sub-buffer at a time and writes to it without any lock. Taking the next one, once in some
 * thousand records, goes through the ring's lock. */
#ifndef FG_RING_BUFFER_H
#define FG_RING_BUFFER_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

#include "engine/core/task.h"
#include "engine/ring/record.h"
#include "engine/ring/ring_layout.h"

#define FG_RING_SYMBOL_BYTES (64u << 20) /* reserved, sparse */
#define FG_RING_MIN_KB 32u

struct fg_ring_config {
    /* The session's: the file becomes PID.N.ring in it; its `lock` tells if a recorder lives. NULL: no file; the process
     * itself reads what is there (ring_copy.h), so nothing can wait for a recorder. */
    const char *directory;
    size_t buffer_bytes; /* of all sub-buffers together */
    enum fg_ring_mode mode;
    bool times_work;                       /* durations of its records are without the thread's sleep */
    char instance[FG_INSTANCE_NAME_BYTES]; /* NUL-terminated; empty: the top instance */
};

/* The file of a forked child is opened by its first record; other threads wait until its symbols are in it. */
enum fg_ring_reopen { FG_RING_IS_OPEN = 0, FG_RING_TO_REOPEN = 1, FG_RING_REOPENS = 2 };

struct fg_ring_owner {
    struct fg_task *task;
    struct fg_ring_cursor *cursor;
};

#define FG_RING_ORPHANS 64u

/* A loss of records of a task that has no later sub-buffer yet to show it at. When two tasks meet in one
 * place, the earlier one's loss is only in the total. */
struct fg_orphan_loss {
    uint32_t task;
    uint64_t lost;
    uint64_t lost_in_copy; /* as in struct fg_subbuf */
};

/* What is known of the memory that a ring has now. */
struct fg_ring_pool {
    struct fg_ring_owner *owners; /* by sub-buffer: who owns it */
    uint32_t nr_owned;
    uint32_t *free; /* given back by the reader, the latest on top */
    uint32_t nr_free;
    uint32_t nr_fresh;  /* sub-buffers never used so far are those from here on */
    uint32_t nr_usable; /* less than nr_subbufs once the file system is full */
    uint64_t next_seq;
    struct fg_orphan_loss orphans[FG_RING_ORPHANS]; /* by task id, modulo */
    size_t symbols_allocated; /* bytes of the symbol area that have memory behind them */
    uint64_t lost_consumed;   /* of the header's records_lost, what consumers were told */
    bool recorder_gone;
};

struct fg_ring {
    struct fg_ring_header *header; /* NULL: closed */
    _Atomic uint32_t *full_queue, *free_queue;
    uint8_t *data;
    size_t mapping_bytes;
    struct fg_ring_pool pool;
    _Atomic bool stopped;    /* records are neither kept nor counted as lost any more */
    _Atomic bool paused;     /* the same, for a while */
    _Atomic bool moves;      /* to other memory: records are counted as lost */
    pthread_mutex_t copying; /* one copy at a time; taken before `lock` */
    enum fg_ring_mode mode;
    bool times_work; /* as it was configured */
    size_t buffer_bytes;
    char instance[FG_INSTANCE_NAME_BYTES];
    _Atomic uint32_t reopen;                /* enum fg_ring_reopen */
    void (*reopened)(struct fg_ring *ring); /* writes the symbols that the new file needs */
    char *directory;
    char *path; /* of the file as its readers see it */
    pthread_mutex_t lock;
};

/* Creates and maps the file and gives it its final name. 0 or a negative errno; nothing is left behind then. -EINVAL:
 * too small, too large, or waiting without a recorder. */
int fg_ring_open(struct fg_ring *ring, const struct fg_ring_config *config);
/* Hands every sub-buffer to the reader, marks the file finished and unmaps it. No task may write any more. */
void fg_ring_close(struct fg_ring *ring);
/* Hands every sub-buffer to the reader. No task may write any more, until fg_ring_adopt or for good. */
void fg_ring_retire_all(struct fg_ring *ring);
/* Takes the memory of `fresh`, which is done with then, in the place of its own. Neither has a file, and no task writes. */
void fg_ring_adopt(struct fg_ring *ring, struct fg_ring *fresh);
/* Another size for a ring without a file, in two steps. From the first to the second, records are lost, and counted. */
void fg_ring_move_begin(struct fg_ring *ring);
/* As fg_ring_adopt, and what was recorded comes along: symbols, counts, and as many of the records as there is room for, by
 * the ring's mode. No callback runs any more that ran at the first step. */
void fg_ring_move_end(struct fg_ring *ring, struct fg_ring *fresh);
/* From now on nothing is recorded, but for what callbacks that run now are about to; or again. What is there stays. */
void fg_ring_set_paused(struct fg_ring *ring, bool paused);
/* Drops or overwrites from now on; of a ring without a file. */
void fg_ring_set_mode(struct fg_ring *ring, enum fg_ring_mode mode);
/* In a child after fork, with the lock held: lets go of the parent's file without touching it. With `follow`
 * the child's first record opens a file of its own. */
void fg_ring_fork_child(struct fg_ring *ring, bool follow);

/* One symbol; strings are `nr_strings` NUL-terminated texts. Counted as lost if there is no room. */
void fg_ring_put_symbol(struct fg_ring *ring, const struct fg_symbol *symbol, const char *const strings[]);

/* The task ends: its sub-buffer goes to the reader. */
void fg_ring_task_exit(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor);

/* Gets the cursor a sub-buffer with room for `bytes`. False: the record is lost, and counted. */
FG_COLD bool fg_ring_switch(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                            size_t bytes);

void fg_ring_set_killed(struct fg_ring *ring, const char *message);

/* True if the sub-buffer at hand has room for a record of up to `bytes`, at `pos`. Only inside the guard, which keeps
 * the sub-buffer from being taken away (another task's fg_ring_switch may do that, see revoke_idle). */
static inline bool fg_ring_has_room(const struct fg_ring_cursor *cursor, size_t bytes)
{
    const uint8_t *end = atomic_load_explicit(&cursor->end, memory_order_relaxed);

    return fg_likely((uintptr_t)cursor->pos + bytes <= (uintptr_t)end);
}

/* Room for it there, or in the next sub-buffer. NULL: the record is lost, and counted. */
static inline void *fg_ring_reserve(struct fg_ring *ring, struct fg_task *task, struct fg_ring_cursor *cursor,
                                    size_t bytes)
{
    if (!fg_ring_has_room(cursor, bytes) && !fg_ring_switch(ring, task, cursor, bytes))
        return NULL;
    return cursor->pos;
}

/* How far ahead of the writer memory is asked for: some ten records. What comes next was last read on another
 * processor, by the recorder, and storing to it would wait. */
#define FG_RING_AHEAD_BYTES 512

/* The record ends at `pos`. */
static inline void fg_ring_commit_to(struct fg_ring_cursor *cursor, uint8_t *pos)
{
    __builtin_prefetch(pos + FG_RING_AHEAD_BYTES, 1);
    cursor->pos = pos;
    /* release: a reader in another process that sees the count sees the record */
    atomic_store_explicit(&cursor->subbuf->commit, (uint64_t)(pos - (uint8_t *)(cursor->subbuf + 1)),
                          memory_order_release);
}

static inline void fg_ring_commit(struct fg_ring_cursor *cursor, size_t bytes)
{
    fg_ring_commit_to(cursor, cursor->pos + bytes);
}

#endif
