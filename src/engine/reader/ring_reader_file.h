/* A ring-buffer file that is being read: what its reader knows of it.
 *
 * The file is the traced process's: it may change every word of it at any instant, and the file's size. So a
 * word is read once, into a local variable or a copy; the copy is checked, and the copy is used. What the
 * reader decided is in its own memory.
 *
 * | field of the header                      | read                                | what holds           |
 * |------------------------------------------|-------------------------------------|----------------------|
 * | magic, queue_offset                      | when opened                         | equal to ours        |
 * | header_bytes                             | when opened; later 0: truncated     | equal to ours        |
 * | nr_subbufs, subbuf_bytes                 | when opened                         | agreed most_bytes    |
 * | symbols_offset, _capacity, data_offset   | when opened                         | the file's size      |
 * | pid, clock_kind, clock_start, instance   | when opened                         | only shown           |
 * | file_bytes, mode, free_tail              | never                               |                      |
 * | full_head, full_tail                     | once a try, TAIL_TRIES tries        | modulo nr_subbufs    |
 * | full queue: an index                     | once                                | modulo nr_subbufs    |
 * | free_head                                | once                                | modulo nr_subbufs    |
 * | waiters, stop, free_futex                | waiters once; others only written   | only wakes           |
 * | symbols_committed                        | once a symbol                       | our symbols_capacity |
 * | a symbol                                 | copied; a symbol may be copied      | bytes compared after |
 * |                                          | twice, in two windows               | the second copy      |
 * | clock_seq, clock_latest                  | CLOCK_TRIES times                   | any pair is possible |
 * | finished, nr_tasks, records_lost, ...    | once, as a whole                    | only shown           |
 * | killed                                   | copied                              | our NUL at its end   |
 * | a sub-buffer's head and records          | copied                              | commit: its size;    |
 * |                                          |                                     | record_check.h       |
 *
 * Mappings have a guard (bus_guard.h): the header and the queues, or all of the file if few descriptors are
 * left. All else is copied by pread(2), which tells of a truncated file by itself. */
#ifndef FG_RING_READER_FILE_H
#define FG_RING_READER_FILE_H

#include "engine/reader/ring_access.h"
#include "engine/reader/ring_reader.h"

/* A sub-buffer of a dead process. */
struct fg_ring_leftover {
    uint64_t seq;
    uint32_t index;
};

struct fg_ring_reader {
    struct fg_ring_access access;
    struct fg_ring_header *header; /* mapped together with the queues */
    struct fg_ring_facts facts;
    uint64_t symbols_offset, symbols_capacity, data_offset;
    _Atomic uint32_t *full_queue, *free_queue;
    uint8_t *records; /* the latest chunk's; room for a sub-buffer */
    uint32_t claimed; /* a sub-buffer that could not be read yet, ... */
    bool has_claimed; /* ... if this is true */
    bool is_cut;      /* there are symbols that are left out */
    uint8_t *window;  /* part of the symbols, from symbols_read on */
    size_t window_bytes, window_capacity, window_at;
    uint64_t symbols_read;
    struct fg_ring_leftover *leftovers; /* in order of seq, once fg_ring_reader_next_leftover was called */
    size_t nr_leftovers, leftovers_capacity, leftover_at;
    bool has_leftovers;
};

#endif
