/* The layout of the mapped ring-buffer file, shared by its two sides: ring_buffer.c in the traced process
 * and ring_reader.h in the recorder.
 *
 *     +--------------------------+ 0
 *     | struct fg_ring_header    |  one page
 *     +--------------------------+ queue_offset
 *     | full queue: u32 x n      |  indexes of sub-buffers, oldest first (nr_subbufs slots, modulo)
 *     | free queue: u32 x n      |
 *     +--------------------------+ symbols_offset
 *     | symbols                  |  append only, sparse; valid up to symbols_committed
 *     +--------------------------+ data_offset
 *     | sub-buffer 0             |  struct fg_subbuf, then records (record.h) up to `commit`
 *     | ...                      |
 *     +--------------------------+
 *
 * The file is sparse: symbols and sub-buffers get their memory when they are first used. A mapped page that
 * has none would be allocated by whoever touches it, and in a full file system that raises SIGBUS. So the
 * writer touches only what it has allocated, and the recorder maps nothing but the header and the queues,
 * which have their memory before the file has its name. It reads all else by pread(2), for which a page
 * without memory is zeros, and writes `state` and `lost_reported` of a sub-buffer by pwrite(2). Only a
 * recorder that is short of descriptors maps all of it.
 *
 * Everything is little-endian and is read on the machine that wrote it. A symbol is committed before the
 * first record that uses it, so the file of a dead process is complete.
 */
#ifndef FG_RING_LAYOUT_H
#define FG_RING_LAYOUT_H

#include <stdatomic.h>
#include <stdint.h>

#include "engine/base/clock.h"
#include "engine/core/func_flags.h"

#define FG_RING_MAGIC "FGRING\0\2"
#define FG_RING_PAGE_BYTES 4096u
#define FG_RING_HEADER_BYTES FG_RING_PAGE_BYTES
#define FG_RING_SUBBUF_BYTES_MAX (64u << 10)
#define FG_RING_MAX_KB (1u << 30)
#define FG_RING_SYMBOL_BYTES (64u << 20)    /* the most that a ring's symbols may have, in all */
#define FG_RING_SYMBOL_BYTES_MAX (8u << 20) /* of one; a process's arguments have 6 MiB at most (execve(2)) */
#define FG_RING_KILLED_BYTES 1024u          /* of the kill switch's message, with the NUL */
#define FG_INSTANCE_NAME_BYTES 64u          /* with the NUL */
#define FG_RING_SUFFIX ".ring"              /* a file is renamed to end in it when its header is complete */
#define FG_RING_SPARE "spare"               /* a folder of the session's directory, in another file system */

enum fg_ring_mode { FG_RING_WAIT = 0, FG_RING_DROP = 1, FG_RING_OVERWRITE = 2 };

static inline uint64_t fg_ring_page_round(uint64_t bytes)
{
    return (bytes + FG_RING_PAGE_BYTES - 1) & ~(uint64_t)(FG_RING_PAGE_BYTES - 1);
}

/* The size of the largest file that a ring of so many bytes of sub-buffers has: with the queues of the
 * smallest sub-buffers, and up to a page more before the first one. */
static inline uint64_t fg_ring_file_bytes_max(uint64_t buffer_bytes)
{
    uint64_t queue_bytes = buffer_bytes / FG_RING_PAGE_BYTES * 2 * sizeof(uint32_t);

    return fg_ring_page_round(FG_RING_HEADER_BYTES + fg_ring_page_round(queue_bytes) + FG_RING_SYMBOL_BYTES +
                              FG_RING_PAGE_BYTES + buffer_bytes);
}

struct fg_ring_header {
    char magic[8];
    uint32_t header_bytes;
    uint32_t pid;
    uint64_t file_bytes;
    uint64_t queue_offset;
    uint64_t symbols_offset;
    uint64_t symbols_capacity;
    uint64_t data_offset;
    uint32_t subbuf_bytes; /* with its header */
    uint32_t nr_subbufs;
    uint32_t mode;       /* enum fg_ring_mode */
    uint32_t clock_kind; /* enum fg_clock_kind */
    struct fg_clock_pair clock_start;
    struct fg_clock_pair clock_latest; /* updated at each sub-buffer switch; torn reads: see clock_seq */
    _Atomic uint32_t clock_seq;        /* odd while clock_latest is written */

