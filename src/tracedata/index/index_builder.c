/* Makes an index in one pass over the events: see call_index.h. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/index/call_index.h"
#include "tracedata/index/index_cells.h"
#include "tracedata/index/index_short.h"
#include "tracedata/index/index_sort.h"

#define MARKS_SHARE 8 /* of all bytes; blocks have such a share, too */
#define LEAST_MARKS 64
#define REPORT_EVENTS (UINT64_C(1) << 18) /* from one report of progress to the next: some 20 ms */
#define FIRST_SPANS ((size_t)1 << 22)     /* at most so many have room at first */
#define NO_LANE UINT32_MAX
#define CELL_BYTES sizeof(struct fg_span_cell)
#define SPAN_BYTES (sizeof(struct fg_span) + sizeof(uint32_t)) /* and its place among those of its function */

/* A call: what is known of it besides its level. */
struct call {
    uint64_t ran_ns; /* sum of the stretches that have ended */
    bool is_whole;   /* all its stretches are in the trace */
};

struct index_thread {
    struct fg_call_thread thread;
    uint32_t lane, key;
};

/* Where the latest span of each depth of a lane ended. */
struct lane_ends {
    uint64_t *ends_ns;
    size_t capacity;
};

struct builder {
    struct fg_call_assembler calls;
    struct fg_merge *merge; /* NULL: a part of a lane is read */
    const struct fg_index_progress *progress;
    uint64_t nr_events;
    const struct fg_name_table *names;
    bool is_kernel;
    struct fg_call_index *index;
    size_t most_bytes, most_marks;
    size_t most_spans; /* so many have room, until some are folded */
    size_t lanes_capacity, marks_capacity;
    struct fg_shorts shorts; /* not of a part */
    struct lane_ends *ends;  /* by lane */
    size_t ends_capacity;
    uint32_t *lane_of; /* by key: 1 + lane */
    size_t nr_keys;
    unsigned mark_level; /* marks of one slot of it are one */
};

static inline struct builder *builder_of(struct fg_call_assembler *calls)
{
    return (struct builder *)(void *)calls;
}

static inline struct index_thread *thread_of(const struct fg_stretch *stretch)
{
    return (struct index_thread *)(void *)stretch->thread;
}

static inline struct fg_index_lane *lane_of(struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    return &builder_of(calls)->index->lanes[thread_of(stretch)->lane];
}

static int report(const struct builder *builder)
{
    return builder->progress ? builder->progress->report(builder->progress->context, builder->nr_events) : 0;
}

/* ---- functions */

FG_NOINLINE static int add_function(struct fg_call_index *index, uint32_t func)
{
    struct fg_index_function *function = calloc(1, sizeof(*function));

    if (!function)
        return -ENOMEM;
    function->func = func;
    index->functions[func] = function;
    return 0;
}

/* That of a stretch, whose call has begun. */
static inline struct fg_index_function *row_of(const struct builder *builder,
                                               const struct fg_stretch *stretch)
{
    return builder->index->functions[stretch->level->func];
}

static void add_duration(struct fg_index_function *function, uint64_t ns)
{
    function->durations[ns ? 64 - __builtin_clzll(ns) : 0]++;
}

/* ---- lanes */

static int add_lane(struct builder *builder, const struct fg_event *event, uint32_t *lane)
{
    struct fg_call_index *index = builder->index;
    size_t n = index->nr_lanes;

    if (fg_array_reserve(&index->lanes, &builder->lanes_capacity, n + 1) < 0 ||
        fg_array_reserve_zeroed(&builder->ends, &builder->ends_capacity, n + 1) < 0)
        return -ENOMEM;
    index->lanes[n] = (struct fg_index_lane){.first_ns = event->time_ns,
                                             .task = builder->names->tasks[event->task].number,
                                             .file_lane = event->lane,
                                             .tid = event->tid,
                                             .pid = builder->names->tasks[event->task].pid};
    index->nr_lanes++;
    *lane = (uint32_t)n;
    return 0;
}

