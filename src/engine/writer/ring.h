/* One ring buffer in the process that it records: its configuration, its memory, its pool of sub-buffers.
 *
 * ring_layout.h draws the memory. ring_file.c creates it, ring_pool.c hands out its
 * sub-buffers, ring_symbols.c appends symbols, ring_buffer.h writes records. There is one ring
 * per process and instance. */
#ifndef FG_RING_H
#define FG_RING_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/core/task.h"
#include "engine/ring/ring_layout.h"
#include "engine/ring/session_page.h"

#define FG_RING_MIN_KB 32u

struct fg_ring_config {
    /* The session's directory: the file becomes PID.N.ring in it, or in its folder FG_RING_SPARE if the file
     * system of the directory is full. `lock` in it tells whether a recorder lives. NULL: no file. The
     * process itself then reads the ring (ring_copy.h), and no writer can wait for a recorder. */
    const char *directory;
    size_t buffer_bytes; /* of all sub-buffers together; less if the process has little address space */
    enum fg_ring_mode mode;
    bool opens_late;                       /* the first record creates the memory; only without a file */
    bool times_work;                       /* durations of its records exclude the thread's sleep */
    char instance[FG_INSTANCE_NAME_BYTES]; /* NUL-terminated; empty: the top instance */
};

/* The first record opens the memory of a ring that opens late, and a forked child's file. Other threads
 * wait until it has its symbols. */
enum fg_ring_reopen { FG_RING_IS_OPEN = 0, FG_RING_TO_REOPEN = 1, FG_RING_REOPENS = 2 };

/* Who writes into a sub-buffer. Without a task, but with the state FG_SUBBUF_OWNED, it is shared: whoever
 * holds the ring's lock writes records of the sub-buffer's task there. */
struct fg_ring_owner {
    struct fg_task *task;
    struct fg_ring_cursor *cursor;
};

#define FG_RING_ORPHANS 64u

/* Records lost by a task that has no later sub-buffer yet to report the loss in. If two tasks share a
 * place here, the earlier task's loss is only in the total. */
struct fg_orphan_loss {
    uint32_t task;
    uint64_t lost;
    uint64_t lost_in_copy; /* as in struct fg_subbuf */
};

/* The state of the ring's current memory. */
struct fg_ring_pool {
    struct fg_ring_owner *owners; /* by sub-buffer */
    uint32_t nr_owned;
    /* Tasks that wrote into shared sub-buffers: a bit for each id. */
    uint64_t *sharers;
    size_t nr_sharer_words;
    uint32_t *free; /* sub-buffers that the reader gave back, the latest on top */
    uint32_t nr_free;
    uint32_t nr_fresh;     /* sub-buffers from this one on were never used */
    uint32_t nr_usable;    /* less than nr_subbufs once the file system is full */
    uint32_t nr_allocated; /* of the file's sub-buffers, those that have memory; at least one */
    uint64_t next_seq;
    struct fg_orphan_loss orphans[FG_RING_ORPHANS]; /* by task id, modulo */
    uint64_t lost_consumed;     /* the part of the header's records_lost that was reported to consumers */
    uint64_t overwritten_bytes; /* of records that no consumer had */
    uint64_t life_checked_ns;   /* when a writer last checked whether the recorder lives; 0: never */
};

/* The memory of the ring's symbols: that part of a file's symbol area that is written to now, or all of
 * the symbols on the heap. */
struct fg_ring_symbols {
    uint8_t *memory;     /* NULL: none yet */
    uint64_t begin, end; /* which part of the symbol area it is */
};

struct fg_ring {
    struct fg_ring_header *header; /* NULL: closed. Mapped together with the queues */
    _Atomic uint32_t *full_queue, *free_queue;
    uint8_t *data; /* sub-buffer 0; mapped from the page that it begins in */
    size_t header_mapping_bytes, data_mapping_bytes;
    struct fg_ring_symbols symbols;
    struct fg_ring_pool pool;
    _Atomic bool stopped;             /* records are neither kept nor counted as lost, for good */
    _Atomic bool has_ended;           /* `ended` was called */
    _Atomic bool paused;              /* the same, until the ring is resumed */
    _Atomic bool moves;               /* to other memory: records are counted as lost */
    _Atomic uint64_t lost_in_signals; /* records: the part of the losses that the header does not have yet */
    struct fg_ring *spare;            /* memory for snapshots (ring_swap.h), or NULL; under `lock` */
    bool has_parted;                  /* no snapshot uses the spare any longer; under `lock` */
    _Atomic bool swap_is_due;         /* a snapshot is to be taken when nobody holds `copying` */
    _Atomic bool awaited;             /* a reader waits: the next record wakes it */
    _Atomic uint32_t wakes;           /* ring_wake.h; a futex */
    pthread_mutex_t copying;          /* held for one copy at a time; taken before `lock` */
    enum fg_ring_mode mode;
    bool times_work; /* as configured */
    size_t buffer_bytes;
    char instance[FG_INSTANCE_NAME_BYTES];
    _Atomic uint32_t reopen;                /* enum fg_ring_reopen */
    void (*reopened)(struct fg_ring *ring); /* writes the symbols that the new memory needs */
    /* Optional. Called once, by a writer that finds the ring stopped: tracing into it is of no use any
     * longer. Inside the guard, without the ring's lock. */
    void (*ended)(struct fg_ring *ring);
    char *directory;
    char *path;                   /* of the file as its readers see it */
    struct fg_session_page *page; /* of the directory, or NULL */
    uint32_t missing_since;       /* the end of its table when this process was forked */
    pthread_mutex_t lock;
};

static inline struct fg_subbuf *fg_ring_subbuf(const struct fg_ring *ring, uint32_t index)
{
    return (struct fg_subbuf *)(ring->data + (size_t)index * ring->header->subbuf_bytes);
}

#endif
