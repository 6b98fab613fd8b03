/* Everything at once, for 3 seconds (60 with FUNCGRAPH_NIGHTLY=1). Threads make calls and pass
 * suspended calls to each other. Other threads register, unregister and refilter users and fprobes.
 * Each callback gets only its own user's calls, every entry has its return, every object is released
 * once, and nothing is left over. */
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "engine/graph/data.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"
#include "support/watch.h"

enum {
    NR_CALLERS = 8,
    NR_CHANGERS = 4,
    NR_FUNCS = 12,
    NR_POOL = 64, /* suspended calls, shared by all threads */
    MAX_NESTED = 12,
    MAX_OBJECTS = 1 << 20,
    NR_OWN = 5,     /* probes per changer */
    NR_WATCHES = 8, /* fprobes per watcher */
    NR_WATCHERS = 2,
    NR_HOLDERS = 41, /* users that only hold a slot, so that the other slots are reused at once */
};

static struct fg_func *funcs[NR_FUNCS];
static _Atomic uintptr_t pool[NR_POOL];
static _Atomic uint64_t objects[MAX_OBJECTS]; /* releases of each object */
static _Atomic uint32_t nr_objects;
static _Atomic bool is_over;
static struct probe holders[NR_HOLDERS];
static struct watch steady_watch;
static struct probe steady;                 /* always registered, wants everything */
static _Atomic int caller_tids[NR_CALLERS]; /* 0 until a caller runs */
static _Atomic uint64_t nr_calls, nr_moved, nr_registrations, nr_watches;

static uint32_t draw(uint32_t *state, uint32_t end)
{
    *state ^= *state << 13;
    *state ^= *state >> 17;
    *state ^= *state << 5;
    return *state % end;
}

/* ---- threads that call */

struct caller {
    pthread_t thread;
    uint32_t random;
    int number;
    uintptr_t calls[MAX_NESTED];
    uint32_t nested;
    uint32_t left; /* steps until its thread ends */
};

static void begin_call(struct caller *caller)
{
    caller->calls[caller->nested++] = sim_call(funcs[draw(&caller->random, NR_FUNCS)]);
    atomic_fetch_add_explicit(&nr_calls, 1, memory_order_relaxed);
}

static void end_call(struct caller *caller)
{
    uintptr_t call = caller->calls[--caller->nested];

    if (draw(&caller->random, 8))
        sim_return(call);
    else
        sim_raise(call);
}

/* Suspends the latest call into the pool. The call that it replaces is resumed in this thread or closed. */
static void swap_call(struct caller *caller)
{
    uintptr_t call = caller->calls[--caller->nested], other;

    sim_suspend(call);
    other = atomic_exchange(&pool[draw(&caller->random, NR_POOL)], call);
    if (!other)
        return;
    if (draw(&caller->random, 4)) {
        sim_resume(other);
        caller->calls[caller->nested++] = other;
        atomic_fetch_add_explicit(&nr_moved, 1, memory_order_relaxed);
    } else {
        sim_close(other);
    }
}

static void *call_on(void *arg)
{
    struct caller *caller = arg;

    while (caller->left-- && !atomic_load_explicit(&is_over, memory_order_relaxed)) {
        uint32_t what = draw(&caller->random, 8);

        if (!caller->nested || (what < 4 && caller->nested < MAX_NESTED))
            begin_call(caller);
        else if (what == 7)
            swap_call(caller);
        else
            end_call(caller);
    }
    return NULL;
}

/* Runs threads one after the other. Each leaves calls in progress and suspended when it ends. */
static void *call_in_a_row_of_threads(void *arg)
{
    struct caller *caller = arg;

    atomic_store_explicit(&caller_tids[caller->number], (int)syscall(SYS_gettid), memory_order_relaxed);
    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        caller->left = 20000;
        sim_in_thread(call_on, caller);
        caller->nested = 0; /* ended with their thread */
    }
    return NULL;
}

/* ---- threads that change */

struct changer {
    pthread_t thread;
    uint32_t random;
    struct probe probes[NR_OWN];
};

static void reserve_an_object(struct probe *probe, struct ftrace_graph_ent *trace)
{
    uint32_t n;

    if (atomic_load_explicit(&nr_objects, memory_order_relaxed) >= MAX_OBJECTS || probe->entries % 16)
        return;
    n = atomic_fetch_add(&nr_objects, 1);
    if (n < MAX_OBJECTS && !fgraph_reserve_object(trace, &probe->ops, &objects[n]))
        atomic_store(&objects[n], 1); /* no room: still this test's object */
}

