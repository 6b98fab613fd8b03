/* The function tracer's options: consecutive repeats of a call become one record with a count, and a
 * stack record follows its call's record. */
#include <unistd.h>

#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 4, NR_THREADS = 40, NR_ROUNDS = 20, NR_TURNS = 49, MAX_SEEN = 64 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic bool over;
static pthread_barrier_t barrier;

static int trace_functions(bool no_repeats, bool stack_trace, enum fg_ring_mode mode)
{
    struct fg_instance_config config = {
        .tracer = &fg_tracer_function,
        .ring = {.directory = session.directory, .buffer_bytes = FG_RING_MIN_KB * 1024u, .mode = mode},
        .settings = {.no_repeats = no_repeats, .stack_trace = stack_trace},
    };
    int handle;

    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    return handle;
}

/* A record that was read: its kind, its function, and the repeat count or the depth of the stack. */
struct seen {
    enum fg_record_kind kind;
    uint32_t func;
    uint64_t number;
};

static struct seen seen[MAX_SEEN];
static uint32_t nr_seen;

static void note(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    struct seen *at = &seen[nr_seen++];

    (void)tally, (void)task, (void)lost;
    CHECK(nr_seen <= MAX_SEEN);
    *at = (struct seen){.kind = fg_record_kind(record->info), .func = record->func};
    if (at->kind == FG_RECORD_REPEATS)
        at->number = ((const uint64_t *)(record + 1))[1];
    if (at->kind == FG_RECORD_STACK)
        at->number = fg_record_words(record->info) - 2;
}

static void expect(uint32_t i, enum fg_record_kind kind, const struct fg_func *func, uint64_t number)
{
    CHECK(i < nr_seen);
    CHECK_EQ(seen[i].kind, kind);
    CHECK_EQ(seen[i].func, func->id);
    CHECK_EQ(seen[i].number, number);
}

static void call_again(struct fg_func *func, int times)
{
    for (int i = 0; i < times; i++)
        sim_call_return(func);
}

static void play_and_read(bool no_repeats, bool stack_trace)
{
    int handle;

    session_begin(&session);
    nr_seen = 0;
    session.tally.on_record = note;
    handle = trace_functions(no_repeats, stack_trace, FG_RING_DROP);
    call_again(funcs[0], 5);
    call_again(funcs[1], 1);
    call_again(funcs[0], 2);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    session_end(&session);
}

/* Fails if only the function or only the caller is compared, or if the count starts at 0. */
static void test_a_call_again_only_counts(void)
{
    play_and_read(true, false);
    CHECK_EQ(nr_seen, 5);
    expect(0, FG_RECORD_FUNCTION, funcs[0], 0);
    expect(1, FG_RECORD_REPEATS, funcs[0], 4);
    expect(2, FG_RECORD_FUNCTION, funcs[1], 0);
    expect(3, FG_RECORD_FUNCTION, funcs[0], 0);
    expect(4, FG_RECORD_REPEATS, funcs[0], 1);
}

static void test_without_the_option_each_call_is_told(void)
{
    play_and_read(false, false);
    CHECK_EQ(nr_seen, 8);
    expect(4, FG_RECORD_FUNCTION, funcs[0], 0);
}

/* Fails without the case for a stack in is_newest. */
static void test_a_stack_follows_its_call(void)
{
    play_and_read(true, true);
    CHECK_EQ(nr_seen, 8);
    expect(0, FG_RECORD_FUNCTION, funcs[0], 0);
    expect(1, FG_RECORD_STACK, funcs[0], 1); /* the simulated arch knows no callers */
    expect(2, FG_RECORD_REPEATS, funcs[0], 4);
    expect(4, FG_RECORD_STACK, funcs[1], 1);
}

/* Each round starts with the function that ended the previous round. */
static void *call_in_turns(void *arg)
{
    (void)arg;
    for (uint32_t round = 0; round < NR_ROUNDS; round++) {
        pthread_barrier_wait(&barrier);
        for (uint32_t i = 0; i < NR_TURNS; i++)
            call_again(funcs[i % NR_FUNCS], 1 + (int)(i % 3));
    }
    return NULL;
}

static uint64_t nr_calls;

static void count(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    (void)tally, (void)task, (void)lost;
    nr_calls += fg_record_kind(record->info) == FG_RECORD_REPEATS ? ((const uint64_t *)(record + 1))[1] : 1;
}

/* Fails without the store to *var after a new record. */
static void test_counts_add_up_while_threads_share_few_sub_buffers(void)
{
    pthread_t threads[NR_THREADS];
    uint64_t written = 0;
    int handle;

    for (uint32_t i = 0; i < NR_TURNS; i++)
        written += (uint64_t)NR_THREADS * NR_ROUNDS * (1 + i % 3);
    session_begin(&session);
    session_recorder_begins(&session);
    session.tally.on_record = count;
    handle = trace_functions(true, false, FG_RING_WAIT);
    session_open(&session);
    CHECK(fg_ring_reader_facts(session.reader)->nr_subbufs < NR_THREADS);
    pthread_barrier_init(&barrier, NULL, NR_THREADS);
    session_drain_begin(&session, 0, 100);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_in_turns, NULL);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    session_drain_end(&session);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.records_lost, 0);
    CHECK_EQ(nr_calls, written);
    pthread_barrier_destroy(&barrier);
    session_end(&session);
}

static _Atomic int nr_holding;

static void *hold_a_sub_buffer(void *arg)
{
    (void)arg;
    call_again(funcs[1], 1);
    atomic_fetch_add(&nr_holding, 1);
    while (!atomic_load(&over))
        usleep(100);
    return NULL;
}

/* Another task writes one record, which leaves the later bytes of the sub-buffer unchanged. Fails
 * without fg_ring_has_room in newest_call: the last call was counted in those bytes. */
static void test_no_call_is_counted_in_a_sub_buffer_that_was_taken_away(void)
{
    pthread_t threads[NR_THREADS];
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    session.tally.on_record = count;
    nr_calls = 0;
    atomic_store(&over, false);
    handle = trace_functions(true, false, FG_RING_WAIT);
    session_open(&session);
    session_drain_begin(&session, 0, 100);
    for (uint32_t i = 0; i < 20; i++)
        call_again(funcs[i % NR_FUNCS], 1);
    call_again(funcs[0], 2);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], hold_a_sub_buffer, NULL);
    while (atomic_load(&nr_holding) < NR_THREADS)
        usleep(100);
    call_again(funcs[0], 1);
    atomic_store(&over, true);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    session_drain_end(&session);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(nr_calls, 20 + 2 + NR_THREADS + 1);
    session_end(&session);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_a_call_again_only_counts();
    test_without_the_option_each_call_is_told();
    test_a_stack_follows_its_call();
    test_counts_add_up_while_threads_share_few_sub_buffers();
    test_no_call_is_counted_in_a_sub_buffer_that_was_taken_away();
    return 0;
}