    _Atomic uint32_t finished;   /* the writer closed the buffer: it did not crash */
    _Atomic uint32_t stop;       /* the recorder asks the writer to stop recording */
    _Atomic uint32_t waiters;    /* writers that sleep on free_futex */
    _Atomic uint32_t free_futex; /* counts releases; a writer in wait mode sleeps on it */
    _Atomic uint32_t nr_tasks;   /* tasks that wrote here so far */

    _Atomic uint64_t symbols_committed; /* bytes */
    _Atomic uint64_t symbols_lost;      /* symbols that found no room */
    /* The writer puts at the head. Writer and reader may take: the tail moves by compare-and-swap. */
    _Atomic uint64_t full_head, full_tail;
    _Atomic uint64_t free_head, free_tail; /* the reader puts at the head, the writer takes at the tail */

    _Atomic uint64_t records_lost; /* dropped or overwritten */
    _Atomic uint64_t overrun;      /* calls not traced: a shadow stack was full */
    _Atomic uint64_t wait_count, wait_ticks;
    char killed[FG_RING_KILLED_BYTES];     /* the kill switch's message, or empty */
    char instance[FG_INSTANCE_NAME_BYTES]; /* empty: the process's top instance */
};

enum fg_subbuf_state { FG_SUBBUF_FREE = 0, FG_SUBBUF_OWNED = 1, FG_SUBBUF_FULL = 2, FG_SUBBUF_CLAIMED = 3 };

struct fg_subbuf {
    _Atomic uint32_t state;  /* enum fg_subbuf_state */
    uint32_t task;           /* task id: symbol of type FG_SYMBOL_TASK */
    uint64_t seq;            /* rises with each sub-buffer that a task of the process takes */
    _Atomic uint64_t commit; /* bytes of whole records after this header */
    _Atomic uint64_t lost;   /* records that this task lost before the first one here */
    /* Only used where the process reads its own ring (ring_copy.h), under the ring's lock: */
    uint64_t consumed;     /* bytes of records that consumers have read */
    uint64_t copied;       /* bytes of records that the latest copy has read */
    uint64_t lost_in_copy; /* the part of `lost` that the latest copy holds or reported */
    /* The part of `lost` that the recorder has reported. A writer may add to `lost` at any time; what it adds
     * after the recorder read it is reported with another sub-buffer (ring_pool.c, begin). */
    uint64_t lost_reported;
};

/* A symbol is `bytes` long in all, a multiple of 8. NUL-terminated UTF-8 strings follow the struct. */
#define FG_SYMBOL_TYPES(X)                                                                                   \
    X(FUNC, 1,                                                                                               \
      "function that may be recorded; strings: module, qualname, file, argument names joined by ','")        \
    X(SEEN, 2, "function that ran but matches no filter; strings as FUNC")                                   \
    X(TASK, 3, "task; id: task id, tid: thread id; strings: name. A later one with the same id renames it")  \
    X(PROCESS, 4, "the process; tid: parent's pid; strings: executable name, then each argument")            \
    X(CALLER, 5, "function that matches no filter, but that records may name as a caller; strings as FUNC")  \
    X(EVENT, 6,                                                                                              \
      "a kind of event; id: its number, line: where its fields begin in its image; strings: system, name, "  \
      "fields as `TYPE NAME COUNT OFFSET` (field.h) joined by ';'")                                          \
    X(RUN_TIME, 7,                                                                                           \
      "how long a task's thread has run, and has been ready to run without a processor; id: task id; "       \
      "strings: nanoseconds of each. The first is at its first record, the last at its end or the ring's")

enum fg_symbol_type {
#define X(name, value, text) FG_SYMBOL_##name = (value),
    FG_SYMBOL_TYPES(X)
#undef X
};

struct fg_symbol {
    uint32_t bytes;
    uint16_t type;
    uint16_t flags; /* enum fg_func_flags */
    uint32_t id;
    uint32_t line; /* FUNC, SEEN, EVENT */
    uint32_t tid;
    uint32_t nr_strings;
};

#endif
