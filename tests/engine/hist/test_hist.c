/* A histogram counts each hit, under its key or as dropped, however many threads count. A reader sees whole
 * hits. A full table goes on counting the keys that it has.
 *
 * Fails if an element that lost a race is not given back, or is given out twice. Also if a sum is read in
 * the middle of a hit, or what is saved is of two hits. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/time.h>

#include "engine/hist/hist.h"
#include "support/check.h"

#define NR_THREADS 8u
#define FIELDS_AT 16u

struct image {
    struct fg_event_common common;
    uint64_t probe_ip;
    int64_t number;
    uint32_t small;
} __attribute__((packed));

static const struct fg_field number_field = {.offset = FIELDS_AT, .type = FG_FIELD_S64};
static const struct fg_field small_field = {.offset = FIELDS_AT + 8, .type = FG_FIELD_U32};

static struct fg_hist_term field_term(struct fg_field field)
{
    return (struct fg_hist_term){
        .nr_steps = 1,
        .kind = FG_HIST_KIND_NUMBER,
        .steps = {{.op = FG_HIST_FIELD, .field = field}},
    };
}

static struct fg_hist *new_hist(uint32_t size, bool has_sum)
{
    struct fg_hist_plan plan = {.size = size, .nr_keys = 1, .nr_values = has_sum};
    struct fg_hist *hist;

    plan.keys[0] = field_term(number_field);
    plan.values[0] = field_term(small_field);
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    return hist;
}

static struct fg_hist_element *count(struct fg_hist *hist, int64_t number, uint32_t small)
{
    struct image image = {.common = {.pid = 7}, .number = number, .small = small};
    struct fg_hit hit = {.image = (const uint8_t *)&image, .bytes = sizeof(image)};

    return fg_hist_count(hist, &hit);
}

/* Rows: number, key, hitcount, sum. */
static uint32_t rows_of(struct fg_hist *hist, uint64_t **rows, uint64_t *dropped)
{
    uint32_t n = fg_hist_snapshot(hist, NULL, 0, dropped);

    *rows = malloc(8u * fg_hist_row_words(hist) * (n + 1));
    return fg_hist_snapshot(hist, *rows, n, dropped);
}

static uint64_t hits_of(struct fg_hist *hist, uint64_t *dropped, uint32_t *entries)
{
    uint64_t *rows, hits = 0;
    uint32_t n = rows_of(hist, &rows, dropped);

    for (uint32_t i = 0; i < n; i++)
        hits += rows[i * fg_hist_row_words(hist) + 2];
    *entries = n;
    free(rows);
    return hits;
}

/* ---- many threads */

#define NR_HITS 1000000u
#define NR_KEYS 1000u

struct work {
    struct fg_hist *hist;
    pthread_barrier_t *together;
    unsigned thread, nr_hits;
    uint64_t plain[NR_KEYS], sums[NR_KEYS]; /* the count made plainly */
};

static void *count_many(void *arg)
{
    struct work *work = arg;
    uint32_t random = work->thread + 1;

    pthread_barrier_wait(work->together);
    for (unsigned i = 0; i < work->nr_hits; i++) {
        uint32_t key = (random = random * 1664525u + 1013904223u) >> 8;

        key %= 1 + key % NR_KEYS; /* small keys more often */
        CHECK(count(work->hist, (int64_t)key - 500, i));
        work->plain[key]++;
        work->sums[key] += i;
    }
    return NULL;
}

static void run_threads(void *(*run)(void *), struct work *works, struct fg_hist *hist, unsigned nr_hits)
{
    pthread_t threads[NR_THREADS];
    pthread_barrier_t together;

    pthread_barrier_init(&together, NULL, NR_THREADS);
    for (unsigned i = 0; i < NR_THREADS; i++) {
        works[i] = (struct work){.hist = hist, .together = &together, .thread = i, .nr_hits = nr_hits};
        CHECK_EQ(pthread_create(&threads[i], NULL, run, &works[i]), 0);
    }
    for (unsigned i = 0; i < NR_THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
}

static void test_a_million_hits_from_eight_threads_are_those_counted_plainly(void)
{
    static struct work works[NR_THREADS];
    struct fg_hist *hist = new_hist(FG_HIST_SIZE_DEFAULT, true);
    uint64_t *rows, dropped, hits = 0;
    uint32_t n;

    run_threads(count_many, works, hist, NR_HITS / NR_THREADS);
    n = rows_of(hist, &rows, &dropped);
    CHECK_EQ(dropped, 0);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t *row = rows + (size_t)4 * i, key = row[1] + 500, expected = 0, sum = 0;

        CHECK(key < NR_KEYS);
        for (unsigned k = 0; k < NR_THREADS; k++) {
            expected += works[k].plain[key];
            sum += works[k].sums[key];
            works[k].plain[key] = 0; /* a second row of this key would not match */
        }
        CHECK_EQ(row[2], expected);
        CHECK_EQ(row[3], sum);
        hits += row[2];
    }
    CHECK_EQ(hits, NR_HITS);
    free(rows);
    fg_hist_free(hist);
}