/* What events of one lane have in common: their task; of a kernel's trace their thread, which has a task for
 * each CPU. */
static inline uint32_t key_of(const struct builder *builder, const struct fg_event *event)
{
    return builder->is_kernel ? event->thread : event->task;
}

FG_NOINLINE static int set_lane(struct builder *builder, struct index_thread *thread,
                                const struct fg_event *event)
{
    uint32_t key = key_of(builder, event);
    int error = 0;

    if (fg_array_reserve_zeroed(&builder->lane_of, &builder->nr_keys, (size_t)key + 1) < 0)
        return -ENOMEM;
    thread->lane = builder->lane_of[key] - 1;
    if (thread->lane == NO_LANE)
        error = add_lane(builder, event, &thread->lane);
    builder->lane_of[key] = thread->lane + 1;
    thread->key = key + 1;
    return error;
}

/* ---- spans */

static size_t bytes_of(const struct fg_call_index *index)
{
    const struct fg_cell_level *cells = &index->levels[index->base / FG_INDEX_STEP];

    return index->nr_spans * SPAN_BYTES + cells->n * CELL_BYTES;
}

static void set_most_spans(struct builder *builder)
{
    const struct fg_call_index *index = builder->index;
    size_t bytes = bytes_of(index);

    builder->most_spans = index->nr_spans;
    if (bytes < builder->most_bytes)
        builder->most_spans += (builder->most_bytes - bytes) / SPAN_BYTES;
}

/* Folds spans to the first level from @level on at which spans and cells have at most so many bytes; if there
 * is none, to the last one. */
static int fold(struct fg_call_index *index, unsigned level, size_t most_bytes)
{
    size_t nr_spans, nr_cells;

    for (;; level += FG_INDEX_STEP) {
        fg_cells_count_fold(index, level, &nr_spans, &nr_cells);
        if (level >= FG_INDEX_NR_CLASSES || nr_spans * SPAN_BYTES + nr_cells * CELL_BYTES <= most_bytes)
            return fg_cells_fold(index, level, nr_cells);
    }
}

/* Folds the spans that are too short for the base. If spans and cells still had more than half of the bytes
 * that they may have, the base is raised: at once as far as is needed, as each level below that would have
 * more cells than there is room for. More lanes and depths than there is room for are no reason to fold
 * again with each span. */
FG_NOINLINE static int make_room(struct builder *builder)
{
    struct fg_call_index *index = builder->index;
    int error = fg_index_sort_by_place(index);

    if (!error)
        error = fold(index, index->base, builder->most_bytes / 2);
    if (bytes_of(index) > builder->most_bytes / 2)
        builder->most_bytes = 2 * bytes_of(index);
    set_most_spans(builder);
    return error;
}

static int add_span(struct builder *builder, const struct fg_stretch *stretch, uint64_t end_ns, uint8_t ended)
{
    struct fg_call_index *index = builder->index;
    uint32_t lane = thread_of(stretch)->lane;
    struct lane_ends *ends = &builder->ends[lane];
    struct fg_index_function *function = row_of(builder, stretch);
    uint64_t begin_ns = stretch->level->entered_ns;
    struct fg_span *span;

    if (fg_unlikely(fg_array_reserve_zeroed(&ends->ends_ns, &ends->capacity, (size_t)stretch->depth + 1) <
                        0 ||
                    fg_array_reserve(&index->spans, &index->spans_capacity, index->nr_spans + 1) < 0))
        return -ENOMEM;
    if (begin_ns < ends->ends_ns[stretch->depth])
        begin_ns = ends->ends_ns[stretch->depth];
    if (end_ns < begin_ns)
        end_ns = begin_ns;
    ends->ends_ns[stretch->depth] = end_ns;
    span = &index->spans[index->nr_spans++];
    *span = (struct fg_span){.begin_ns = begin_ns,
                             .end_ns = end_ns,
                             .func = stretch->level->func,
                             .lane = lane,
                             .depth = stretch->depth,
                             .ended = ended,
                             .is_resumed = stretch->level->is_resumed};
    if (builder->merge && fg_unlikely(fg_shorts_add(&builder->shorts, span) < 0))
        return -ENOMEM;
    index->lanes[lane].nr_spans++;
    function->nr_spans++;
    function->total_ns += stretch->ran_ns;
    if (begin_ns < index->lanes[lane].first_ns)
        index->lanes[lane].first_ns = begin_ns; /* its begin was lost, but its end tells when that was */
    if (index->lanes[lane].nr_depths <= stretch->depth)
        index->lanes[lane].nr_depths = stretch->depth + 1;
    return fg_unlikely(index->nr_spans > builder->most_spans) ? make_room(builder) : 0;
}

