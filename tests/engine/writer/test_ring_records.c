/* Readers find the records as the tracers wrote them, in order, after the symbols that the records use. */
#include <errno.h>
#include <unistd.h>

#include "engine/base/clock.h"
#include "engine/users/users.h"
#include "support/check.h"
#include "support/probe.h"
#include "support/session.h"
#include "support/sim_arch.h"

enum { NR_FUNCS = 8, NR_CALLS = 5000 };

static struct fg_func *funcs[NR_FUNCS];
static struct session session;

/* The records that a task must have after playing the program below. */
struct play {
    uint64_t at;
};

static void check_record(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    static const enum fg_record_kind kinds[] = {FG_RECORD_ENTRY,  FG_RECORD_ENTRY, FG_RECORD_RETURN,
                                                FG_RECORD_ENTRY,  FG_RECORD_RAISE, FG_RECORD_SUSPEND,
                                                FG_RECORD_RESUME, FG_RECORD_RETURN};
    static const uint32_t depths[] = {0, 1, 1, 1, 1, 0, 0, 0}, func_of[] = {0, 1, 1, 2, 2, 0, 0, 0};
    struct play *play = tally->arg;
    uint64_t call = play->at / NR_OF(kinds), step = play->at % NR_OF(kinds);

    (void)task;
    CHECK_EQ(lost, 0);
    CHECK_EQ(fg_record_kind(record->info), kinds[step]);
    CHECK_EQ(fg_record_depth(record->info), depths[step]);
    CHECK_EQ(record->func, funcs[(call + func_of[step]) % NR_FUNCS]->id);
    CHECK_EQ(!!(record->info & FG_RECORD_HAS_START), step == 5 || step == 6 || step == 7);
    CHECK(!(record->info & FG_RECORD_HAS_VALUES));
    play->at++;
}

static void one_play(uint64_t call)
{
    uintptr_t outer = sim_call(funcs[call % NR_FUNCS]);

    sim_call_return(funcs[(call + 1) % NR_FUNCS]);
    sim_raise(sim_call(funcs[(call + 2) % NR_FUNCS]));
    sim_suspend(outer);
    sim_resume(outer);
    sim_return(outer);
}

/* Fails if a commit is 8 bytes short, or if the next sub-buffer is used before the record ends. */
static void test_records_come_out_as_they_went_in(void)
{
    struct play play = {0};
    struct fg_clock_pair start, latest;
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.kb = 1024});
    session.tally.on_record = check_record;
    session.tally.arg = &play;
    session_open(&session);
    CHECK_EQ(fg_ring_reader_facts(session.reader)->pid, getpid());
    for (uint64_t i = 0; i < NR_CALLS; i++) {
        one_play(i);
        if (i % 100 == 0)
            session_drain(&session);
    }
    fg_ring_reader_clock(session.reader, &start, &latest);
    CHECK(latest.ticks > start.ticks && latest.monotonic_ns >= start.monotonic_ns);
    CHECK_EQ(session.tally.finished, false);
    CHECK_EQ(fg_instance_stop(handle), 0);
    CHECK_EQ(fg_instance_stop(handle), -EINVAL);
    session_finish(&session);
    CHECK_EQ(session.tally.records, 8 * NR_CALLS);
    CHECK_EQ(session.tally.lost + session.tally.records_lost, 0);
    CHECK_EQ(session.tally.nr_functions, NR_FUNCS);
    CHECK_EQ(session.tally.nr_processes, 1);
    CHECK_EQ(session.tally.nr_tasks, 1);
    CHECK(session.tally.finished);
    CHECK_EQ(session.tally.killed[0], 0);
    session_end(&session);
}

static void *named(void *arg)
{
    sim_name_thread("before");
    sim_call_return(funcs[0]);
    sim_name_thread(arg);
    return NULL;
}

/* Fails if the task's symbol is written only when the task ends: read_chunk checks that it is known. */
static void test_tasks_are_known_before_their_records_and_by_their_last_name(void)
{
    uint32_t found = 0;
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){0});
    session_open(&session);
    sim_in_thread(named, "first");
    session_drain(&session);
    sim_in_thread(named, "second");
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_finish(&session);
    CHECK_EQ(session.tally.nr_tasks, 2);
    for (uint32_t i = 0; i < SESSION_MAX_TASKS; i++)
        found += strcmp(session.tally.task_name[i], "first") == 0 ||
                 strcmp(session.tally.task_name[i], "second") == 0;
    CHECK_EQ(found, 2);
    session_end(&session);
}

/* Checks each call's function and parent. */
static void check_caller(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    uint64_t *parents = tally->arg;

    (void)task, (void)lost;
    CHECK_EQ(fg_record_kind(record->info), FG_RECORD_FUNCTION);
    CHECK_EQ(fg_record_words(record->info), 3);
    CHECK(record->func < SESSION_MAX_FUNCS);
    parents[record->func] = *(const uint64_t *)(record + 1);
}

/* Fails if the nearest traced caller is recorded, which for funcs[2] is funcs[0]. Fails if the tracer
 * does not set is_entry_only: the functions had return hooks. */
