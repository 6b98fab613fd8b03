/* The tracer that docs/guides/add-a-tracer.md builds does what the page says. CMakeLists.txt compiles its
 * code from the page. */
#include <stdio.h>

#include "engine/base/clock.h"
#include "support/check.h"
#include "support/session.h"
#include "support/sim_arch.h"

extern const struct fg_tracer fg_tracer_slowest;

enum { MAX_LINES = 40, MAX_SEEN = 16 };

static struct fg_func *funcs[3];
static struct session session;

static struct {
    uint32_t task, func;
    uint64_t ticks;
} seen[MAX_SEEN];
static uint32_t nr_seen;

static void note(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    (void)tally, (void)lost;
    CHECK_EQ(fg_record_kind(record->info), FG_RECORD_RETURN);
    CHECK(nr_seen < MAX_SEEN);
    seen[nr_seen].task = task;
    seen[nr_seen].func = record->func;
    seen[nr_seen++].ticks = record->time - *(const uint64_t *)(record + 1);
}

/* Returns how long the call took at most, in ns: a busy machine may make it longer than @ns. */
static uint64_t call_for(struct fg_func *func, uint64_t ns)
{
    uint64_t before = fg_clock_now(), begin;
    uintptr_t call = sim_call(func);

    begin = fg_clock_now();
    while (fg_clock_duration_ns(fg_clock_now() - begin) < ns)
        ;
    sim_return(call);
    return fg_clock_duration_ns(fg_clock_now() - before);
}

static void *call_in_thread(void *arg)
{
    call_for(arg, 1000000);
    return NULL;
}

/* Each record of a task is of a longer call than the one before it. Returns how many are of @func. */
static uint32_t check_task(uint32_t task, const struct fg_func *func)
{
    uint64_t longest = 0;
    uint32_t n = 0;

    for (uint32_t i = 0; i < nr_seen; i++) {
        if (seen[i].task != task)
            continue;
        CHECK(seen[i].ticks > longest);
        longest = seen[i].ticks;
        n += seen[i].func == func->id;
    }
    return n;
}

static void test_it_records_calls_that_took_longer_than_all_before_in_their_thread(void)
{
    const uint64_t first_ns = 2000000;
    struct session_trace trace = {.tracer = &fg_tracer_slowest, .mode = FG_RING_DROP};
    uint64_t first, second;
    uint32_t delayed; /* short calls that a busy machine made as long as the first one, or longer */
    uint32_t main_task;
    int handle;

    session_begin(&session);
    session.tally.on_record = note;
    handle = session_trace(&session, &trace);
    first = call_for(funcs[0], first_ns);
    second = call_for(funcs[1], 0);
    call_for(funcs[2], first + second + first_ns);
    delayed = (second >= first_ns) + (call_for(funcs[1], 0) >= first_ns);
    sim_in_thread(call_in_thread, funcs[1]);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    /* the thread ended first, so the reader gets its sub-buffer first */
    CHECK(nr_seen >= 3);
    CHECK_EQ(seen[0].func, funcs[1]->id);
    CHECK_EQ(seen[1].func, funcs[0]->id);
    main_task = seen[1].task;
    CHECK(seen[0].task != main_task);
    CHECK_EQ(check_task(seen[0].task, funcs[1]), 1);
    CHECK_EQ(check_task(main_task, funcs[0]), 1);
    CHECK_EQ(check_task(main_task, funcs[2]), 1);
    CHECK(check_task(main_task, funcs[1]) <= delayed);
    session_end(&session);
}

static void test_it_is_found_by_its_name(void)
{
    CHECK_EQ(fg_tracer_add(&fg_tracer_slowest), 0);
    CHECK(fg_tracer_find("slowest") == &fg_tracer_slowest);
}

/* Blank lines do not count. */
static void test_it_has_40_lines_at_most(void)
{
    FILE *file = fopen(FG_PAGE_CODE, "r");
    char line[256];
    int n = 0;

    CHECK(file != NULL);
    while (fgets(line, sizeof(line), file))
        n += *line != '\n';
    fclose(file);
    CHECK(n > 0 && n <= MAX_LINES);
}

int main(void)
{
    sim_begin();
    sim_functions(funcs, 3);
    test_it_records_calls_that_took_longer_than_all_before_in_their_thread();
    test_it_is_found_by_its_name();
    test_it_has_40_lines_at_most();
    return 0;
}
