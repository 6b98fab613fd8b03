/* A reader that waits for records is woken by the first one, whoever writes it, and misses none. Writers lose
 * neither records nor room for it. */
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "engine/graph/contexts.h"
#include "engine/tracer/instance_mark.h"
#include "engine/tracer/instance_start.h"
#include "engine/writer/ring_copy.h"
#include "engine/writer/ring_unread.h"
#include "engine/writer/ring_wait.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

/* The time is a bound for a test that fails. */
enum { NR_FUNCS = 4, NR_THREADS = 3, NR_CALLS = 2000, NR_ROUNDS = 200, FOREVER_MS = 60000 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic uint32_t nr_woken, nr_writers;

static void count_wake(void)
{
    atomic_fetch_add(&nr_woken, 1);
}

static struct fg_instance *open_instance(void)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_function_graph,
                                        .ring = {.buffer_bytes = 1 << 20, .mode = FG_RING_DROP}};
    int handle;

    strcpy(config.ring.instance, "awaited");
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    return fg_instance_get(handle);
}

static void close_instance(struct fg_instance *instance)
{
    CHECK_EQ(fg_instance_stop(instance->handle), 0);
    fg_instance_put(instance);
}

/* Takes all records; adds them to the session's tally. */
static void take(struct fg_instance *instance)
{
    struct fg_ring_copy_options options = {.consumes = true};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%d.0%s", session.directory, (int)getpid(), FG_RING_SUFFIX);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    CHECK(fg_ring_copy(&instance->ring, fd, &options) >= 0);
    CHECK_EQ(session_open_ring(path, &session.reader), 0);
    session_finish(&session);
    close(fd);
    unlink(path);
}

static void arm(struct fg_instance *instance)
{
    CHECK_EQ(fg_ring_await(&instance->ring, fg_ring_wakes(&instance->ring)), FG_RING_IDLE);
}

/* Fails if the room is not given back: each round then takes a sub-buffer. */
static void test_the_first_record_wakes_and_costs_no_room(void)
{
    struct fg_instance *instance = open_instance();
    uint32_t seen;
    uint64_t taken;

    sim_call_return(funcs[0]);
    taken = instance->ring.pool.next_seq;
    take(instance);
    atomic_store(&nr_woken, 0);
    for (int i = 0; i < 10; i++) {
        arm(instance);
        arm(instance);
        seen = fg_ring_wakes(&instance->ring);
        sim_call_return(funcs[0]);
        sim_call_return(funcs[1]);
        CHECK(fg_ring_wakes(&instance->ring) == seen + 1);
        CHECK_EQ(fg_ring_await(&instance->ring, seen), FG_RING_NEWS);
        CHECK_EQ(fg_ring_wait(&instance->ring, seen, FOREVER_MS), 0);
        take(instance);
    }
    CHECK_EQ(atomic_load(&nr_woken), 10);
    CHECK_EQ(session.tally.records, 2 + 10 * 4);
    CHECK_EQ(instance->ring.pool.next_seq, taken);
    close_instance(instance);
}

static void test_records_that_are_there_need_no_wait(void)
{
    struct fg_instance *instance = open_instance();

    sim_call_return(funcs[0]);
    CHECK_EQ(fg_ring_await(&instance->ring, fg_ring_wakes(&instance->ring)), FG_RING_NEWS);
    take(instance);
    CHECK_EQ(fg_ring_wait(&instance->ring, fg_ring_wakes(&instance->ring), 1), -ETIMEDOUT);
    close_instance(instance);
}

/* The handler cannot take the ring's lock. Fails if it needs a new sub-buffer: its records are lost. */
static void test_a_handler_of_a_signal_wakes_and_loses_nothing(void)
{
    struct fg_instance *instance = open_instance();
    struct fg_signal_scope scope;
    uint32_t seen;

    sim_call_return(funcs[0]); /* the task has a sub-buffer */
    take(instance);
    memset(&session.tally, 0, sizeof(session.tally));
    arm(instance);
    seen = fg_ring_wakes(&instance->ring);
    fg_signal_begin(&scope);
    CHECK(scope.task != NULL);
    sim_call_return(funcs[1]);
    fg_signal_end(&scope);
    CHECK_EQ(fg_ring_await(&instance->ring, seen), FG_RING_NEWS);
    take(instance);
    CHECK_EQ(session.tally.records, 2);
    CHECK_EQ(session.tally.records_lost, 0);
    close_instance(instance);
}