/* ---- marks */

static int compare_marks(const void *a, const void *b)
{
    const struct fg_index_mark *one = a, *other = b;

    if (one->lane != other->lane)
        return one->lane < other->lane ? -1 : 1;
    if (one->kind != other->kind)
        return one->kind < other->kind ? -1 : 1;
    return (one->time_ns > other->time_ns) - (one->time_ns < other->time_ns);
}

static void sort_marks(struct fg_call_index *index)
{
    if (index->nr_marks)
        qsort(index->marks, index->nr_marks, sizeof(*index->marks), compare_marks);
}

static bool is_same_slot(const struct fg_index_mark *one, const struct fg_index_mark *other, unsigned level)
{
    return one->lane == other->lane && one->kind == other->kind &&
           one->time_ns >> 2 * level == other->time_ns >> 2 * level;
}

/* Makes one mark of those of each slot, with longer slots until they are half as many as there may be. */
FG_NOINLINE static void merge_marks(struct builder *builder)
{
    struct fg_call_index *index = builder->index;

    sort_marks(index);
    while (index->nr_marks > builder->most_marks / 2 && builder->mark_level < FG_INDEX_NR_CLASSES - 1) {
        size_t n = 0;

        builder->mark_level++;
        for (size_t i = 0; i < index->nr_marks; i++) {
            if (n && is_same_slot(&index->marks[n - 1], &index->marks[i], builder->mark_level))
                index->marks[n - 1].count += index->marks[i].count;
            else
                index->marks[n++] = index->marks[i];
        }
        index->nr_marks = n;
    }
    if (index->nr_marks > builder->most_marks / 2)
        builder->most_marks = 2 * index->nr_marks; /* there are so many lanes */
}

static int add_mark(struct builder *builder, uint32_t lane, enum fg_index_mark_kind kind, uint64_t time_ns,
                    uint32_t func, uint64_t count)
{
    struct fg_call_index *index = builder->index;

    if (fg_array_reserve(&index->marks, &builder->marks_capacity, index->nr_marks + 1) < 0)
        return -ENOMEM;
    index->marks[index->nr_marks++] =
        (struct fg_index_mark){.time_ns = time_ns, .count = count, .lane = lane, .func = func, .kind = kind};
    if (fg_unlikely(index->nr_marks > builder->most_marks))
        merge_marks(builder);
    return 0;
}

