/* See answer_calls.h. */
#include "tracedata/answers/answer_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "tracedata/answers/value_bytes.h"
#include "tracedata/calls/call_events.h"

static const struct fg_call_consumer consumer;

static inline struct fg_answer *answer_of(struct fg_call_assembler *calls)
{
    return (struct fg_answer *)(void *)calls;
}

static inline uint32_t function_of(const struct fg_call_assembler *calls, uint32_t func)
{
    return fg_is_import(calls->names, func) ? func : fg_known_function(calls, func);
}

static void drop(struct fg_answer *answer, struct fg_answer_call *call)
{
    if (answer->ops->drop)
        answer->ops->drop(call);
    for (unsigned i = 0; i < FG_NR_ANSWER_SLOTS; i++)
        call->slots[i] = NULL;
}

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *source)
{
    struct fg_answer *answer = answer_of(calls);
    const struct fg_event *event = source;
    const struct fg_call_level *level = stretch->level;
    struct fg_answer_call *call = stretch->call;
    struct fg_text arguments = call->arguments;

    arguments.bytes = 0;
    *call = (struct fg_answer_call){
        .number = ++answer->nr_calls,
        .begin_ns = fg_begins_ns(level, graph, event->time_ns),
        .func = level->func,
        .caller_line = level->is_late || graph->caller == FG_FUNC_UNKNOWN ? 0 : graph->caller_place,
        .resumes = level->is_resumed,
        .has_parent = fg_parent_level(&consumer, stretch) != NULL,
        .is_whole = fg_begins_whole(level, graph),
        .has_arguments = !level->is_late && !level->is_resumed,
        .arguments = arguments,
    };
    if (call->has_arguments && fg_answer_keeps_arguments(answer, level->func)) {
        const uint8_t *values = fg_graph_values(event);

        fg_text_put(&call->arguments, (const char *)values, fg_values_bytes(values, fg_event_end(event)));
        if (call->arguments.failed)
            return -ENOMEM;
    }
    return answer->ops->begin ? answer->ops->begin(answer, call) : 0;
}

static int resume(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                  const struct fg_graph_data *graph, const void *event)
{
    (void)calls, (void)event;
    ((struct fg_answer_call *)stretch->call)->resumes += fg_is_resume(stretch->level, graph);
    return 0;
}

static int suspend(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                   const struct fg_graph_data *graph, const void *event)
{
    (void)calls, (void)graph, (void)event;
    ((struct fg_answer_call *)stretch->call)->ran_ns += stretch->ran_ns;
    return 0;
}

static int end_call(struct fg_answer *answer, const struct fg_stretch *stretch, struct fg_answer_end *end)
{
    struct fg_call_level *parent = fg_parent_level(&consumer, stretch);
    int error;

    end->stretch = stretch;
    end->parent = parent ? fg_call_of(&answer->calls, parent) : NULL;
    end->task = fg_task_number(&answer->calls, stretch->thread);
    answer->nr_open += end->ended == FG_CALL_open;
    error = answer->ops->end(answer, end);
    drop(answer, end->call);
    if (stretch->level->named)
        fg_text_free(&end->call->arguments);
    return error;
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *source)
{
    const struct fg_event *event = source;
    struct fg_answer_call *call = stretch->call;
    struct fg_answer_end ended = {
        .call = call,
        .end_ns = event->time_ns,
        .ended = fg_call_end_of(exit->kind),
        .values = fg_graph_values(event),
    };

    ended.values_end = ended.values + fg_values_bytes(ended.values, fg_event_end(event));
    ended.is_discarded = fg_values_are_discarded(ended.values_end, fg_event_end(event));
    call->ran_ns += stretch->ran_ns;
    return end_call(answer_of(calls), stretch, &ended);
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct fg_answer_call *call = stretch->call;

    (void)gap, (void)until_ns;
    call->ran_ns += stretch->ran_ns;
    call->is_whole = false;
    if (goes_on)
        return 0;
    return end_call(
        answer_of(calls), stretch,
        &(struct fg_answer_end){.call = call, .end_ns = stretch->thread->last_ns, .ended = FG_CALL_open});
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    struct fg_answer *answer = answer_of(calls);
    struct fg_call_thread *thread = fg_call_thread_at(&consumer, calls, named->thread);
    struct fg_call_level level = {.func = ((struct fg_answer_call *)call)->func};
    struct fg_stretch stretch = {.thread = thread, .level = &level, .call = call, .depth = UINT32_MAX};
    struct fg_answer_end ended = {
        .call = call,
        .stretch = &stretch,
        .end_ns = named->last_ns,
        .task = fg_task_number(calls, thread),
        .ended = FG_CALL_open,
    };
    int error;

    answer->nr_open++;
    answer->nr_suspended++;
    error = answer->ops->end(answer, &ended);
    drop(answer, call);
    fg_text_free(&((struct fg_answer_call *)call)->arguments);
    return error;
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct fg_answer_call),
    .thread_bytes = sizeof(struct fg_call_thread),
    .names_calls = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .function_of = function_of,
};

void fg_answer_init(struct fg_answer *answer, struct fg_merge *merge, const struct fg_answer_ops *ops,
                    const uint8_t *function_mask)
{
    fg_call_assembler_init(&answer->calls, &consumer, merge->names, merge->file->unit == FG_UNIT_NS);
    answer->merge = merge;
    answer->ops = ops;
    answer->function_mask = function_mask;
    answer->nr_functions = merge->names->nr_functions;
}

static void free_call(struct fg_call_assembler *calls, void *call)
{
    drop(answer_of(calls), call);
    fg_text_free(&((struct fg_answer_call *)call)->arguments);
}

void fg_answer_free(struct fg_answer *answer)
{
    if (!answer->calls.consumer)
        return;
    fg_calls_each(&answer->calls, free_call);
    fg_call_assembler_free(&answer->calls);
}

bool fg_answer_each_caller(struct fg_answer *answer, const struct fg_stretch *stretch,
                           bool (*visit)(const struct fg_answer_call *caller, const void *argument),
                           const void *argument)
{
    for (uint32_t depth = stretch->depth == UINT32_MAX ? 0 : stretch->depth; depth--;) {
        struct fg_call_level *level = fg_level_at(&consumer, stretch->thread, depth);

        if (level->is_open && visit(fg_call_of(&answer->calls, level), argument))
            return true;
    }
    return false;
}

int fg_answer_run(struct fg_answer *answer, uint64_t events)
{
    return fg_calls_run(&consumer, &answer->calls, answer->merge, events);
}
