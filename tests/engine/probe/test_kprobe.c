/* kprobes without an interpreter: which handlers run at a site, which calls are missed, and that an
 * owner stays while a thread may still call its handler. */
#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include "engine/probe/kprobe.h"
#include "support/check.h"
#include "support/sim_arch.h"

/* The arch defines its own. This one only shows that the engine passes it on. */
struct fg_kprobe_site {
    struct fg_func *func;
};

struct probe {
    struct fg_kprobe kp;
    _Atomic int refs, nr_runs;
    void (*then)(struct probe *probe);
};

static struct fg_func *func;
static int nr_listens, nr_syncs, listen_error;
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local bool holds_lock;

static void lock(void)
{
    pthread_mutex_lock(&list_lock);
    holds_lock = true;
}

static void unlock(void)
{
    holds_lock = false;
    pthread_mutex_unlock(&list_lock);
}

static void keep(void *owner)
{
    CHECK(holds_lock);
    atomic_fetch_add(&((struct probe *)owner)->refs, 1);
}

static void drop(void *owner)
{
    CHECK(!holds_lock);
    CHECK(atomic_fetch_sub(&((struct probe *)owner)->refs, 1) > 0);
}

static int listen_to(struct fg_func *of)
{
    CHECK(of == func);
    nr_listens++;
    return listen_error;
}

static void sync_hooks(struct fg_func *of)
{
    CHECK(of == func);
    nr_syncs++;
}

static const struct fg_kprobe_arch arch = {
    .lock = lock, .unlock = unlock, .keep = keep, .drop = drop, .listen = listen_to, .sync = sync_hooks};

static void run(struct fg_kprobe *kp, const struct fg_kprobe_site *site)
{
    struct probe *probe = fg_container_of(kp, struct probe, kp);

    CHECK(site->func == func);
    CHECK(atomic_load(&probe->refs) > 0);
    atomic_fetch_add(&probe->nr_runs, 1);
    if (probe->then)
        probe->then(probe);
}

static void probe_init(struct probe *probe, int line, int offset)
{
    *probe = (struct probe){.kp = {.arch = &arch, .run = run, .line = line, .offset = offset}};
    probe->kp.owner = probe;
    atomic_store(&probe->kp.is_enabled, true);
}

static bool hit_line(int line)
{
    return fg_kprobes_hit(&arch, func, &(struct fg_kprobe_place){.line = line, .offset = -1},
                          &(struct fg_kprobe_site){func});
}

static bool hit_offset(int offset)
{
    return fg_kprobes_hit(&arch, func, &(struct fg_kprobe_place){.offset = offset},
                          &(struct fg_kprobe_site){func});
}

static void test_a_probe_runs_at_its_place_alone(void)
{
    struct probe line, offset;

    probe_init(&line, 7, 0);
    probe_init(&offset, 0, 12);
    CHECK(!hit_line(7));
    CHECK_EQ(fg_kprobe_register(&line.kp, func), 0);
    CHECK_EQ(fg_kprobes_kinds(&arch, func), FG_KPROBE_LINES);
    CHECK_EQ(fg_kprobe_register(&offset.kp, func), 0);
    CHECK_EQ(fg_kprobes_kinds(&arch, func), FG_KPROBE_LINES | FG_KPROBE_OFFSETS);
    CHECK_EQ(fg_kprobe_register(&line.kp, func), -EEXIST);
    CHECK_EQ(nr_listens, 2);
    CHECK(hit_line(7) && !hit_line(8) && !hit_line(12));
    CHECK(hit_offset(12) && !hit_offset(7));
    CHECK_EQ(line.nr_runs, 1);
    CHECK_EQ(line.kp.hits, 1);
    CHECK_EQ(offset.nr_runs, 1);
    CHECK_EQ(fg_kprobe_unregister(&line.kp), 0);
    CHECK_EQ(fg_kprobe_unregister(&line.kp), -EINVAL);
    CHECK_EQ(line.refs, 0);
    CHECK(!hit_line(7) && hit_offset(12));
    CHECK_EQ(fg_kprobe_unregister(&offset.kp), 0);
    CHECK_EQ(offset.refs, 0);
    CHECK_EQ(nr_syncs, 2);
    CHECK(!fg_kprobe_are_on(func));
    CHECK_EQ(fg_kprobe_count, 0);
}

