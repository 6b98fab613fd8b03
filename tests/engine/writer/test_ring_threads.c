/* Any number of threads share a small pool, and threads that end leak nothing. */
#include <unistd.h>

#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 16, NR_THREADS = 40, NR_SHORT = 2000 };

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
static const bool is_sanitized = true;
#elif defined(__has_feature)
static const bool is_sanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
static const bool is_sanitized = false;
#endif

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic bool over;
static pthread_barrier_t barrier;

static void *call_in_turns(void *arg)
{
    (void)arg;
    for (int round = 0; round < 20; round++) {
        pthread_barrier_wait(&barrier);
        for (uint32_t i = 0; i < 50; i++)
            sim_call_return(funcs[i % NR_FUNCS]);
    }
    return NULL;
}

/* Fails without revoke_idle (the 9th thread waited forever), or without its fence. */
static void test_more_threads_than_sub_buffers(enum fg_ring_mode mode)
{
    pthread_t threads[NR_THREADS];
    uint64_t written = (uint64_t)NR_THREADS * 20 * 50 * 2;
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = mode});
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
    CHECK_EQ(session.tally.nr_tasks, NR_THREADS);
    CHECK_EQ(session.tally.records + session.tally.records_lost, written);
    if (mode == FG_RING_WAIT)
        CHECK_EQ(session.tally.records_lost, 0);
    session_end(&session);
}

static void *short_life(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < 3; i++)
        sim_call_return(funcs[i]);
    return NULL;
}

static uint32_t nr_mappings(void)
{
    FILE *maps = fopen("/proc/self/maps", "r");
    uint32_t n = 0;
    int c;

    while ((c = getc(maps)) != EOF)
        n += c == '\n';
    fclose(maps);
    return n;
}

static uint64_t resident_kb(void)
{
    FILE *statm = fopen("/proc/self/statm", "r");
    unsigned long size, resident;

    CHECK_EQ(fscanf(statm, "%lu %lu", &size, &resident), 2);
    fclose(statm);
    return resident * (uint64_t)sysconf(_SC_PAGESIZE) / 1024;
}

/* Fails without the munmap in task_end (2,000 mappings), or without the retire in fg_ring_task_exit. */
static void test_threads_that_end_leave_no_growth(void)
{
    uint32_t mappings, tasks = fg_task_count();
    uint64_t resident;
    int handle;

    session_begin(&session);
    session_recorder_begins(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_WAIT});
    session_open(&session);
    session_drain_begin(&session, 0, 100);
    for (int i = 0; i < 100; i++)
        sim_in_thread(short_life, NULL);
    mappings = nr_mappings();
    resident = resident_kb();
    for (int i = 0; i < NR_SHORT; i++)
        sim_in_thread(short_life, NULL);
    CHECK_EQ(fg_task_count(), tasks);
    CHECK(nr_mappings() < mappings + 20);
    if (!is_sanitized) /* a sanitizer's runtime keeps freed memory */
        CHECK(resident_kb() < resident + 2048);
    session_drain_end(&session);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.records, (NR_SHORT + 100) * 6);
    CHECK_EQ(session.tally.nr_tasks, NR_SHORT + 100);
    CHECK_EQ(session.tally.records_lost, 0);
    session_end(&session);
}

static void *end_at_any_moment(void *arg)
{
    (void)arg;
    while (!atomic_load(&over)) {
        sim_in_thread(short_life, NULL);
        usleep(50);
    }
    return NULL;
}

static _Atomic bool inside, let_go;

static void stay_inside(struct probe *probe, struct ftrace_graph_ent *trace)
{
    (void)probe, (void)trace;
    atomic_store(&inside, true);
    while (!atomic_load(&let_go))
        usleep(100);
}

static void *call_the_slow_one(void *arg)
{
    (void)arg;
    sim_call_return(funcs[NR_FUNCS - 1]);
    return NULL;
}

static void *end_while_the_session_does(void *arg)
{
    (void)arg;
    short_life(NULL);
    pthread_barrier_wait(&barrier);
    usleep(20000); /* by now the main thread is in fg_instance_stop */
    return NULL;
}

static void *let_go_later(void *arg)
{
    sim_join(*(pthread_t *)arg);
    atomic_store(&let_go, true);
    return NULL;
}

/* Fails if a task's end looks up users in the published slots. A user that was unregistering at that
 * moment was not called, and closing the ring used the ended task's cursor. */
static void test_a_thread_ends_while_its_session_does(void)
{
    pthread_t slow, ends, waits;
    struct probe probe;
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP});
    probe_init(&probe, "slow", NULL, 0);
    probe_set_filter(&probe, "m.f15", NULL);
    probe.on_entry = stay_inside;
    probe_register(&probe);
    pthread_barrier_init(&barrier, NULL, 2);
    sim_spawn(&slow, call_the_slow_one, NULL);
    while (!atomic_load(&inside))
        usleep(100);
    sim_spawn(&ends, end_while_the_session_does, NULL);
    sim_spawn(&waits, let_go_later, &ends);
    pthread_barrier_wait(&barrier);
    CHECK_EQ(fg_instance_stop(handle), 0);
    CHECK(atomic_load(&let_go));
    sim_join(slow);
    sim_join(waits);
    probe_unregister(&probe);
    probe_done(&probe);
    session_read(&session);
    CHECK_EQ(session.tally.records, 7); /* and the slow call's entry */
    session_end(&session);
}

/* Fails if the slot is given back before the ring is closed and the table is full: the ring was closed
 * through the next owner's cursors. */
static void test_sessions_begin_and_end_while_threads_do(void)
{
    static struct probe fillers[FG_MAX_USERS - 2];
    pthread_t threads[3];

    for (uint32_t i = 0; i < NR_OF(fillers); i++) {
        probe_init(&fillers[i], "filler", "nothing", 0);
        probe_register(&fillers[i]);
    }
    atomic_store(&over, false);
    for (int i = 0; i < 3; i++)
        sim_spawn(&threads[i], end_at_any_moment, NULL);
    for (int i = 0; i < 100; i++) {
        struct session_trace trace = {.mode = i % 2 ? FG_RING_DROP : FG_RING_OVERWRITE};
        int first, second;

        session_begin(&session);
        first = session_trace(&session, &trace);
        usleep(i * 7);
        second = session_trace(&session, &trace);
        CHECK_EQ(fg_instance_stop(first), 0);
        first = session_trace(&session, &trace);
        CHECK_EQ(fg_instance_stop(second), 0);
        CHECK_EQ(fg_instance_stop(first), 0);
        session_read(&session);
        CHECK(session.tally.finished);
        session_end(&session);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 3; i++)
        sim_join(threads[i]);
    for (uint32_t i = 0; i < NR_OF(fillers); i++) {
        probe_unregister(&fillers[i]);
        probe_done(&fillers[i]);
    }
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_more_threads_than_sub_buffers(FG_RING_WAIT);
    test_more_threads_than_sub_buffers(FG_RING_DROP);
    test_more_threads_than_sub_buffers(FG_RING_OVERWRITE);
    test_threads_that_end_leave_no_growth();
    test_a_thread_ends_while_its_session_does();
    test_sessions_begin_and_end_while_threads_do();
    return 0;
}
