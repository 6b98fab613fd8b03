/* fprobes are registered and unregistered at any moment: by handlers, also their own, and by other
 * threads while calls run. After unregister has returned, the fprobe's memory belongs to the caller
 * again. */
#include <errno.h>
#include <unistd.h>

#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/sim_arch.h"
#include "support/watch.h"

enum { NR_FUNCS = 8, NR_CALLERS = 3, NR_CHANGERS = 3, ROUNDS = 60 };

static struct fg_func *funcs[NR_FUNCS];

/* Makes a late call of a handler crash. */
static void wipe(struct watch *watch)
{
    memset(&watch->fp, 0xa5, sizeof(watch->fp));
}

static struct watch *watch_new(const char *name, const char *filter)
{
    struct watch *watch = malloc(sizeof(*watch));

    watch_init(watch, name, 24);
    watch_register(watch, filter);
    return watch;
}

/* Called in a handler of this or another watch: unregisters the watch and overwrites its memory. */
static void do_away_with(struct watch *watch, struct fg_func *func)
{
    struct watch *victim = watch->arg;

    (void)func;
    watch->on_entry = watch->on_exit = NULL;
    watch_unregister(victim);
    wipe(victim);
    free(victim);
}

/* Fails if the entry reads the fprobe after its handler has returned (`fp->exit_handler`): ASan reports
 * it. */
static void test_an_fprobe_that_its_own_handler_unregisters(void)
{
    for (int at_exit = 0; at_exit < 2; at_exit++) {
        for (int is_alone = 0; is_alone < 2; is_alone++) {
            struct watch *watch = watch_new("w", "m.f0");
            struct watch *other = is_alone ? NULL : watch_new("o", "m.f0");

            watch->arg = watch;
            *(at_exit ? &watch->on_exit : &watch->on_entry) = do_away_with;
            sim_call_return(funcs[0]);
            CHECK_TEXT(watch_log(), is_alone  ? at_exit ? "w> w<" : "w>"
                                    : at_exit ? "w> o> o< w<"
                                              : "w> o> o<");
            sim_call_return(funcs[0]);
            CHECK_TEXT(watch_log(), is_alone ? "" : "o> o<");
            if (other) {
                watch_unregister(other);
                free(other);
            }
            CHECK_EQ(fgraph_count(), 0);
        }
    }
}

/* Fails without fg_live_has_word in enter_one: the old list still contained the unregistered fprobe. */
static void test_an_fprobe_that_another_handler_unregisters_is_not_called(void)
{
    struct watch *first = watch_new("1", "m.f0"), *second = watch_new("2", "m.f0"),
                 *third = watch_new("3", "m.f0");

    first->arg = second;
    first->on_entry = do_away_with;
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "1> 3> 3< 1<");
    third->arg = first;
    third->on_exit = do_away_with;
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "1> 3> 3<");
    watch_unregister(third);
    free(third);
    CHECK_EQ(fgraph_count(), 0);
}

static void register_arg(struct watch *watch, struct fg_func *func)
{
    (void)func;
    watch->on_entry = NULL;
    watch_register(watch->arg, "m.f0");
}

static void replace_all(struct watch *watch, struct fg_func *func)
{
    struct watch *next = watch->arg;

    (void)func;
    watch_unregister(watch);      /* the last one: the shared user is unregistered */
    watch_register(next, "m.f0"); /* a new shared user is registered */
}

/* Fails if the list published now is read instead of the list at the entry. */
static void test_an_fprobe_that_a_handler_registers_sees_the_next_call(void)
{
    struct watch first, second, third;

    watch_init(&first, "1", 8);
    watch_init(&second, "2", 8);
    watch_init(&third, "3", 8);
    watch_register(&first, "m.f0");
    first.arg = &second;
    first.on_entry = register_arg;
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "1> 1<");
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "1> 2> 2< 1<");
    watch_unregister(&first);
    second.arg = &third;
    second.on_entry = replace_all;
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "2>");
    CHECK_EQ(fgraph_count(), 1);
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "3> 3<");
    watch_unregister(&third);
    CHECK_EQ(second.bad + third.bad, 0);
    CHECK_EQ(fgraph_count(), 0);
}

static void disable_itself(struct watch *watch, struct fg_func *func)
{
    (void)func;
    CHECK_EQ(fg_fprobe_set_enabled(&watch->fp, false), 0);
}

