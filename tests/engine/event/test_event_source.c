/* A source runs in a scope only while it has a probe there. It hits the probes of that scope and no others,
 * while probes come and go in other threads. */
#include <errno.h>
#include <string.h>

#include "engine/event/event_source.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_THREADS = 4, NR_HITS = 5000 };

static struct session session;
static struct fg_instance *instance;

/* ---- a source that counts its starts and stops in two scopes */

static int scopes[2];
static int nr_running[2], refusal;

static int start(struct fg_event_source *source, void *scope)
{
    (void)source;
    if (refusal)
        return refusal;
    nr_running[(int *)scope - scopes]++;
    return 0;
}

static void stop(struct fg_event_source *source, void *scope)
{
    (void)source;
    nr_running[(int *)scope - scopes]--;
}

static const struct fg_event_source_ops ops = {start, stop};
static struct fg_event_source source = {.ops = &ops};

/* ---- probes that count their hits */

struct counted {
    struct fg_source_probe probe;
    _Atomic uint64_t nr_hits;
};

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    struct counted *counted = (struct counted *)(uintptr_t)program;

    (void)regs, (void)func, (void)entry_data;
    memcpy(image + FG_EVENT_PLAIN_FIELDS_AT, &(uint32_t){5}, 4);
    counted->nr_hits++;
    return FG_EVENT_PLAIN_FIELDS_AT + 4;
}

static const struct fg_fetch_ops fetch_ops = {fetch, NULL};

static void probe_begin(struct counted *counted, const char *name, int scope)
{
    memset(counted, 0, sizeof(*counted));
    counted->probe.ops = &fetch_ops;
    counted->probe.program = counted;
    counted->probe.scope = &scopes[scope];
    CHECK_EQ(fg_event_new("test", name, "u32 n 0 8", FG_EVENT_PLAIN_FIELDS_AT, &counted->probe.event), 0);
    CHECK_EQ(
        fg_event_set(counted->probe.event, instance->handle, &(struct fg_event_request){.records = true}), 0);
}

static void probe_end(struct counted *counted)
{
    fg_event_source_detach(&counted->probe);
    fg_event_free(counted->probe.event);
}

static void hit(int scope)
{
    struct fg_event_site site = {.func = 0};

    if (fg_event_source_is_enabled(&source))
        fg_event_source_hit(&source, &scopes[scope], &site);
}

/* ---- tests */

static void test_a_source_runs_while_it_has_probes(void)
{
    struct counted one, two, other;

    probe_begin(&one, "one", 0);
    probe_begin(&two, "two", 0);
    probe_begin(&other, "other", 1);
    hit(0);
    CHECK_EQ(one.nr_hits, 0);
    CHECK_EQ(fg_event_source_attach(&source, &one.probe), 0);
    CHECK_EQ(fg_event_source_attach(&source, &one.probe), -EBUSY);
    CHECK_EQ(fg_event_source_attach(&source, &two.probe), 0);
    CHECK_EQ(nr_running[0], 1);
    CHECK_EQ(nr_running[1], 0);
    CHECK_EQ(fg_event_source_attach(&source, &other.probe), 0);
    CHECK_EQ(nr_running[1], 1);
    hit(0);
    hit(0);
    hit(1);
    fg_event_source_detach(&one.probe);
    fg_event_source_detach(&one.probe);
    CHECK_EQ(nr_running[0], 1);
    hit(0);
    probe_end(&two);
    CHECK_EQ(nr_running[0], 0);
    CHECK_EQ(nr_running[1], 1);
    probe_end(&other);
    CHECK_EQ(nr_running[1], 0);
    CHECK(!fg_event_source_is_enabled(&source));
    CHECK_EQ(one.nr_hits, 2);
    CHECK_EQ(two.nr_hits, 3);
    CHECK_EQ(other.nr_hits, 1);
    probe_end(&one);
}

static void test_a_source_that_refuses_to_start(void)
{
    struct counted one;

    probe_begin(&one, "one", 0);
    refusal = -EOPNOTSUPP;
    CHECK_EQ(fg_event_source_attach(&source, &one.probe), -EOPNOTSUPP);
    CHECK(!fg_event_source_is_enabled(&source));
    refusal = 0;
    CHECK_EQ(fg_event_source_attach(&source, &one.probe), 0);
    CHECK_EQ(nr_running[0], 1);
    probe_end(&one);
    CHECK_EQ(nr_running[0], 0);
}

static void test_a_hit_inside_a_callback_is_missed_and_counted(void)
{
    struct fg_task *task = fg_task_current();
    struct counted one;

    probe_begin(&one, "one", 0);
    CHECK_EQ(fg_event_source_attach(&source, &one.probe), 0);
    CHECK(fg_guard_enter(task));
    hit(0);
    fg_guard_leave(task);
    CHECK_EQ(one.nr_hits, 0);
    CHECK_EQ(fg_source_probe_missed(&one.probe), 1);
    hit(0);
    CHECK_EQ(one.nr_hits, 1);
    probe_end(&one);
}

static void *hit_many(void *arg)
{
    (void)arg;
    for (int i = 0; i < NR_HITS; i++)
        hit(0);
    return NULL;
}

/* Fails if a hit of a probe that stays is lost or doubled, or a list is freed too early (ASan). */
static void test_probes_that_come_and_go_change_nothing_for_others(void)
{
    pthread_t threads[NR_THREADS];
    struct counted stays, brief;

    probe_begin(&stays, "stays", 0);
    probe_begin(&brief, "brief", 0);
    CHECK_EQ(fg_event_source_attach(&source, &stays.probe), 0);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], hit_many, NULL);
    for (int i = 0; i < 200; i++) {
        CHECK_EQ(fg_event_source_attach(&source, &brief.probe), 0);
        fg_event_source_detach(&brief.probe);
    }
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    CHECK_EQ(stays.nr_hits, NR_THREADS * NR_HITS);
    probe_end(&stays);
    probe_end(&brief);
}

int main(void)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_nop,
                                        .ring = {.buffer_bytes = 8 << 20, .mode = FG_RING_DROP}};
    int handle;

    sim_begin();
    session_begin(&session);
    strcpy(config.ring.instance, "one");
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    instance = fg_instance_get(handle);
    test_a_source_runs_while_it_has_probes();
    test_a_source_that_refuses_to_start();
    test_a_hit_inside_a_callback_is_missed_and_counted();
    test_probes_that_come_and_go_change_nothing_for_others();
    CHECK_EQ(fg_instance_stop(handle), 0);
    fg_instance_put(instance);
    session_end(&session);
    return 0;
}
