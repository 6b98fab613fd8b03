/* Probes hit events, which each instance that wants them records, and no other: with the fields as they were
 * fetched, at entries and returns, while instances and events come and go. */
#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/event/probe_event.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_start.h"
#include "engine/writer/ring_copy.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_THREADS = 4, NR_CALLS = 5000 };

static struct fg_func *funcs[2];
static struct session session;

static struct fg_instance *open_instance(const char *name, const struct fg_tracer *tracer)
{
    struct fg_instance_config config = {.tracer = tracer,
                                        .ring = {.buffer_bytes = 8 << 20, .mode = FG_RING_DROP}};
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

/* Called for each record that take_events() reads. */
static void (*on_record)(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost);

/* Reads all records of an instance; returns how many are events. */
static uint64_t take_events(struct fg_instance *instance)
{
    struct fg_ring_copy_options options = {.consumes = true};
    char path[128];
    int fd;

    snprintf(path, sizeof(path), "%s/%d.0%s", session.directory, (int)getpid(), FG_RING_SUFFIX);
    fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    CHECK(fd >= 0);
    memset(&session.tally, 0, sizeof(session.tally));
    session.tally.on_record = on_record;
    /* A user that registered after the fprobes writes a call's entry, of an earlier time, after an event. */
    session.tally.has_signals = true;
    CHECK(fg_ring_copy(&instance->ring, fd, &options) >= 0);
    CHECK_EQ(session_open_ring(path, &session.reader), 0);
    session_finish(&session);
    close(fd);
    unlink(path);
    return session.tally.kinds[FG_RECORD_EVENT];
}

/* ---- an event with two fields: a number that each hit counts up, and one kept from the entry */

static _Atomic uint32_t nr_fetches;

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    uint32_t fields_at = *(const uint32_t *)program, count = ++nr_fetches, kept = 0;

    (void)regs, (void)func;
    if (entry_data)
        memcpy(&kept, entry_data, sizeof(kept));
    memcpy(image + fields_at, &count, sizeof(count));
    memcpy(image + fields_at + 4, &kept, sizeof(kept));
    return fields_at + 8;
}

static void fetch_at_entry(const void *program, const struct ftrace_regs *regs, uint8_t *entry_data)
{
    (void)program, (void)regs;
    memcpy(entry_data, &(uint32_t){77}, sizeof(uint32_t));
}

static const struct fg_fetch_ops fetch_ops = {fetch, fetch_at_entry};

struct event {
    struct fg_event *event;
    struct fg_probe_event probe;
    uint32_t fields_at;
};

static void event_begin(struct event *made, const char *name, bool is_return)
{
    struct fg_fprobe_filter filter = {0};
    const char *reason;
    size_t column;

    memset(made, 0, sizeof(*made));
    made->fields_at = is_return ? 24 : 16;
    CHECK_EQ(fg_event_new("test", name, "u32 n 0 16;u32 kept 0 20", made->fields_at, &made->event), 0);
    fg_probe_event_init(&made->probe, made->event, &fetch_ops, &made->fields_at, is_return, 4);
    CHECK_EQ(fg_patterns_add(&filter.filter, "m.*", &reason, &column), 0);
    CHECK_EQ(fg_fprobe_register(&made->probe.fp, NULL, &filter), 0);
}

static void event_end(struct event *made)
{
    CHECK_EQ(fg_fprobe_unregister(&made->probe.fp), 0);
    fg_event_free(made->event);
}

/* ---- tests */

static uint32_t expected_kept;
static uint64_t expected_func;

static void check_record(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    const uint64_t *words = (const uint64_t *)(record + 1);
    const uint32_t *fields = (const uint32_t *)(words + 2);

    (void)tally, (void)task, (void)lost;
    if (fg_record_kind(record->info) != FG_RECORD_EVENT)
        return;
    CHECK_EQ(words[0] >> 32, 8);
    CHECK_EQ(record->func, expected_func);
    CHECK_EQ(fields[1], expected_kept);
}

static void test_an_instance_records_the_events_that_it_wants(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_nop),
                       *two = open_instance("two", &fg_tracer_nop);
    struct event event;

    event_begin(&event, "entry", false);
    sim_call_return(funcs[0]);
    CHECK_EQ(nr_fetches, 0); /* nobody wants it: nothing is fetched */
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    CHECK(fg_event_is_recorded(event.event, one->handle));
    CHECK(!fg_event_is_recorded(event.event, two->handle));
    expected_func = funcs[0]->id;
    on_record = check_record;
    for (int i = 0; i < 10; i++)
        sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 10);
    CHECK_EQ(take_events(two), 0);
    CHECK_EQ(fg_event_set(event.event, two->handle, &(struct fg_event_request){.records = true}), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    CHECK_EQ(take_events(two), 1);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){0}), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 0);
    CHECK_EQ(take_events(two), 1);
    CHECK_EQ(fg_event_set(event.event, 12345, &(struct fg_event_request){.records = true}), -EINVAL);
    event_end(&event); /* while it is on in `two` */
    CHECK_EQ(two->nr_events, 0);
    CHECK_EQ(fgraph_count(), 0);
    close_instance(one);
    close_instance(two);
}

