/* See lockstep.h. */
#include "tracedata/answers/lockstep.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/view/columns.h"

/* Which events of a reading count. */
enum extent {
    BEFORE_ROOT,   /* none yet: the root has not begun */
    WITHIN_ROOT,   /* all up to the end of the root */
    WITHOUT_BOUND, /* all */
};

struct reading {
    struct fg_lockstep_side side;
    enum extent extent;
    uint32_t outer; /* levels that are not counted */
    bool is_held;   /* `now` is the next moment */
    bool at_end;
    struct fg_lockstep_moment now; /* its values are in the merge's data */
    uint32_t tasks[2];             /* numbers of those with calls */
    uint32_t nr_tasks;
    uint64_t root_ns; /* when the latest call of depth 0 began */
    uint64_t *counts; /* by name: calls from the place on where they part */
    struct fg_lockstep_call after[FG_LOCKSTEP_AFTER];
    uint32_t nr_after;
};

struct fg_lockstep {
    struct reading readings[2];
    struct reading *failed;
    uint64_t ahead;
    bool is_bounded;  /* not all that follows the parting is read */
    bool is_paired;   /* each beginning and end had a partner so far, and no value differed */
    uint64_t *counts; /* by name: calls that both made */
    uint64_t nr_calls, nr_roots;
    uint32_t *stack; /* names of the calls that may be in progress */
    uint32_t levels;
    size_t stack_capacity;
    struct fg_lockstep_call before[FG_LOCKSTEP_BEFORE];
    struct fg_lockstep_place value, parting;
};

static bool is_entry(const struct reading *reading)
{
    return reading->now.kind == FG_COLUMN_entry;
}

/* ---- reading */

static uint32_t name_of(const struct reading *reading, uint32_t func)
{
    uint32_t nr_functions = reading->side.merge->names->nr_functions;

    return reading->side.names[func < nr_functions ? func : nr_functions];
}

/* Looks for the root: what else is in the window at the same time is not of it. A root whose beginning the
 * trace has not cannot be bounded. */
static bool begins_reading(struct reading *reading, const struct fg_event *event,
                           const struct fg_graph_data *graph)
{
    bool is_late = event->time_ns != reading->side.root_ns;

    if (event->type != FG_EVENT_funcgraph_entry ||
        (!is_late && name_of(reading, graph->func) != reading->side.root))
        return false;
    reading->extent = is_late ? WITHOUT_BOUND : WITHIN_ROOT;
    reading->outer = graph->depth;
    return true;
}

/* Whether an event counts. The end of the root is the last one that does. */
static bool is_within(struct reading *reading, const struct fg_event *event,
                      const struct fg_graph_data *graph)
{
    if (fg_likely(reading->extent == WITHOUT_BOUND))
        return true;
    if (reading->extent == BEFORE_ROOT)
        return begins_reading(reading, event, graph);
    if (fg_likely(graph->depth > reading->outer))
        return true;
    if (event->type == FG_EVENT_funcgraph_entry) { /* of another call: the end of the root was lost */
        reading->at_end = true;
        return false;
    }
    reading->at_end = graph->kind != FG_EXIT_SUSPEND;
    return true;
}

static void take_moment(struct reading *reading, const struct fg_event *event,
                        const struct fg_graph_data *graph)
{
    const uint8_t *values = fg_graph_values(event), *end = fg_event_end(event);
    bool is_entry = event->type == FG_EVENT_funcgraph_entry;
    uint32_t depth = graph->depth > reading->outer ? graph->depth - reading->outer : 0;

    reading->now = (struct fg_lockstep_moment){
        .kind = is_entry ? FG_COLUMN_entry : (uint8_t)(FG_COLUMN_return + graph->kind),
        .func = graph->func,
        .call = {depth, name_of(reading, graph->func)},
        .time_ns = event->time_ns,
    };
    if (values < end && *values != FG_VALUE_END)
        reading->now.values = (struct fg_lasting_values){values, (size_t)(end - values)};
    reading->is_held = true;
}