/* Fails if calls of a disabled fprobe count as missed. */
static void test_an_fprobe_that_disables_itself(void)
{
    struct watch watch;

    watch_init(&watch, "w", 8);
    watch.on_entry = disable_itself;
    watch_register(&watch, "m.f0");
    sim_call_return(funcs[0]);
    sim_call_return(funcs[0]);
    CHECK_TEXT(watch_log(), "w>");
    CHECK_EQ(fg_fprobe_nmissed(&watch.fp), 0);
    watch_unregister(&watch);
}

/* ---- waiting */

static _Atomic bool is_inside, let_go;

static void stay_inside(struct watch *watch, struct fg_func *func)
{
    (void)func;
    atomic_fetch_add(&watch->running, 1);
    atomic_store(&is_inside, true);
    while (!atomic_load(&let_go))
        usleep(100);
    atomic_fetch_sub(&watch->running, 1);
}

static void *one_call(void *arg)
{
    sim_call_return(arg);
    return NULL;
}

static void begin_call_that_stays(pthread_t *thread, struct watch *watch, const char *filter)
{
    atomic_store(&is_inside, false);
    atomic_store(&let_go, false);
    watch_init(watch, NULL, 8);
    watch->on_entry = stay_inside;
    watch_register(watch, filter);
    sim_spawn(thread, one_call, funcs[0]);
    while (!atomic_load(&is_inside))
        usleep(100);
}

static void *let_go_later(void *arg)
{
    struct watch *watch = arg;

    usleep(20000);
    CHECK_EQ(watch->running, 1);
    atomic_store(&let_go, true);
    return NULL;
}

/* Fails if unregister waits only for the last fprobe. */
static void test_unregister_waits_for_a_handler_that_runs(void)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        pthread_t thread, other;
        struct watch watch, stays;

        watch_init(&stays, NULL, 8);
        if (!is_last)
            watch_register(&stays, "m.f0");
        begin_call_that_stays(&thread, &watch, "m.f0");
        sim_spawn(&other, let_go_later, &watch);
        watch_unregister(&watch);
        CHECK(atomic_load(&let_go));
        CHECK_EQ(watch.running, 0);
        wipe(&watch);
        sim_join(thread);
        sim_join(other);
        CHECK_EQ(watch.exits, 0);
        if (!is_last) {
            CHECK_EQ(stays.exits, 1);
            watch_unregister(&stays);
        }
        CHECK_EQ(fgraph_count(), 0);
    }
}

/* Fails if fg_fprobe_unregister_async waits: it waited forever. */
static void test_unregister_async_does_not_wait(void)
{
    for (int is_last = 0; is_last < 2; is_last++) {
        pthread_t thread;
        struct watch watch, stays;

        watch_init(&stays, NULL, 8);
        if (!is_last)
            watch_register(&stays, "m.f0");
        begin_call_that_stays(&thread, &watch, "m.f0");
        CHECK_EQ(fg_fprobe_unregister_async(&watch.fp), 0);
        CHECK_EQ(fg_fprobe_unregister_async(&watch.fp), -EINVAL);
        CHECK(!fg_fprobe_is_registered(&watch.fp));
        CHECK_EQ(watch.running, 1);
        CHECK_EQ(fgraph_count(), !is_last);
        atomic_store(&let_go, true);
        sim_join(thread);
        CHECK_EQ(watch.exits, 0);
        if (!is_last)
            watch_unregister(&stays);
        CHECK_EQ(watch.running, 0);
        CHECK_EQ(stays.exits, !is_last);
        CHECK(!sim_is_hooked(funcs[0]));
        watch_register(&stays, "m.f0"); /* nothing is left over */
        sim_call_return(funcs[0]);
        CHECK_EQ(stays.exits, 1 + !is_last);
        watch_unregister(&stays);
        CHECK_EQ(fgraph_count(), 0);
    }
}

static struct watch pair[2];
static _Atomic uint32_t nr_inside;

static void unregister_the_other(struct watch *watch, struct fg_func *func)
{
    (void)func;
    atomic_fetch_add(&nr_inside, 1);
    while (atomic_load(&nr_inside) < 2)
        usleep(10);
    watch_unregister(watch->arg);
}

/* Fails if a lock is held while unregister waits. */
static void test_handlers_that_unregister_each_other_do_not_wait_for_ever(void)
{
    pthread_t thread;

    for (int i = 0; i < 30; i++) {
        atomic_store(&nr_inside, 0);
        for (int u = 0; u < 2; u++) {
            watch_init(&pair[u], NULL, 8);
            pair[u].on_entry = unregister_the_other;
            pair[u].arg = &pair[!u];
            watch_register(&pair[u], u ? "m.f1" : "m.f0");
        }
        sim_spawn(&thread, one_call, funcs[0]);
        sim_call_return(funcs[1]);
        sim_join(thread);
        CHECK_EQ(pair[0].exits + pair[1].exits, 0);
        CHECK_EQ(fgraph_count(), 0);
    }
}

