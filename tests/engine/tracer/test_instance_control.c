/* Instances are changed while they run, and are read by their own process. */
#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/tracer/instance_fork.h"
#include "engine/tracer/instance_mark.h"
#include "engine/tracer/instance_start.h"
#include "engine/writer/ring_copy.h"
#include "engine/writer/ring_unread.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 16, NR_THREADS = 4, NR_CALLS = 20000 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;
static _Atomic bool over;

static struct fg_instance *open_instance(const char *name, const struct fg_tracer *tracer, size_t kb,
                                         enum fg_ring_mode mode)
{
    struct fg_instance_config config = {.tracer = tracer, .ring = {.buffer_bytes = kb * 1024, .mode = mode}};
    int handle;

    strcpy(config.ring.instance, name);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    return fg_instance_get(handle);
}

static void close_instance(struct fg_instance *instance)
{
    CHECK_EQ(fg_instance_stop(instance->handle), 0);
    fg_instance_put(instance);
}

/* Adds a copy of the instance's current records to the session's tally. */
static int64_t read_copy(struct fg_instance *instance, bool consumes)
{
    struct fg_ring_copy_options options = {.consumes = consumes};
    char path[128];
    int64_t bytes;
    int fd;

    snprintf(path, sizeof(path), "%s/%d.0%s", session.directory, (int)getpid(), FG_RING_SUFFIX);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    bytes = fg_ring_copy(&instance->ring, fd, &options);
    CHECK(bytes >= 0);
    CHECK_EQ(session_open_ring(path, &session.reader), 0);
    CHECK_TEXT(fg_ring_reader_facts(session.reader)->instance, instance->ring.instance);
    session_finish(&session);
    CHECK(session.tally.finished);
    close(fd);
    unlink(path);
    return bytes;
}

static void forget_tally(void)
{
    memset(&session.tally, 0, sizeof(session.tally));
}

static uint64_t count_once(struct fg_instance *instance)
{
    forget_tally();
    read_copy(instance, false);
    return session.tally.records;
}

static void call(uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
}

static void test_copies_agree_and_a_consumer_has_all_once(void)
{
    struct fg_instance *instance = open_instance("one", &fg_tracer_function_graph, 1024, FG_RING_OVERWRITE);

    call(100);
    CHECK_EQ(count_once(instance), 200);
    CHECK_EQ(count_once(instance), 200);
    forget_tally();
    CHECK(read_copy(instance, true) > 0);
    CHECK_EQ(session.tally.records, 200);
    CHECK_EQ(count_once(instance), 0);
    CHECK(!fg_ring_has_unread(&instance->ring) && fg_ring_written_bytes(&instance->ring) == 0);
    call(5);
    CHECK(fg_ring_has_unread(&instance->ring) && fg_ring_written_bytes(&instance->ring) > 0);
    CHECK_EQ(count_once(instance), 10);
    fg_ring_clear(&instance->ring);
    CHECK_EQ(count_once(instance), 0);
    call(3);
    CHECK_EQ(count_once(instance), 6);
    close_instance(instance);
}

static void test_overwritten_records_are_told_and_the_rest_is_there(void)
{
    struct fg_instance *instance = open_instance("small", &fg_tracer_function_graph, 32, FG_RING_OVERWRITE);

    call(NR_CALLS);
    CHECK(count_once(instance) > 0);
    CHECK_EQ(session.tally.records + session.tally.lost, 2 * NR_CALLS);
    CHECK_EQ(session.tally.records + session.tally.records_lost, 2 * NR_CALLS);
    CHECK_EQ(count_once(instance) + session.tally.lost, 2 * NR_CALLS);
    close_instance(instance);
    instance = open_instance("small", &fg_tracer_function_graph, 32, FG_RING_DROP);
    call(NR_CALLS);
    CHECK(count_once(instance) > 0);
    CHECK_EQ(session.tally.records + session.tally.records_lost, 2 * NR_CALLS);
    forget_tally();
    read_copy(instance, true);
    call(4); /* now there is room again */
    forget_tally();
    read_copy(instance, true);
    CHECK_EQ(session.tally.records, 8);
    close_instance(instance);
}

