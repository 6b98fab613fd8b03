/* See find_calls.h. */
#include "tracedata/select/find_calls.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/base/text.h"
#include "tracedata/base/values.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/select/call_image.h"

/* Which stretch of which thread, for its mark. */
struct place {
    uint64_t number;
    uint32_t thread;
    uint8_t mark;
};

struct call {
    uint64_t number;          /* of its present stretch */
    uint64_t ran_ns, self_ns; /* of its stretches that have ended */
    struct fg_text arguments; /* as recorded */
    struct fg_text places; /* struct place: of its stretches that have ended, and of the calls around them */
    bool is_inside;        /* it, or a call around it, is a root */
    bool is_whole;         /* all its stretches are in the trace */
};

struct find_thread {
    struct fg_call_thread thread;
    uint64_t nr_events; /* of calls, so far */
};

struct finder {
    struct fg_call_assembler calls;
    const struct fg_selection *selection;
    struct fg_call_marks *marks;
    uint8_t image[FG_CALL_IMAGE_BYTES];
};

static const struct fg_call_consumer consumer;

static inline struct finder *finder_of(struct fg_call_assembler *calls)
{
    return (struct finder *)(void *)calls;
}

static inline struct find_thread *thread_of(const struct fg_stretch *stretch)
{
    return (struct find_thread *)(void *)stretch->thread;
}

/* NULL: no call of the function is wanted. */
static struct fg_call_filter *filter_of(const struct finder *finder, uint32_t func, bool is_inside)
{
    const struct fg_selection *selection = finder->selection;
    uint8_t marks = func < selection->nr_functions ? selection->functions[func] : 0;
    uint32_t place = func < selection->values->nr_functions ? selection->values->filters[func] : 0;

    if ((selection->has_names && !(marks & FG_SELECT_NAMED)) || (selection->has_roots && !is_inside))
        return NULL;
    return place ? &selection->values->made[place - 1] : NULL;
}

/* ---- stretches */

static void keep_place(struct call *call, uint32_t thread, uint64_t number, uint8_t mark)
{
    const struct place place = {.number = number, .thread = thread, .mark = mark};

    fg_text_put(&call->places, (const char *)&place, sizeof(place));
}

/* The stretch is over, or goes on no further: what is marked if its call meets the filter. */
static int keep_places(struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    const struct finder *finder = finder_of(calls);
    struct call *call = stretch->call;
    uint32_t left = finder->selection->values->nr_callers;

    keep_place(call, stretch->thread->number, call->number, FG_CALL_SHOWN | FG_CALL_CHOSEN);
    for (uint32_t depth = stretch->depth; depth && left; depth--) {
        struct fg_call_level *level = fg_level_at(&consumer, stretch->thread, depth - 1);

        if (!level->is_open)
            continue;
        left--;
        keep_place(call, stretch->thread->number, ((const struct call *)fg_call_of(calls, level))->number,
                   FG_CALL_SHOWN);
    }
    return call->places.failed ? -ENOMEM : 0;
}

static int mark_places(struct finder *finder, const struct call *call)
{
    const struct place *places = (const struct place *)(const void *)call->places.data;
    int error = 0;

    for (size_t i = 0; i < call->places.bytes / sizeof(*places) && !error; i++)
        error = fg_call_marks_add(finder->marks, places[i].thread, places[i].number, places[i].mark);
    return error;
}

static void drop_call(struct fg_call_assembler *calls, void *call)
{
    (void)calls;
    fg_text_free(&((struct call *)call)->arguments);
    fg_text_free(&((struct call *)call)->places);
}

/* ---- calls */

static bool is_inside(struct fg_call_assembler *calls, const struct fg_stretch *stretch)
{
    const struct fg_selection *selection = finder_of(calls)->selection;
    uint32_t func = stretch->level->func;
    struct fg_call_level *around = fg_innermost_level(&consumer, stretch->thread);

    if (func < selection->nr_functions && (selection->functions[func] & FG_SELECT_ROOT))
        return true;
    return around && ((const struct call *)fg_call_of(calls, around))->is_inside;
}

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    const struct fg_call_level *level = stretch->level;
    struct call *call = stretch->call;
    struct fg_text arguments = call->arguments, places = call->places; /* their memory is used again */

    arguments.bytes = places.bytes = 0;
    *call = (struct call){.number = thread_of(stretch)->nr_events,
                          .arguments = arguments,
                          .places = places,
                          .is_inside = is_inside(calls, stretch),
                          .is_whole = fg_begins_whole(level, graph)};
    if (!level->is_late && !level->is_resumed && filter_of(finder_of(calls), level->func, call->is_inside)) {
        const uint8_t *values = fg_graph_values(event);

        fg_text_put(&call->arguments, (const char *)values, fg_values_bytes(values, fg_event_end(event)));
    }
    return call->arguments.failed ? -ENOMEM : 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    struct call *call = stretch->call;

    (void)graph, (void)event;
    call->number = thread_of(stretch)->nr_events;
    call->is_inside = is_inside(calls, stretch);
    return 0;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    struct call *call = stretch->call;

    (void)graph, (void)event;
    call->ran_ns += stretch->ran_ns;
    call->self_ns += stretch->self_ns;
    return filter_of(finder_of(calls), stretch->level->func, call->is_inside) ? keep_places(calls, stretch)
                                                                              : 0;
}

