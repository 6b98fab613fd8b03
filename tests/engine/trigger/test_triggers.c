/* Triggers and commands of functions act at the hit, as often as they say, in whichever thread; a snapshot
 * takes what was recorded until then and nothing else, whoever records or reads at that moment. */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "engine/event/func_command.h"
#include "engine/event/probe_event.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_snapshot.h"
#include "engine/tracer/instance_start.h"
#include "engine/writer/ring_copy.h"
#include "engine/writer/ring_swap.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_THREADS = 4, NR_CALLS = 4000, FIELDS_AT = 16, MANY = 70000 };

static struct fg_func *funcs[2];
static struct session session;

static struct fg_instance *open_instance(const struct fg_tracer *tracer)
{
    struct fg_instance_config config = {.tracer = tracer,
                                        .ring = {.buffer_bytes = 8 << 20, .mode = FG_RING_OVERWRITE}};
    int handle;

    strcpy(config.ring.instance, "one");
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    return fg_instance_get(handle);
}

static void close_instance(struct fg_instance *instance)
{
    CHECK_EQ(fg_instance_stop(instance->handle), 0);
    fg_instance_put(instance);
}

/* Reads the records of an instance, or of its snapshot, into session.tally: each with its symbols. */
static uint64_t read_kind(struct fg_instance *instance, bool is_snapshot, enum fg_record_kind kind)
{
    const struct fg_ring_copy_options options = {0};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%d.0%s", session.directory, (int)getpid(), FG_RING_SUFFIX);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    memset(&session.tally, 0, sizeof(session.tally));
    session.tally.has_signals = true; /* records of two users may not be in order of time */
    CHECK((is_snapshot ? fg_ring_copy_snapshot(&instance->ring, fd)
                       : fg_ring_copy(&instance->ring, fd, &options)) >= 0);
    CHECK_EQ(session_open_ring(path, &session.reader), 0);
    session_finish(&session);
    close(fd);
    unlink(path);
    return session.tally.kinds[kind];
}

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    (void)program, (void)regs, (void)func, (void)entry_data;
    memset(image + FIELDS_AT, 0, 4);
    return FIELDS_AT + 4;
}

static const struct fg_fetch_ops fetch_ops = {fetch, NULL};

/* An event at the entry of one function. */
struct event {
    struct fg_event *event;
    struct fg_probe_event probe;
};

static void event_begin(struct event *made, const char *name, struct fg_func *func)
{
    memset(made, 0, sizeof(*made));
    CHECK_EQ(fg_event_new("test", name, "u32 n 0 16", FIELDS_AT, &made->event), 0);
    fg_probe_event_init(&made->probe, made->event, &fetch_ops, NULL, false, 0);
    CHECK_EQ(fg_fprobe_register_ips(&made->probe.fp, NULL, &func, NULL, 1), 0);
}

static void event_end(struct event *made)
{
    CHECK_EQ(fg_fprobe_unregister(&made->probe.fp), 0);
    fg_event_free(made->event);
}

/* Has hits of the event do one thing. */
static void set_trigger(const struct event *event, const struct fg_instance *instance,
                        struct fg_trigger *trigger, bool records)
{
    struct fg_trigger *triggers[] = {trigger};
    struct fg_event_request want = {.records = records, .triggers = triggers, .nr_triggers = 1};

    CHECK_EQ(fg_event_set(event->event, instance->handle, &want), 0);
}

static pthread_barrier_t barrier;
static int nr_calls = NR_CALLS;

static void *call_many(void *arg)
{
    (void)arg;
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < nr_calls; i++)
        sim_call_return(funcs[i % 2]);
    return NULL;
}

static void call_in_threads(void)
{
    pthread_t threads[NR_THREADS];

    pthread_barrier_init(&barrier, NULL, NR_THREADS);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_many, NULL);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
}

/* ---- triggers */

