/* A cell is read and taken as it was put, whole and once. Handlers of a signal use it at any instruction,
 * and other threads at the same time.
 *
 * Fails if a cell that is being changed is changed by another one, or read without a look at its state. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "engine/hist/hist_cell.h"
#include "support/check.h"

#define NR_WORDS 100u
#define NR_SIGNALS 1000u

static _Atomic uint64_t cell[1 + NR_WORDS];

static bool put(uint64_t value)
{
    uint64_t words[NR_WORDS];

    for (uint32_t i = 0; i < NR_WORDS; i++)
        words[i] = value;
    return fg_hist_cell_put(cell, words, NR_WORDS);
}

/* All words are of one put. */
static uint64_t value_of(const uint64_t *words)
{
    for (uint32_t i = 1; i < NR_WORDS; i++)
        CHECK_EQ(words[i], words[0]);
    return words[0];
}

static enum fg_hist_cell_read read_it(uint64_t *value)
{
    uint64_t words[NR_WORDS];
    enum fg_hist_cell_read read = fg_hist_cell_read(cell, words, NR_WORDS);

    if (read == FG_HIST_CELL_SET)
        *value = value_of(words);
    return read;
}

static bool take(uint64_t *value)
{
    uint64_t words[NR_WORDS];

    if (!fg_hist_cell_take(cell, words, NR_WORDS))
        return false;
    *value = value_of(words);
    return true;
}

static void test_a_value_is_taken_once(void)
{
    uint64_t value = 0;

    CHECK_EQ(read_it(&value), FG_HIST_CELL_EMPTY);
    CHECK(!take(&value));
    CHECK(put(5));
    CHECK(put(6));
    CHECK_EQ(read_it(&value), FG_HIST_CELL_SET);
    CHECK_EQ(value, 6);
    CHECK(take(&value));
    CHECK_EQ(value, 6);
    CHECK(!take(&value));
    CHECK_EQ(read_it(&value), FG_HIST_CELL_EMPTY);
}

/* ---- in handlers of a signal */

static _Atomic unsigned nr_signals, nr_put_in_handlers;

static void use_in_handler(int signal)
{
    uint64_t value, number = atomic_fetch_add(&nr_signals, 1);

    (void)signal;
    read_it(&value);
    if (number % 2 && put(number << 32))
        atomic_fetch_add(&nr_put_in_handlers, 1);
    else if (number % 4 == 0)
        take(&value);
}

static void test_a_handler_uses_it_in_the_middle_of_a_use(void)
{
    struct sigaction action = {.sa_handler = use_in_handler}, old;
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    uint64_t value;

    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t i = 1; atomic_load(&nr_signals) < NR_SIGNALS || !atomic_load(&nr_put_in_handlers); i++) {
        CHECK(put(i)); /* a handler ends what it began */
        read_it(&value);
        if (i % 3 == 0)
            take(&value);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
}

/* ---- in threads */

#define NR_THREADS 4u
#define NR_PUTS 20000u

struct work {
    pthread_barrier_t *together;
    uint64_t first;
    uint8_t taken[NR_THREADS * NR_PUTS + 1]; /* by value */
};

static void *put_and_take(void *arg)
{
    struct work *work = arg;
    uint64_t value;

    pthread_barrier_wait(work->together);
    for (uint64_t i = 0; i < NR_PUTS; i++) {
        put(work->first + i);
        if (read_it(&value) == FG_HIST_CELL_SET)
            CHECK(value <= NR_THREADS * NR_PUTS);
        if (take(&value))
            work->taken[value]++;
    }
    return NULL;
}

static void test_threads_take_whole_values_and_each_once(void)
{
    static struct work works[NR_THREADS];
    pthread_t threads[NR_THREADS];
    pthread_barrier_t together;
    uint64_t value, n = 0;

    take(&value);
    pthread_barrier_init(&together, NULL, NR_THREADS);
    for (unsigned i = 0; i < NR_THREADS; i++) {
        works[i].together = &together;
        works[i].first = 1 + i * NR_PUTS;
        CHECK_EQ(pthread_create(&threads[i], NULL, put_and_take, &works[i]), 0);
    }
    for (unsigned i = 0; i < NR_THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    for (uint64_t i = 0; i <= NR_THREADS * NR_PUTS; i++) {
        unsigned taken = 0;

        for (unsigned k = 0; k < NR_THREADS; k++)
            taken += works[k].taken[i];
        CHECK(taken <= (i ? 1 : 0));
        n += taken;
    }
    CHECK(n > 0);
}

int main(void)
{
    test_a_value_is_taken_once();
    test_a_handler_uses_it_in_the_middle_of_a_use();
    test_threads_take_whole_values_and_each_once();
    return 0;
}