static const char *const patterns[] = {NULL, "m.f1", "m.f[0-5]", "m.f*", "*1", "nothing"};

static const char *draw_pattern(struct changer *changer)
{
    return patterns[draw(&changer->random, NR_OF(patterns))];
}

static void set_some_tids(struct changer *changer, struct probe *probe)
{
    int tids[NR_CALLERS];
    uint32_t nr = draw(&changer->random, NR_CALLERS);

    for (uint32_t i = 0; i < nr; i++)
        tids[i] = atomic_load_explicit(&caller_tids[i], memory_order_relaxed);
    CHECK_EQ(fgraph_set_tids(&probe->ops, tids, nr), 0);
}

static void change_filter(struct changer *changer, struct probe *probe)
{
    uint32_t what = draw(&changer->random, FGRAPH_NR_FILTER_SETS + 1);

    if (what < FGRAPH_NR_FILTER_SETS)
        probe_edit_filter(probe, (enum fgraph_filter_set)what, draw_pattern(changer));
    else if (draw(&changer->random, 2))
        set_some_tids(changer, probe);
    else
        CHECK_EQ(fgraph_set_tids(&probe->ops, NULL, 0), 0);
}

static void *change_on(void *arg)
{
    struct changer *changer = arg;

    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        struct probe *probe = &changer->probes[draw(&changer->random, NR_OWN)];

        if (!atomic_load(&probe->is_registered)) {
            probe_register(probe);
            atomic_fetch_add(&nr_registrations, 1);
        } else if (draw(&changer->random, 3)) {
            change_filter(changer, probe);
        } else {
            probe_unregister(probe);
            CHECK_EQ(probe->running, 0);
        }
        atomic_store(&probe->refuse, draw(&changer->random, 4) == 0);
    }
    return NULL;
}

/* ---- threads that change fprobes */

struct watcher {
    pthread_t thread;
    uint32_t random;
    struct watch watches[NR_WATCHES];
};

static void begin_watch(struct watcher *watcher, struct watch *watch)
{
    uint32_t what = draw(&watcher->random, NR_OF(patterns) - 1); /* the last matches nothing */

    watch->fp.entry_data_size = draw(&watcher->random, FPROBE_MAX_DATA_BYTES + 1);
    if (patterns[what])
        watch_register(watch, patterns[what]);
    else
        watch_register_ips(watch, funcs + draw(&watcher->random, NR_FUNCS - 3), 3);
    atomic_fetch_add(&nr_watches, 1);
}

static void check_watch(struct watch *watch)
{
    CHECK_EQ(watch->running, 0);
    CHECK_EQ(watch->bad, 0);
    CHECK_EQ(watch->called_after, 0);
    CHECK(watch->exits <= watch->entries);
}

static void *watch_on(void *arg)
{
    struct watcher *watcher = arg;

    while (!atomic_load_explicit(&is_over, memory_order_relaxed)) {
        struct watch *watch = &watcher->watches[draw(&watcher->random, NR_WATCHES)];

        if (!fg_fprobe_is_registered(&watch->fp)) {
            begin_watch(watcher, watch);
        } else if (draw(&watcher->random, 3)) {
            CHECK_EQ(fg_fprobe_set_enabled(&watch->fp, draw(&watcher->random, 2)), 0);
        } else {
            watch_unregister(watch);
            check_watch(watch);
        }
        atomic_store(&watch->cancels, draw(&watcher->random, 4) == 0);
    }
    return NULL;
}

static void begin_watcher(struct watcher *watcher, uint32_t number)
{
    watcher->random = 2000 + number;
    for (uint32_t i = 0; i < NR_WATCHES; i++)
        watch_init(&watcher->watches[i], NULL, 0);
    sim_spawn(&watcher->thread, watch_on, watcher);
}

static void end_watcher(struct watcher *watcher)
{
    sim_join(watcher->thread);
    for (uint32_t i = 0; i < NR_WATCHES; i++) {
        struct watch *watch = &watcher->watches[i];

        if (fg_fprobe_is_registered(&watch->fp))
            watch_unregister(watch);
        check_watch(watch);
    }
}

/* ---- all together */

