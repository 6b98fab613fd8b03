/* See change.h. */
#include "arch/native/change.h"

#include <time.h>

#include "arch/native/stop.h"

#define MAX_STOPS 12           /* for threads to leave the bytes that change, */
#define FIRST_PAUSE_NS 500000L /* and how long they may run for that, twice as long each time */

/* Lets a change sink to its place in a heap whose greatest is the first. */
static void sink(struct fg_code_change *heap, size_t at, size_t n)
{
    struct fg_code_change change = heap[at];

    for (size_t child; (child = 2 * at + 1) < n; at = child) {
        if (child + 1 < n && heap[child + 1].address > heap[child].address)
            child++;
        if (change.address >= heap[child].address)
            break;
        heap[at] = heap[child];
    }
    heap[at] = change;
}

/* Not by qsort(), which may allocate. */
static void sort(struct fg_code_change *changes, size_t n)
{
    for (size_t at = n / 2; at-- > 0;)
        sink(changes, at, n);
    while (n-- > 1) {
        struct fg_code_change greatest = changes[0];

        changes[0] = changes[n];
        changes[n] = greatest;
        sink(changes, 0, n);
    }
}

static bool is_equal(const uint8_t *a, const uint8_t *b, size_t n)
{
    while (n && a[n - 1] == b[n - 1])
        n--;
    return !n;
}

/* Somebody else has been here, and may have made the change. */
static void meet_others(struct fg_code_change *change, const uint8_t *now)
{
    change->is_done = is_equal(now, change->to, change->bytes);
    change->is_foreign = !change->is_done;
    if (change->is_foreign)
        change->refusal = "somebody else has changed it";
}

/* Calls nothing of the C library. */
static void change_one(struct fg_code_change *change, const struct fg_code_writer *writer)
{
    uint8_t now[FG_CHANGE_BYTES];

    if (fg_code_read(writer, change->address, now, change->bytes) != change->bytes)
        change->refusal = "it is not there any longer";
    else if (!is_equal(now, change->from, change->bytes))
        meet_others(change, now);
    else if (!fg_code_write(writer, change->address, change->to, change->bytes))
        change->refusal = "it cannot be written";
    else
        change->is_done = true;
}

static bool is_open(const struct fg_code_change *change)
{
    return !change->is_done && !change->refusal;
}

/* Makes those changes that no thread is in the middle of. Returns how many are left. */
static size_t change_those_free(struct fg_code_change *changes, const struct fg_stop_range *ranges, size_t n,
                                const struct fg_code_writer *writer)
{
    size_t left = 0;

    for (size_t i = 0; i < n; i++) {
        if (!is_open(&changes[i]))
            continue;
        if (ranges[i].is_busy)
            left++;
        else
            change_one(&changes[i], writer);
    }
    return left;
}

static void set_ranges(const struct fg_code_change *changes, struct fg_stop_range *ranges, size_t n)
{
    /* A thread at the first byte executes what is there when it goes on. */
    for (size_t i = 0; i < n; i++) {
        uintptr_t begin = changes[i].address + 1;

        ranges[i].begin = begin;
        ranges[i].end = changes[i].from_is_single ? begin : changes[i].address + changes[i].bytes;
        ranges[i].is_busy = false;
    }
}

static void pause_for(long ns)
{
    struct timespec time = {ns / 1000000000L, ns % 1000000000L};

    nanosleep(&time, NULL);
}

static bool change_with_stops(struct fg_code_change *changes, struct fg_stop_range *ranges, size_t n,
                              const struct fg_code_writer *writer, struct fg_native_refusal *refusal)
{
    size_t left = n;

    if (!fg_code_settle())
        return fg_native_refuse(refusal, "this kernel has no membarrier that serializes processors");
    for (int i = 0; i < MAX_STOPS && left; i++) {
        if (i)
            pause_for(FIRST_PAUSE_NS << (i - 1));
        set_ranges(changes, ranges, n);
        if (!fg_stop_begin(refusal))
            return i > 0;
        fg_stop_mark_busy(ranges, n, writer);
        left = change_those_free(changes, ranges, n, writer);
        fg_code_settle();
        fg_stop_end();
    }
    return true;
}

static void change_alone(struct fg_code_change *changes, struct fg_stop_range *ranges, size_t n,
                         const struct fg_code_writer *writer)
{
    set_ranges(changes, ranges, n);
    fg_stop_mark_own(ranges, n, writer);
    change_those_free(changes, ranges, n, writer);
}

bool fg_code_change(struct fg_code_change *changes, struct fg_stop_range *ranges, size_t n,
                    const struct fg_code_writer *writer, struct fg_native_refusal *refusal)
{
    bool is_possible = true;

    sort(changes, n);
    if (fg_stop_is_alone())
        change_alone(changes, ranges, n, writer);
    else
        is_possible = change_with_stops(changes, ranges, n, writer, refusal);
    for (size_t i = 0; i < n && is_possible; i++) {
        if (is_open(&changes[i]))
            changes[i].refusal = "a thread stays within its first instructions";
    }
    return is_possible;
}