static void test_the_function_tracer_tells_the_caller_and_needs_no_ends(void)
{
    static uint64_t parents[SESSION_MAX_FUNCS];
    const char *patterns[] = {"m.f0", "m.f2"};
    struct fg_pattern_error error;
    struct fg_instance *instance;
    uintptr_t calls[3];
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.tracer = &fg_tracer_function});
    instance = fg_instance_get(handle);
    CHECK_EQ(fgraph_edit_filter(&instance->ops, FGRAPH_FILTER, patterns, 2, true, &error), 0);
    fg_instance_put(instance);
    CHECK(sim_is_hooked(funcs[0]) && !sim_set_return_hooks(funcs[0]));
    calls[0] = sim_call(funcs[0]);
    calls[1] = sim_call_from(funcs[0], funcs[1]);
    calls[2] = sim_call_from(funcs[1], funcs[2]);
    for (int i = 2; i >= 0; i--)
        sim_return(calls[i]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session.tally.on_record = check_caller;
    session.tally.arg = parents;
    session_read(&session);
    CHECK_EQ(session.tally.records, 2);
    CHECK_EQ(parents[funcs[0]->id], 0);
    CHECK_EQ(parents[funcs[2]->id], funcs[1]->id);
    session_end(&session);
}

/* Fails if the check of the depth limit uses `<=` instead of `<`. */
static void test_a_depth_limit_counts_own_frames(void)
{
    struct probe other;
    uintptr_t calls[5];
    int handle;

    session_begin(&session);
    probe_init(&other, "other", NULL, 0);
    probe_register(&other);
    handle = session_trace(&session, &(struct session_trace){.max_graph_depth = 2});
    for (int i = 0; i < 5; i++)
        calls[i] = sim_call(funcs[i]);
    for (int i = 4; i >= 0; i--)
        sim_return(calls[i]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 4);
    CHECK_EQ(other.entries, 5);
    probe_unregister(&other);
    session_end(&session);
}

#define SLOW_NS 50000000u

static void work(void)
{
    sim_work(SLOW_NS);
}

static void keep_longest(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    uint64_t *longest_ns = tally->arg, ns;

    (void)task, (void)lost;
    if (fg_record_kind(record->info) != FG_RECORD_RETURN && fg_record_kind(record->info) != FG_RECORD_SUSPEND)
        return;
    ns = fg_clock_duration_ns(record->time - *(const uint64_t *)(record + 1));
    *longest_ns = ns > *longest_ns ? ns : *longest_ns;
}

static void *begin_slowly(void *arg)
{
    (void)arg;
    sim_before_name(work);
    sim_call_return(funcs[0]);
    sim_before_name(NULL);
    return NULL;
}

static void *resume_slowly(void *call)
{
    sim_before_name(work);
    sim_resume(*(uintptr_t *)call);
    sim_before_name(NULL);
    sim_return(*(uintptr_t *)call);
    return NULL;
}

/* Fails if the clock is read before the record is written. The call was then charged for writing a
 * thread's first record: 5 ms or more where the pages of the sub-buffer come slowly. */
static void test_what_a_sub_buffer_takes_is_no_work_of_the_call(void)
{
    uint64_t longest_ns = 0;
    uintptr_t call;
    int handle;

    session_begin(&session);
    handle = session_trace(&session, &(struct session_trace){.no_sleep_time = true});
    sim_in_thread(begin_slowly, NULL);
    call = sim_call(funcs[1]);
    sim_suspend(call);
    sim_in_thread(resume_slowly, &call);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session.tally.on_record = keep_longest;
    session.tally.arg = &longest_ns;
    session_read(&session);
    CHECK_EQ(session.tally.kinds[FG_RECORD_RETURN], 2);
    CHECK(longest_ns > 0 && longest_ns < SLOW_NS / 2);
    session_end(&session);
}

/* Fails if clear_task_slot zeroes overrun_reported: the second session reported overruns of the first. */
static void *overrun_and_record(void *arg)
{
    int handle;

    session_begin(&session);
    handle = session_trace(&session, arg);
    while (fg_task_current()->overrun < 10)
        sim_call(funcs[0]);
    sim_return(0); /* ends no frame */
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.overrun, 10);
    session_end(&session);

    session_begin(&session);
    handle = session_trace(&session, arg);
    fg_task_current()->top = fg_task_current()->stack;
    sim_call_return(funcs[0]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    CHECK_EQ(session.tally.records, 2);
    CHECK_EQ(session.tally.overrun, 0);
    CHECK_EQ(session.tally.kinds[FG_RECORD_OVERRUN], 0);
    session_end(&session);
    return NULL;
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, NR_FUNCS);
    test_records_come_out_as_they_went_in();
    test_tasks_are_known_before_their_records_and_by_their_last_name();
    test_the_function_tracer_tells_the_caller_and_needs_no_ends();
    test_a_depth_limit_counts_own_frames();
    test_what_a_sub_buffer_takes_is_no_work_of_the_call();
    fg_task_set_size(FG_TASK_BYTES_MIN);
    sim_in_thread(overrun_and_record, &(struct session_trace){.kb = 1024});
    return 0;
}
