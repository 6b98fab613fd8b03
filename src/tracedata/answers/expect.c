/* See expect.h. */
#include "tracedata/answers/expect.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/base/values.h"
#include "tracedata/calls/call_events.h"
#include "tracedata/text/call_text.h"

#define STEPS_AT_ONCE (64u << 20) /* between checks for a signal */

struct call {
    struct fg_match_call *match; /* NULL: none of the lines is about it */
    uint64_t number;
    uint32_t task;   /* in which its latest stretch ended */
    uint32_t thread; /* of an outermost call: its thread; or FG_NO_THREAD */
    bool is_outermost;
};

struct fg_expect {
    struct fg_call_assembler calls;
    struct fg_call_matcher matcher;
    struct fg_merge *merge;
    const struct fg_expect_input *input;
    struct fg_expect_thread *threads;
    uint8_t *called;
    uint64_t nr_calls;
    struct fg_moved_call *moved;
    size_t nr_moved, moved_capacity;
};

static const struct fg_call_consumer consumer;

static inline struct fg_expect *expect_of(struct fg_call_assembler *calls)
{
    return (struct fg_expect *)(void *)calls;
}

/* ---- texts, as call_columns.h has them */

struct begin_source {
    const struct fg_name_table *names;
    const struct fg_event *event;
    uint32_t func;
    bool is_late;
};

static void print_arguments(struct fg_text *text, const void *begin)
{
    const struct begin_source *source = begin;

    if (!source->is_late)
        fg_put_arguments(text, source->names, source->func, fg_graph_values(source->event),
                         fg_event_end(source->event));
}

static void strip_quotes(struct fg_text *text)
{
    size_t first = 0;

    while (text->bytes && text->data[text->bytes - 1] == '\'')
        text->bytes--;
    while (first < text->bytes && text->data[first] == '\'')
        first++;
    text->bytes -= first;
    if (first)
        memmove(text->data, text->data + first, text->bytes);
}

static void print_result(struct fg_text *text, const void *event)
{
    fg_put_result(text, event, false);
}

static void print_exception(struct fg_text *text, const void *event)
{
    fg_put_result(text, event, true);
    strip_quotes(text);
}

/* ---- threads of outermost calls */

static uint32_t thread_of(const struct fg_expect *expect, uint32_t task)
{
    return task < expect->input->nr_tasks ? expect->input->threads[task] : FG_NO_THREAD;
}

static int compare_moved(const void *a, const void *b)
{
    const struct fg_moved_call *one = a, *other = b;

    return (one->number > other->number) - (one->number < other->number);
}

/* The task in which an outermost call ends that begins in @task. */
static uint32_t last_task_of(const struct fg_expect *expect, uint64_t number, uint32_t task)
{
    const struct fg_expect_input *input = expect->input;
    const struct fg_moved_call *found = input->nr_moved
                                            ? bsearch(&(struct fg_moved_call){.number = number}, input->moved,
                                                      input->nr_moved, sizeof(*input->moved), compare_moved)
                                            : NULL;

    return found ? found->task : task;
}

static int begin_outermost(struct fg_expect *expect, struct call *call)
{
    struct fg_expect_thread *thread;

    call->thread = thread_of(expect, last_task_of(expect, call->number, call->task));
    if (call->thread == FG_NO_THREAD)
        return 0;
    thread = &expect->threads[call->thread];
    if (thread->first)
        return 0;
    thread->first = call->number;
    thread->match = fg_match_thread_new(&expect->matcher,
                                        expect->input->sections +
                                            call->thread * (size_t)expect->input->expectation->nr_sections);
    return thread->match ? 0 : -ENOMEM;
}

static int end_outermost(struct fg_expect *expect, const struct call *call)
{
    if (call->thread != FG_NO_THREAD && expect->threads[call->thread].first == call->number)
        expect->threads[call->thread].task = call->task;
    if (fg_likely(thread_of(expect, call->task) == call->thread))
        return 0;
    if (fg_array_reserve(&expect->moved, &expect->moved_capacity, expect->nr_moved + 1) < 0)
        return -ENOMEM;
    expect->moved[expect->nr_moved++] = (struct fg_moved_call){call->number, call->task};
    return 0;
}

/* ---- what becomes of calls */

FG_ASSEMBLE int begin(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                      const struct fg_graph_data *graph, const void *event)
{
    struct fg_expect *expect = expect_of(calls);
    const struct fg_call_level *level = stretch->level;
    struct fg_call_level *parent = fg_parent_level(&consumer, stretch);
    struct fg_match_call *around = parent ? ((struct call *)fg_call_of(calls, parent))->match : NULL;
    struct call *call = stretch->call;

    *call = (struct call){.number = ++expect->nr_calls, .is_outermost = !parent};
    expect->called[level->func] = 1;
    if (!parent) {
        call->task = fg_task_number(calls, stretch->thread);
        if (begin_outermost(expect, call) < 0)
            return -ENOMEM;
        around = call->thread == FG_NO_THREAD ? NULL : expect->threads[call->thread].match;
    }
    if (fg_likely(!around))
        return 0;
    return fg_match_begin(&expect->matcher, around, call->number, level->func, print_arguments,
                          &(struct begin_source){calls->names, event, graph->func, level->is_late},
                          &call->match);
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
    (void)graph, (void)event;
    ((struct call *)stretch->call)->task = fg_task_number(calls, stretch->thread);
    return 0;
}