/* ---- a full table */

static void *count_new_keys(void *arg)
{
    struct work *work = arg;

    pthread_barrier_wait(work->together);
    for (unsigned i = 0; i < work->nr_hits; i++)
        count(work->hist, i, 1);
    return NULL;
}

static void test_each_hit_of_a_full_table_is_counted_or_dropped(void)
{
    static struct work works[NR_THREADS];
    uint64_t hits, dropped, before;
    uint32_t entries;

    for (unsigned round = 0; round < 50; round++) {
        struct fg_hist *hist = new_hist(128, false);

        run_threads(count_new_keys, works, hist, 300);
        hits = hits_of(hist, &dropped, &entries);
        CHECK_EQ(hits + dropped, NR_THREADS * 300);
        CHECK(entries <= 128);
        CHECK(dropped >= NR_THREADS * (300 - 128));
        before = dropped;
        /* What lost a race was given back: the table takes as many keys as it has room for. */
        for (unsigned i = 0; i < 300; i++)
            count(hist, i, 1);
        hits = hits_of(hist, &dropped, &entries);
        CHECK_EQ(entries, 128);
        CHECK_EQ(hits + dropped, (NR_THREADS + 1) * 300);
        CHECK_EQ(dropped - before, 300 - 128);
        fg_hist_free(hist);
    }
}

static void test_a_full_table_goes_on_with_the_keys_that_it_has(void)
{
    struct fg_hist *hist = new_hist(128, false);
    uint64_t *rows, dropped;
    uint32_t n;

    for (unsigned i = 0; i < 200; i++)
        count(hist, i, 0);
    for (unsigned i = 0; i < 200; i++)
        CHECK_EQ(!count(hist, i, 0), i >= 128);
    n = rows_of(hist, &rows, &dropped);
    CHECK_EQ(n, 128);
    CHECK_EQ(dropped, 2 * 72);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ(rows[3 * i], rows[3 * i + 1]); /* numbered in the order in which they came */
        CHECK_EQ(rows[3 * i + 2], 2);
    }
    free(rows);
    fg_hist_free(hist);
}

/* ---- a reader while others count */

static _Atomic bool stops;

static void *count_until_stopped(void *arg)
{
    struct work *work = arg;

    pthread_barrier_wait(work->together);
    for (uint32_t i = 0; !atomic_load(&stops); i++)
        count(work->hist, i % 3, 5); /* each hit adds 5 */
    return NULL;
}

static void test_a_reader_sees_whole_hits(void)
{
    struct fg_hist *hist = new_hist(128, true);
    struct work work = {.hist = hist};
    pthread_barrier_t together;
    pthread_t thread;
    uint64_t rows[3 * 4], dropped, seen = 0;

    pthread_barrier_init(&together, NULL, 2);
    work.together = &together;
    CHECK_EQ(pthread_create(&thread, NULL, count_until_stopped, &work), 0);
    pthread_barrier_wait(&together);
    for (unsigned read = 0; read < 20000 || seen < 3; read++) {
        uint32_t n = fg_hist_snapshot(hist, rows, 3, &dropped);

        seen = n;
        for (uint32_t i = 0; i < n; i++)
            CHECK_EQ(rows[4 * i + 3], 5 * rows[4 * i + 2]);
    }
    atomic_store(&stops, true);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&together);
    fg_hist_free(hist);
}

/* ---- handlers of signals, at any instruction */

static struct fg_hist *interrupted;
static _Atomic uint64_t nr_handled;