/* Calls of one thread alone can be compared. */
static void take_thread(struct reading *reading, const struct fg_event *event)
{
    uint32_t task = reading->side.merge->names->tasks[event->task].number;

    if (fg_likely(reading->nr_tasks && reading->tasks[0] == task) || reading->nr_tasks == 2)
        return;
    reading->tasks[reading->nr_tasks++] = task;
}

/* A beginning or an end. Return: 0 or an error. */
static int take_event(struct reading *reading, const struct fg_event *event)
{
    const struct fg_graph_data *graph = fg_event_graph(event);
    bool is_entry = event->type == FG_EVENT_funcgraph_entry;

    if (fg_unlikely(!is_entry && graph->kind > FG_EXIT_CLOSE))
        return fg_merge_damaged(reading->side.merge, event);
    if ((is_entry && graph->kind == FG_ENTRY_RESUME) || !is_within(reading, event, graph))
        return 0;
    if (is_entry)
        take_thread(reading, event);
    take_moment(reading, event, graph);
    return 0;
}

/* Finds the next moment, unless it is there already, or the reading has ended. Return: 0 or an error. */
static int hold(struct reading *reading)
{
    struct fg_event event;

    while (!reading->is_held && !reading->at_end) {
        int result = fg_merge_next(reading->side.merge, &event);

        if (result == 0)
            reading->at_end = true;
        else if (result > 0 && fg_unlikely(!fg_event_is_sound(&event)))
            result = fg_merge_damaged(reading->side.merge, &event);
        else if (result > 0 && fg_likely(fg_event_is_call(event.type)))
            result = take_event(reading, &event);
        if (result < 0)
            return result;
    }
    return 0;
}

/* The same of the next beginning. */
static int hold_entry(struct reading *reading)
{
    int error = hold(reading);

    while (!error && reading->is_held && !is_entry(reading)) {
        reading->is_held = false;
        error = hold(reading);
    }
    return error;
}

static int hold_both(struct fg_lockstep *lockstep, int (*next)(struct reading *reading))
{
    for (int i = 0; i < 2; i++) {
        int error = next(&lockstep->readings[i]);

        if (error) {
            lockstep->failed = &lockstep->readings[i];
            return error;
        }
    }
    return 0;
}

static bool has_threads(const struct fg_lockstep *lockstep)
{
    return lockstep->readings[0].nr_tasks == 2 || lockstep->readings[1].nr_tasks == 2;
}

/* ---- places */

static int keep_moment(struct fg_lockstep_moment *moment, const struct fg_lockstep_moment *now)
{
    uint8_t *copy = malloc(now->values.bytes + 1);

    if (!copy)
        return -ENOMEM;
    if (now->values.bytes)
        memcpy(copy, now->values.data, now->values.bytes);
    *moment = *now;
    moment->values.data = copy;
    return 0;
}

/* Keeps the calls around a place, as far as the trace has their beginnings or those of callees. */
static int keep_path(const struct fg_lockstep *lockstep, struct fg_lockstep_place *place, uint32_t depth)
{
    place->path_levels = depth < lockstep->levels ? depth : lockstep->levels;
    place->path = malloc((place->path_levels + (size_t)1) * sizeof(*place->path));
    if (!place->path)
        return -ENOMEM;
    if (place->path_levels)
        memcpy(place->path, lockstep->stack, place->path_levels * sizeof(*place->path));
    return 0;
}

/* To be called before begin_call() counts the call at which both are. */
static int keep_place(const struct fg_lockstep *lockstep, struct fg_lockstep_place *place,
                      enum fg_lockstep_difference what)
{
    uint32_t depth = 0;