static void test_marks_pauses_readers_and_the_end_wake(void)
{
    struct fg_instance *instance = open_instance();
    struct fg_ring *ring = &instance->ring;
    uint32_t seen;

    arm(instance);
    seen = fg_ring_wakes(ring);
    CHECK(fg_instance_mark(instance->handle, 0, "text", 4) >= 0);
    CHECK_EQ(fg_ring_await(ring, seen), FG_RING_NEWS);
    seen = fg_ring_wakes(ring);
    take(instance);
    CHECK_EQ(fg_ring_await(ring, seen), FG_RING_NEWS);
    arm(instance);
    seen = fg_ring_wakes(ring);
    fg_ring_set_paused(ring, true);
    CHECK_EQ(fg_ring_await(ring, seen), FG_RING_NEWS);
    arm(instance);
    fg_ring_set_paused(ring, false);
    arm(instance);
    seen = fg_ring_wakes(ring);
    sim_call_return(funcs[0]);
    CHECK_EQ(fg_ring_await(ring, seen), FG_RING_NEWS);
    take(instance);
    arm(instance);
    seen = fg_ring_wakes(ring);
    CHECK_EQ(fg_instance_stop(instance->handle), 0);
    CHECK_EQ(fg_ring_await(ring, seen), FG_RING_NEWS);
    fg_instance_put(instance);
}

static void *make_calls(void *arg)
{
    unsigned seed = (unsigned)(uintptr_t)arg;

    for (int i = 0; i < NR_CALLS; i++) {
        sim_call_return(funcs[rand_r(&seed) % NR_FUNCS]);
        if (rand_r(&seed) % 16 == 0)
            usleep((unsigned)rand_r(&seed) % 200);
    }
    atomic_fetch_sub(&nr_writers, 1);
    return NULL;
}

/* Fails without the fence, or without the look at tasks that are not quiet: a reader sleeps over a record. */
static void test_a_reader_misses_no_record(void)
{
    struct fg_instance *instance = open_instance();
    pthread_t threads[NR_THREADS];

    memset(&session.tally, 0, sizeof(session.tally));
    atomic_store(&nr_writers, NR_THREADS);
    for (intptr_t i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], make_calls, (void *)(i + 1));
    while (session.tally.records + session.tally.records_lost < 2ul * NR_THREADS * NR_CALLS) {
        uint32_t seen = fg_ring_wakes(&instance->ring);

        if (!fg_ring_has_unread(&instance->ring))
            CHECK_EQ(fg_ring_wait(&instance->ring, seen, FOREVER_MS), 0);
        take(instance);
    }
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    CHECK_EQ(session.tally.records, 2ul * NR_THREADS * NR_CALLS);
    close_instance(instance);
}

static void *call_once(void *arg)
{
    (void)arg;
    sim_call_return(funcs[0]);
    return NULL;
}

/* A new thread has no sub-buffer that could be armed. */
static void test_one_call_of_a_new_thread_wakes(void)
{
    struct fg_instance *instance = open_instance();

    for (int i = 0; i < NR_ROUNDS; i++) {
        uint32_t seen = fg_ring_wakes(&instance->ring);
        pthread_t thread;

        CHECK(!fg_ring_has_unread(&instance->ring));
        sim_spawn(&thread, call_once, NULL);
        CHECK_EQ(fg_ring_wait(&instance->ring, seen, FOREVER_MS), 0);
        sim_join(thread);
        take(instance);
    }
    close_instance(instance);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    fg_ring_on_wake(count_wake);
    session_begin(&session);
    test_the_first_record_wakes_and_costs_no_room();
    test_records_that_are_there_need_no_wait();
    test_a_handler_of_a_signal_wakes_and_loses_nothing();
    test_marks_pauses_readers_and_the_end_wake();
    test_a_reader_misses_no_record();
    test_one_call_of_a_new_thread_wakes();
    session_end(&session);
    return 0;
}
