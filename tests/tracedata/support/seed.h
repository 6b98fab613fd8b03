/* The seed of random tests. */
#ifndef FG_TEST_SEED_H
#define FG_TEST_SEED_H

#include <stdint.h>

/* Any number but 0, which the first call prints: FUNCGRAPH_SEED if that is set, at night another one in each
 * run, else 1. */
uint64_t fg_test_seed(void);

/* The next number of a sequence (xorshift64, Marsaglia 2003). */
uint64_t fg_test_random(uint64_t *state);

#endif