/* Fails if only what the ring holds is counted, if a move forgets what was overwritten, or if clearing
 * does not. */
static void test_overwritten_bytes_count_as_written(void)
{
    struct fg_instance *instance = open_instance("small", &fg_tracer_function_graph, 32, FG_RING_OVERWRITE);
    uint64_t held, mean, written;

    call(NR_CALLS);
    forget_tally();
    held = (uint64_t)read_copy(instance, false);
    written = fg_ring_written_bytes(&instance->ring);
    mean = written / (2 * NR_CALLS); /* of a record */
    CHECK(mean >= 8 && mean <= 2 * held / session.tally.records);
    CHECK_EQ(fg_instance_set_buffer(instance, 64 * 1024), 0);
    CHECK_EQ(fg_ring_written_bytes(&instance->ring), written);
    fg_ring_clear(&instance->ring);
    CHECK_EQ(fg_ring_written_bytes(&instance->ring), 0);
    close_instance(instance);
    instance = open_instance("small", &fg_tracer_function_graph, 32, FG_RING_DROP);
    call(NR_CALLS);
    CHECK(fg_ring_written_bytes(&instance->ring) <= 32 * 1024); /* what found no room was not written */
    close_instance(instance);
}

static void *call_many(void *arg)
{
    (void)arg;
    call(NR_CALLS);
    return NULL;
}

/* Each record is in exactly one copy, or is reported as lost in exactly one. Fails if drop_records
 * ignores `consumed`. */
static void test_a_consumer_reads_while_others_write(enum fg_ring_mode mode, size_t kb)
{
    struct fg_instance *instance = open_instance("busy", &fg_tracer_function_graph, kb, mode);
    uint64_t records = 0, lost = 0, copies = 0;
    pthread_t threads[NR_THREADS];

    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_many, NULL);
    for (int i = 0; i < NR_THREADS;) {
        forget_tally();
        read_copy(instance, true);
        records += session.tally.records;
        lost += session.tally.records_lost;
        if (++copies % 10 == 0)
            sim_join(threads[i++]);
    }
    forget_tally();
    read_copy(instance, true);
    records += session.tally.records;
    lost += session.tally.records_lost;
    CHECK_EQ(records + lost, (uint64_t)NR_THREADS * NR_CALLS * 2);
    close_instance(instance);
}

static void *write_until_over(void *arg)
{
    (void)arg;
    while (!atomic_load(&over))
        call(100);
    return NULL;
}

/* A copy that contains a record does not also report it as lost, even if the record is overwritten
 * during the copy. So from the first copy on, a task's records and its reported losses add up. Fails
 * without lost_in_copy. */
static void test_a_copy_does_not_tell_its_own_records_as_lost(void)
{
    struct fg_instance *instance = open_instance("race", &fg_tracer_function_graph, 32, FG_RING_OVERWRITE);
    pthread_t writer;

    atomic_store(&over, false);
    sim_spawn(&writer, write_until_over, NULL);
    for (int i = 0; i < 300; i++) {
        forget_tally();
        read_copy(instance, false);
        CHECK(session.tally.lost <= session.tally.records_lost);
    }
    atomic_store(&over, true);
    sim_join(writer);
    close_instance(instance);
}

static void test_two_instances_see_their_own(void)
{
    struct fg_instance *graph = open_instance("graph", &fg_tracer_function_graph, 256, FG_RING_OVERWRITE);
    struct fg_instance *flat = open_instance("flat", &fg_tracer_function, 256, FG_RING_OVERWRITE);
    struct fg_filter filter = {0};
    struct fg_pattern_error error;
    const char *const pattern[] = {"m.f0"};

    call(NR_FUNCS);
    CHECK_EQ(count_once(graph), 2 * NR_FUNCS);
    CHECK_EQ(count_once(flat), NR_FUNCS);
    CHECK_EQ(fg_filter_add(&filter, FGRAPH_FILTER, pattern, 1, &error), 0);
    CHECK_EQ(fg_instance_set_filter(flat, &filter), 0);
    fg_ring_clear(&flat->ring);
    fg_ring_clear(&graph->ring);
    call(NR_FUNCS);
    CHECK_EQ(count_once(graph), 2 * NR_FUNCS);
    CHECK_EQ(count_once(flat), 1);
    close_instance(flat);
    call(NR_FUNCS);
    CHECK_EQ(count_once(graph), 4 * NR_FUNCS);
    close_instance(graph);
}

