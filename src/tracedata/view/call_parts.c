/* See call_parts.h. */
#include "tracedata/view/call_parts.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/calls/call_events.h"

#define NO_DEPTH UINT32_MAX

/* What a call is to the chosen one that it was made from. */
struct place {
    uint32_t chosen; /* 1 + its number; 0: none is around it */
    uint32_t key;
    uint32_t callee; /* the function that the chosen call called */
    uint8_t kind;    /* enum fg_call_part */
    bool is_chosen;  /* it is that call */
};

/* A chosen call that was found. */
struct chosen {
    uint64_t charged_ns;
    uint64_t left_ns; /* when it was suspended, or out of sight */
    uint32_t awaited; /* the function */
    bool is_found, is_over;
    bool is_lost; /* from left_ns on, nothing is known of it */
};

struct parts_thread {
    struct fg_call_thread calls;
    uint64_t settled_ns;           /* all before is in some part */
    uint32_t task;                 /* 1 + its number */
    uint32_t nr_gc;                /* collections in progress */
    size_t gil, gil_end;           /* the next overlay, and the first one of another task */
    size_t gil_counted;            /* 1 + the latest overlay that was counted */
    size_t ready, ready_end;       /* likewise */
    size_t ready_now;              /* 1 + the overlay of what runs; 0: none */
    uint32_t await_depth, awaited; /* of the suspend that was the latest event; NO_DEPTH: it was none */
};

struct fg_call_parts {
    struct fg_call_assembler calls;
    struct fg_merge *merge;
    const struct fg_call_parts_input *input;
    struct fg_part_group *groups;
    struct chosen *chosen;
    size_t nr_keys, nr_over;
    uint32_t nr_functions;
};

static const struct fg_call_consumer consumer;

static inline struct fg_call_parts *parts_of(struct fg_call_assembler *calls)
{
    return (struct fg_call_parts *)(void *)calls;
}

/* ---- sums */

static inline struct fg_part *part_at(struct fg_call_parts *parts, uint32_t chosen, enum fg_call_part kind,
                                      uint32_t key)
{
    return &parts->groups[parts->input->calls[chosen - 1].group].parts[kind * parts->nr_keys + key];
}

static inline void charge(struct fg_call_parts *parts, uint32_t chosen, enum fg_call_part kind, uint32_t key,
                          uint64_t ns)
{
    part_at(parts, chosen, kind, key)->ns += ns;
    parts->chosen[chosen - 1].charged_ns += ns;
}

/* Charges the thread's time up to @until_ns, in which a call of @place was the innermost one, less what the
 * overlays have of it. */
static void charge_running(struct fg_call_parts *parts, struct parts_thread *thread,
                           const struct place *place, uint64_t until_ns)
{
    uint64_t at = thread->settled_ns;

    for (; thread->gil < thread->gil_end; thread->gil++) {
        const struct fg_overlay *overlay = &parts->input->gil[thread->gil];
        uint64_t begin = overlay->begin_ns > at ? overlay->begin_ns : at;
        uint64_t end = overlay->end_ns < until_ns ? overlay->end_ns : until_ns;

        if (overlay->begin_ns >= until_ns)
            break;
        if (end > begin) {
            charge(parts, place->chosen, (enum fg_call_part)place->kind, place->key, begin - at);
            charge(parts, place->chosen, FG_PART_gil, overlay->label, end - begin);
            if (thread->gil_counted != thread->gil + 1)
                part_at(parts, place->chosen, FG_PART_gil, overlay->label)->count++;
            thread->gil_counted = thread->gil + 1;
            at = end;
        }
        if (overlay->end_ns > until_ns)
            break;
    }
    charge(parts, place->chosen, (enum fg_call_part)place->kind, place->key, until_ns - at);
}

