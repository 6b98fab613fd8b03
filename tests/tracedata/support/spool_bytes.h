/* A whole spool as bytes, with records of all kinds, and damage to it: for the tests that read damaged
 * ones. */
#ifndef FG_TEST_SPOOL_BYTES_H
#define FG_TEST_SPOOL_BYTES_H

#include <stdint.h>

#include "engine/ring/ring_layout.h"
#include "tracedata/base/text.h"

#define SPOOL_NR_TASKS 3u
#define SPOOL_NR_FUNCTIONS 5u

/* Any number. Which ones they are follows from the seed (seed.h). */
uint64_t fg_test_chance(void);

/* Appends a symbol with its strings. */
void fg_test_put_symbol(struct fg_text *symbols, struct fg_symbol symbol, const char *const strings[]);

/* Appends a complete spool of one ring, compressed with this codec. */
void fg_test_make_spool(struct fg_text *whole, uint32_t codec);

/* The same, but payloads were changed at random before they were compressed: no checksum and no codec sees
 * that. */
void fg_test_make_damaged_spool(struct fg_text *whole, uint32_t codec);

/* Gives all chunks that are still found the checksums of what they have now. */
void fg_test_mend_checksums(struct fg_text *spool);

/* Changes bytes and words at random, mends the checksums half the time, and cuts it sometimes. */
void fg_test_damage_spool(struct fg_text *spool);

#endif