static void test_changes_while_it_runs(void)
{
    struct fg_instance *instance = open_instance("live", &fg_tracer_nop, 256, FG_RING_OVERWRITE);
    struct fg_instance_settings settings = {.max_graph_depth = 1};
    uintptr_t outer;

    call(10);
    CHECK_EQ(count_once(instance), 0);
    CHECK(!sim_is_hooked(funcs[0]));
    CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function_graph), 0);
    call(10);
    CHECK_EQ(count_once(instance), 20);
    CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function), 0);
    CHECK_EQ(count_once(instance), 0); /* as in the kernel */
    call(10);
    CHECK_EQ(count_once(instance), 10);
    CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function_graph), 0);
    CHECK_EQ(fg_instance_set_settings(instance, &settings), 0);
    outer = sim_call(funcs[0]);
    call(10);
    sim_return(outer);
    CHECK_EQ(count_once(instance), 2);
    settings.max_graph_depth = 0;
    CHECK_EQ(fg_instance_set_settings(instance, &settings), 0);
    outer = sim_call(funcs[0]);
    call(10);
    sim_return(outer);
    CHECK_EQ(count_once(instance), 24);
    CHECK_EQ(fg_instance_set_tracing_on(instance, false), 0);
    call(10);
    CHECK_EQ(count_once(instance), 24);
    CHECK_EQ(session.tally.records_lost, 0);
    CHECK_EQ(fg_instance_set_tracing_on(instance, true), 0);
    call(10);
    CHECK_EQ(count_once(instance), 44);
    CHECK_EQ(fg_instance_set_buffer(instance, 64 * 1024), 0);
    CHECK_EQ(count_once(instance), 44);
    call(10);
    CHECK_EQ(count_once(instance), 64);
    CHECK_EQ(fg_instance_set_buffer(instance, 1), -EINVAL);
    CHECK_EQ(count_once(instance), 64);
    fg_ring_clear(&instance->ring);
    settings.thresh_us = 1000000;
    CHECK_EQ(fg_instance_set_settings(instance, &settings), 0);
    CHECK_EQ(fg_instance_settings(instance).thresh_us, 1000000);
    call(10);
    CHECK_EQ(count_once(instance), 0);
    close_instance(instance);
}

/* Resizes the buffer up and down, each time with another sub-buffer size. In overwrite mode the oldest
 * records are lost, otherwise the newest. Fails if move_records forgets `lost`, or takes only the first
 * record instead of as many as fit. */
static void test_another_size_keeps_what_there_is_room_for(enum fg_ring_mode mode)
{
    struct fg_instance *instance = open_instance("sized", &fg_tracer_function_graph, 32, mode);
    static const size_t kb[] = {4096, 512, 32, 64, 1024, 32};
    uint64_t calls = 3000;

    call(3000); /* more than fit */
    for (size_t i = 0; i < sizeof(kb) / sizeof(*kb); i++) {
        uint64_t before = count_once(instance), after;

        CHECK(before > 0);
        CHECK_EQ(before + session.tally.records_lost, 2 * calls);
        CHECK_EQ(fg_instance_set_buffer(instance, kb[i] * 1024), 0);
        CHECK_EQ(instance->ring.buffer_bytes, kb[i] * 1024);
        after = count_once(instance);
        CHECK(kb[i] > 512 ? after == before : after > 0);
        CHECK_EQ(after + session.tally.records_lost, 2 * calls);
        if (mode == FG_RING_OVERWRITE)
            CHECK_EQ(session.tally.lost, session.tally.records_lost);
        call(500);
        calls += 500;
    }
    forget_tally();
    read_copy(instance, true);
    CHECK_EQ(fg_instance_set_buffer(instance, 64 * 1024), 0);
    CHECK_EQ(count_once(instance), 0); /* a consumer gets each record and each loss once */
    CHECK_EQ(session.tally.records_lost, 0);
    close_instance(instance);
}

