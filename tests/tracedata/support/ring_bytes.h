/* A ring-buffer file that a test writes as a traced process would, and what of it a trace has. Records are
 * numbered from 0 on, over all rings. */
#ifndef FG_TEST_RING_BYTES_H
#define FG_TEST_RING_BYTES_H

#include <stdbool.h>
#include <stdint.h>

#include "engine/ring/ring_layout.h"

#define TEST_SUBBUFS 16u
#define TEST_MAX_RECORDS 4096u

struct test_ring {
    int fd;
    char name[32]; /* as that of a file in a session's folder */
    uint8_t *map;
    uint64_t bytes; /* of the file, as the test made it */
    struct fg_ring_header *header;
    uint32_t fresh; /* sub-buffers that were never used begin here */
    uint64_t seq;
};

/* Begins the ring of a process, which has no symbols. */
void test_ring_begin(struct test_ring *ring, uint32_t pid);
void test_ring_end(struct test_ring *ring);

/* Adds a function's symbol: module "m", qualname "f" and its id. */
void test_ring_function(struct test_ring *ring, uint32_t id);

/* Has the task write the next records into a fresh sub-buffer, which is then FG_SUBBUF_OWNED or _FULL.
 * Return: its index. */
uint32_t test_ring_put(struct test_ring *ring, uint32_t task, uint32_t nr_records, uint32_t state);
/* The owner appends records. */
void test_ring_append(struct test_ring *ring, uint32_t index, uint32_t nr_records);
/* The owner queues it: it is full. */
void test_ring_fill(struct test_ring *ring, uint32_t index);

/* How many records all rings have so far. */
uint32_t test_ring_count(void);
/* Numbers begin at 0 again. */
void test_ring_restart(void);

/* What a .fg has. */
struct test_found {
    uint64_t records[TEST_MAX_RECORDS]; /* by number, how often */
    uint64_t nr_records, nr_symbols, nr_functions, nr_rings, nr_gaps, lost;
    bool is_complete;
};

/* Adds what a file has. It must be a trace without damage. */
void test_find(int fd, struct test_found *found);
void test_find_path(const char *path, struct test_found *found);

/* Fails unless the records from @first to @end - 1 are there once, and no others. */
void test_has_records(const struct test_found *found, uint32_t first, uint32_t end);

#endif