/* Puts the thread's time up to @until_ns into parts. */
static void settle(struct fg_call_parts *parts, struct parts_thread *thread, uint64_t until_ns, bool is_known)
{
    struct fg_call_level *level = fg_innermost_level(&consumer, &thread->calls);
    const struct place *place = level ? fg_call_of(&parts->calls, level) : NULL;

    if (place && place->chosen && until_ns > thread->settled_ns) {
        if (!is_known)
            charge(parts, place->chosen, FG_PART_unknown, 0, until_ns - thread->settled_ns);
        else if (thread->nr_gc)
            charge(parts, place->chosen, FG_PART_gc, 0, until_ns - thread->settled_ns);
        else
            charge_running(parts, thread, place, until_ns);
    }
    if (until_ns > thread->settled_ns)
        thread->settled_ns = until_ns;
}

/* The chosen call is over. What was not charged is not known. */
static void finish_chosen(struct fg_call_parts *parts, uint32_t number, uint64_t end_ns, bool is_open)
{
    struct chosen *chosen = &parts->chosen[number - 1];
    const struct fg_chosen_call *call = &parts->input->calls[number - 1];
    struct fg_part_group *group = &parts->groups[call->group];
    uint64_t total_ns = fg_minus(end_ns, call->begin_ns);

    if (total_ns < chosen->charged_ns)
        total_ns = chosen->charged_ns;
    group->parts[FG_PART_unknown * parts->nr_keys].ns += total_ns - chosen->charged_ns;
    group->total_ns += total_ns;
    group->calls++;
    group->open += is_open;
    chosen->is_over = true;
    parts->nr_over++;
}

/* ---- which call is chosen */

/* 1 + the number of the chosen call that begins then and was not found yet; 0: there is none. */
static uint32_t find_chosen(const struct fg_call_parts *parts, uint64_t begin_ns)
{
    const struct fg_chosen_call *calls = parts->input->calls;
    size_t low = 0, high = parts->input->nr_calls;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (calls[middle].begin_ns < begin_ns)
            low = middle + 1;
        else
            high = middle;
    }
    for (; low < parts->input->nr_calls && calls[low].begin_ns == begin_ns; low++)
        if (!parts->chosen[low].is_found)
            return (uint32_t)low + 1;
    return 0;
}

static inline uint8_t class_of(const struct fg_call_parts *parts, uint32_t func)
{
    return func < parts->nr_functions ? parts->input->classes[func] : FG_PART_callee;
}

/* Sets what a call of @func is to the call @around it, in which it began or goes on. */
static void set_place(const struct fg_call_parts *parts, struct place *place, const struct place *around,
                      uint32_t func)
{
    uint8_t kind = class_of(parts, func) & (uint8_t)~FG_PART_IS_CHOSEN;

    *place = (struct place){0};
    if (!around || !around->chosen)
        return;
    *place = *around;
    place->is_chosen = false;
    if (around->is_chosen)
        place->callee = func;
    if (around->kind == FG_PART_import || around->kind == FG_PART_lock || around->kind == FG_PART_sleep ||
        around->kind == FG_PART_io)
        return;
    place->kind = kind;
    place->key = kind == FG_PART_import ? 0 : kind == FG_PART_callee ? place->callee : func;
}

/* Counts a call where its part begins. */
static void count_place(struct fg_call_parts *parts, const struct place *place, const struct place *around)
{
    bool is_inside = !around->is_chosen && around->kind == place->kind && place->kind != FG_PART_native;

    if (!is_inside && (around->is_chosen || place->kind != FG_PART_callee))
        part_at(parts, place->chosen, (enum fg_call_part)place->kind, place->key)->count++;
}

/* ---- what becomes of calls */