/* While other threads write, the buffer's size changes. Each record is present or reported as lost.
 * Fails if the ring is paused instead of moved. */
static void test_another_size_while_others_write(void)
{
    struct fg_instance *instance = open_instance("sized", &fg_tracer_function_graph, 64, FG_RING_OVERWRITE);
    pthread_t threads[NR_THREADS];

    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_many, NULL);
    for (int i = 0; i < 40; i++)
        CHECK_EQ(fg_instance_set_buffer(instance, (size_t)(i % 2 ? 64 : 2048) * 1024), 0);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    /* The marks of what each thread lost can leave no room for their records in so small a buffer. */
    count_once(instance);
    CHECK_EQ(session.tally.records + session.tally.records_lost, (uint64_t)NR_THREADS * NR_CALLS * 2);
    call(5);
    CHECK(count_once(instance) >= 10);
    CHECK_EQ(session.tally.records + session.tally.records_lost, (uint64_t)NR_THREADS * NR_CALLS * 2 + 10);
    close_instance(instance);
}

/* The return of a call that began under the previous tracer does not reach the new tracer. */
static void test_a_switch_in_the_middle_of_a_call(void)
{
    struct fg_instance *instance = open_instance("mid", &fg_tracer_function_graph, 256, FG_RING_OVERWRITE);
    uintptr_t outer = sim_call(funcs[0]);

    CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function), 0);
    sim_return(outer);
    CHECK_EQ(count_once(instance), 0);
    call(1);
    CHECK_EQ(count_once(instance), 1);
    close_instance(instance);
}

static uint64_t count_marks(struct fg_instance *instance)
{
    forget_tally();
    read_copy(instance, false);
    return session.tally.kinds[FG_RECORD_MARK];
}

static void test_marks(void)
{
    struct fg_instance *instance = open_instance("marks", &fg_tracer_nop, 256, FG_RING_OVERWRITE);
    char text[3 * FG_MARK_MAX_BYTES];
    int handle = instance->handle;

    memset(text, 'x', sizeof(text));
    CHECK_EQ(fg_instance_mark(handle, 0, "hello", 5), 0);
    CHECK_EQ(fg_instance_mark(handle, 0, "", 0), 0);
    CHECK_EQ(fg_instance_mark(handle, 0, text, sizeof(text)), 0);
    CHECK_EQ(count_marks(instance), 5);
    CHECK_EQ(fg_instance_mark_raw(handle, text, FG_MARK_ID_BYTES - 1), -EMSGSIZE);
    CHECK_EQ(fg_instance_mark_raw(handle, text, FG_MARK_MAX_BYTES + 1), -EMSGSIZE);
    CHECK_EQ(fg_instance_mark_raw(handle, text, FG_MARK_ID_BYTES), 0);
    CHECK_EQ(fg_instance_mark_raw(handle, text, FG_MARK_MAX_BYTES), 0);
    CHECK_EQ(count_marks(instance), 7);
    CHECK_EQ(fg_instance_set_tracing_on(instance, false), 0);
    CHECK_EQ(fg_instance_mark(handle, 0, "hello", 5), -ENOSPC);
    close_instance(instance);
    CHECK_EQ(fg_instance_mark(handle, 0, "hello", 5), -EINVAL);
}