    place->is_found = true;
    place->what = what;
    place->calls = lockstep->nr_calls;
    place->nr_roots = lockstep->nr_roots;
    place->nr_before =
        lockstep->nr_calls < FG_LOCKSTEP_BEFORE ? (uint32_t)lockstep->nr_calls : FG_LOCKSTEP_BEFORE;
    for (uint32_t i = 0; i < place->nr_before; i++)
        place->before[i] = lockstep->before[(lockstep->nr_calls - place->nr_before + i) % FG_LOCKSTEP_BEFORE];
    for (int i = 0; i < 2; i++) {
        const struct reading *reading = &lockstep->readings[i];

        place->root_ns[i] = reading->root_ns;
        place->is_there[i] = reading->is_held;
        if (!reading->is_held)
            continue;
        if (reading->now.call.depth > depth)
            depth = reading->now.call.depth;
        if (keep_moment(&place->moments[i], &reading->now) < 0)
            return -ENOMEM;
    }
    return keep_path(lockstep, place, depth);
}

static void free_place(struct fg_lockstep_place *place)
{
    free(place->path);
    for (int i = 0; i < 2; i++)
        free((void *)(uintptr_t)place->moments[i].values.data);
}

/* ---- pairs */

static bool are_of_one_call(const struct fg_lockstep *lockstep)
{
    const struct reading *one = &lockstep->readings[0], *other = &lockstep->readings[1];

    return one->is_held && other->is_held && one->now.call.name == other->now.call.name &&
           one->now.call.depth == other->now.call.depth && is_entry(one) == is_entry(other);
}

/* What only one of them recorded is not compared. */
static bool have_equal_values(const struct fg_lockstep *lockstep)
{
    const struct fg_lockstep_moment *one = &lockstep->readings[0].now, *other = &lockstep->readings[1].now;
    const struct fg_lasting_values *a = &one->values, *b = &other->values;

    if (fg_unlikely(one->kind != other->kind))
        return false;
    if (!a->bytes || !b->bytes)
        return true;
    return (a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0) ||
           fg_lasting_values_equal(*a, *b);
}

/* A call of depth 0 begins in both. */
static void begin_root(struct fg_lockstep *lockstep)
{
    lockstep->nr_roots++;
    for (int i = 0; i < 2; i++)
        lockstep->readings[i].root_ns = lockstep->readings[i].now.time_ns;
}

/* Both begin the same call. Callers whose beginnings were lost stand below its name. */
static int begin_call(struct fg_lockstep *lockstep)
{
    const struct fg_lockstep_call *call = &lockstep->readings[0].now.call;

    if (call->depth >= lockstep->levels) {
        if (fg_array_reserve(&lockstep->stack, &lockstep->stack_capacity, call->depth + (size_t)1) < 0)
            return -ENOMEM;
        for (uint32_t i = lockstep->levels; i < call->depth; i++)
            lockstep->stack[i] = call->name;
    }
    lockstep->stack[call->depth] = call->name;
    lockstep->levels = call->depth + 1;
    lockstep->before[lockstep->nr_calls % FG_LOCKSTEP_BEFORE] = *call;
    lockstep->nr_calls++;
    lockstep->counts[call->name]++;
    return 0;
}

/* Both are at the same beginning, or, while they are paired, at the same end. */
static int take_pair(struct fg_lockstep *lockstep)
{
    bool begins = is_entry(&lockstep->readings[0]);
    int error = 0;

    if (begins && !lockstep->readings[0].now.call.depth)
        begin_root(lockstep);
    if (lockstep->is_paired && fg_unlikely(!have_equal_values(lockstep))) {
        lockstep->is_paired = false;
        error = keep_place(lockstep, &lockstep->value, begins ? FG_LOCKSTEP_ARGUMENTS : FG_LOCKSTEP_RESULT);
    }
    if (begins && !error)
        error = begin_call(lockstep);
    lockstep->readings[0].is_held = lockstep->readings[1].is_held = false;
    return error;
}

/* ---- after the place where they part */

static void take_call_after(struct reading *reading)
{
    const struct fg_lockstep_call *call = &reading->now.call;

    reading->counts[call->name]++;
    if (reading->nr_after < FG_LOCKSTEP_AFTER)
        reading->after[reading->nr_after++] = *call;
}

