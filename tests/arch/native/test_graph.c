/* A user that has native functions only below others. Calls elsewhere are refused by one test: neither the
 * guard is entered nor an entry taken. Those below are as any others. */
#include "arch/native/entry.h"
#include "engine/core/task.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/native.h"
#include "support/session.h"
#include "target/target.h"

enum { NR_CALLS = 1000 };

static struct session session;
static int handle;

static void begin(void)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_function_graph,
                                        .ring = {.buffer_bytes = 32u << 20, .mode = FG_RING_DROP}};
    const char *const filter[] = {"target_*:mod:target"}, *const graph[] = {"target_call:mod:target"};
    struct fg_pattern_error error;

    session_begin(&session);
    config.ring.directory = session.directory;
    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_FILTER, filter, 1, &error), 0);
    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_GRAPH, graph, 1, &error), 0);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
}

static void call_leaf(void *arg)
{
    for (long i = 0; i < NR_CALLS; i++)
        CHECK_EQ(target_leaf(i), i + 1);
    (void)arg;
}

/* The guard counts the sections of the thread, short ones, too. */
static void check_outside_is_refused_by_a_test(void)
{
    uint64_t guard = fg_task_guard(fg_task_self);
    const struct fg_native_entry *free = fg_task_self->native.free;

    call_leaf(NULL);
    CHECK_EQ(fg_task_guard(fg_task_self), guard);
    CHECK(fg_task_self->native.free == free);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    CHECK(native_meet(object, "*:mod:target") > 20);
    begin();
    call_leaf(NULL); /* the thread has a task from now on */
    target_call(call_leaf, NULL);
    check_outside_is_refused_by_a_test();
    target_call(call_leaf, NULL);
    check_outside_is_refused_by_a_test();
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.kinds[FG_RECORD_ENTRY], 2 * (NR_CALLS + 1));
    CHECK_EQ(session.tally.kinds[FG_RECORD_RETURN], 2 * (NR_CALLS + 1));
    CHECK_EQ(session.tally.records_lost, 0);
    session_end(&session);
    return 0;
}
