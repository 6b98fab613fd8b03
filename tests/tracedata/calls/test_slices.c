/* Promises: whatever the events of a trace are, each begin of a slice has its end, slices of a thread nest
 * and are in order of time, each call has one last row, calls are numbered and know what is above them, and
 * packets of them are sound Protocol Buffers whose slices nest on each track. Rows that are left out change
 * no others. Nothing is read or written beyond what the columns have. */
#undef NDEBUG
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/core/func_flags.h"
#include "engine/ring/record.h"
#include "tracedata/export/perfetto.h"
#include "tracedata/export/slices.h"

#define NR_THREADS 3u
#define NR_FUNCTIONS 5u
#define MAX_OPEN 4096u
#define MAX_TRACKS 8192u

static uint64_t seed = 88172645463325252u;

static uint64_t below(uint64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed % limit;
}

static const uint32_t threads[NR_THREADS] = {0, 1, 2};
static const int32_t pids[NR_THREADS] = {7, 7, 8};
static const struct fg_slice_tasks tasks = {threads, pids, NR_THREADS};

/* ---- events */

static void add_event(struct fg_columns *columns, uint64_t time_ns, uint32_t task, enum fg_column_kind kind,
                      uint32_t function, uint32_t depth, uint64_t start_ns)
{
    size_t i = columns->n++;
    bool is_end = kind >= FG_COLUMN_return && kind <= FG_COLUMN_close;

    columns->time_ns[i] = time_ns;
    columns->start_ns[i] = start_ns;
    columns->calltime_ns[i] = is_end ? time_ns - below(time_ns + 1) : 0;
    columns->rettime_ns[i] = is_end ? time_ns : 0;
    columns->lost[i] = below(9) ? 0 : below(3) ? below(5) : UINT64_MAX;
    columns->number[i] = below(1000);
    columns->function[i] = function;
    columns->caller[i] = below(2) ? FG_FUNC_UNKNOWN : function;
    columns->caller_line[i] = (uint32_t)below(100);
    columns->task[i] = task;
    columns->depth[i] = depth;
    columns->kind[i] = (uint8_t)kind;
    columns->irq[i] = below(20) == 0;
    for (size_t bytes = below(3) ? 0 : below(40); bytes; bytes--)
        columns->data[columns->data_bytes++] = (uint8_t)below(256);
    columns->data_offsets[i + 1] = (int32_t)columns->data_bytes;
}

/* Anything at all, in order of time. */
static void add_nonsense(struct fg_columns *columns, uint64_t *time_ns, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t start_ns = below(3) ? 0 : *time_ns - below(*time_ns + 1) % 50;

        *time_ns += below(5);
        add_event(columns, *time_ns, (uint32_t)below(NR_THREADS), (enum fg_column_kind)below(14),
                  below(9) ? (uint32_t)below(NR_FUNCTIONS) : (uint32_t)(below(2) ? NR_FUNCTIONS : UINT32_MAX),
                  (uint32_t)below(6), start_ns);
    }
}

/* ---- what slices promise */

#define FIRST_ID 1000u
#define ALL UINT32_MAX
#define LAST_ROWS                                                                                            \
    (1u << FG_SLICE_return | 1u << FG_SLICE_raise | 1u << FG_SLICE_close | 1u << FG_SLICE_lost |             \
     1u << FG_SLICE_open | 1u << FG_SLICE_suspended)

static struct fg_slicer *new_slicer(bool has_times, uint32_t whats)
{
    struct fg_slicer *slicer = fg_slicer_new(
        (struct fg_slicer_options){.has_times = has_times, .whats = whats, .first_id = FIRST_ID});

    assert(slicer);
    return slicer;
}

struct checked {
    uint64_t last_ns[NR_THREADS];
    uint32_t functions[NR_THREADS][MAX_OPEN], depths[NR_THREADS][MAX_OPEN];
    uint64_t ids[NR_THREADS][MAX_OPEN], roots[NR_THREADS][MAX_OPEN];
    uint32_t nr_open[NR_THREADS];
    uint64_t last_id;
    size_t nr_calls, nr_last_rows;
};

/* A call that is met for the first time has the next number, and is below what is open in its thread. */
static void check_ids(struct checked *checked, const struct fg_slices *slices, size_t i)
{
    uint32_t thread = slices->thread[i], n = checked->nr_open[thread];
    uint64_t above = n ? checked->ids[thread][n - 1] : 0;

    if (slices->id[i] <= checked->last_id)
        return;
    assert(slices->id[i] == checked->last_id + 1);
    checked->last_id++;
    assert(slices->above[i] == above);
    assert(slices->root[i] == (above ? checked->roots[thread][n - 1] : slices->id[i]));
}

