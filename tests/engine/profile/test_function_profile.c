/* The function profiler's figures equal those computed from a second user that sees the same calls,
 * also while other threads read them. */
#include <errno.h>
#include <math.h>
#include <sys/wait.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/graph/call.h"
#include "engine/graph/data.h"
#include "engine/profile/profile_figures.h"
#include "engine/tracer/instance_fork.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 300, NR_THREADS = 4, NR_ROUNDS = 3000, MAX_EVENTS = 20000, MAX_CALLS = 200 };

static struct fg_func *funcs[NR_FUNCS];
static struct fg_function_profile profile;

static void begin(bool graph_time, bool sleep_time)
{
    fg_function_profile_clear(&profile);
    fg_filter_clear(&fg_user_of(&profile.ops)->filter);
    memset(&profile, 0, sizeof(profile));
    fg_function_profile_init(&profile, graph_time, sleep_time);
    CHECK_EQ(fg_function_profile_start(&profile, fgraph_register), 0);
}

/* Returns the figures of one function; all zero if it was not called. */
static struct fg_profile_figures figures_in(int tid, const struct fg_func *func)
{
    struct fg_profile_figures *figures, found = {.func = func->id};
    size_t n;

    CHECK_EQ(fg_function_profile_read(&profile, tid, &figures, &n), 0);
    for (size_t i = 0; i < n; i++) {
        if (figures[i].func == func->id) {
            found = figures[i];
            CHECK_TEXT(found.name, func->name);
        }
    }
    fg_profile_figures_free(figures, n);
    return found;
}

static struct fg_profile_figures figures_of(const struct fg_func *func)
{
    return figures_in(0, func);
}

static void spin(uint64_t ticks)
{
    for (uint64_t start = fg_clock_now(); fg_clock_now() - start < ticks;)
        ;
}

static bool is_near(double got, double expected, double tolerance)
{
    return fabs(got - expected) <= tolerance * fabs(expected) + 1;
}

/* ---- what a second user saw of the same calls */

enum kind { ENTRY, END, SUSPEND, RESUME };

static struct event {
    enum kind kind;
    uint32_t func, call;
    uint64_t time;
} events[MAX_EVENTS];
static uint32_t nr_events, nr_reported;

static void note(enum kind kind, const struct fg_func *func, uint32_t call, uint64_t time)
{
    CHECK(nr_events < MAX_EVENTS);
    events[nr_events++] = (struct event){kind, func->id, call, time};
}

static int witness_entry(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    uint64_t *call = fgraph_reserve_data(trace, ops, sizeof(*call));

    (void)regs;
    CHECK(call != NULL);
    *call = nr_reported++;
    note(ENTRY, trace->func, (uint32_t)*call, trace->calltime);
    return 1;
}

static void witness_end(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    note(END, trace->func, (uint32_t) * (uint64_t *)fgraph_retrieve_data(trace, ops, NULL), trace->rettime);
}

static void witness_suspend(struct ftrace_graph_ret *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    note(SUSPEND, trace->func, (uint32_t) * (uint64_t *)fgraph_retrieve_data(trace, ops, NULL),
         trace->rettime);
}

static void witness_resume(struct ftrace_graph_ent *trace, struct fgraph_ops *ops, struct ftrace_regs *regs)
{
    (void)regs;
    note(RESUME, trace->func,
         (uint32_t) * (uint64_t *)fgraph_retrieve_parent_data(trace->task, trace->frame, ops, 0, NULL),
         trace->calltime);
}

static struct fgraph_ops witness = {.name = "witness",
                                    .entryfunc = witness_entry,
                                    .retfunc = witness_end,
                                    .suspendfunc = witness_suspend,
                                    .resumefunc = witness_resume};

/* ---- the expected figures, computed from those events */

struct expected {
    uint64_t hit, n;
    double sum, squares;
};

/* A call that the witness saw: its stretches, and the time of the calls under it, computed event by event. */
struct expected_call {
    uint32_t func;
    double began, stretch_began, below;
};