/* Fails if an instance with the nop tracer registers its user, or maps its ring. */
static void test_idle_instances_take_neither_a_slot_nor_memory(void)
{
    enum { NR_IDLE = 1000 };
    struct fg_instance *idle[NR_IDLE];

    for (int i = 0; i < NR_IDLE; i++)
        idle[i] = open_instance("idle", &fg_tracer_nop, 256, FG_RING_OVERWRITE);
    CHECK_EQ(fgraph_count(), 0);
    for (int i = 0; i < NR_IDLE; i++)
        CHECK(!idle[i]->ring.header);
    for (uint32_t i = 0; i < FG_MAX_USERS; i++)
        CHECK_EQ(fg_instance_set_tracer(idle[i], &fg_tracer_function_graph), 0);
    CHECK_EQ(fg_instance_set_tracer(idle[FG_MAX_USERS], &fg_tracer_function_graph), -ENOSPC);
    CHECK(idle[FG_MAX_USERS]->tracer == &fg_tracer_nop);
    CHECK_EQ(fg_instance_set_tracer(idle[0], &fg_tracer_nop), 0);
    CHECK(!idle[0]->ring.header);
    CHECK_EQ(fg_instance_set_tracer(idle[FG_MAX_USERS], &fg_tracer_function_graph), 0);
    call(10);
    CHECK_EQ(count_once(idle[FG_MAX_USERS]), 20);
    CHECK_EQ(count_once(idle[0]), 0);
    CHECK_EQ(fg_instance_set_buffer(idle[0], 64 * 1024), 0);
    CHECK(!idle[0]->ring.header);
    for (int i = 0; i < NR_IDLE; i++)
        close_instance(idle[i]);
}

static void *mark_twice(void *arg)
{
    struct fg_instance *instance = arg;

    for (int i = 0; i < 2; i++)
        fg_instance_mark(instance->handle, 0, "mark", 4);
    return NULL;
}

/* Marks of an idle instance: each is there, in its thread's order, or is counted as lost. More threads than
 * sub-buffers write, one after the other, and have ended when the marks are read. */
static void test_marks_of_many_threads_without_a_slot(size_t kb, enum fg_ring_mode mode, bool all)
{
    enum { NR_MARKERS = 40 };
    struct fg_instance *instance = open_instance("marks", &fg_tracer_nop, kb, mode);

    for (int i = 0; i < NR_MARKERS; i++) {
        pthread_t thread;

        sim_spawn(&thread, mark_twice, instance);
        sim_join(thread);
    }
    CHECK(count_marks(instance) > 0);
    CHECK_EQ(count_marks(instance) + session.tally.records_lost, 2 * NR_MARKERS);
    if (all) {
        CHECK_EQ(session.tally.records_lost, 0);
        CHECK_EQ(session.tally.nr_tasks, NR_MARKERS);
    }
    CHECK_EQ(fg_instance_set_buffer(instance, 2 * kb * 1024), 0);
    CHECK(count_marks(instance) > 0);
    mark_twice(instance);
    fg_ring_clear(&instance->ring);
    CHECK_EQ(count_marks(instance), 0);
    mark_twice(instance);
    CHECK_EQ(count_marks(instance), 2);
    close_instance(instance);
}

static void test_a_fork_has_the_instance_without_records(void)
{
    struct fg_instance *instance = open_instance("fork", &fg_tracer_function_graph, 256, FG_RING_OVERWRITE);
    int status;
    pid_t child;

    call(10);
    child = fork();
    CHECK(child >= 0);
    if (!child) {
        call(10);
        CHECK_EQ(count_once(instance), 0);
        CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function), 0); /* empties the buffer */
        call(10);
        CHECK_EQ(count_once(instance), 10);
        close_instance(instance);
        _exit(0);
    }
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK_EQ(status, 0);
    CHECK_EQ(count_once(instance), 20);
    close_instance(instance);
}

static struct {
    int starts, stops, refusal;
} counted;

static int counted_start(struct fg_instance *instance)
{
    (void)instance;
    counted.starts++;
    return counted.refusal;
}

static void counted_stop(struct fg_instance *instance)
{
    (void)instance;
    counted.stops++;
}