FG_ASSEMBLE int end_call(struct fg_expect *expect, const struct call *call, enum fg_call_end ended,
                         const void *event)
{
    int error = call->is_outermost ? end_outermost(expect, call) : 0;

    if (error || fg_likely(!call->match))
        return error;
    return fg_match_end(&expect->matcher, call->match, ended,
                        ended == FG_CALL_raise ? print_exception : print_result, event);
}

FG_ASSEMBLE int end(struct fg_call_assembler *calls, const struct fg_stretch *stretch,
                    const struct fg_graph_data *exit, const void *event)
{
    struct call *call = stretch->call;

    if (call->is_outermost)
        call->task = fg_task_number(calls, stretch->thread);
    return end_call(expect_of(calls), call, fg_call_end_of(exit->kind), event);
}

static int give_up(struct fg_call_assembler *calls, const struct fg_stretch *stretch, enum fg_call_gap gap,
                   uint64_t until_ns, bool goes_on)
{
    struct call *call = stretch->call;

    (void)gap, (void)until_ns;
    call->task = fg_task_number(calls, stretch->thread);
    return goes_on ? 0 : end_call(expect_of(calls), call, FG_CALL_open, NULL);
}

static int forget(struct fg_call_assembler *calls, const struct fg_named_call *named, void *call)
{
    (void)named;
    return end_call(expect_of(calls), call, FG_CALL_open, NULL);
}

static const struct fg_call_consumer consumer = {
    .call_bytes = sizeof(struct call),
    .thread_bytes = sizeof(struct fg_call_thread),
    .names_calls = true,
    .begin = begin,
    .resume = resume,
    .suspend = suspend,
    .end = end,
    .give_up = give_up,
    .forget = forget,
    .pid = fg_event_pid,
    .function_of = fg_known_function,
};

/* ---- the whole */

int fg_expect_new(struct fg_merge *merge, const struct fg_expect_input *input, struct fg_expect **expect)
{
    struct fg_expect *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    made->merge = merge;
    made->input = input;
    made->matcher =
        (struct fg_call_matcher){.expectation = input->expectation, .most_steps = input->most_steps};
    made->threads = calloc(input->nr_threads + (size_t)1, sizeof(*made->threads));
    made->called = calloc(merge->names->nr_functions + (size_t)1, 1);
    fg_call_assembler_init(&made->calls, &consumer, merge->names, merge->file->unit == FG_UNIT_NS);
    if (!made->threads || !made->called) {
        fg_expect_free(made);
        return -ENOMEM;
    }
    *expect = made;
    return 0;
}

void fg_expect_free(struct fg_expect *expect)
{
    if (!expect)
        return;
    for (uint32_t i = 0; expect->threads && i < expect->input->nr_threads; i++)
        fg_match_thread_free(expect->threads[i].match);
    fg_call_matcher_free(&expect->matcher);
    fg_call_assembler_free(&expect->calls);
    free(expect->threads);
    free(expect->called);
    free(expect->moved);
    free(expect);
}

static int finish(struct fg_expect *expect)
{
    int error = 0;

    for (uint32_t i = 0; i < expect->input->nr_threads && !error; i++)
        if (expect->threads[i].match)
            error = fg_match_thread_end(&expect->matcher, expect->threads[i].match);
    if (expect->nr_moved)
        qsort(expect->moved, expect->nr_moved, sizeof(*expect->moved), compare_moved);
    return error;
}

int fg_expect_run(struct fg_expect *expect, uint64_t events)
{
    uint64_t enough = expect->matcher.steps + STEPS_AT_ONCE;

    while (events-- && expect->matcher.steps < enough) {
        int result = fg_calls_add_next(&consumer, &expect->calls, expect->merge);

        if (fg_call_matcher_is_over(&expect->matcher))
            return 0;
        if (result == 0)
            result = fg_calls_finish(&expect->calls);
        else if (result > 0)
            continue;
        return result ? result : finish(expect);
    }
    return 1;
}

const struct fg_call_matcher *fg_expect_matcher(const struct fg_expect *expect)
{
    return &expect->matcher;
}

const struct fg_expect_thread *fg_expect_threads(const struct fg_expect *expect)
{
    return expect->threads;
}

const struct fg_moved_call *fg_expect_moved(const struct fg_expect *expect, size_t *n)
{
    *n = expect->nr_moved;
    return expect->moved;
}

uint64_t fg_expect_calls(const struct fg_expect *expect)
{
    return expect->nr_calls;
}

const uint8_t *fg_expect_called(const struct fg_expect *expect)
{
    return expect->called;
}