/* Fails if the count is taken without an atomic exchange. */
static void test_a_trigger_acts_as_often_as_it_says(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger stack = {.kind = FG_TRIGGER_STACKTRACE, .left = MANY};
    struct event event;

    event_begin(&event, "stack", funcs[0]);
    set_trigger(&event, one, &stack, false);
    nr_calls = 10 * NR_CALLS;
    call_in_threads();
    nr_calls = NR_CALLS;
    CHECK_EQ(read_kind(one, false, FG_RECORD_STACK), MANY);
    CHECK_EQ(session.tally.records, MANY); /* the event itself is off */
    CHECK_EQ(stack.left, 0);
    atomic_store(&stack.left, FG_TRIGGER_UNLIMITED);
    fg_ring_clear(&one->ring);
    call_in_threads();
    CHECK_EQ(read_kind(one, false, FG_RECORD_STACK), NR_THREADS * NR_CALLS / 2);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){0}), 0);
    CHECK_EQ(one->nr_events, 0);
    CHECK_EQ(fgraph_count(), 1); /* that of all fprobes */
    event_end(&event);
    close_instance(one);
}

/* The hits that find tracing as the trigger wants it are not counted, as in the kernel. */
static void test_traceoff_and_traceon_count_changes(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger off = {.kind = FG_TRIGGER_TRACEOFF, .left = 3};
    struct event event;

    event_begin(&event, "off", funcs[0]);
    set_trigger(&event, one, &off, true);
    for (int i = 0; i < 5; i++)
        sim_call_return(funcs[0]);
    CHECK_EQ(off.left, 2);
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 1); /* the hit that stopped is recorded */
    for (int i = 0; i < 5; i++) {
        fg_ring_set_paused(&one->ring, false);
        sim_call_return(funcs[0]);
    }
    CHECK_EQ(off.left, 0);
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 1 + 5);
    event_end(&event);
    close_instance(one);
}

static void test_an_event_is_recorded_while_its_switch_is_on(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_event_switch soft = {false};
    struct fg_trigger on = {.kind = FG_TRIGGER_ENABLE_EVENT, .left = 1, .switched = &soft};
    struct event starts, target;

    event_begin(&starts, "starts", funcs[0]);
    event_begin(&target, "target", funcs[1]);
    CHECK_EQ(
        fg_event_set(target.event, one->handle, &(struct fg_event_request){.records = true, .soft = &soft}),
        0);
    set_trigger(&starts, one, &on, false);
    sim_call_return(funcs[1]);
    CHECK(!fg_event_is_recorded(target.event, one->handle));
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 0);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[0]);
    CHECK(fg_event_is_recorded(target.event, one->handle));
    sim_call_return(funcs[1]);
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 1);
    atomic_store(&soft.is_on, false);
    sim_call_return(funcs[0]); /* it has acted once */
    sim_call_return(funcs[1]);
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 1);
    event_end(&starts);
    event_end(&target);
    close_instance(one);
}

/* ---- snapshots */

static void test_a_snapshot_has_what_was_recorded_until_the_hit(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_function_graph);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = FG_TRIGGER_UNLIMITED};
    struct event event;

    event_begin(&event, "snap", funcs[1]);
    set_trigger(&event, one, &snapshot, true);
    CHECK(fg_ring_has_spare(&one->ring)); /* a hit cannot allocate */
    for (int round = 1; round <= 3; round++) {
        for (int i = 0; i < round; i++)
            sim_call_return(funcs[0]);
        sim_call_return(funcs[1]);
        CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 1);
        /* the calls since the last hit, whose own end is after it, and this one's beginning */
        CHECK_EQ(session.tally.kinds[FG_RECORD_ENTRY] + session.tally.kinds[FG_RECORD_RETURN],
                 2 * round + (round > 1) + (one->tracer == &fg_tracer_function_graph));
        CHECK_EQ(session.tally.records_lost, 0);
    }
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 0);
    CHECK_EQ(fg_instance_set_tracer(one, &fg_tracer_nop), 0); /* the snapshot keeps its symbols */
    CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 1);
    CHECK(session.tally.knows_func[funcs[0]->id] || session.tally.knows_caller[funcs[0]->id]);
    CHECK_EQ(fg_instance_set_buffer(one, 4 << 20), 0);
    CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 0);
    sim_call_return(funcs[1]);
    CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 1);
    CHECK_EQ(fg_instance_write_snapshot(one, 2), 0);
    CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 0);
    CHECK_EQ(fg_instance_write_snapshot(one, 0), 0);
    CHECK(!fg_ring_has_spare(&one->ring));
    sim_call_return(funcs[1]); /* there is nothing to exchange */
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 1);
    event_end(&event);
    close_instance(one);
}