/* ---- what becomes of calls */

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    struct builder *builder = builder_of(calls);

    (void)event;
    *(struct call *)stretch->call = (struct call){.is_whole = fg_begins_whole(stretch->level, graph)};
    lane_of(calls, stretch)->nr_calls++;
    if (fg_unlikely(!row_of(builder, stretch)) && add_function(builder->index, stretch->level->func) < 0)
        return -ENOMEM;
    row_of(builder, stretch)->nr_calls++;
    return 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    (void)calls, (void)stretch, (void)graph, (void)event;
    return 0;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    (void)graph;
    ((struct call *)stretch->call)->ran_ns += stretch->ran_ns;
    return add_span(builder_of(calls), stretch, ((const struct fg_event *)event)->time_ns, FG_SPAN_suspend);
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *source)
{
    struct builder *builder = builder_of(calls);
    const struct fg_event *event = source;
    struct call *call = stretch->call;
    uint8_t ended = exit->kind <= FG_EXIT_CLOSE ? exit->kind : FG_SPAN_return;
    int error = 0;

    call->ran_ns += stretch->ran_ns;
    if (call->is_whole && ended != FG_SPAN_suspend)
        add_duration(row_of(builder, stretch), call->ran_ns);
    if (fg_unlikely(ended == FG_SPAN_raise)) {
        row_of(builder, stretch)->nr_raised++;
        error = add_mark(builder, thread_of(stretch)->lane, FG_MARK_raise, event->time_ns,
                         stretch->level->func, 1);
    }
    return error ? error : add_span(builder, stretch, event->time_ns, ended);
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    (void)until_ns, (void)goes_on;
    ((struct call *)stretch->call)->is_whole = false;
    return add_span(builder_of(calls), stretch, stretch->thread->last_ns,
                    gap == FG_GAP_LOST ? FG_SPAN_lost : FG_SPAN_open);
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    (void)calls, (void)named, (void)call;
    return 0;
}

/* ---- events */

static int other_event(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                       const struct fg_event *event)
{
    enum fg_index_mark_kind kind = FG_MARK_event;

    switch (event->type) {
    case FG_EVENT_function:
    case FG_EVENT_kernel_stack:
    case FG_EVENT_func_repeats:
        return 0; /* of the function tracer, which records no ends */
    case FG_EVENT_recorder_wait:
        kind = FG_MARK_wait;
        break;
    case FG_EVENT_overrun:
        kind = FG_MARK_overrun;
        break;
    case FG_EVENT_print:
    case FG_EVENT_raw_data:
        kind = FG_MARK_mark;
        break;
    default:
        break;
    }
    return add_mark(builder_of(calls), ((struct index_thread *)(void *)thread)->lane, kind, event->time_ns,
                    FG_FUNC_UNKNOWN, 1);
}

FG_ASSEMBLE int before_event(struct fg_call_assembler *calls, struct fg_call_thread *call_thread,
                             const struct fg_event *event)
{
    struct builder *builder = builder_of(calls);
    struct index_thread *thread = (struct index_thread *)(void *)call_thread;
    int error = 0;

    if (fg_unlikely(thread->key != key_of(builder, event) + 1))
        error = set_lane(builder, thread, event);
    if (!error && fg_unlikely(event->lost))
        error = add_mark(builder, thread->lane, FG_MARK_loss, event->time_ns, FG_FUNC_UNKNOWN,
                         event->lost == FG_LOST_UNKNOWN ? 1 : event->lost);
    if (!error)
        builder->index->lanes[thread->lane].last_ns = event->time_ns;
    return error;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct index_thread),
    .names_calls = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .function_of = fg_known_function,
    .before_event = before_event,
    .other_event = other_event,
};

static int add_events(struct builder *builder)
{
    int result;

    while ((result = fg_calls_run(&consumer, &builder->calls, builder->merge, REPORT_EVENTS)) > 0) {
        builder->nr_events += REPORT_EVENTS;
        result = report(builder);
        if (result < 0)
            return result;
    }
    return result;
}

/* ---- the end */

static void set_times(struct fg_call_index *index)
{
    index->first_ns = UINT64_MAX;
    for (size_t i = 0; i < index->nr_lanes; i++) {
        if (index->lanes[i].first_ns < index->first_ns)
            index->first_ns = index->lanes[i].first_ns;
        if (index->lanes[i].last_ns > index->last_ns)
            index->last_ns = index->lanes[i].last_ns;
    }
    if (!index->nr_lanes)
        index->first_ns = 0;
}