static void count_in_handler(int signal)
{
    (void)signal;
    for (int i = 0; i < 4; i++)
        count(interrupted, (int64_t)(atomic_load(&nr_handled) % 128), 1);
    atomic_fetch_add(&nr_handled, 1);
}

static void test_a_handler_counts_in_the_middle_of_a_count(void)
{
    struct sigaction action = {.sa_handler = count_in_handler}, old;
    struct itimerval often = {{0, 50}, {0, 50}}, never = {{0, 0}, {0, 0}};
    uint64_t hits, dropped, n = 0;
    uint32_t entries;

    interrupted = new_hist(128, true);
    sigaction(SIGALRM, &action, &old);
    setitimer(ITIMER_REAL, &often, NULL);
    for (; atomic_load(&nr_handled) < 2000; n++)
        count(interrupted, (int64_t)(n % 128), 1);
    setitimer(ITIMER_REAL, &never, NULL);
    sigaction(SIGALRM, &old, NULL);
    hits = hits_of(interrupted, &dropped, &entries);
    CHECK_EQ(hits + dropped, n + 4 * atomic_load(&nr_handled));
    CHECK_EQ(dropped, 0);
    fg_hist_free(interrupted);
}

/* ---- pause, clear, plans */

static void test_a_paused_histogram_counts_nothing_and_a_cleared_one_begins_again(void)
{
    struct fg_hist *hist = new_hist(128, true);
    uint64_t dropped;
    uint32_t entries;

    for (unsigned i = 0; i < 200; i++)
        count(hist, i, 3);
    fg_hist_pause(hist, true);
    CHECK(fg_hist_is_paused(hist));
    CHECK(!count(hist, 1, 3));
    CHECK_EQ(hits_of(hist, &dropped, &entries), 128);
    CHECK_EQ(dropped, 72);
    fg_hist_clear(hist);
    CHECK_EQ(hits_of(hist, &dropped, &entries), 0);
    CHECK_EQ(dropped, 0);
    CHECK_EQ(entries, 0);
    fg_hist_pause(hist, false);
    for (unsigned i = 500; i < 628; i++)
        CHECK(count(hist, i, 3));
    CHECK_EQ(hits_of(hist, &dropped, &entries), 128);
    CHECK_EQ(dropped, 0);
    fg_hist_free(hist);
}

static void test_a_number_that_could_not_be_read_is_a_key_of_its_own(void)
{
    struct fg_hist_plan plan = {.size = 256, .nr_keys = 1, .nr_values = 1};
    struct fg_field field = {.offset = FIELDS_AT, .type = FG_FIELD_S64, .fault_bit = (FIELDS_AT + 8) * 8};
    struct fg_hist *hist;
    uint64_t *rows, dropped;

    plan.keys[0] = field_term(field);
    plan.keys[0].kind = FG_HIST_KIND_FETCHED;
    plan.values[0] = field_term(field);
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    for (uint32_t i = 0; i < 6; i++) {
        bool is_fault = i % 3 == 0;

        count(hist, i % 3 == 1 ? 0 : is_fault ? 0 : -7, is_fault);
    }
    CHECK_EQ(rows_of(hist, &rows, &dropped), 3);
    for (uint32_t i = 0; i < 3; i++) { /* number, key in two words, hitcount, sum */
        const uint64_t *row = rows + (size_t)i * fg_hist_row_words(hist);
        bool is_signed_seven = !row[1] && row[2] == (uint64_t)-7;

        CHECK(is_signed_seven || row[2] == 0);
        CHECK_EQ(row[3], 2);
        CHECK_EQ(row[4], is_signed_seven ? (uint64_t)-14 : 0);
    }
    free(rows);
    fg_hist_free(hist);
}

static void test_sizes_are_powers_of_two_within_bounds(void)
{
    static const uint32_t sizes[][2] = {{0, 0},           {1, 0},           {64, 0},      {65, 128},
                                        {128, 128},       {129, 256},       {1000, 1024}, {2048, 2048},
                                        {100000, 131072}, {131072, 131072}, {131073, 0}};

    for (unsigned i = 0; i < NR_OF(sizes); i++)
        CHECK_EQ(fg_hist_map_size(sizes[i][0]), sizes[i][1]);
    CHECK_EQ(fg_hist_map_size(UINT64_MAX), 0);
}

