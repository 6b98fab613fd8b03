/* Handlers of signals that call traced functions, at any instruction of the engine. All users hear these
 * calls, with their own data; records stay whole and nested; and each call is recorded, or counted as lost,
 * as missed or as an overrun.
 *
 * Failed without contexts.h: fg_enter() overwrote frames that the interrupted thread was writing, and
 * records were torn. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/time.h>
#include <ucontext.h>
#include <unistd.h>

#include "engine/graph/contexts.h"
#include "engine/profile/function_profile.h"
#include "engine/profile/profile_figures.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"
#include "support/watch.h"

enum { NR_FUNCS = 4, IN_HANDLER = 2, MAX_DEPTH = 64, NR_SIGNALS = 1000 };

static struct fg_func *funcs[NR_FUNCS];
static _Atomic uint64_t nr_handled, nr_made;

/* ---- the program: a thread and its handlers make calls of different functions */

static void make_calls(int first)
{
    uintptr_t outer = sim_call(funcs[first]);

    sim_call_return(funcs[first + 1]);
    sim_return(outer);
    atomic_fetch_add(&nr_made, 2);
}

static void handle(void)
{
    struct fg_signal_scope scope;

    fg_signal_begin(&scope);
    if (scope.task)
        make_calls(IN_HANDLER);
    fg_signal_end(&scope);
    atomic_fetch_add(&nr_handled, 1);
}

static void on_signal(int signum)
{
    (void)signum;
    handle();
}

static void set_handler(int signum, void (*handler)(int))
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};

    CHECK_EQ(sigaction(signum, &action, NULL), 0);
}

/* ---- what is recorded */

struct nesting {
    uint32_t funcs[MAX_DEPTH], depth;
    bool has_gap; /* after a loss the calls in progress are not known */
};

/* A return is that of the latest call in progress. */
static void check_nesting(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    struct nesting *nesting = tally->arg;

    (void)task;
    if (lost) {
        nesting->depth = 0;
        nesting->has_gap = true;
    }
    if (fg_record_kind(record->info) == FG_RECORD_ENTRY) {
        CHECK(nesting->depth < MAX_DEPTH);
        nesting->funcs[nesting->depth++] = record->func;
        return;
    }
    CHECK_EQ(fg_record_kind(record->info), FG_RECORD_RETURN);
    if (!nesting->depth) {
        CHECK(nesting->has_gap);
        return;
    }
    CHECK_EQ(record->func, nesting->funcs[--nesting->depth]);
}

static struct session session;
static struct nesting nesting;
static int handle_of_trace;

static void begin_trace(void)
{
    nesting = (struct nesting){0};
    atomic_store(&nr_made, 0);
    atomic_store(&nr_handled, 0);
    session_begin(&session);
    handle_of_trace = session_trace(&session, &(struct session_trace){.mode = FG_RING_DROP, .kb = 1024});
    session.tally.on_record = check_nesting;
    session.tally.arg = &nesting;
    session.tally.has_signals = true;
    session_open(&session);
}

/* Each call has two records. */
static void end_trace(uint64_t not_traced)
{
    CHECK_EQ(fg_instance_stop(handle_of_trace), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.records + session.tally.records_lost + 2 * not_traced, 2 * atomic_load(&nr_made));
    CHECK(session.tally.records > 0);
    CHECK(fg_task_current()->top == fg_task_current()->stack);
    session_end(&session);
}

static uint64_t nr_not_traced(void)
{
    return atomic_load(&fg_task_current()->missed) + atomic_load(&fg_task_current()->overrun);
}

/* ---- a signal after each instruction (x86-64: the processor's trap flag) */

#if defined(__x86_64__) && !defined(FG_TSAN)
#define TRAP_FLAG 0x100

static volatile sig_atomic_t is_stepping;

static void on_step(int signum, siginfo_t *info, void *context)
{
    greg_t *flags = &((ucontext_t *)context)->uc_mcontext.gregs[REG_EFL];

    (void)signum, (void)info;
    *flags = is_stepping ? *flags | TRAP_FLAG : *flags & ~(greg_t)TRAP_FLAG;
    if (is_stepping)
        handle();
}

/* Calls @run; a handler makes calls after each of its instructions. */
static void step_through(void (*run)(int first))
{
    struct sigaction action = {.sa_sigaction = on_step, .sa_flags = SA_SIGINFO};

    CHECK_EQ(sigaction(SIGTRAP, &action, NULL), 0);
    is_stepping = 1;
    raise(SIGTRAP);
    run(0);
    is_stepping = 0;
    raise(SIGTRAP);
}