/* Returns how many of the event's records the snapshot and the buffer have, as 10 * snapshot + buffer. */
static uint64_t read_both(struct fg_instance *instance)
{
    return 10 * read_kind(instance, true, FG_RECORD_EVENT) + read_kind(instance, false, FG_RECORD_EVENT);
}

/* Hits go on after tracing has stopped: each takes a snapshot, and none destroys what was recorded. */
static void test_snapshots_while_tracing_is_off_swap_back_and_forth(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = FG_TRIGGER_UNLIMITED};
    struct event event, plain;
    struct fg_trigger idle = {.kind = FG_TRIGGER_TRACEON, .left = 0};

    event_begin(&event, "snap", funcs[0]);
    event_begin(&plain, "plain", funcs[1]);
    set_trigger(&event, one, &snapshot, false);
    set_trigger(&plain, one, &idle, true);
    for (int i = 0; i < 3; i++)
        sim_call_return(funcs[1]);
    fg_ring_set_paused(&one->ring, true);
    for (int i = 0; i < 4; i++) {
        sim_call_return(funcs[0]);
        CHECK_EQ(read_both(one), i % 2 ? 3 : 30);
    }
    fg_ring_set_paused(&one->ring, false);
    sim_call_return(funcs[1]); /* after those that came back */
    CHECK_EQ(read_both(one), 4);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[1]);
    CHECK_EQ(read_both(one), 41);
    sim_call_return(funcs[0]); /* what is recorded takes the place of the snapshot */
    CHECK_EQ(read_both(one), 10);
    sim_call_return(funcs[0]); /* nothing was recorded: nothing takes its place */
    CHECK_EQ(read_both(one), 1);
    CHECK_EQ(session.tally.records_lost, 0);
    event_end(&event);
    event_end(&plain);
    close_instance(one);
}

/* Another tracer begins with an empty buffer, whose symbols are not those of the snapshot. */
static void test_an_empty_buffer_takes_no_snapshot_of_another_tracer(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = FG_TRIGGER_UNLIMITED};
    struct event event;

    event_begin(&event, "snap", funcs[0]);
    set_trigger(&event, one, &snapshot, true);
    sim_call_return(funcs[0]);
    CHECK_EQ(fg_instance_set_tracer(one, &fg_tracer_function), 0);
    fg_ring_set_paused(&one->ring, true);
    sim_call_return(funcs[0]);
    CHECK_EQ(read_both(one), 10);
    fg_ring_set_paused(&one->ring, false);
    sim_call_return(funcs[1]);
    fg_ring_clear(&one->ring);
    CHECK_EQ(fg_instance_write_snapshot(one, 1), 0);
    CHECK_EQ(read_both(one), 10);
    sim_call_return(funcs[0]);
    sim_call_return(funcs[0]);
    CHECK_EQ(read_both(one), 10);
    CHECK(session.tally.records_lost == 0);
    event_end(&event);
    close_instance(one);
}