static void test_a_bad_plan_is_refused(void)
{
    struct fg_hist_plan good = {.size = 128, .nr_keys = 1, .nr_values = 1, .nr_variables = 1}, plan;
    struct fg_hist *hist = NULL;

    good.keys[0] = good.values[0] = good.variables[0] = field_term(number_field);
    CHECK_EQ(fg_hist_new(&good, &hist), 0);
    fg_hist_free(hist);
    hist = NULL;
#define CHECK_REFUSED(change)                                                                                \
    do {                                                                                                     \
        plan = good;                                                                                         \
        change;                                                                                              \
        CHECK_EQ(fg_hist_new(&plan, &hist), -EINVAL);                                                        \
        CHECK(!hist);                                                                                        \
    } while (0)
    CHECK_REFUSED(plan.size = 100);
    CHECK_REFUSED(plan.nr_keys = 0);
    CHECK_REFUSED(plan.nr_keys = FG_HIST_MAX_KEYS + 1);
    CHECK_REFUSED(plan.nr_values = FG_HIST_MAX_VALUES + 1);
    CHECK_REFUSED(plan.nr_variables = FG_HIST_MAX_VARIABLES + 1);
    CHECK_REFUSED(plan.keys[0].nr_steps = 0);
    CHECK_REFUSED(plan.keys[0].steps[0].op = FG_HIST_ADD);
    CHECK_REFUSED(plan.keys[0].steps[0].op = FG_NR_HIST_OPS);
    CHECK_REFUSED(plan.keys[0].steps[0].field.type = FG_NR_FIELD_TYPES);
    CHECK_REFUSED(plan.keys[0].modifier = FG_HIST_BUCKETS);
    CHECK_REFUSED(plan.keys[0].nr_steps = 2);
    CHECK_REFUSED(plan.values[0].kind = FG_HIST_KIND_TEXT);
    CHECK_REFUSED(plan.values[0].modifier = FG_HIST_LOG2);
    CHECK_REFUSED(plan.variables[0].kind = FG_HIST_KIND_STACK);
    CHECK_REFUSED(plan.nr_tracked = FG_HIST_MAX_TRACKED + 1);
    CHECK_REFUSED((plan.nr_tracked = 1, plan.tracked[0].variable = 1));
    CHECK_REFUSED((plan.nr_tracked = 1, plan.variables[0].kind = FG_HIST_KIND_TEXT));
    CHECK_REFUSED((plan.nr_saved = 1, plan.saved[0] = plan.keys[0]));
    CHECK_REFUSED((plan.nr_saved = 1, plan.nr_tracked = 1));
}

/* ---- the table alone */

static void test_keys_with_one_hash_are_told_apart(void)
{
    struct fg_hist_map *map = fg_hist_map_new(128, 2, 1);
    struct fg_hist_element *elements[100];

    for (uint64_t i = 0; i < 100; i++)
        elements[i] = fg_hist_map_get(map, (uint64_t[]){i / 10, i % 10}, i % 3 + 255); /* round the end */
    for (uint64_t i = 0; i < 100; i++) {
        CHECK(fg_hist_map_find(map, (uint64_t[]){i / 10, i % 10}, i % 3 + 255) == elements[i]);
        CHECK(fg_hist_map_get(map, (uint64_t[]){i / 10, i % 10}, i % 3 + 255) == elements[i]);
        for (uint64_t k = 0; k < i; k++)
            CHECK(elements[i] != elements[k]);
    }
    CHECK(!fg_hist_map_find(map, (uint64_t[]){3, 10}, 255));
    CHECK_EQ(fg_hist_map_dropped(map), 0);
    fg_hist_map_free(map);
}

/* ---- variables */

static struct fg_loaded take(struct fg_hist *hist, const struct fg_hist *keys, const struct fg_hit *hit,
                             uint32_t index, uint64_t *words)
{
    struct fg_loaded value;

    return fg_hist_take(hist, keys, hit, index, words, &value) ? value
                                                               : (struct fg_loaded){.kind = FG_LOADED_NONE};
}