static void test_each_instruction_of_the_plain_path(void)
{
    uint64_t before = nr_not_traced();

    begin_trace();
    make_calls(0); /* the thread has a sub-buffer */
    step_through(make_calls);
    CHECK(atomic_load(&nr_handled) > 100);
    CHECK_EQ(nr_not_traced(), before);
    end_trace(0);
    CHECK(session.tally.records > 8); /* those of handlers, too */
}

/* The first record takes a sub-buffer. */
static void test_each_instruction_of_taking_a_sub_buffer(void)
{
    begin_trace();
    step_through(make_calls);
    end_trace(0);
}

static void test_each_instruction_with_several_users(void)
{
    struct probe one, other;
    uint64_t before = nr_not_traced();

    probe_init(&one, "one", NULL, 2);
    probe_init(&other, "other", NULL, 0);
    probe_register(&one);
    begin_trace();
    probe_register(&other);
    make_calls(0);
    session_drain(&session);
    step_through(make_calls);
    CHECK_EQ(nr_not_traced(), before);
    end_trace(0);
    CHECK_EQ(one.entries, atomic_load(&nr_made));
    CHECK_EQ(other.entries, atomic_load(&nr_made));
    CHECK_EQ(fgraph_nmissed(&one.ops) + fgraph_nmissed(&other.ops), 0);
    probe_finish(&one);
    probe_finish(&other);
}

static void test_each_instruction_with_one_fprobe(void)
{
    struct watch watch;

    watch_init(&watch, "watch", 16);
    atomic_store(&nr_made, 0);
    watch_register(&watch, "m.*");
    step_through(make_calls);
    CHECK_EQ(watch.entries, atomic_load(&nr_made));
    CHECK_EQ(watch.exits, watch.entries);
    CHECK_EQ(watch.bad, 0);
    watch_unregister(&watch);
}

/* A call that a handler makes while the thread counts one is missed. */
static void test_each_instruction_of_the_profiler(void)
{
    struct fg_function_profile profile = {0};
    struct fg_profile_figures *figures;
    uint64_t hits = 0;
    size_t n;

    fg_function_profile_init(&profile, true, true);
    CHECK_EQ(fg_function_profile_start(&profile, fgraph_register), 0);
    atomic_store(&nr_made, 0);
    make_calls(0);
    make_calls(IN_HANDLER); /* all functions have their rows */
    step_through(make_calls);
    CHECK_EQ(fg_function_profile_read(&profile, 0, &figures, &n), 0);
    for (size_t i = 0; i < n; i++)
        hits += figures[i].hit;
    CHECK_EQ(hits + fgraph_nmissed(&profile.ops), atomic_load(&nr_made));
    CHECK(hits > 4); /* those of handlers, too */
    fg_profile_figures_free(figures, n);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    fg_function_profile_clear(&profile);
}

#else
static void test_each_instruction_of_the_plain_path(void)
{
}
static void test_each_instruction_of_taking_a_sub_buffer(void)
{
}
static void test_each_instruction_with_several_users(void)
{
}
static void test_each_instruction_with_one_fprobe(void)
{
}
static void test_each_instruction_of_the_profiler(void)
{
}
#endif

/* ---- signals at any time, also in the handlers of others */

static _Atomic bool is_over;
static pthread_t program;

static void *send_signals(void *arg)
{
    (void)arg;
    while (!atomic_load(&is_over)) {
        pthread_kill(program, SIGUSR1);
        usleep(50);
    }
    return NULL;
}

static void test_signals_at_any_time(void)
{
    const struct itimerval often = {{0, 100}, {0, 100}}, never = {{0, 0}, {0, 0}};
    uint64_t before = nr_not_traced();
    struct probe probe;
    pthread_t sender;

    probe_init(&probe, "probe", NULL, 2);
    probe_register(&probe);
    begin_trace();
    set_handler(SIGALRM, on_signal);
    set_handler(SIGUSR1, on_signal);
    program = pthread_self();
    atomic_store(&is_over, false);
    CHECK_EQ(pthread_create(&sender, NULL, send_signals, NULL), 0);
    setitimer(ITIMER_REAL, &often, NULL);
    for (uint64_t i = 0; atomic_load(&nr_handled) < NR_SIGNALS; i++) {
        make_calls(0);
        if (i % 256 == 0)
            session_drain(&session);
    }
    setitimer(ITIMER_REAL, &never, NULL);
    atomic_store(&is_over, true);
    sim_join(sender);
    CHECK_EQ(probe.entries + nr_not_traced() - before, atomic_load(&nr_made));
    end_trace(nr_not_traced() - before);
    probe_finish(&probe);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_each_instruction_of_the_plain_path();
    test_each_instruction_of_taking_a_sub_buffer();
    test_each_instruction_with_several_users();
    test_each_instruction_with_one_fprobe();
    test_each_instruction_of_the_profiler();
    test_signals_at_any_time();
    return 0;
}