/* Makes the levels; drops the shortest spans as long as there are too many cells. */
static int make_levels(struct builder *builder)
{
    struct fg_call_index *index = builder->index;
    int error;

    for (;;) {
        size_t left = builder->most_bytes, bytes = index->nr_spans * SPAN_BYTES;

        left -= left < bytes ? left : bytes;
        error = fg_cells_make_levels(index, left / CELL_BYTES, FG_INDEX_NR_CLASSES);
        if (error != -ENOSPC || index->base + FG_INDEX_STEP > FG_INDEX_NR_CLASSES)
            return error == -ENOSPC ? 0 : error;
        fg_cells_free_levels(index);
        error = fold(index, index->base + FG_INDEX_STEP, SIZE_MAX);
        if (error)
            return error;
    }
}

/* Tasks that were met while the trace was read. */
static int add_tasks(struct fg_call_index *index, const struct fg_name_table *names)
{
    size_t n = names->nr_tasks - names->nr_known_tasks;

    index->tasks = malloc((n + 1) * sizeof(*index->tasks));
    for (size_t i = 0; index->tasks && i < n; i++) {
        const struct fg_task_name *task = &names->tasks[names->nr_known_tasks + i];

        index->tasks[index->nr_tasks++] = (struct fg_index_task){task->lane, task->tid};
    }
    return index->tasks ? 0 : -ENOMEM;
}

static int finish(struct builder *builder)
{
    struct fg_call_index *index = builder->index;
    int error = index->base ? make_room(builder) : fg_index_sort_by_place(index);

    set_times(index);
    if (!error)
        error = add_tasks(index, builder->names);
    sort_marks(index);
    if (!error)
        error = report(builder);
    if (!error)
        error = make_levels(builder);
    if (!error)
        error = report(builder);
    if (!error)
        error = fg_index_sort_by_class(index);
    if (!error)
        error = report(builder);
    if (!error)
        error = fg_index_sort_by_function(index);
    return error ? error : fg_shorts_finish(&builder->shorts, index);
}

static void free_builder(struct builder *builder)
{
    fg_call_assembler_free(&builder->calls);
    for (size_t i = 0; i < builder->ends_capacity; i++)
        free(builder->ends[i].ends_ns);
    free(builder->ends);
    fg_shorts_free(&builder->shorts);
    free(builder->lane_of);
}

static int begin_builder(struct builder *builder, size_t most_bytes, bool has_times)
{
    builder->most_bytes = most_bytes - 2 * (most_bytes / MARKS_SHARE);
    builder->most_marks = most_bytes / MARKS_SHARE / sizeof(struct fg_index_mark) + LEAST_MARKS;
    builder->index = fg_call_index_new(builder->names->nr_functions);
    fg_call_assembler_init(&builder->calls, &consumer, builder->names, has_times);
    if (!builder->index)
        return -ENOMEM;
    builder->index->room = calloc(1, sizeof(*builder->index->room));
    if (!builder->index->room)
        return -ENOMEM;
    set_most_spans(builder);
    return 0;
}

/* Room for all spans that may be there before some are folded: an array that grows leaves holes in the heap.
 * Pages that stay untouched cost nothing. */
static int reserve_spans(struct builder *builder)
{
    struct fg_call_index *index = builder->index;
    size_t most = builder->most_spans < FIRST_SPANS ? builder->most_spans : FIRST_SPANS;

    return fg_array_reserve(&index->spans, &index->spans_capacity, most + 1);
}

static int end_builder(struct builder *builder, int error, struct fg_call_index **index)
{
    if (builder->index)
        fg_call_index_free_room(builder->index);
    free_builder(builder);
    if (error)
        fg_call_index_free(builder->index);
    else
        *index = builder->index;
    return error;
}

int fg_call_index_make(struct fg_merge *merge, size_t most_bytes, const struct fg_index_progress *progress,
                       struct fg_call_index **index)
{
    struct builder builder = {.merge = merge,
                              .progress = progress,
                              .names = merge->names,
                              .is_kernel = merge->file->kernel != NULL};
    int error = begin_builder(&builder, most_bytes, merge->file->unit == FG_UNIT_NS);