static void begin_changer(struct changer *changer, uint32_t number)
{
    changer->random = 1000 + number;
    for (uint32_t i = 0; i < NR_OWN; i++) {
        probe_init(&changer->probes[i], "changing", NULL, i * 8);
        changer->probes[i].on_entry = reserve_an_object;
    }
    sim_spawn(&changer->thread, change_on, changer);
}

static void end_changer(struct changer *changer)
{
    sim_join(changer->thread);
    for (uint32_t i = 0; i < NR_OWN; i++) {
        struct probe *probe = &changer->probes[i];

        if (atomic_load(&probe->is_registered))
            probe_unregister(probe);
        CHECK_EQ(probe->bad, 0);
        CHECK_EQ(probe->called_after, 0);
        CHECK(probe_ends(probe) <= probe->entries);
        probe_done(probe);
    }
}

static unsigned seconds(void)
{
    const char *nightly = getenv("FUNCGRAPH_NIGHTLY");

    return nightly && strcmp(nightly, "1") == 0 ? 60 : 3;
}

static void close_all(void)
{
    for (uint32_t i = 0; i < NR_POOL; i++) {
        uintptr_t call = atomic_exchange(&pool[i], 0);

        if (call)
            sim_close(call);
    }
}

/* True once enough of everything has happened, so that a slow machine makes the test longer and nothing
 * else. */
static bool is_enough(void)
{
    return nr_calls > 1000 && nr_moved > 10 && nr_registrations > 10 && nr_watches > 10 && nr_objects > 10;
}

static void check_objects(void)
{
    uint32_t n = atomic_load(&nr_objects);

    for (uint32_t i = 0; i < n && i < MAX_OBJECTS; i++)
        CHECK_EQ(objects[i], 1);
}

/* Fails if fg_slot_user does not compare generations; if a list is freed in publish instead of retired;
 * if popping a frame does not drop its objects; if a removal frees a list of fprobes at once. Also
 * fails if a frame is marked for the slot of the stub that replaces a leaving user, instead of the
 * user's own slot: the steady user, in slot 0, missed returns. */
int main(void)
{
    static struct caller callers[NR_CALLERS];
    static struct changer changers[NR_CHANGERS];
    static struct watcher watchers[NR_WATCHERS];

    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    probe_init(&steady, "steady", NULL, 3);
    probe_register(&steady);
    watch_init(&steady_watch, NULL, 20);
    watch_register(&steady_watch, "m.*");
    for (uint32_t i = 0; i < NR_HOLDERS; i++) {
        probe_init(&holders[i], "holder", "nothing", 0);
        probe_register(&holders[i]);
    }
    for (uint32_t i = 0; i < NR_CALLERS; i++) {
        callers[i] = (struct caller){.random = i + 1, .number = (int)i};
        sim_spawn(&callers[i].thread, call_in_a_row_of_threads, &callers[i]);
    }
    for (uint32_t i = 0; i < NR_CHANGERS; i++)
        begin_changer(&changers[i], i);
    for (uint32_t i = 0; i < NR_WATCHERS; i++)
        begin_watcher(&watchers[i], i);
    sleep(seconds());
    while (!is_enough())
        usleep(100000);
    atomic_store(&is_over, true);
    for (uint32_t i = 0; i < NR_CALLERS; i++)
        sim_join(callers[i].thread);
    for (uint32_t i = 0; i < NR_CHANGERS; i++)
        end_changer(&changers[i]);
    for (uint32_t i = 0; i < NR_WATCHERS; i++)
        end_watcher(&watchers[i]);
    close_all();
    CHECK_EQ(probe_ends(&steady), steady.entries);
    CHECK_EQ(steady.bad, 0);
    probe_unregister(&steady);
    CHECK_EQ(steady_watch.exits, steady_watch.entries);
    CHECK_EQ(fg_fprobe_nmissed(&steady_watch.fp), 0);
    watch_unregister(&steady_watch);
    check_watch(&steady_watch);
    for (uint32_t i = 0; i < NR_HOLDERS; i++) {
        probe_unregister(&holders[i]);
        probe_done(&holders[i]);
    }
    check_objects();
    CHECK_EQ(fgraph_count(), 0);
    CHECK_EQ(fg_func_count(), NR_FUNCS);
    CHECK(fg_task_count() <= 1);
    CHECK(fg_killed() == NULL);
    return 0;
}
