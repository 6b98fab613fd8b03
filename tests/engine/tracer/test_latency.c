/* Readers find the longest section or, with a threshold, the latest section that exceeds it, also while
 * other threads record and read sections.
 *
 * Fails if a section that was claimed earlier but published later replaces the maximum. Fails if giving
 * a section back puts an old one in the place of a new one. */
#include <pthread.h>

#include "engine/base/clock.h"
#include "engine/tracer/latency.h"
#include "support/check.h"

#define NR_THREADS 4
#define NR_SECTIONS 3000

static struct fg_latency latency;

static void find(uint64_t ticks)
{
    struct fg_latency_section *section;

    if (!fg_latency_reports(&latency, ticks))
        return;
    section = fg_latency_section_new(1000, 1000 + ticks);
    CHECK(section);
    fg_latency_keep(&latency, section);
}

static uint64_t kept_ticks(void)
{
    struct fg_latency_section *section = fg_latency_take(&latency);
    uint64_t ticks = section ? section->end - section->begin : 0;

    fg_latency_give_back(&latency, section);
    return ticks;
}

static void test_the_longest_is_kept(void)
{
    find(500);
    find(300);
    CHECK_EQ(kept_ticks(), 500);
    find(500);
    CHECK_EQ(atomic_load(&latency.nr_sections), 1);
    find(501);
    CHECK_EQ(kept_ticks(), 501);
    fg_latency_set_max_ns(&latency, 0);
    CHECK_EQ(kept_ticks(), 501); /* until there is another */
    find(7);
    CHECK_EQ(kept_ticks(), 7);
    fg_latency_reset(&latency);
    CHECK_EQ(kept_ticks(), 0);
    CHECK_EQ(fg_latency_max_ns(&latency), 0);
}

static void test_with_a_threshold_each_over_it_is_kept(void)
{
    atomic_store(&latency.thresh_ticks, 100);
    find(99);
    CHECK_EQ(kept_ticks(), 0);
    find(900);
    find(100);
    CHECK_EQ(kept_ticks(), 100);
    CHECK_EQ(atomic_load(&latency.nr_sections), 2);
    fg_latency_reset(&latency);
}

static void test_events_without_room_are_counted(void)
{
    struct fg_latency_section *section = fg_latency_section_new(0, 1);
    char longest[2 * FG_LATENCY_TEXT_BYTES];

    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = 0;
    for (unsigned i = 0; i < FG_LATENCY_MAX_EVENTS + 3; i++)
        fg_latency_section_add(section, i, 0, "ran: ", longest);
    CHECK_EQ(section->nr_events, FG_LATENCY_MAX_EVENTS);
    CHECK_EQ(section->nr_left_out, 3);
    CHECK_EQ(strlen(section->events[0].text), FG_LATENCY_TEXT_BYTES - 1);
    fg_latency_section_free(section);
}

static void *find_many(void *arg)
{
    uint64_t number = (uint64_t)(uintptr_t)arg;

    for (uint64_t i = 0; i < NR_SECTIONS; i++)
        find(i * NR_THREADS + number);
    return NULL;
}

static void *read_many(void *arg)
{
    _Atomic bool *is_over = arg;

    while (!atomic_load(is_over))
        kept_ticks();
    return NULL;
}

static void test_all_at_once(void)
{
    static _Atomic bool is_over;
    pthread_t threads[NR_THREADS], reader;

    CHECK_EQ(pthread_create(&reader, NULL, read_many, &is_over), 0);
    for (uintptr_t i = 0; i < NR_THREADS; i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, find_many, (void *)i), 0);
    for (int i = 0; i < NR_THREADS; i++)
        pthread_join(threads[i], NULL);
    atomic_store(&is_over, true);
    pthread_join(reader, NULL);
    CHECK_EQ(atomic_load(&latency.max_ticks), NR_SECTIONS * NR_THREADS - 1);
    CHECK_EQ(kept_ticks(), NR_SECTIONS * NR_THREADS - 1);
    fg_latency_reset(&latency);
}

int main(void)
{
    fg_clock_init();
    test_the_longest_is_kept();
    test_with_a_threshold_each_over_it_is_kept();
    test_events_without_room_are_counted();
    test_all_at_once();
    return 0;
}
