/* The action snapshot() of a histogram is due when the largest value of all rows grows, or when a value
 * differs from the last one. What is read of it is of one hit.
 *
 * Fails if a row alone decides, or if the value and the key of two hits are mixed. */
#include <errno.h>
#include <pthread.h>

#include "engine/trigger/hist_action.h"
#include "support/check.h"

#define NR_THREADS 4u
#define NR_HITS 5000u

struct image {
    struct fg_event_common common;
    uint64_t probe_ip;
    int64_t number;
} __attribute__((packed));

static struct fg_hist_term number_term(void)
{
    return (struct fg_hist_term){
        .nr_steps = 1,
        .kind = FG_HIST_KIND_NUMBER,
        .steps = {{.op = FG_HIST_FIELD, .field = {.offset = 16, .type = FG_FIELD_S64}}},
    };
}

/* One key, the pid; it tracks `number`. */
static struct fg_hist *new_hist(bool is_change)
{
    struct fg_hist_plan plan = {.size = 128, .nr_keys = 1, .nr_variables = 1, .nr_tracked = 1};
    struct fg_hist *hist;

    plan.keys[0] = (struct fg_hist_term){.nr_steps = 1, .steps = {{.op = FG_HIST_PID}}};
    plan.variables[0] = number_term();
    plan.signed_variables = 1;
    plan.tracked[0].is_change = is_change;
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    return hist;
}

static bool note(struct fg_hist *hist, struct fg_hist_taken *taken, int pid, int64_t number)
{
    struct image image = {.common = {.pid = pid}, .number = number};
    struct fg_hit hit = {.image = (const uint8_t *)&image, .bytes = sizeof(image)};
    struct fg_hist_element *element = fg_hist_count(hist, &hit);

    return fg_hist_track(hist, element, 0, &hit) && fg_hist_taken_note(taken, hist, element, 0, &hit);
}

static void check_last(struct fg_hist *hist, struct fg_hist_taken *taken, int pid, int64_t number)
{
    uint64_t words[FG_HIST_TAKEN_WORDS];

    CHECK_EQ(fg_hist_taken_read(taken, hist, words), 4); /* value, comm, key */
    CHECK_EQ((int64_t)words[0], number);
    CHECK_EQ(words[3], (uint64_t)pid);
}

struct hit_of {
    int64_t pid;
    int64_t number;
    bool is_due;
};

static void run(bool is_change, const struct hit_of *hits, uint32_t n)
{
    struct fg_hist *hist = new_hist(is_change);
    struct fg_hist_taken taken = {0};
    const struct hit_of *last = NULL;

    CHECK_EQ(fg_hist_taken_read(&taken, hist, (uint64_t[FG_HIST_TAKEN_WORDS]){0}), 0);
    for (uint32_t i = 0; i < n; i++) {
        CHECK_EQ(note(hist, &taken, (int)hits[i].pid, hits[i].number), hits[i].is_due);
        last = hits[i].is_due ? &hits[i] : last;
        check_last(hist, &taken, last->pid, last->number);
    }
    fg_hist_close(hist);
    fg_hist_clear(hist);
    check_last(hist, &taken, last->pid, last->number); /* the key is a copy */
    fg_hist_free(hist);
}

static void test_the_largest_of_all_rows_is_due(void)
{
    static const struct hit_of hits[] = {{1, -5, true},  {2, -7, false}, {2, -6, false}, {2, -4, true},
                                         {1, -4, false}, {3, 0, true},   {1, -1, false}, {1, 9, true}};

    run(false, hits, NR_OF(hits));
}

static void test_a_change_in_its_row_and_from_the_last_is_due(void)
{
    static const struct hit_of hits[] = {{1, 5, true},  {1, 5, false},  {2, 5, false}, {2, -1, true},
                                         {1, 5, false}, {1, -1, false}, {1, 5, true}};

    run(true, hits, NR_OF(hits));
}

struct work {
    struct fg_hist *hist;
    struct fg_hist_taken *taken;
    int pid;
    unsigned nr_due;
};

/* Each number is of one thread: number % NR_THREADS is its pid. */
static void *note_many(void *arg)
{
    struct work *work = arg;
    uint64_t words[FG_HIST_TAKEN_WORDS];

    for (unsigned i = 1; i <= NR_HITS; i++) {
        work->nr_due += note(work->hist, work->taken, work->pid, (int64_t)i * NR_THREADS + work->pid);
        if (i % 16 == 0 && fg_hist_taken_read(work->taken, work->hist, words))
            CHECK_EQ(words[0] % NR_THREADS, words[3]);
    }
    return NULL;
}

static void test_what_is_read_is_of_one_hit(void)
{
    struct fg_hist *hist = new_hist(false);
    struct fg_hist_taken taken = {0};
    struct work works[NR_THREADS];
    pthread_t threads[NR_THREADS];
    unsigned nr_due = 0;

    for (unsigned i = 0; i < NR_THREADS; i++) {
        works[i] = (struct work){.hist = hist, .taken = &taken, .pid = (int)i};
        CHECK_EQ(pthread_create(&threads[i], NULL, note_many, &works[i]), 0);
    }
    for (unsigned i = 0; i < NR_THREADS; i++) {
        pthread_join(threads[i], NULL);
        nr_due += works[i].nr_due;
    }
    CHECK(nr_due >= NR_HITS && nr_due <= NR_HITS * NR_THREADS);
    CHECK(!note(hist, &taken, 0, (int64_t)(NR_HITS + 1) * NR_THREADS - 1)); /* the largest there was */
    CHECK(note(hist, &taken, 0, (int64_t)(NR_HITS + 1) * NR_THREADS));
    fg_hist_free(hist);
}

static int check_actions(struct fg_hist_action first, struct fg_hist_action second,
                         struct fg_hist_taken *taken)
{
    struct fg_hist_actions actions = {.nr_actions = 2, .actions = {first, second}, .taken = taken};

    return fg_hist_actions_check(&actions, 1);
}

static void test_a_histogram_has_one_such_action_of_onmax_or_onchange(void)
{
    struct fg_hist_action plain = {.tracked = 0}, snapshot = {.tracked = 0, .is_snapshot = true};
    struct fg_hist_action always = {.tracked = -1, .is_snapshot = true};
    struct fg_hist_taken taken = {0};

    CHECK_EQ(check_actions(plain, snapshot, &taken), 0);
    CHECK_EQ(check_actions(snapshot, plain, NULL), -EINVAL);
    CHECK_EQ(check_actions(plain, always, &taken), -EINVAL);
    CHECK_EQ(check_actions(snapshot, snapshot, &taken), -EINVAL);
}

int main(void)
{
    test_the_largest_of_all_rows_is_due();
    test_a_change_in_its_row_and_from_the_last_is_due();
    test_what_is_read_is_of_one_hit();
    test_a_histogram_has_one_such_action_of_onmax_or_onchange();
    return 0;
}