/* The call is over, or is met no more: all that is known of it is in @facts. */
static int judge(struct finder *finder, uint32_t func, const struct call *call, struct fg_call_facts *facts)
{
    struct fg_call_filter *made = filter_of(finder, func, true);
    uint32_t bytes;

    if (!made || !call->places.bytes)
        return 0;
    facts->ran_ns = call->ran_ns;
    facts->self_ns = call->self_ns;
    facts->arguments = (const uint8_t *)call->arguments.data;
    facts->arguments_end = facts->arguments + call->arguments.bytes;
    bytes = fg_call_image(finder->image, facts, &made->attributes);
    return fg_event_filter_matches(made->filter, finder->image, bytes) ? mark_places(finder, call) : 0;
}

static int end_call(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    struct fg_call_facts *facts)
{
    struct finder *finder = finder_of(calls);
    struct call *call = stretch->call;
    int error = 0;

    call->ran_ns += stretch->ran_ns;
    call->self_ns += stretch->self_ns;
    facts->tid = (int32_t)(uint32_t)stretch->thread->lane_task;
    if (filter_of(finder, stretch->level->func, call->is_inside))
        error = keep_places(calls, stretch);
    if (!error)
        error = judge(finder, stretch->level->func, call, facts);
    if (stretch->level->named)
        drop_call(calls, call);
    return error;
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *event)
{
    const struct call *call = stretch->call;
    const uint8_t *values = fg_graph_values(event);
    struct fg_call_facts facts = {.raised = exit->kind == FG_EXIT_RAISE,
                                  .is_timed = call->is_whole && exit->kind != FG_EXIT_SUSPEND,
                                  .outcome = values,
                                  .outcome_end = fg_event_end(event)};

    return end_call(calls, stretch, &facts);
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct call *call = stretch->call;

    (void)gap, (void)until_ns;
    call->is_whole = false;
    if (!goes_on)
        return end_call(calls, stretch, &(struct fg_call_facts){0});
    return filter_of(finder_of(calls), stretch->level->func, call->is_inside) ? keep_places(calls, stretch)
                                                                              : 0;
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    struct fg_call_facts facts = {0};
    int error = judge(finder_of(calls), named->func, call, &facts);

    drop_call(calls, call);
    return error;
}

static void after_event(struct fg_call_assembler *calls, struct fg_call_thread *thread,
                        const struct fg_event *event)
{
    (void)calls;
    ((struct find_thread *)(void *)thread)->nr_events += fg_event_is_call(event->type);
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct find_thread),
    .names_calls = true,
    .links_levels = true,
    .damage = FG_DAMAGE_SKIPS,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .after_event = after_event,
};

/* ---- the whole */

/* The same tasks, all of them selected: a call may go on in any. */
static int copy_tasks(struct fg_name_table *copy, const struct fg_name_table *names)
{
    int error = fg_name_table_init(copy, 0, names->nr_known_tasks);

    for (uint32_t i = 0; i < names->nr_known_tasks && !error; i++) {
        struct fg_task_name task = names->tasks[i];

        task.selected = true;
        error = fg_name_table_add_task(copy, &task);
    }
    if (!error)
        error = fg_name_table_sort(copy);
    copy->select_unknown = true;
    return error;
}

static int find(struct finder *finder, const struct fg_trace_file *file, struct fg_name_table *names,
                char reason[FG_REASON_BYTES])
{
    struct fg_merge merge;
    int error = fg_merge_open(&merge, file, names);

    if (error) {
        snprintf(reason, FG_REASON_BYTES, "%s", merge.reason);
        fg_merge_close(&merge);
        return error;
    }
    fg_call_assembler_init(&finder->calls, &consumer, names, file->unit == FG_UNIT_NS);
    error = fg_calls_run(&consumer, &finder->calls, &merge, UINT64_MAX);
    fg_calls_each(&finder->calls, drop_call);
    fg_call_assembler_free(&finder->calls);
    fg_merge_close(&merge);
    return error;
}

int fg_find_calls(struct fg_selection *selection, const struct fg_trace_file *file,
                  const struct fg_name_table *names, char reason[FG_REASON_BYTES])
{
    struct finder *finder = calloc(1, sizeof(*finder));
    struct fg_name_table tasks = {0};
    int error = finder ? copy_tasks(&tasks, names) : -ENOMEM;

    if (!error) {
        finder->selection = selection;
        finder->marks = &selection->values->marks;
        error = find(finder, file, &tasks, reason);
    }
    fg_name_table_free(&tasks);
    free(finder);
    return error;
}