static void check_end(struct checked *checked, const struct fg_slices *slices, size_t i)
{
    uint32_t thread = slices->thread[i], at;

    assert(slices->begin_ns[i] <= slices->time_ns[i]);
    assert(slices->self_ns[i] <= slices->ran_ns[i]);
    if (slices->flags[i] & FG_SLICE_ONLY_END) {
        check_ids(checked, slices, i);
        return;
    }
    at = --checked->nr_open[thread];
    assert(checked->functions[thread][at] == slices->function[i]);
    assert(checked->depths[thread][at] == slices->depth[i]);
    assert(checked->ids[thread][at] == slices->id[i] && checked->roots[thread][at] == slices->root[i]);
}

static void check_slice(struct checked *checked, const struct fg_slices *slices, size_t i)
{
    uint32_t thread = slices->thread[i], at;

    assert(thread < NR_THREADS && slices->what[i] <= FG_SLICE_suspended);
    assert(slices->data_offsets[i] <= slices->data_offsets[i + 1]);
    assert((size_t)slices->data_offsets[i + 1] <= slices->data_bytes);
    checked->nr_last_rows += slices->what[i] > FG_SLICE_resume && slices->what[i] != FG_SLICE_suspend;
    if (slices->what[i] == FG_SLICE_suspended)
        return;
    assert(slices->time_ns[i] >= checked->last_ns[thread]);
    checked->last_ns[thread] = slices->time_ns[i];
    if (slices->what[i] > FG_SLICE_resume) {
        check_end(checked, slices, i);
        return;
    }
    check_ids(checked, slices, i);
    checked->nr_calls += slices->what[i] == FG_SLICE_begin;
    at = checked->nr_open[thread]++;
    assert(at < MAX_OPEN);
    assert(at == 0 || checked->depths[thread][at - 1] < slices->depth[i]);
    checked->ids[thread][at] = slices->id[i];
    checked->roots[thread][at] = slices->root[i];
    checked->functions[thread][at] = slices->function[i];
    checked->depths[thread][at] = slices->depth[i];
}

/* ---- what packets promise */

struct field {
    uint64_t number, type, value;
    const uint8_t *data;
};

static uint64_t varint(const uint8_t **at, const uint8_t *end)
{
    uint64_t value = 0;

    for (unsigned shift = 0;; shift += 7) {
        assert(*at < end && shift < 70);
        value |= (uint64_t)(**at & 0x7f) << (shift & 63);
        if (!(*(*at)++ & 0x80))
            return value;
    }
}

static struct field next_field(const uint8_t **at, const uint8_t *end)
{
    struct field field = {.number = varint(at, end)};

    field.type = field.number & 7;
    field.number >>= 3;
    assert(field.number > 0);
    if (field.type == 1) {
        assert(end - *at >= 8);
        *at += 8;
        return field;
    }
    assert(field.type == 0 || field.type == 2);
    field.value = varint(at, end);
    if (field.type == 2) {
        assert(field.value <= (uint64_t)(end - *at));
        field.data = *at;
        *at += field.value;
    }
    return field;
}

struct counted {
    int64_t open[MAX_TRACKS]; /* begins without an end, by track */
    size_t nr_begins, nr_instants;
};

static void check_event(struct counted *counted, const uint8_t *at, const uint8_t *end)
{
    uint64_t type = 0, track = 0;

    while (at < end) {
        struct field field = next_field(&at, end);

        if (field.number == 9)
            type = field.value;
        if (field.number == 11)
            track = field.value;
    }
    if (track >= FG_PERFETTO_FIRST_TASK)
        track -= FG_PERFETTO_FIRST_TASK - 100;
    assert(track > 0 && track < MAX_TRACKS && type >= 1 && type <= 3);
    counted->nr_begins += type == 1;
    counted->nr_instants += type == 3;
    counted->open[track] += type == 1 ? 1 : type == 2 ? -1 : 0;
    assert(counted->open[track] >= 0);
}

static void check_packets(struct counted *counted, const struct fg_text *packets)
{
    const uint8_t *at = (const uint8_t *)packets->data, *end = at + packets->bytes;

    assert(!packets->failed);
    while (at < end) {
        struct field packet = next_field(&at, end);
        const uint8_t *inner = packet.data, *inner_end = packet.data + packet.value;

        assert(packet.number == 1 && packet.type == 2);
        while (inner < inner_end) {
            struct field field = next_field(&inner, inner_end);

            if (field.number == 11)
                check_event(counted, field.data, field.data + field.value);
        }
    }
}

/* ---- tests */

static const uint8_t func_flags[NR_FUNCTIONS] = {0, FG_FUNC_GENERATOR, FG_FUNC_COROUTINE, FG_FUNC_COROUTINE,
                                                 0};
static const uint32_t first_argument[NR_FUNCTIONS + 1] = {0, 2, 2, 3, 3, 3};
static const uint32_t arguments[3] = {144, 145, 146};
static const struct fg_perfetto_names names = {NR_FUNCTIONS, first_argument, arguments, 3, func_flags};

