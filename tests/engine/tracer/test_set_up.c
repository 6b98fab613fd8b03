/* What the engine sets up at an entry is over when the time of the call begins. The arch is asked for the
 * thread's name in the middle of it, when a task gets a sub-buffer: that moment is noted, and no duration
 * may have it. */
#include "engine/base/clock.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

static struct session session;
static struct fg_func *f;
static _Thread_local uint64_t set_up_at; /* ticks */
static _Thread_local uint64_t nr_set_ups;

static void note_set_up(void)
{
    set_up_at = fg_clock_now();
    nr_set_ups++;
}

/* The latest records of each kind. */
static struct {
    uint64_t entry, calltime, start, nr_entries, nr_returns;
} seen;

static void note(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    const uint64_t *words = (const uint64_t *)(record + 1);

    (void)tally, (void)task, (void)lost;
    switch (fg_record_kind(record->info)) {
    case FG_RECORD_ENTRY:
    case FG_RECORD_FUNCTION:
        seen.entry = record->time;
        seen.nr_entries++;
        break;
    case FG_RECORD_RESUME:
        seen.entry = record->time;
        break;
    case FG_RECORD_RETURN:
        seen.calltime = words[0];
        seen.start = record->info & FG_RECORD_HAS_START ? words[1] : words[0];
        seen.nr_returns++;
        break;
    default:
        break;
    }
}

static int begin(const struct fg_tracer *tracer)
{
    memset(&seen, 0, sizeof(seen));
    session_begin(&session);
    session.tally.on_record = note;
    return session_trace(&session, &(struct session_trace){.tracer = tracer, .mode = FG_RING_OVERWRITE});
}

static void finish(int handle)
{
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    session_end(&session);
}

static void test_the_first_call_of_a_thread_has_none_of_it(void)
{
    int handle = begin(&fg_tracer_function_graph);

    sim_call_return(f);
    CHECK_EQ(nr_set_ups, 1);
    finish(handle);
    CHECK_EQ(seen.nr_returns, 1);
    CHECK(seen.calltime > set_up_at);
    CHECK_EQ(seen.start, seen.calltime);
    CHECK_EQ(seen.entry, seen.calltime);
}

static void test_nor_has_a_call_that_needs_the_next_sub_buffer(void)
{
    int handle = begin(&fg_tracer_function_graph);
    uint64_t before;
    bool was_needed;

    sim_call_return(f);
    do {
        uintptr_t call;

        before = nr_set_ups;
        call = sim_call(f);
        was_needed = nr_set_ups > before; /* else the return may need it */
        sim_return(call);
    } while (!was_needed);
    finish(handle);
    CHECK(seen.calltime > set_up_at);
}

static void test_the_function_tracer_notes_the_time_after_it(void)
{
    int handle = begin(&fg_tracer_function);

    sim_call_return(f);
    finish(handle);
    CHECK_EQ(seen.nr_entries, 1);
    CHECK(seen.entry > set_up_at);
}

/* The other user's buffer is set up in the middle of the call's entry. */
static void test_nor_has_a_call_what_another_user_sets_up(void)
{
    struct fg_instance_config config = {
        .tracer = &fg_tracer_function,
        .ring = {.instance = "other", .buffer_bytes = FG_RING_MIN_KB * 1024u, .mode = FG_RING_OVERWRITE}};
    int handle = begin(&fg_tracer_function_graph), other;

    CHECK_EQ(fg_instance_start(&config, &other), 0);
    sim_call_return(f);
    CHECK_EQ(nr_set_ups, 2);
    CHECK_EQ(fg_instance_stop(other), 0);
    finish(handle);
    CHECK(seen.calltime > set_up_at);
}

/* Broken if only the entry looked: the buffer was cleared while the generator was suspended. */
static void test_a_resumed_call_goes_on_after_it(void)
{
    int handle = begin(&fg_tracer_function_graph);
    struct fg_instance *instance = fg_instance_get(handle);
    uintptr_t generator = sim_call(f);
    uint64_t first_at = set_up_at;

    sim_suspend(generator);
    fg_ring_retire_all(&instance->ring);
    fg_instance_put(instance);
    sim_resume(generator);
    CHECK_EQ(nr_set_ups, 2);
    sim_return(generator);
    finish(handle);
    CHECK(seen.calltime > set_up_at);
    CHECK_EQ(seen.entry, seen.calltime);
    CHECK(seen.start > first_at && seen.start < set_up_at);
}

static void *run(void *test)
{
    (*(void (**)(void))test)();
    return NULL;
}

/* Each test is a thread's first calls. */
static void in_new_thread(void (*test)(void))
{
    sim_in_thread(run, &test);
}

int main(void)
{
    sim_begin();
    sim_before_name(note_set_up);
    f = sim_function("m", "f");
    in_new_thread(test_the_first_call_of_a_thread_has_none_of_it);
    in_new_thread(test_nor_has_a_call_that_needs_the_next_sub_buffer);
    in_new_thread(test_the_function_tracer_notes_the_time_after_it);
    in_new_thread(test_nor_has_a_call_what_another_user_sets_up);
    in_new_thread(test_a_resumed_call_goes_on_after_it);
    return 0;
}