/* Return: 1; 0: that was all; or an error. */
static int step_ahead(struct fg_lockstep *lockstep)
{
    int error = lockstep->ahead ? hold_both(lockstep, hold) : 0;
    int result = 0;

    if (error)
        return error == -EINVAL && lockstep->is_bounded ? 0 : error;
    if (!lockstep->ahead || has_threads(lockstep))
        return 0;
    lockstep->ahead -= lockstep->is_bounded;
    for (int i = 0; i < 2; i++) {
        struct reading *reading = &lockstep->readings[i];

        if (!reading->is_held)
            continue;
        if (is_entry(reading))
            take_call_after(reading);
        reading->is_held = false;
        result = 1;
    }
    return result;
}

/* ---- the whole */

/* As step_ahead(), before they part. */
static int step(struct fg_lockstep *lockstep)
{
    int error = hold_both(lockstep, lockstep->is_paired ? hold : hold_entry);

    if (error)
        return error;
    if (lockstep->is_paired && fg_unlikely(!are_of_one_call(lockstep))) {
        lockstep->is_paired = false;
        error = hold_both(lockstep, hold_entry);
        if (error)
            return error;
    }
    if (fg_unlikely(has_threads(lockstep)) ||
        (!lockstep->readings[0].is_held && !lockstep->readings[1].is_held))
        return 0;
    if (fg_likely(are_of_one_call(lockstep)))
        error = take_pair(lockstep);
    else
        error = keep_place(lockstep, &lockstep->parting, FG_LOCKSTEP_CALL);
    return error ? error : 1;
}

int fg_lockstep_new(const struct fg_lockstep_side sides[2], uint32_t nr_names, uint64_t ahead,
                    struct fg_lockstep **lockstep)
{
    struct fg_lockstep *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->ahead = ahead;
    made->is_bounded = ahead != UINT64_MAX;
    made->is_paired = true;
    made->counts = calloc(nr_names + (size_t)1, sizeof(*made->counts));
    for (int i = 0; i < 2; i++) {
        struct reading *reading = &made->readings[i];

        reading->side = sides[i];
        reading->extent = sides[i].root == FG_NO_ROOT ? WITHOUT_BOUND : BEFORE_ROOT;
        reading->counts = calloc(nr_names + (size_t)1, sizeof(*reading->counts));
    }
    if (!made->counts || !made->readings[0].counts || !made->readings[1].counts) {
        fg_lockstep_free(made);
        return -ENOMEM;
    }
    *lockstep = made;
    return 0;
}

void fg_lockstep_free(struct fg_lockstep *lockstep)
{
    if (!lockstep)
        return;
    free_place(&lockstep->value);
    free_place(&lockstep->parting);
    for (int i = 0; i < 2; i++)
        free(lockstep->readings[i].counts);
    free(lockstep->counts);
    free(lockstep->stack);
    free(lockstep);
}

int fg_lockstep_run(struct fg_lockstep *lockstep, uint64_t events)
{
    int result = 1;

    while (events-- && result == 1)
        result = lockstep->parting.is_found ? step_ahead(lockstep) : step(lockstep);
    return result;
}

int fg_lockstep_failed(const struct fg_lockstep *lockstep)
{
    return lockstep->failed == &lockstep->readings[1];
}

bool fg_lockstep_threads(const struct fg_lockstep *lockstep, int side, uint32_t tasks[2])
{
    const struct reading *reading = &lockstep->readings[side];

    memcpy(tasks, reading->tasks, sizeof(reading->tasks));
    return reading->nr_tasks == 2;
}

const struct fg_lockstep_place *fg_lockstep_value(const struct fg_lockstep *lockstep)
{
    return &lockstep->value;
}

const struct fg_lockstep_place *fg_lockstep_parting(const struct fg_lockstep *lockstep)
{
    return &lockstep->parting;
}

uint32_t fg_lockstep_after(const struct fg_lockstep *lockstep, int side,
                           struct fg_lockstep_call calls[FG_LOCKSTEP_AFTER])
{
    const struct reading *reading = &lockstep->readings[side];

    memcpy(calls, reading->after, sizeof(reading->after));
    return reading->nr_after;
}

uint64_t fg_lockstep_count(const struct fg_lockstep *lockstep, int side, uint32_t name)
{
    return lockstep->counts[name] + lockstep->readings[side].counts[name];
}