static int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                 const struct fg_graph_data *graph, const void *event)
{
    struct fg_call_parts *parts = parts_of(calls);
    struct fg_call_level *level = stretch->level;
    struct fg_call_level *outer = fg_innermost_level(&consumer, stretch->thread);
    const struct place *around = outer && outer != level ? fg_call_of(calls, outer) : NULL;
    struct place *place = stretch->call;
    uint32_t chosen = 0;

    if (class_of(parts, level->func) & FG_PART_IS_CHOSEN)
        chosen = find_chosen(parts, fg_begins_ns(level, graph, ((const struct fg_event *)event)->time_ns));
    if (fg_likely(!chosen)) {
        set_place(parts, place, around, level->func);
        if (place->chosen)
            count_place(parts, place, around);
        return 0;
    }
    *place = (struct place){.chosen = chosen, .kind = FG_PART_own, .is_chosen = true};
    parts->chosen[chosen - 1].is_found = true;
    part_at(parts, chosen, FG_PART_own, 0)->count++;
    return 0;
}

static uint64_t overlap_ns(const struct fg_overlay *overlay, uint64_t from_ns, uint64_t until_ns)
{
    uint64_t begin = overlay->begin_ns > from_ns ? overlay->begin_ns : from_ns;

    return fg_minus(overlay->end_ns < until_ns ? overlay->end_ns : until_ns, begin);
}

/* How much of the time up to @until_ns the call that goes on was ready: also from the end of its overlay on,
 * and while its cause was. */
static uint64_t ready_ns(const struct fg_call_parts *parts, const struct parts_thread *thread,
                         uint64_t from_ns, uint64_t until_ns)
{
    const struct fg_overlay *ready = parts->input->ready;
    size_t place = thread->ready_now;
    uint64_t ns;

    if (!place--)
        return 0;
    ns = fg_minus(until_ns, ready[place].begin_ns > from_ns ? ready[place].begin_ns : from_ns);
    if (place && ready[place - 1].task == ready[place].task && ready[place - 1].label)
        ns += overlap_ns(&ready[place - 1], from_ns, ready[place].begin_ns);
    return ns;
}

static void charge_suspended(struct fg_call_parts *parts, const struct parts_thread *thread, uint32_t number,
                             uint64_t until_ns)
{
    struct chosen *chosen = &parts->chosen[number - 1];
    uint64_t away_ns = fg_minus(until_ns, chosen->left_ns);
    uint64_t ready = ready_ns(parts, thread, chosen->left_ns, until_ns);

    if (chosen->is_lost) {
        charge(parts, number, FG_PART_unknown, 0, away_ns);
        return;
    }
    charge(parts, number, FG_PART_suspended, chosen->awaited, away_ns - ready);
    part_at(parts, number, FG_PART_suspended, chosen->awaited)->count++;
    charge(parts, number, FG_PART_ready, 0, ready);
    part_at(parts, number, FG_PART_ready, 0)->count += ready != 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    struct fg_call_parts *parts = parts_of(calls);
    struct parts_thread *thread = (struct parts_thread *)(void *)stretch->thread;
    struct fg_call_level *outer = fg_innermost_level(&consumer, stretch->thread);
    struct place *place = stretch->call;

    if (!place->is_chosen) {
        set_place(parts, place, outer && outer != stretch->level ? fg_call_of(calls, outer) : NULL,
                  stretch->level->func);
        return 0;
    }
    if (stretch->level->is_late && fg_is_resume(stretch->level, graph))
        parts->chosen[place->chosen - 1].is_lost = true;
    charge_suspended(parts, thread, place->chosen, ((const struct fg_event *)event)->time_ns);
    return 0;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    struct fg_call_parts *parts = parts_of(calls);
    struct parts_thread *thread = (struct parts_thread *)(void *)stretch->thread;
    const struct place *place = stretch->call;
    struct chosen *chosen;
    bool goes_on = thread->await_depth == stretch->depth + 1;

    (void)graph;
    thread->awaited = goes_on ? thread->awaited : stretch->level->func;
    thread->await_depth = stretch->depth;
    if (!place->is_chosen)
        return 0;
    chosen = &parts->chosen[place->chosen - 1];
    chosen->left_ns = ((const struct fg_event *)event)->time_ns;
    chosen->awaited = goes_on ? thread->awaited : parts->nr_functions;
    chosen->is_lost = false;
    return 0;
}