static void write_packets(struct fg_perfetto *perfetto, const struct fg_columns *columns,
                          const struct fg_slices *slices, bool at_end, struct counted *counted)
{
    struct fg_text packets = {0};

    fg_perfetto_write(perfetto, columns, threads, NR_THREADS, slices, at_end, &packets);
    check_packets(counted, &packets);
    fg_text_free(&packets);
}

static void test_slices_of_any_events(void)
{
    static struct checked checked;
    static struct counted counted;
    struct fg_perfetto perfetto = {.names = names, .clock = 3};
    struct fg_slicer *slicer = new_slicer(below(2), ALL);
    uint64_t time_ns = 1000;
    size_t nr_only_ends = 0, nr_resumes = 0;

    checked = (struct checked){.last_id = FIRST_ID - 1};
    counted = (struct counted){0};
    for (int batch = 0; batch < 4; batch++) {
        struct fg_columns columns;
        struct fg_slices slices = {0};

        assert(fg_columns_init(&columns, 300) == 0);
        if (batch < 3)
            add_nonsense(&columns, &time_ns, 300);
        assert(fg_slicer_add(slicer, &columns, tasks, &slices) == 0);
        if (batch == 3)
            assert(fg_slicer_finish(slicer, &slices) == 0);
        for (size_t i = 0; i < slices.n; i++) {
            check_slice(&checked, &slices, i);
            nr_only_ends += (slices.flags[i] & FG_SLICE_ONLY_END) != 0;
            nr_resumes += slices.what[i] == FG_SLICE_resume;
        }
        write_packets(&perfetto, &columns, &slices, batch == 3, &counted);
        fg_slices_free(&slices);
        fg_columns_free(&columns);
    }
    for (size_t i = 0; i < NR_THREADS; i++)
        assert(checked.nr_open[i] == 0);
    for (size_t i = 0; i < MAX_TRACKS; i++)
        assert(counted.open[i] == 0);
    assert(checked.nr_last_rows >= checked.nr_calls);
    assert(counted.nr_begins >= checked.nr_calls + nr_resumes + nr_only_ends);
    fg_perfetto_free(&perfetto);
    fg_slicer_free(slicer);
}

static bool have_same_values(const struct fg_slices *a, size_t i, const struct fg_slices *b, size_t j)
{
    size_t bytes = (size_t)(a->data_offsets[i + 1] - a->data_offsets[i]);

    return (size_t)(b->data_offsets[j + 1] - b->data_offsets[j]) == bytes &&
           (bytes == 0 || memcmp(a->data + a->data_offsets[i], b->data + b->data_offsets[j], bytes) == 0);
}

/* @some has the rows of @all that are wanted, and no others. */
static void check_some(const struct fg_slices *all, const struct fg_slices *some, uint32_t whats)
{
    size_t n = 0;

    for (size_t i = 0; i < all->n; i++) {
        if (!(whats >> all->what[i] & 1))
            continue;
        assert(n < some->n);
#define X(name, type, format, text) assert(some->name[n] == all->name[i]);
        FG_SLICES(X)
#undef X
        assert(have_same_values(all, i, some, n));
        n++;
    }
    assert(n == some->n);
}

static void test_rows_that_are_not_wanted_change_no_others(void)
{
    bool has_times = below(2);
    struct fg_slicer *whole = new_slicer(has_times, ALL), *part = new_slicer(has_times, LAST_ROWS);
    uint64_t time_ns = 1000;

    for (int batch = 0; batch < 3; batch++) {
        struct fg_slices all = {0}, some = {0};
        struct fg_columns columns;

        assert(fg_columns_init(&columns, 300) == 0);
        if (batch < 2)
            add_nonsense(&columns, &time_ns, 300);
        assert(fg_slicer_add(whole, &columns, tasks, &all) == 0);
        assert(fg_slicer_add(part, &columns, tasks, &some) == 0);
        if (batch == 2)
            assert(fg_slicer_finish(whole, &all) == 0 && fg_slicer_finish(part, &some) == 0);
        check_some(&all, &some, LAST_ROWS);
        fg_slices_free(&all);
        fg_slices_free(&some);
        fg_columns_free(&columns);
    }
    fg_slicer_free(whole);
    fg_slicer_free(part);
}