/* A filter that is changed all the time accepts all hits before and after each change. */
static void test_a_filter_chooses_the_hits(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_nop);
    struct fg_event_filter *filter;
    struct event event;
    /* one term: field 0, >=, an unsigned operand; true: accept, false: reject */
    static const struct __attribute__((packed)) {
        uint16_t nr_terms, zero;
        uint32_t rest;
        int16_t source;
        uint8_t operation, operand;
        uint16_t when_true, when_false;
        uint64_t number;
    } program = {1,
                 0,
                 0,
                 0,
                 FG_EVENT_FILTER_GE,
                 FG_EVENT_FILTER_UNSIGNED,
                 FG_EVENT_FILTER_ACCEPT,
                 FG_EVENT_FILTER_REJECT,
                 3};
    const struct fg_field fields[] = {{.offset = 16, .type = FG_FIELD_U32},
                                      {.offset = 20, .type = FG_FIELD_U32}};

    event_begin(&event, "entry", false);
    CHECK_EQ(fg_event_filter_make(&filter, &program, sizeof(program), fields, 2), 0);
    CHECK_EQ(
        fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true, .filter = filter}),
        0);
    nr_fetches = 0;
    for (int i = 0; i < 10; i++)
        sim_call_return(funcs[0]); /* the number is 1, 2, ... */
    CHECK_EQ(take_events(one), 8);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    nr_fetches = 0;
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    event_end(&event);
    close_instance(one);
}

static struct fg_tids *own_tid(void)
{
    return fg_tids_new(&(int){(int)syscall(SYS_gettid)}, 1, NULL, 0);
}

static struct fg_tids *all_but(int tid)
{
    return fg_tids_new(NULL, 0, &tid, 1);
}

static void test_an_instance_sees_events_of_the_threads_that_it_wants(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_nop);
    int own = (int)syscall(SYS_gettid);
    struct event event;

    CHECK_EQ(fg_event_set_tids(one->handle, fg_tids_new(&(int){1}, 1, NULL, 0)), 0); /* before any event */
    event_begin(&event, "entry", false);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 0);
    CHECK_EQ(fg_event_set_tids(one->handle, own_tid()), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    CHECK_EQ(fg_event_set_tids(one->handle, fg_tids_new(&own, 1, &own, 1)), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 0);
    CHECK_EQ(fg_event_set_tids(one->handle, all_but(1)), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    CHECK_EQ(fg_event_set_tids(12345, NULL), -EINVAL);
    event_end(&event);
    close_instance(one); /* it frees the ids */
}

static void test_a_return_has_data_of_its_entry(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_nop);
    struct event event;
    uintptr_t call;

    event_begin(&event, "return", true);
    call = sim_call(funcs[0]); /* its entry was not seen: no event */
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    sim_return(call);
    CHECK_EQ(take_events(one), 0);
    expected_kept = 77;
    call = sim_call(funcs[0]);
    sim_suspend(call);
    CHECK_EQ(take_events(one), 0);
    sim_resume(call);
    sim_raise(call);
    CHECK_EQ(take_events(one), 1);
    call = sim_call(funcs[0]);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){0}), 0);
    sim_return(call);
    CHECK_EQ(take_events(one), 0);
    expected_kept = 0;
    event_end(&event);
    close_instance(one);
}

static void test_events_stand_among_the_calls(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_function_graph);
    struct event event;

    event_begin(&event, "entry", false);
    CHECK_EQ(fg_event_set(event.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    CHECK_EQ(session.tally.records, 3);
    CHECK_EQ(fg_instance_set_tracer(one, &fg_tracer_nop), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    CHECK_EQ(session.tally.records, 1);
    CHECK_EQ(fg_instance_set_tracer(one, &fg_tracer_function), 0);
    sim_call_return(funcs[0]);
    CHECK_EQ(take_events(one), 1);
    close_instance(one); /* while the event is on */
    sim_call_return(funcs[0]);
    event_end(&event);
}

/* ---- everything at once */

static struct event busy;
static _Atomic bool over;

static void *call_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < NR_CALLS; i++)
        sim_call_return(funcs[i % 2]);
    return NULL;
}

static void *come_and_go(void *arg)
{
    const struct fg_instance *stays = arg;

    while (!atomic_load(&over)) {
        struct fg_instance *instance = open_instance("brief", &fg_tracer_nop);

        CHECK_EQ(fg_event_set(busy.event, instance->handle, &(struct fg_event_request){.records = true}), 0);
        CHECK_EQ(fg_event_set(busy.event, instance->handle, &(struct fg_event_request){0}), 0);
        CHECK_EQ(fg_event_set(busy.event, instance->handle, &(struct fg_event_request){.records = true}), 0);
        for (int i = 0; i < 100; i++)
            CHECK_EQ(fg_event_set_tids(stays->handle, all_but(1)), 0);
        close_instance(instance);
    }
    return NULL;
}

/* No hit is lost or doubled in an instance that stays. Fails if a list or a set of threads is freed before
 * callbacks have left it (ASan), or a file is not taken over into the next list. */
static void test_others_that_come_and_go_change_nothing(void)
{
    struct fg_instance *one = open_instance("one", &fg_tracer_nop);
    pthread_t threads[NR_THREADS], other;

    on_record = NULL;
    event_begin(&busy, "busy", false);
    CHECK_EQ(fg_event_set(busy.event, one->handle, &(struct fg_event_request){.records = true}), 0);
    sim_spawn(&other, come_and_go, one);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_many, NULL);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    atomic_store(&over, true);
    sim_join(other);
    CHECK_EQ(take_events(one), NR_THREADS * NR_CALLS);
    event_end(&busy);
    close_instance(one);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, 2);
    session_begin(&session);
    test_an_instance_records_the_events_that_it_wants();
    test_a_filter_chooses_the_hits();
    test_an_instance_sees_events_of_the_threads_that_it_wants();
    test_a_return_has_data_of_its_entry();
    test_events_stand_among_the_calls();
    test_others_that_come_and_go_change_nothing();
    session_end(&session);
    return 0;
}
