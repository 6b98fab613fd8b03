/* See seed.h. */
#include "support/seed.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static uint64_t choose(void)
{
    const char *given = getenv("FUNCGRAPH_SEED");

    if (given)
        return strtoull(given, NULL, 0);
    return getenv("FUNCGRAPH_NIGHTLY") ? (uint64_t)time(NULL) << 24 ^ (uint64_t)getpid() : 1;
}

uint64_t fg_test_seed(void)
{
    static uint64_t seed;

    if (!seed) {
        seed = choose();
        seed += !seed;
        printf("FUNCGRAPH_SEED=%llu\n", (unsigned long long)seed);
        fflush(stdout);
    }
    return seed;
}

uint64_t fg_test_random(uint64_t *state)
{
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}