/* Each record is in the snapshot or in the buffer, and in one of them only. */
static void test_a_snapshot_loses_no_record_of_other_threads(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = 1};
    struct event event;

    event_begin(&event, "snap", funcs[0]);
    for (int round = 0; round < 10; round++) {
        uint64_t taken;

        atomic_store(&snapshot.left, 0);
        set_trigger(&event, one, &snapshot, true);
        sim_call_return(funcs[0]);
        atomic_store(&snapshot.left, 1);
        call_in_threads();
        taken = read_kind(one, true, FG_RECORD_EVENT);
        CHECK(taken >= 2);
        CHECK_EQ(taken + read_kind(one, false, FG_RECORD_EVENT), 1 + NR_THREADS * NR_CALLS / 2);
        CHECK_EQ(snapshot.left, 0);
        CHECK_EQ(fg_instance_write_snapshot(one, 2), 0);
        fg_ring_clear(&one->ring);
    }
    event_end(&event);
    close_instance(one);
}

static _Atomic bool over;

static void *change_and_read(void *arg)
{
    struct fg_instance *instance = arg;
    const struct fg_ring_copy_options options = {.consumes = true};

    for (uint64_t i = 0; !atomic_load(&over); i++) {
        int fd = memfd_create("copy", MFD_CLOEXEC);

        CHECK(fd >= 0);
        if (i % 2)
            CHECK(fg_ring_copy(&instance->ring, fd, &options) >= 0);
        else
            CHECK(fg_ring_copy_snapshot(&instance->ring, fd) >= 0);
        close(fd);
        if (i % 16 == 0)
            CHECK_EQ(fg_instance_write_snapshot(instance, i % 32 ? 2 : 1), 0);
    }
    return NULL;
}

/* Nobody waits for anybody, and nothing is read while it is exchanged (TSan). */
static void test_snapshots_while_others_record_and_read(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_function_graph);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = FG_TRIGGER_UNLIMITED};
    struct event event;
    pthread_t reader;

    atomic_store(&over, false);
    event_begin(&event, "snap", funcs[0]);
    set_trigger(&event, one, &snapshot, true);
    sim_spawn(&reader, change_and_read, one);
    call_in_threads();
    atomic_store(&over, true);
    sim_join(reader);
    sim_call_return(funcs[0]);
    CHECK(read_kind(one, true, FG_RECORD_EVENT) >= 1);
    CHECK_EQ(fg_instance_write_snapshot(one, 0), 0);
    event_end(&event);
    close_instance(one);
}

/* The snapshot becomes due while somebody reads, and is there when the reader has finished. */
static void test_a_reader_takes_the_snapshot_that_became_due(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = 1};
    struct event event;

    event_begin(&event, "snap", funcs[0]);
    set_trigger(&event, one, &snapshot, true);
    pthread_mutex_lock(&one->ring.copying); /* as a reader */
    sim_call_return(funcs[0]);
    CHECK_EQ(snapshot.left, 0);
    CHECK(atomic_load(&one->ring.swap_is_due));
    fg_ring_copying_end(&one->ring);
    CHECK(!atomic_load(&one->ring.swap_is_due));
    CHECK_EQ(read_kind(one, true, FG_RECORD_EVENT), 1);
    CHECK_EQ(read_kind(one, false, FG_RECORD_EVENT), 0);
    event_end(&event);
    close_instance(one);
}

/* Returns how many requests for a dump there are, and removes them. */
static int take_requests(void)
{
    DIR *directory = opendir(session.directory);
    struct dirent *entry;
    int n = 0;

    CHECK(directory);
    while ((entry = readdir(directory)) != NULL) {
        char path[512], why[16] = "";
        FILE *file;

        if (!strstr(entry->d_name, ".dump"))
            continue;
        snprintf(path, sizeof(path), "%s/%s", session.directory, entry->d_name);
        file = fopen(path, "r");
        CHECK(file);
        CHECK(fgets(why, sizeof(why), file));
        CHECK_TEXT(why, "snapshot");
        fclose(file);
        unlink(path);
        n++;
    }
    closedir(directory);
    return n;
}