static int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
               const struct fg_graph_data *exit, const void *event)
{
    const struct place *place = stretch->call;

    if (place->is_chosen)
        finish_chosen(parts_of(calls), place->chosen, ((const struct fg_event *)event)->time_ns,
                      exit->kind == FG_EXIT_SUSPEND);
    return 0;
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct fg_call_parts *parts = parts_of(calls);
    const struct place *place = stretch->call;

    if (!place->is_chosen)
        return 0;
    if (!goes_on) {
        finish_chosen(parts, place->chosen, gap == FG_GAP_LOST ? until_ns : stretch->thread->last_ns, true);
        return 0;
    }
    parts->chosen[place->chosen - 1].is_lost = true;
    parts->chosen[place->chosen - 1].left_ns = until_ns;
    return 0;
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    const struct place *place = call;

    if (place->is_chosen)
        finish_chosen(parts_of(calls), place->chosen, named->last_ns, true);
    return 0;
}

/* ---- events */

/* The first overlay of @task or a later one. */
static size_t first_of(const struct fg_overlay *overlays, size_t n, uint64_t task)
{
    size_t low = 0;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (overlays[middle].task < task)
            low = middle + 1;
        else
            n = middle;
    }
    return low;
}

FG_NOINLINE static void set_task(const struct fg_call_parts *parts, struct parts_thread *thread,
                                 uint32_t task)
{
    const struct fg_call_parts_input *input = parts->input;

    thread->task = task + 1;
    thread->gil = first_of(input->gil, input->nr_gil, task);
    thread->gil_end = first_of(input->gil, input->nr_gil, (uint64_t)task + 1);
    thread->ready = first_of(input->ready, input->nr_ready, task);
    thread->ready_end = first_of(input->ready, input->nr_ready, (uint64_t)task + 1);
    thread->gil_counted = thread->ready_now = 0;
    thread->nr_gc = 0;
    thread->await_depth = NO_DEPTH;
}

/* Takes the overlays that end by now: what runs from here on was ready for so long. */
static void take_ready(const struct fg_call_parts *parts, struct parts_thread *thread, uint64_t time_ns)
{
    const struct fg_overlay *ready = parts->input->ready;

    while (thread->ready < thread->ready_end && ready[thread->ready].end_ns <= time_ns) {
        bool is_earlier = ready[thread->ready++].label != 0;

        if (!is_earlier)
            thread->ready_now = thread->ready;
    }
}

/* The thread waited for the recorder, up to now. */
static void add_wait(struct fg_call_parts *parts, struct parts_thread *thread, const struct fg_event *event)
{
    uint64_t waited_ns = fg_event_recorder_wait(event)->duration_ns;
    struct fg_call_level *level = fg_innermost_level(&consumer, &thread->calls);
    const struct place *place = level ? fg_call_of(&parts->calls, level) : NULL;

    settle(parts, thread, fg_minus(event->time_ns, waited_ns), !event->lost);
    if (place && place->chosen && event->time_ns > thread->settled_ns) {
        charge(parts, place->chosen, FG_PART_tracer, 0, event->time_ns - thread->settled_ns);
        part_at(parts, place->chosen, FG_PART_tracer, 0)->count++;
        thread->settled_ns = event->time_ns;
    }
}

static void add_gc(struct fg_call_parts *parts, struct parts_thread *thread, const struct fg_event *event)
{
    struct fg_call_level *level = fg_innermost_level(&consumer, &thread->calls);
    const struct place *place = level ? fg_call_of(&parts->calls, level) : NULL;

    if (event->type == parts->input->gc_start) {
        if (!thread->nr_gc++ && place && place->chosen)
            part_at(parts, place->chosen, FG_PART_gc, 0)->count++;
    } else if (thread->nr_gc) {
        thread->nr_gc--;
    }
}