    if (!error)
        error = reserve_spans(&builder);
    if (!error)
        error = fg_shorts_init(&builder.shorts, merge->names->nr_functions, most_bytes / MARKS_SHARE);
    if (!error)
        error = add_events(&builder);
    if (!error)
        error = finish(&builder);
    return end_builder(&builder, error, index);
}

/* ---- parts of lanes */

/* The place in lanes.tasks of the task that is this lane; SIZE_MAX: there is none. */
static size_t task_of_lane(const struct fg_recorded *recorded, const struct fg_index_lane *lane)
{
    if (lane->file_lane >= recorded->lanes.nr_lanes)
        return SIZE_MAX;
    for (size_t i = recorded->first_tasks[lane->file_lane]; i < recorded->first_tasks[lane->file_lane + 1];
         i++) {
        const struct fg_lane_task *task = &recorded->lanes.tasks[i];
        const struct fg_trace_ring *ring = &recorded->contents.rings[task->ring];

        if ((int32_t)ring->tasks[task->task].tid == lane->tid && task->last_ns >= lane->last_ns)
            return i;
    }
    return SIZE_MAX;
}

/* Adds the events of one task up to @end_ns. Return: 1; 0: the task has no more; or a negative errno. */
static int add_part(struct builder *builder, struct fg_row_lane *rows, uint64_t end_ns)
{
    struct fg_event event = {0};
    int result;

    while ((result = fg_row_lane_next(rows, &event)) > 0 && event.time_ns < end_ns) {
        int error = fg_calls_add(&consumer, &builder->calls, NULL, &event);

        if (error)
            return error;
    }
    return result;
}

/* Leaves the short spans that begin in the part. */
static void keep_short(struct fg_call_index *part, uint64_t begin_ns, unsigned base)
{
    size_t n = 0;

    for (size_t i = 0; i < part->nr_spans; i++)
        if (part->spans[i].begin_ns >= begin_ns && fg_span_class(&part->spans[i]) < base)
            part->spans[n++] = part->spans[i];
    part->nr_spans = n;
}

static int read_part(struct builder *builder, struct fg_row_pass *pass, size_t task, uint64_t begin_ns,
                     uint64_t end_ns)
{
    struct fg_row_lane *rows = malloc(sizeof(*rows));
    int result;

    if (!rows)
        return -ENOMEM;
    result = fg_row_lane_open_task(rows, pass, task, begin_ns);
    if (!result)
        result = add_part(builder, rows, end_ns);
    if (!result)
        result = fg_calls_finish(&builder->calls);
    fg_row_lane_close(rows);
    free(rows);
    return result < 0 ? result : 0;
}

int fg_call_index_make_part(const struct fg_recorded *recorded, const struct fg_call_index *index,
                            uint32_t number, uint64_t begin_ns, uint64_t end_ns, unsigned last_level,
                            struct fg_call_index **part)
{
    const struct fg_index_lane *lane = &index->lanes[number];
    struct fg_task_name task = {.pid = lane->pid, .number = lane->task};
    const struct fg_name_table names = {.tasks = &task, .nr_tasks = 1, .nr_functions = index->nr_functions};
    struct builder builder = {.names = &names};
    struct fg_row_pass pass = {0};
    size_t place = task_of_lane(recorded, lane);
    int error = begin_builder(&builder, SIZE_MAX, true);

    if (!error)
        error = fg_row_pass_begin(&pass, recorded);
    if (!error && place != SIZE_MAX)
        error = read_part(&builder, &pass, place, begin_ns, end_ns);
    fg_row_pass_end(&pass);
    if (!error) {
        keep_short(builder.index, begin_ns, index->base);
        set_times(builder.index);
        error = fg_index_sort_by_place(builder.index);
    }
    if (!error)
        error = fg_cells_make_levels(builder.index, SIZE_MAX, last_level);
    if (!error)
        error = fg_index_sort_by_class(builder.index);
    return end_builder(&builder, error, part);
}