/* ---- all at once */

static _Atomic bool is_over;

static void recurse(unsigned depth, uint32_t seed)
{
    uintptr_t call = sim_call(funcs[seed % NR_FUNCS]);

    if (depth)
        recurse(depth - 1, seed * 7 + depth);
    if (seed % 5 == 0)
        sim_raise(call);
    else if (seed % 7) /* else its return goes unreported */
        sim_return(call);
}

static void *call_on(void *arg)
{
    uint32_t seed = (uint32_t)(uintptr_t)arg;
    uintptr_t generator = sim_call(funcs[0]);

    sim_suspend(generator);
    while (!atomic_load(&is_over)) {
        uintptr_t outermost = sim_call(funcs[1]);

        recurse(12, seed++);
        sim_return(outermost);
        sim_resume(generator);
        sim_suspend(generator);
    }
    sim_resume(generator);
    sim_return(generator);
    return NULL;
}

static void *change_on(void *arg)
{
    static const char *const filters[] = {"m.f*", "m.f[0-3]", "m.f7", "m.f1"};

    for (uintptr_t i = (uintptr_t)arg; i < (uintptr_t)arg + ROUNDS; i++) {
        struct watch *watch = malloc(sizeof(*watch));

        watch_init(watch, NULL, i % 121);
        if (i % 3)
            watch_register(watch, filters[i % NR_OF(filters)]);
        else
            watch_register_ips(watch, funcs + i % 4, 4);
        if (i % 4 == 0) {
            CHECK_EQ(fg_fprobe_set_enabled(&watch->fp, false), 0);
            CHECK_EQ(fg_fprobe_set_enabled(&watch->fp, true), 0);
        }
        usleep(i % 11 * 30);
        if (i % 5) {
            watch_unregister(watch);
        } else {
            CHECK_EQ(fg_fprobe_unregister_async(&watch->fp), 0);
            atomic_store(&watch->is_registered, true); /* a handler may be running */
            CHECK_EQ(fg_fprobe_unregister(&watch->fp), -EINVAL);
            watch_register(watch, "m.f5"); /* any registration waits for running handlers */
            watch_unregister(watch);
        }
        CHECK_EQ(watch->running, 0);
        CHECK_EQ(watch->bad, 0);
        CHECK_EQ(watch->called_after, 0);
        CHECK(watch->exits <= watch->entries);
        memset(watch, 0xa5, sizeof(*watch));
        free(watch);
    }
    return NULL;
}

/* Fails without the wait in unregister, or if a list is freed at once. Fails if fg_live_fprobe checks
 * the word once: an exit handler got another fprobe's frame. */
static void test_fprobes_come_and_go_while_calls_run(void)
{
    pthread_t callers[NR_CALLERS], changers[NR_CHANGERS];
    struct watch steady;

    watch_init(&steady, NULL, 33);
    watch_register(&steady, "m.*");
    atomic_store(&is_over, false);
    for (uintptr_t i = 0; i < NR_CALLERS; i++)
        sim_spawn(&callers[i], call_on, (void *)(i * 1000));
    for (uintptr_t i = 0; i < NR_CHANGERS; i++)
        sim_spawn(&changers[i], change_on, (void *)(i * ROUNDS));
    for (uintptr_t i = 0; i < NR_CHANGERS; i++)
        sim_join(changers[i]);
    atomic_store(&is_over, true);
    for (uintptr_t i = 0; i < NR_CALLERS; i++)
        sim_join(callers[i]);
    CHECK_EQ(steady.exits, steady.entries);
    CHECK_EQ(steady.bad, 0);
    CHECK(steady.entries > 100);
    watch_unregister(&steady);
    CHECK_EQ(fgraph_count(), 0);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_an_fprobe_that_its_own_handler_unregisters();
    test_an_fprobe_that_another_handler_unregisters_is_not_called();
    test_an_fprobe_that_a_handler_registers_sees_the_next_call();
    test_an_fprobe_that_disables_itself();
    test_unregister_waits_for_a_handler_that_runs();
    test_unregister_async_does_not_wait();
    test_handlers_that_unregister_each_other_do_not_wait_for_ever();
    test_fprobes_come_and_go_while_calls_run();
    CHECK(fg_killed() == NULL);
    return 0;
}