static void test_a_disabled_probe_stays_and_does_not_run(void)
{
    struct probe probe;

    probe_init(&probe, 7, 0);
    CHECK_EQ(fg_kprobe_register(&probe.kp, func), 0);
    CHECK_EQ(fg_kprobe_set_enabled(&probe.kp, false), 0);
    CHECK_EQ(fg_kprobes_kinds(&arch, func), 0);
    CHECK(!hit_line(7));
    CHECK_EQ(fg_kprobe_set_enabled(&probe.kp, true), 0);
    CHECK(hit_line(7));
    CHECK_EQ(probe.nr_runs, 1);
    CHECK_EQ(fg_kprobe_unregister(&probe.kp), 0);
}

static void hit_again(struct probe *probe)
{
    (void)probe;
    CHECK(hit_line(7));
}

static void test_what_a_handler_reaches_is_missed(void)
{
    struct probe probe;

    probe_init(&probe, 7, 0);
    probe.then = hit_again;
    CHECK_EQ(fg_kprobe_register(&probe.kp, func), 0);
    CHECK(hit_line(7));
    CHECK_EQ(probe.nr_runs, 1);
    CHECK_EQ(probe.kp.hits, 1);
    CHECK_EQ(probe.kp.nmissed, 1);
    CHECK_EQ(fg_kprobe_unregister(&probe.kp), 0);
}

static struct probe first, second;

static void unregister_both(struct probe *probe)
{
    CHECK_EQ(fg_kprobe_unregister(&second.kp), 0);
    CHECK_EQ(fg_kprobe_unregister(&probe->kp), 0);
    CHECK(atomic_load(&probe->refs) > 0); /* the list in use keeps it */
}

static void test_a_handler_may_unregister_probes_its_own_included(void)
{
    probe_init(&first, 7, 0);
    probe_init(&second, 7, 0);
    first.then = unregister_both;
    CHECK_EQ(fg_kprobe_register(&first.kp, func), 0);
    CHECK_EQ(fg_kprobe_register(&second.kp, func), 0);
    CHECK(hit_line(7));
    CHECK_EQ(first.nr_runs, 1);
    CHECK_EQ(second.nr_runs, 0);
    CHECK_EQ(first.refs, 0);
    CHECK_EQ(second.refs, 0);
}

static void test_an_arch_that_cannot_listen_leaves_nothing(void)
{
    struct probe probe;

    probe_init(&probe, 7, 0);
    listen_error = -EIO;
    CHECK_EQ(fg_kprobe_register(&probe.kp, func), -EIO);
    listen_error = 0;
    CHECK_EQ(probe.refs, 0);
    CHECK(!fg_kprobe_are_on(func));
    CHECK_EQ(fg_kprobe_count, 0);
}

static void test_a_function_that_goes_takes_its_probes_off(void)
{
    struct probe probe;

    probe_init(&probe, 7, 0);
    CHECK_EQ(fg_kprobe_register(&probe.kp, func), 0);
    fg_kprobes_forget(&arch, func);
    CHECK_EQ(probe.refs, 0);
    CHECK(!hit_line(7));
    CHECK_EQ(fg_kprobe_unregister(&probe.kp), 0);
}

static _Atomic bool over;
static _Atomic int nr_hitting;

static void *hit_until_over(void *arg)
{
    (void)arg;
    atomic_fetch_add(&nr_hitting, 1);
    while (!atomic_load(&over))
        hit_line(7);
    return NULL;
}

static void test_no_handler_runs_after_its_unregistration(void)
{
    pthread_t threads[2];
    struct probe probe;

    for (int i = 0; i < 2; i++)
        sim_spawn(&threads[i], hit_until_over, NULL);
    while (atomic_load(&nr_hitting) < 2)
        usleep(100);
    for (int i = 0; i < 2000; i++) {
        int nr_runs;

        probe_init(&probe, 7, 0);
        CHECK_EQ(fg_kprobe_register(&probe.kp, func), 0);
        CHECK_EQ(fg_kprobe_unregister(&probe.kp), 0);
        nr_runs = atomic_load(&probe.nr_runs);
        while (atomic_load(&probe.refs)) /* a thread still uses the list that it has walked */
            ;
        CHECK_EQ(atomic_load(&probe.nr_runs), nr_runs);
    }
    atomic_store(&over, true);
    for (int i = 0; i < 2; i++)
        sim_join(threads[i]);
}

int main(void)
{
    sim_begin();
    func = sim_function("m", "f");
    test_a_probe_runs_at_its_place_alone();
    test_a_disabled_probe_stays_and_does_not_run();
    test_what_a_handler_reaches_is_missed();
    test_a_handler_may_unregister_probes_its_own_included();
    test_an_arch_that_cannot_listen_leaves_nothing();
    test_a_function_that_goes_takes_its_probes_off();
    test_no_handler_runs_after_its_unregistration();
    return 0;
}
