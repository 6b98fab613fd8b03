/* The function profiler counts native functions: as many calls as there were, in each thread, and without
 * waiting for anything that the program may hold. */
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "engine/core/root.h"
#include "engine/profile/profile_figures.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/native.h"
#include "target/target.h"

static struct fg_function_profile profile;

static void begin(const char *pattern, bool graph_time)
{
    const char *const texts[] = {pattern};
    struct fg_pattern_error error;

    fg_function_profile_clear(&profile);
    memset(&profile, 0, sizeof(profile));
    fg_function_profile_init(&profile, graph_time, true);
    CHECK_EQ(fgraph_edit_filter(&profile.ops, FGRAPH_FILTER, texts, 1, true, &error), 0);
    CHECK_EQ(fg_function_profile_start(&profile, fgraph_register), 0);
}

static void end(void)
{
    CHECK_EQ(fgraph_nmissed(&profile.ops), 0);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    fg_filter_clear(&fg_user_of(&profile.ops)->filter);
}

/* How often a function was called, and in *time_ns how long. */
static uint64_t hits(const char *name, uint64_t *time_ns)
{
    struct fg_profile_figures *figures;
    uint64_t hit = 0;
    size_t n;

    CHECK_EQ(fg_function_profile_read(&profile, 0, &figures, &n), 0);
    for (size_t i = 0; i < n; i++) {
        if (strcmp(figures[i].name, name) != 0)
            continue;
        hit = figures[i].hit;
        *time_ns = figures[i].time_ns;
        CHECK_TEXT(figures[i].file, "");
        CHECK_EQ(figures[i].line, 0);
    }
    fg_profile_figures_free(figures, n);
    return hit;
}

static void test_calls_are_counted_and_timed(bool graph_time)
{
    uint64_t time_ns = 0;

    begin("target_*:mod:target", graph_time);
    for (int i = 0; i < 1000; i++)
        CHECK_EQ(target_add(i, 2), i + 2);
    CHECK_EQ(target_recurse(100), 100);
    CHECK_EQ(hits("target_add [target]", &time_ns), 1000);
    CHECK(time_ns > 0);
    CHECK_EQ(hits("target_recurse [target]", &time_ns), 101);
    CHECK_EQ(hits("target_leaf [target]", &time_ns), 0);
    end();
}

enum { NR_THREADS = 4, NR_CALLS = 5000 };

static _Atomic int nr_done;

static void *call_many(void *arg)
{
    for (long i = 0; i < NR_CALLS; i++)
        CHECK_EQ(target_leaf(i), i + 1);
    atomic_fetch_add(&nr_done, 1);
    return arg;
}

/* The engine's lock is held all the time: its holder may wait for a lock of the allocator, which the
 * program holds while it makes the call. */
static void test_a_first_call_waits_for_no_lock_of_the_engine(void)
{
    pthread_t threads[NR_THREADS];
    uint64_t time_ns;

    begin("target_leaf:mod:target", true);
    fg_engine_lock();
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, call_many, NULL), 0);
    while (atomic_load(&nr_done) < NR_THREADS)
        sched_yield();
    fg_engine_unlock();
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK_EQ(hits("target_leaf [target]", &time_ns), NR_THREADS * NR_CALLS);
    end();
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    CHECK(native_meet(object, "*:mod:target") > 20);
    test_calls_are_counted_and_timed(true);
    test_calls_are_counted_and_timed(false);
    test_a_first_call_waits_for_no_lock_of_the_engine();
    return 0;
}