/* handler awaits fetch, both wait, both go on, fetch ends, handler ends. */
static void test_a_chain_of_awaits_is_a_track(void)
{
    struct fg_perfetto perfetto = {.names = names, .clock = 3};
    struct fg_slicer *slicer = new_slicer(true, ALL);
    struct fg_slices slices = {0};
    struct fg_columns columns;
    struct fg_await_chains *chains = &perfetto.chains;
    static const struct fg_chain_step expected[] = {
        {100, 0, 2, true}, {110, 0, 3, true}, {140, 0, 3, false}, {150, 0, 2, false}};

    assert(fg_columns_init(&columns, 10) == 0);
    add_event(&columns, 100, 0, FG_COLUMN_entry, 2, 0, 0);
    add_event(&columns, 110, 0, FG_COLUMN_entry, 3, 1, 0);
    add_event(&columns, 120, 0, FG_COLUMN_suspend, 3, 1, 110);
    add_event(&columns, 121, 0, FG_COLUMN_suspend, 2, 0, 100);
    add_event(&columns, 130, 0, FG_COLUMN_resume, 2, 0, 100);
    add_event(&columns, 131, 0, FG_COLUMN_resume, 3, 1, 110);
    add_event(&columns, 140, 0, FG_COLUMN_return, 3, 1, 110);
    add_event(&columns, 150, 0, FG_COLUMN_return, 2, 0, 100);
    assert(fg_slicer_add(slicer, &columns, tasks, &slices) == 0);
    chains->nr_functions = NR_FUNCTIONS;
    chains->func_flags = func_flags;
    assert(fg_await_chains_add(chains, &slices, false) == 0);
    assert(chains->nr_new_tracks == 1 && chains->new_tracks[0].func == 2);
    assert(chains->nr_steps == 4);
    for (size_t i = 0; i < 4; i++) {
        assert(chains->steps[i].time_ns == expected[i].time_ns && chains->steps[i].func == expected[i].func);
        assert(chains->steps[i].is_begin == expected[i].is_begin && chains->steps[i].track == 0);
    }
    fg_slices_free(&slices);
    fg_columns_free(&columns);
    fg_perfetto_free(&perfetto);
    fg_slicer_free(slicer);
}

/* A generator goes on in a thread, and again in another before it was suspended. */
static void test_a_call_that_goes_on_twice_is_one(void)
{
    static const struct {
        enum fg_slice_what what;
        uint32_t thread;
    } expected[] = {{FG_SLICE_begin, 0},   {FG_SLICE_suspend, 0}, {FG_SLICE_resume, 1},
                    {FG_SLICE_suspend, 1}, {FG_SLICE_resume, 0},  {FG_SLICE_return, 0}};
    struct fg_slicer *slicer = new_slicer(true, ALL);
    struct fg_slices slices = {0};
    struct fg_columns columns;

    assert(fg_columns_init(&columns, 5) == 0);
    add_event(&columns, 10, 0, FG_COLUMN_entry, 1, 0, 0);
    add_event(&columns, 20, 0, FG_COLUMN_suspend, 1, 0, 10);
    add_event(&columns, 30, 1, FG_COLUMN_resume, 1, 2, 10);
    add_event(&columns, 40, 0, FG_COLUMN_resume, 1, 0, 10);
    add_event(&columns, 50, 0, FG_COLUMN_return, 1, 0, 10);
    assert(fg_slicer_add(slicer, &columns, tasks, &slices) == 0);
    assert(fg_slicer_finish(slicer, &slices) == 0);
    assert(slices.n == sizeof(expected) / sizeof(expected[0]));
    for (size_t i = 0; i < slices.n; i++) {
        assert(slices.what[i] == expected[i].what && slices.thread[i] == expected[i].thread);
        assert(slices.id[i] == FIRST_ID && slices.call_ns[i] == 10);
    }
    assert(slices.resumes[5] == 2 && !(slices.flags[5] & FG_SLICE_WHOLE));
    assert(slices.flags[3] & FG_SLICE_LOST_END && !(slices.flags[1] & FG_SLICE_LOST_END));
    fg_slices_free(&slices);
    fg_columns_free(&columns);
    fg_slicer_free(slicer);
}

static void test_impossible_events_are_refused(void)
{
    struct fg_slicer *slicer = new_slicer(true, ALL);
    struct fg_slices slices = {0};
    struct fg_columns columns;

    for (int i = 0; i < 2; i++) {
        assert(fg_columns_init(&columns, 1) == 0);
        add_event(&columns, 1, i ? NR_THREADS : 0, FG_COLUMN_entry, 0, i ? 0 : FG_RECORD_MAX_DEPTH + 1, 0);
        assert(fg_slicer_add(slicer, &columns, tasks, &slices) == -EINVAL);
        fg_columns_free(&columns);
    }
    fg_slices_free(&slices);
    fg_slicer_free(slicer);
}

int main(void)
{
    for (int i = 0; i < 200; i++) {
        test_slices_of_any_events();
        test_rows_that_are_not_wanted_change_no_others();
    }
    test_a_chain_of_awaits_is_a_track();
    test_a_call_that_goes_on_twice_is_one();
    test_impossible_events_are_refused();
    return 0;
}