static void expect(struct expected *expected, bool graph_time)
{
    static struct expected_call calls[MAX_EVENTS];
    static uint32_t stack[MAX_EVENTS];
    uint32_t depth = 0;

    memset(expected, 0, (NR_FUNCS + 1) * sizeof(*expected));
    for (uint32_t i = 0; i < nr_events; i++) {
        const struct event *event = &events[i];
        struct expected_call *call = &calls[event->call];
        struct expected *row = &expected[event->func];

        if (event->kind == ENTRY || event->kind == RESUME) {
            if (event->kind == ENTRY) {
                *call = (struct expected_call){.func = event->func, .began = (double)event->time};
                row->hit++;
            }
            call->stretch_began = (double)event->time;
            stack[depth++] = event->call;
            continue;
        }
        CHECK(depth > 0);
        CHECK_EQ(stack[--depth], event->call);
        if (depth)
            calls[stack[depth - 1]].below += (double)event->time - call->stretch_began;
        if (event->kind == END) {
            double time = (double)event->time - call->began - (graph_time ? 0 : call->below);

            row->n++;
            row->sum += time;
            row->squares += time * time;
        }
    }
}

static double variance(const struct expected *row)
{
    double n = (double)row->hit;
    double square = n > 1 ? (n * row->squares - row->sum * row->sum) / (n * (n - 1)) : 0;

    return square > 0 ? square : 0;
}

static void check_expected(bool graph_time)
{
    static struct expected expected[NR_FUNCS + 1];
    double ns = fg_clock_ns_per_tick();

    expect(expected, graph_time);
    for (uint32_t i = 0; i < NR_FUNCS; i++) {
        const struct expected *row = &expected[funcs[i]->id];
        struct fg_profile_figures figures = figures_of(funcs[i]);

        CHECK_EQ(figures.hit, row->hit);
        CHECK(is_near((double)figures.time_ns, row->sum * ns, 1e-3));
        CHECK(is_near(figures.variance, variance(row) * ns * ns, 5e-3));
    }
}

/* ---- a random program: calls, returns, exceptions, generators that are suspended, resumed and closed */

static uint64_t seed = 1;

static uint32_t dice(uint32_t sides)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % sides;
}

static void random_program(uint32_t steps)
{
    uintptr_t stack[MAX_CALLS], parked[MAX_CALLS];
    uint32_t depth = 0, nr_parked = 0;

    for (uint32_t i = 0; i < steps; i++) {
        uint32_t what = dice(10);

        spin(dice(20000));
        if (what < 4 && depth < 20) {
            stack[depth++] = sim_call(funcs[dice(12) * 20]);
        } else if (what == 4 && depth && nr_parked < 20) {
            sim_suspend(stack[--depth]);
            parked[nr_parked++] = stack[depth];
        } else if (what == 5 && nr_parked) {
            stack[depth++] = parked[--nr_parked];
            sim_resume(stack[depth - 1]);
        } else if (what == 6 && nr_parked) {
            sim_close(parked[--nr_parked]);
        } else if (what == 7 && depth) {
            sim_raise(stack[--depth]);
        } else if (depth) {
            sim_return(stack[--depth]);
        }
    }
    while (depth)
        sim_return(stack[--depth]);
    while (nr_parked)
        sim_close(parked[--nr_parked]);
}

/* Fails without `call->below += *var`, with `*var = call->outer`, or if squares are taken of the sum. */
static void test_figures_are_a_witness_s(bool graph_time)
{
    nr_events = nr_reported = 0;
    CHECK_EQ(fgraph_register(&witness), 0);
    begin(graph_time, true);
    random_program(4000);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    CHECK_EQ(fgraph_unregister(&witness), 0);
    CHECK(nr_reported > 1000);
    check_expected(graph_time);
}

/* The fast path counts as the slow path does: the same calls run twice, the second time with another
 * user. */