/* Its recorder drains the ring: there is nothing to exchange. */
static void test_a_snapshot_of_a_recording_asks_the_recorder(void)
{
    int handle = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP});
    struct fg_instance *one = fg_instance_get(handle);
    struct fg_trigger snapshot = {.kind = FG_TRIGGER_SNAPSHOT, .left = 2};
    struct event event;

    event_begin(&event, "snap", funcs[0]);
    set_trigger(&event, one, &snapshot, true);
    CHECK(!fg_ring_has_spare(&one->ring));
    CHECK_EQ(take_requests(), 0);
    for (int i = 0; i < 5; i++)
        sim_call_return(funcs[0]);
    CHECK_EQ(take_requests(), 2);
    CHECK_EQ(fg_instance_write_snapshot(one, 1), -EBUSY);
    event_end(&event);
    close_instance(one);
}

/* ---- commands of functions */

static void command_begin(struct fg_func_command *command, const struct fg_instance *instance,
                          struct fg_trigger actions[2])
{
    uint64_t cookies[] = {(uint64_t)(uintptr_t)&actions[0], (uint64_t)(uintptr_t)&actions[1]};

    CHECK_EQ(fg_func_command_add(command, instance->handle, actions[0].kind), 0);
    CHECK_EQ(fg_fprobe_register_ips(&command->fp, NULL, funcs, cookies, 2), 0);
}

static void command_end(struct fg_func_command *command)
{
    CHECK_EQ(fg_fprobe_unregister(&command->fp), 0);
    fg_func_command_remove(command);
}

static void test_each_function_of_a_command_has_its_count(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_func_command command = {.writes = false};
    struct fg_trigger actions[2] = {{.kind = FG_TRIGGER_STACKTRACE, .left = 10},
                                    {.kind = FG_TRIGGER_STACKTRACE, .left = 300}};

    command_begin(&command, one, actions);
    call_in_threads();
    CHECK_EQ(read_kind(one, false, FG_RECORD_STACK), 310);
    CHECK_EQ(actions[0].left, 0);
    CHECK_EQ(actions[1].left, 0);
    command_end(&command);
    CHECK_EQ(one->nr_events, 0);
    CHECK_EQ(fgraph_count(), 0);
    close_instance(one);
}

static void test_a_command_ends_with_its_instance(void)
{
    struct fg_instance *one = open_instance(&fg_tracer_nop);
    struct fg_func_command command = {.writes = false};
    struct fg_trigger actions[2] = {{.kind = FG_TRIGGER_SNAPSHOT, .left = 3},
                                    {.kind = FG_TRIGGER_SNAPSHOT, .left = 3}};

    command_begin(&command, one, actions);
    sim_call_return(funcs[0]);
    CHECK_EQ(actions[0].left, 2);
    close_instance(one);
    sim_call_return(funcs[0]);
    CHECK_EQ(actions[0].left, 2);
    CHECK_EQ(fg_func_command_add(&command, 12345, FG_TRIGGER_SNAPSHOT), -EINVAL);
    command_end(&command);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, 2);
    session_begin(&session);
    test_a_trigger_acts_as_often_as_it_says();
    test_traceoff_and_traceon_count_changes();
    test_an_event_is_recorded_while_its_switch_is_on();
    test_a_snapshot_has_what_was_recorded_until_the_hit();
    test_snapshots_while_tracing_is_off_swap_back_and_forth();
    test_an_empty_buffer_takes_no_snapshot_of_another_tracer();
    test_a_snapshot_loses_no_record_of_other_threads();
    test_snapshots_while_others_record_and_read();
    test_a_reader_takes_the_snapshot_that_became_due();
    test_each_function_of_a_command_has_its_count();
    test_a_command_ends_with_its_instance();
    test_a_snapshot_of_a_recording_asks_the_recorder(); /* leaves a file in the session's directory */
    session_end(&session);
    return 0;
}
