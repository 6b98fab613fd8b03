/* A thousand functions, hooked and unhooked while eight threads call them: each call does what it does
 * without hooks, each function is hooked each time, and the code is as before afterwards. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/root.h"
#include "support/check.h"
#include "support/native.h"
#include "support/text.h"
#include "target/target.h"

#define NR_THREADS 8
#define PER_ROUND 64

static _Atomic bool ends;

static long call(size_t i, long n)
{
    long (*function)(long) = (long (*)(long))((uintptr_t)target_many + i * TARGET_MANY_BYTES);

    return function(n);
}

/* Each thread has an order of its own. */
static void *make_calls(void *arg)
{
    size_t step = 7 + 2 * (size_t)(uintptr_t)arg, at = 0;

    while (!atomic_load_explicit(&ends, memory_order_relaxed)) {
        for (int i = 0; i < PER_ROUND; i++, at = (at + step) % TARGET_MANY)
            CHECK_EQ(call(at, i), i + 1);
    }
    return NULL;
}

static void hook_and_unhook(void)
{
    struct probe probe;
    uint32_t refused;

    native_probe(&probe, "many_*:mod:target");
    CHECK_EQ(native_hooked(&refused), TARGET_MANY);
    CHECK_EQ(refused, 0);
    probe_unregister(&probe);
    CHECK_EQ(probe.bad, 0);
    CHECK_EQ(probe.called_after, 0);
    CHECK(probe_ends(&probe) <= probe.entries);
    probe_done(&probe);
    CHECK_EQ(native_hooked(NULL), 0);
}

int main(void)
{
    struct fg_native_object *object = native_begin_with_many();
    struct text before = text_of((void *)target_many);
    const char *nightly = getenv("FUNCGRAPH_NIGHTLY");
    int times = nightly && strcmp(nightly, "1") == 0 ? 10000 : 30;
    pthread_t threads[NR_THREADS];

    CHECK_EQ(native_meet(object, "many_*:mod:target"), TARGET_MANY);
    if (!NATIVE_STOPS)
        return 0;
    for (uintptr_t i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, make_calls, (void *)i), 0);
    for (int i = 0; i < times; i++)
        hook_and_unhook();
    atomic_store(&ends, true);
    for (int i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    CHECK(!fg_killed());
    text_check(&before);
    text_free(&before);
    return 0;
}