static int before_event(struct fg_call_assembler *calls, struct fg_call_thread *call_thread,
                        const struct fg_event *event)
{
    struct fg_call_parts *parts = parts_of(calls);
    struct parts_thread *thread = (struct parts_thread *)(void *)call_thread;
    uint32_t task = fg_task_number(calls, call_thread);

    if (fg_unlikely(thread->task != task + 1))
        set_task(parts, thread, task);
    if (fg_unlikely(event->type == FG_EVENT_recorder_wait))
        add_wait(parts, thread, event);
    settle(parts, thread, event->time_ns, !event->lost);
    if (fg_event_is_call(event->type))
        take_ready(parts, thread, event->time_ns);
    if (event->type == FG_EVENT_funcgraph_entry)
        thread->await_depth = NO_DEPTH;
    return 0;
}

static void after_event(struct fg_call_assembler *calls, struct fg_call_thread *call_thread,
                        const struct fg_event *event)
{
    struct parts_thread *thread = (struct parts_thread *)(void *)call_thread;

    (void)calls;
    if (event->type != FG_EVENT_funcgraph_exit)
        return;
    thread->ready_now = 0;
    if (fg_event_graph(event)->kind != FG_EXIT_SUSPEND)
        thread->await_depth = NO_DEPTH;
}

static int other_event(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                       const struct fg_event *event)
{
    struct fg_call_parts *parts = parts_of(calls);

    if (event->type == parts->input->gc_start || event->type == parts->input->gc_done)
        add_gc(parts, (struct parts_thread *)(void *)thread, event);
    return 0;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct place),
    .thread_bytes = sizeof(struct parts_thread),
    .names_calls = true,
    .links_levels = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .function_of = fg_known_function,
    .before_event = before_event,
    .after_event = after_event,
    .other_event = other_event,
};

/* ---- the whole */

int fg_call_parts_new(struct fg_merge *merge, const struct fg_call_parts_input *input,
                      struct fg_call_parts **parts)
{
    struct fg_call_parts *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->input = input;
    made->nr_functions = merge->names->nr_functions;
    made->nr_keys = made->nr_functions + (size_t)1;
    if (made->nr_keys < input->nr_labels)
        made->nr_keys = input->nr_labels;
    fg_call_assembler_init(&made->calls, &consumer, merge->names, merge->file->unit == FG_UNIT_NS);
    made->chosen = calloc(input->nr_calls + 1, sizeof(*made->chosen));
    made->groups = calloc(input->nr_groups + (size_t)1, sizeof(*made->groups));
    *parts = made;
    for (uint32_t i = 0; made->groups && i < input->nr_groups; i++) {
        made->groups[i].parts = calloc(FG_NR_CALL_PARTS * made->nr_keys, sizeof(struct fg_part));
        if (!made->groups[i].parts)
            return -ENOMEM;
    }
    return made->chosen && made->groups ? 0 : -ENOMEM;
}

void fg_call_parts_free(struct fg_call_parts *parts)
{
    if (!parts)
        return;
    for (uint32_t i = 0; parts->groups && i < parts->input->nr_groups; i++)
        free(parts->groups[i].parts);
    fg_call_assembler_free(&parts->calls);
    free(parts->groups);
    free(parts->chosen);
    free(parts);
}

int fg_call_parts_run(struct fg_call_parts *parts, uint64_t events)
{
    while (events--) {
        int result;

        if (parts->nr_over == parts->input->nr_calls)
            return 0;
        result = fg_calls_add_next(&consumer, &parts->calls, parts->merge);
        if (result == 0)
            return fg_calls_finish(&parts->calls);
        if (result < 0)
            return result;
    }
    return 1;
}

const struct fg_part_group *fg_call_parts_groups(const struct fg_call_parts *parts, size_t *nr_keys)
{
    *nr_keys = parts->nr_keys;
    return parts->groups;
}