static void test_a_variable_is_taken_once_by_the_value_of_the_key(void)
{
    struct fg_hist_plan plan = {.size = 128, .nr_keys = 1, .nr_variables = 1};
    struct image image = {.number = 42, .small = 9};
    struct fg_hit hit = {.image = (const uint8_t *)&image, .bytes = sizeof(image), .time_ns = 5000};
    struct fg_hist *begin, *end;
    uint64_t words[FG_HIST_MAX_KEY_WORDS];

    plan.keys[0] = field_term(number_field);
    plan.variables[0] = (struct fg_hist_term){.nr_steps = 1, .steps = {{.op = FG_HIST_TIME_USECS}}};
    CHECK_EQ(fg_hist_new(&plan, &begin), 0);
    CHECK_EQ(fg_hist_needs(begin), FG_HIST_NEEDS_TIME);
    plan.nr_variables = 0;
    plan.keys[0] = field_term(small_field);
    CHECK_EQ(fg_hist_new(&plan, &end), 0);
    CHECK(fg_hist_count(begin, &hit));
    CHECK_EQ(take(begin, end, &hit, 0, words).kind, FG_LOADED_NONE); /* 9 has not begun */
    image.small = 42;
    CHECK_EQ(take(begin, end, &hit, 1, words).kind, FG_LOADED_NONE);
    CHECK_EQ(take(begin, end, &hit, 0, words).number, 5);
    CHECK_EQ(take(begin, end, &hit, 0, words).kind, FG_LOADED_NONE);
    hit.time_ns = 7000;
    fg_hist_count(begin, &hit);
    CHECK_EQ(take(begin, end, &hit, 0, words).number, 7);
    fg_hist_free(begin);
    fg_hist_free(end);
}

static void test_a_text_variable_is_taken_as_it_was(void)
{
    struct fg_hist_plan plan = {.size = 128, .nr_keys = 1, .nr_variables = 3, .signed_variables = 4};
    struct image image = {.number = -42};
    struct fg_hit hit = {.image = (const uint8_t *)&image, .bytes = sizeof(image), .comm = "a_thread"};
    uint64_t words[FG_HIST_MAX_KEY_WORDS];
    struct fg_loaded taken;
    struct fg_hist *hist;

    plan.keys[0] = field_term(number_field);
    plan.variables[0] = field_term(small_field);
    plan.variables[1] =
        (struct fg_hist_term){.nr_steps = 1, .kind = FG_HIST_KIND_COMM, .steps = {{.op = FG_HIST_COMM}}};
    plan.variables[2] = field_term(number_field);
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    CHECK_EQ(fg_hist_needs(hist), FG_HIST_NEEDS_COMM);
    fg_hist_count(hist, &hit);
    taken = take(hist, hist, &hit, 1, words);
    CHECK_EQ(taken.kind, FG_LOADED_TEXT);
    CHECK_EQ(taken.bytes, 8);
    CHECK(memcmp(taken.text, "a_thread", 8) == 0);
    CHECK_EQ(take(hist, hist, &hit, 1, words).kind, FG_LOADED_NONE);
    taken = take(hist, hist, &hit, 2, words);
    CHECK_EQ(taken.kind, FG_LOADED_SIGNED);
    CHECK_EQ((int64_t)taken.number, -42);
    CHECK_EQ(take(hist, hist, &hit, 0, words).kind, FG_LOADED_UNSIGNED);
    fg_hist_free(hist);
}

/* ---- onmax() and onchange() */

/* One key; tracks `number` and, as a change, `small`; the first one saves both. */
static struct fg_hist *new_tracking(bool is_signed)
{
    struct fg_hist_plan plan = {.size = 128, .nr_keys = 1, .nr_variables = 2, .nr_tracked = 2, .nr_saved = 2};
    struct fg_hist *hist;

    plan.keys[0] = (struct fg_hist_term){.nr_steps = 1, .steps = {{.op = FG_HIST_PID}}};
    plan.variables[0] = field_term(number_field);
    plan.variables[1] = field_term(small_field);
    plan.signed_variables = is_signed;
    plan.tracked[1] = (struct fg_hist_track){.variable = 1, .is_change = true};
    plan.saved[0] = field_term(small_field);
    plan.saved[1] = field_term(number_field);
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    return hist;
}

static bool track(struct fg_hist *hist, uint32_t index, int64_t number, uint32_t small)
{
    struct image image = {.common = {.pid = 7}, .number = number, .small = small};
    struct fg_hit hit = {.image = (const uint8_t *)&image, .bytes = sizeof(image)};

    return fg_hist_track(hist, fg_hist_count(hist, &hit), index, &hit);
}