static void test_plain_calls_count_the_same(void)
{
    uint64_t since = fg_clock_now();
    uintptr_t call;

    begin(true, true);
    sim_call_return(funcs[0]);
    CHECK(fg_enter_plain(fg_task_current(), funcs[0], 8));
    spin(100000);
    CHECK(fg_return_plain(fg_task_current(), 8, fg_clock_counter()));
    call = sim_call(funcs[0]);
    sim_raise(call);
    call = sim_call(funcs[0]);
    sim_suspend(call);
    spin(200000);
    sim_resume(call);
    sim_return(call);
    CHECK_EQ(figures_of(funcs[0]).hit, 4);
    CHECK((double)figures_of(funcs[0]).time_ns > 300000 * fg_clock_ns_per_tick() * 0.999);
    CHECK(figures_of(funcs[0]).time_ns <= (double)(fg_clock_now() - since) * fg_clock_ns_per_tick() * 1.001);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

/* Fails if `call->ran` lacks the time before a suspend, or if the clock runs while the thread sleeps. */
static void test_without_sleep_time_only_running_counts(void)
{
    uintptr_t call;

    begin(true, false);
    call = sim_call(funcs[1]);
    usleep(30000);
    sim_work(5000000);
    sim_suspend(call);
    usleep(30000);
    sim_work(5000000);
    sim_resume(call);
    usleep(30000);
    sim_work(5000000);
    sim_return(call);
    CHECK(figures_of(funcs[1]).time_ns >= 10000000);
    CHECK(figures_of(funcs[1]).time_ns < 15000000);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    begin(true, true);
    call = sim_call(funcs[1]);
    sim_suspend(call);
    usleep(30000);
    sim_close(call);
    CHECK(figures_of(funcs[1]).time_ns >= 30000000);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

/* ---- threads */

static pthread_barrier_t barrier;
static _Atomic bool over;

static void *call_all(void *arg)
{
    (void)arg;
    for (uint32_t i = 0; i < NR_ROUNDS; i++)
        sim_call_return(funcs[i % NR_FUNCS]);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    return NULL;
}

static void *read_all(void *arg)
{
    uint64_t last = 0;

    (void)arg;
    while (!atomic_load(&over)) {
        struct fg_profile_figures figures = figures_of(funcs[7]);

        CHECK(figures.hit >= last);
        last = figures.hit;
    }
    return NULL;
}

/* Fails if the rows of an ended task are left out of the sum, or are counted twice. */
static void test_threads_while_others_read(void)
{
    pthread_t threads[NR_THREADS], reader;
    size_t n;
    int *tids;

    begin(true, true);
    pthread_barrier_init(&barrier, NULL, NR_THREADS + 1);
    atomic_store(&over, false);
    sim_spawn(&reader, read_all, NULL);
    for (int i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], call_all, NULL);
    pthread_barrier_wait(&barrier);
    tids = fg_function_profile_tids(&profile, &n);
    CHECK_EQ(n, NR_THREADS);
    for (size_t i = 0; i < n; i++)
        CHECK_EQ(figures_in(tids[i], funcs[299]).hit, NR_ROUNDS / NR_FUNCS);
    pthread_barrier_wait(&barrier);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    atomic_store(&over, true);
    sim_join(reader);
    for (int i = 0; i < NR_FUNCS; i++)
        CHECK_EQ(figures_of(funcs[i]).hit, NR_THREADS * NR_ROUNDS / NR_FUNCS);
    CHECK_EQ(fg_function_profile_read(&profile, tids[0], &(struct fg_profile_figures *){0}, &n), -ESRCH);
    free(tids);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    CHECK_EQ(figures_of(funcs[0]).hit, NR_THREADS * NR_ROUNDS / NR_FUNCS);
}

static uintptr_t wanders;

static void *end_here(void *arg)
{
    (void)arg;
    sim_resume(wanders);
    sim_return(wanders);
    return NULL;
}

static void test_a_generator_ends_in_another_thread(bool graph_time)
{
    begin(graph_time, true);
    wanders = sim_call(funcs[2]);
    spin(100000);
    sim_suspend(wanders);
    sim_in_thread(end_here, NULL);
    CHECK_EQ(figures_of(funcs[2]).hit, 1);
    CHECK((double)figures_of(funcs[2]).time_ns >= 100000 * fg_clock_ns_per_tick() * 0.999);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

/* ---- starts and stops */

static int refuse(struct fgraph_ops *ops)
{
    (void)ops;
    return -ENOSPC;
}

/* Fails if the figures are cleared before the start is known to succeed. */
static void test_starts_begin_from_zero_and_errors_change_nothing(void)
{
    uintptr_t call;

    begin(true, true);
    CHECK_EQ(fg_function_profile_start(&profile, fgraph_register), -EBUSY);
    sim_call_return(funcs[3]);
    call = sim_call(funcs[4]);
    CHECK_EQ(figures_of(funcs[4]).hit, 1);
    CHECK_EQ(figures_of(funcs[4]).time_ns, 0);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    CHECK_EQ(fg_function_profile_stop(&profile), -EINVAL);
    sim_call_return(funcs[3]);
    CHECK_EQ(figures_of(funcs[3]).hit, 1);
    CHECK_EQ(fg_function_profile_start(&profile, refuse), -ENOSPC);
    CHECK_EQ(figures_of(funcs[3]).hit, 1);
    CHECK_EQ(fg_function_profile_start(&profile, fgraph_register), 0);
    sim_return(call); /* entered during the previous run */
    CHECK_EQ(figures_of(funcs[3]).hit, 0);
    CHECK_EQ(figures_of(funcs[4]).hit, 0);
    CHECK_EQ(figures_of(funcs[4]).time_ns, 0);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

/* Fails if the name is read from the record. */
static void test_rows_outlive_their_functions(void)
{
    struct fg_func *gone = sim_function("m", "gone"), *later;
    struct fg_profile_figures *figures;
    uint32_t gone_id = gone->id;
    size_t n;

    begin(true, true);
    sim_call_return(gone);
    sim_free(gone);
    later = sim_function("m", "later"); /* reuses the memory of the freed function */
    sim_call_return(later);
    sim_call_return(later);
    CHECK_EQ(fg_function_profile_read(&profile, 0, &figures, &n), 0);
    CHECK_EQ(n, 2);
    CHECK_EQ(figures[0].func, gone_id);
    CHECK_TEXT(figures[0].name, "m.gone");
    CHECK_EQ(figures[0].hit, 1);
    CHECK_TEXT(figures[1].name, "m.later");
    CHECK_EQ(figures[1].hit, 2);
    fg_profile_figures_free(figures, n);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
    sim_free(later);
}

/* Returns from two calls of the parent: one before any call was counted, one after. */
static void in_child(uintptr_t outer, uintptr_t inner)
{
    uintptr_t call;
    double time_ns;

    sim_return(inner);
    CHECK_EQ(figures_of(funcs[5]).hit, 0);
    CHECK_EQ(figures_of(funcs[5]).time_ns, 0);
    call = sim_call(funcs[5]);
    spin(1000);
    sim_return(call);
    time_ns = (double)figures_of(funcs[5]).time_ns;
    CHECK(time_ns > 0);
    sim_return(outer); /* takes longer than the inner call, which it encloses */
    CHECK_EQ(figures_of(funcs[5]).hit, 1);
    CHECK(is_near((double)figures_of(funcs[5]).time_ns, time_ns, 0.01));
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

/* Fails without fg_function_profiles_fork_child, or if calls that began before `since` are counted. */
static void test_a_forked_child_begins_from_zero(bool graph_time)
{
    uintptr_t outer, inner;
    int status;
    pid_t child;

    begin(graph_time, true);
    sim_call_return(funcs[5]);
    outer = sim_call(funcs[5]);
    inner = sim_call(funcs[5]);
    spin(100000);
    child = fork();
    if (!child) {
        in_child(outer, inner);
        _exit(0);
    }
    sim_return(inner);
    sim_return(outer);
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    CHECK_EQ(figures_of(funcs[5]).hit, 3);
    CHECK(figures_of(funcs[5]).time_ns > 0);
    CHECK_EQ(fg_function_profile_stop(&profile), 0);
}

int main(void)
{
    sim_begin();
    fg_instances_install_fork_handlers();
    sim_functions(funcs, NR_FUNCS);
    test_figures_are_a_witness_s(true);
    test_figures_are_a_witness_s(false);
    test_plain_calls_count_the_same();
    test_without_sleep_time_only_running_counts();
    test_threads_while_others_read();
    test_a_generator_ends_in_another_thread(true);
    test_a_generator_ends_in_another_thread(false);
    test_starts_begin_from_zero_and_errors_change_nothing();
    test_rows_outlive_their_functions();
    test_a_forked_child_begins_from_zero(true);
    test_a_forked_child_begins_from_zero(false);
    fg_function_profile_clear(&profile);
    return 0;
}