static void test_a_tracer_of_the_archs(void)
{
    static struct fg_tracer tracer = {.name = "counted", .start = counted_start, .stop = counted_stop};
    struct fg_instance *instance = open_instance("added", &fg_tracer_function_graph, 256, FG_RING_OVERWRITE);

    CHECK_EQ(fg_tracer_add(&tracer), 0);
    CHECK_EQ(fg_tracer_add(&tracer), -EEXIST);
    CHECK(fg_tracer_find("counted") == &tracer);
    CHECK_EQ(fg_instance_set_tracer(instance, &tracer), 0);
    CHECK_EQ(counted.starts, 1);
    CHECK_EQ(fg_instance_set_tracer(instance, &fg_tracer_function), 0);
    CHECK_EQ(counted.stops, 1);
    counted.refusal = -ENOTSUP;
    CHECK_EQ(fg_instance_set_tracer(instance, &tracer), -ENOTSUP);
    CHECK(instance->tracer == &fg_tracer_nop);
    CHECK_EQ(counted.stops, 1); /* it never ran */
    close_instance(instance);
}

static void *change_and_read(void *arg)
{
    struct fg_instance *instance = arg;

    for (int i = 0; i < 50; i++) {
        struct fg_ring_copy_options options = {.consumes = i % 2};
        FILE *file = tmpfile();

        CHECK(fg_ring_copy(&instance->ring, fileno(file), &options) >= 0);
        fclose(file);
        fg_instance_set_tracer(instance, i % 3 ? &fg_tracer_function : &fg_tracer_function_graph);
        fg_instance_set_tracing_on(instance, i % 4);
        fg_instance_set_buffer(instance, (size_t)(i % 5 + 1) * 32 * 1024);
        fg_instance_mark(instance->handle, 0, "mark", 4);
    }
    return NULL;
}

/* For the sanitizers: everything at once. */
static void test_everything_at_once(void)
{
    struct fg_instance *instance = open_instance("all", &fg_tracer_function_graph, 64, FG_RING_OVERWRITE);
    pthread_t writers[2], changers[2];

    atomic_store(&over, false);
    for (int i = 0; i < 2; i++)
        sim_spawn(&writers[i], write_until_over, NULL);
    for (int i = 0; i < 2; i++)
        sim_spawn(&changers[i], change_and_read, instance);
    for (int i = 0; i < 2; i++)
        sim_join(changers[i]);
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        sim_join(writers[i]);
    close_instance(instance);
}

int main(void)
{
    sim_begin();
    fg_instances_install_fork_handlers();
    sim_functions(funcs, NR_FUNCS);
    session_begin(&session);
    test_copies_agree_and_a_consumer_has_all_once();
    test_overwritten_records_are_told_and_the_rest_is_there();
    test_overwritten_bytes_count_as_written();
    test_a_consumer_reads_while_others_write(FG_RING_OVERWRITE, 64);
    test_a_consumer_reads_while_others_write(FG_RING_OVERWRITE, 32 * 1024);
    test_a_consumer_reads_while_others_write(FG_RING_DROP, 64);
    test_a_copy_does_not_tell_its_own_records_as_lost();
    test_two_instances_see_their_own();
    test_changes_while_it_runs();
    test_another_size_keeps_what_there_is_room_for(FG_RING_OVERWRITE);
    test_another_size_keeps_what_there_is_room_for(FG_RING_DROP);
    test_another_size_while_others_write();
    test_a_switch_in_the_middle_of_a_call();
    test_marks();
    test_idle_instances_take_neither_a_slot_nor_memory();
    test_marks_of_many_threads_without_a_slot(4096, FG_RING_OVERWRITE, true);
    test_marks_of_many_threads_without_a_slot(32, FG_RING_OVERWRITE, false);
    test_marks_of_many_threads_without_a_slot(32, FG_RING_DROP, false);
    test_a_fork_has_the_instance_without_records();
    test_a_tracer_of_the_archs();
    test_everything_at_once();
    session_end(&session);
    CHECK_EQ(fg_instance_count(), 0);
    return 0;
}