/* The only row: number, pid, hitcount, two that are tracked, is saved, two that are saved. */
static void read_tracking(struct fg_hist *hist, uint64_t row[8])
{
    uint64_t dropped;

    CHECK_EQ(fg_hist_row_words(hist), 8);
    CHECK_EQ(fg_hist_snapshot(hist, row, 1, &dropped), 1);
}

static void test_the_largest_value_is_kept_with_what_was_saved_then(void)
{
    static const int64_t numbers[] = {-7, -9, -5, -5, 3, 2, INT64_MAX, 4};
    static const bool is_max[] = {true, false, true, false, true, false, true, false};
    struct fg_hist *hist = new_tracking(true);
    uint64_t row[8];

    CHECK(!track(hist, 1, 0, 0));
    read_tracking(hist, row);
    CHECK_EQ(row[3], 0); /* nothing was tracked yet */
    CHECK_EQ(row[5], 0);
    for (uint32_t i = 0; i < NR_OF(numbers); i++) {
        CHECK_EQ(track(hist, 0, numbers[i], 100 + i), is_max[i]);
        read_tracking(hist, row);
        if (is_max[i]) {
            CHECK_EQ((int64_t)row[3], numbers[i]);
            CHECK_EQ(row[6], 100 + i);
        }
        CHECK_EQ(row[5], 1);
        CHECK_EQ(row[7], row[3]);
    }
    fg_hist_free(hist);
    hist = new_tracking(false);
    CHECK(!track(hist, 0, 0, 1));
    CHECK(track(hist, 0, 5, 1));
    CHECK(track(hist, 0, -1, 1)); /* 2^64-1 */
    CHECK(!track(hist, 0, 6, 1));
    fg_hist_free(hist);
}

static void test_a_change_is_another_value_than_the_last(void)
{
    static const uint32_t numbers[] = {0, 5, 5, 4, 5, 0, 0};
    static const bool is_change[] = {false, true, false, true, true, true, false};
    struct fg_hist *hist = new_tracking(true);
    uint64_t row[8];

    for (uint32_t i = 0; i < NR_OF(numbers); i++) {
        CHECK_EQ(track(hist, 1, 1, numbers[i]), is_change[i]);
        read_tracking(hist, row);
        CHECK_EQ(row[4], numbers[i]);
        CHECK_EQ(row[5], 0); /* the other one saves */
    }
    fg_hist_free(hist);
}

static void *track_many(void *arg)
{
    struct work *work = arg;

    pthread_barrier_wait(work->together);
    for (unsigned i = 0; i < work->nr_hits; i++)
        work->plain[0] += track(work->hist, 0, (int64_t)i * NR_THREADS + work->thread, i);
    return NULL;
}

static void test_the_largest_value_of_all_threads_is_kept(void)
{
    static struct work works[NR_THREADS];
    struct fg_hist *hist = new_tracking(true);
    uint64_t row[8];

    run_threads(track_many, works, hist, 5000);
    read_tracking(hist, row);
    CHECK_EQ(row[3], 5000 * NR_THREADS - 1);
    CHECK_EQ(row[5], 1);
    CHECK_EQ(row[7] / NR_THREADS, row[6]); /* both of one hit */
    fg_hist_free(hist);
}

int main(void)
{
    test_a_million_hits_from_eight_threads_are_those_counted_plainly();
    test_each_hit_of_a_full_table_is_counted_or_dropped();
    test_a_full_table_goes_on_with_the_keys_that_it_has();
    test_a_reader_sees_whole_hits();
    test_a_handler_counts_in_the_middle_of_a_count();
    test_a_paused_histogram_counts_nothing_and_a_cleared_one_begins_again();
    test_a_number_that_could_not_be_read_is_a_key_of_its_own();
    test_sizes_are_powers_of_two_within_bounds();
    test_a_bad_plan_is_refused();
    test_keys_with_one_hash_are_told_apart();
    test_a_variable_is_taken_once_by_the_value_of_the_key();
    test_a_text_variable_is_taken_as_it_was();
    test_the_largest_value_is_kept_with_what_was_saved_then();
    test_a_change_is_another_value_than_the_last();
    test_the_largest_value_of_all_threads_is_kept();
    return 0;
}
