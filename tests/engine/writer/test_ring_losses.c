/* Losses: with a full pool, drop and overwrite mode lose records. They count each one, and report the
 * loss where it happened. */
#include <unistd.h>

#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 4001, NR_THREADS = 4 };

static struct fg_func *funcs[NR_FUNCS];
static uint32_t place_of_id[SESSION_MAX_FUNCS]; /* index in `funcs` */
static struct session session;

/* Each task calls funcs[0], funcs[1], ... and starts over after the last. So each record shows how many
 * records before it are missing. */
struct watch {
    uint64_t next[SESSION_MAX_TASKS]; /* number of the task's next call, modulo NR_FUNCS */
    bool began[SESSION_MAX_TASKS];
    uint64_t gaps;
    bool any_start; /* a loss before a task's first record may be only in the total */
    bool late; /* a loss may be reported one sub-buffer late, if the reader was just claiming the right one */
};

static void check_gap(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    struct watch *watch = tally->arg;
    uint64_t number = place_of_id[record->func];

    if ((watch->began[task] || !watch->any_start) && !watch->late)
        CHECK_EQ(number, (watch->next[task] + lost) % NR_FUNCS);
    watch->gaps += lost != 0;
    watch->began[task] = true;
    watch->next[task] = (number + 1) % NR_FUNCS;
}

static uint64_t run_calls(uint64_t n)
{
    for (uint64_t i = 0; i < n; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
    return n;
}

static int begin(enum fg_ring_mode mode, struct watch *watch)
{
    int handle;

    memset(watch, 0, sizeof(*watch));
    session_begin(&session);
    session_recorder_begins(&session);
    handle = session_trace(&session, &(struct session_trace){.tracer = &fg_tracer_function, .mode = mode});
    session.tally.on_record = check_gap;
    session.tally.arg = watch;
    return handle;
}

static void end(int handle)
{
    CHECK_EQ(fg_instance_stop(handle), 0);
    if (!session.reader)
        session_open(&session);
    session_finish(&session);
}

/* Fails without `cursor->lost++`, or if a loss is counted twice. */
static void test_drop_keeps_the_oldest_and_counts_the_rest(void)
{
    struct watch watch;
    int handle = begin(FG_RING_DROP, &watch);

    run_calls(10000);
    end(handle);
    CHECK_EQ(watch.next[fg_task_current()->id], session.tally.records);
    CHECK_EQ(session.tally.records + session.tally.records_lost, 10000);
    CHECK_EQ(session.tally.lost, 0); /* no record follows the loss */
    CHECK(session.tally.records * 24 > FG_RING_MIN_KB * 1024 * 9 / 10);
    session_end(&session);
}

/* Fails without `subbuf->lost = cursor->lost` in own(). */
static void test_drop_shows_the_loss_where_it_was(void)
{
    struct watch watch;
    int handle = begin(FG_RING_DROP, &watch);

    session_open(&session);
    for (int i = 0; i < 50; i++) {
        run_calls(NR_FUNCS);
        session_drain(&session);
    }
    end(handle);
    CHECK_EQ(session.tally.records + session.tally.records_lost, 50 * NR_FUNCS);
    CHECK(watch.gaps >= 48);
    CHECK(session.tally.lost > 0 && session.tally.lost <= session.tally.records_lost);
    session_end(&session);
}

/* Fails without pass_loss_on, or if sub-buffers are counted instead of records. */
static void test_overwrite_keeps_the_latest_and_counts_the_rest(void)
{
    struct watch watch;
    int handle = begin(FG_RING_OVERWRITE, &watch);

    run_calls(10000);
    end(handle);
    CHECK_EQ(session.tally.records + session.tally.records_lost, 10000);
    CHECK_EQ(session.tally.lost, session.tally.records_lost);
    CHECK_EQ(watch.next[fg_task_current()->id], 10000 % NR_FUNCS);
    CHECK(session.tally.records * 24 > FG_RING_MIN_KB * 1024 * 3 / 4);
    session_end(&session);
}

static _Atomic uint64_t nr_written;

static void *write_calls(void *arg)
{
    atomic_fetch_add(&nr_written, run_calls(*(uint64_t *)arg));
    return NULL;
}

/* Fails if a loss goes to the next sub-buffer although the reader has just claimed it: see own(). */
static void test_exact_with_threads_and_a_reader(enum fg_ring_mode mode)
{
    static struct watch watch;
    pthread_t threads[NR_THREADS];
    uint64_t n = 100000;
    int handle = begin(mode, &watch);

    watch.any_start = true;
    watch.late = mode == FG_RING_OVERWRITE;
    atomic_store(&nr_written, 0);
    session_open(&session);
    session_drain_begin(&session, 0, 300);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], write_calls, &n);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    session_drain_end(&session);
    end(handle);
    CHECK_EQ(session.tally.records + session.tally.records_lost, atomic_load(&nr_written));
    CHECK(session.tally.lost <= session.tally.records_lost);
    CHECK(session.tally.records_lost > 0);
    session_end(&session);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    for (uint32_t i = 0; i < NR_FUNCS; i++)
        place_of_id[funcs[i]->id] = i;
    test_drop_keeps_the_oldest_and_counts_the_rest();
    test_drop_shows_the_loss_where_it_was();
    test_overwrite_keeps_the_latest_and_counts_the_rest();
    test_exact_with_threads_and_a_reader(FG_RING_DROP);
    test_exact_with_threads_and_a_reader(FG_RING_OVERWRITE);
    return 0;
}
