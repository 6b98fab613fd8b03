/* See call_matcher.h. */
#include "tracedata/answers/call_matcher.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/core/pattern.h"

/* A call that is decided and waits to be taken. */
struct waiting {
    uint64_t number;
    uint32_t verdict;
};

struct fg_match_call {
    struct fg_match_call *parent;       /* NULL: it is a thread */
    struct fg_match_call *next;         /* that its parent made after it; or the next free one */
    struct fg_match_call *previous;     /* that its parent made before it */
    struct waiting *waiting;            /* it stands for these calls, which follow each other */
    size_t nr_batch, batch_capacity;    /* 0: it is one call */
    struct fg_match_call *first, *last; /* those that it made and that are not taken yet */
    uint64_t nr_waiting;                /* how many these are */
    uint64_t number;
    uint64_t before[2];                    /* the last ones that were taken */
    struct fg_match_candidate *candidates; /* by line, ascending */
    struct fg_places *places;              /* of what each calls */
    size_t n, capacity, places_capacity;
    uint32_t nr_running; /* candidates */
    bool has_ended, is_decided;
};

static struct fg_expected_line *line_of(const struct fg_call_matcher *matcher,
                                        const struct fg_match_candidate *candidate)
{
    return &matcher->expectation->lines[candidate->line];
}

/* ---- memory */

static void free_difference(struct fg_match_difference *difference)
{
    while (difference) {
        struct fg_match_difference *inner = difference->inner;

        free(difference);
        difference = inner;
    }
}

static void free_differences(struct fg_match_call *call)
{
    for (size_t i = 0; i < call->n; i++) {
        free_difference(call->candidates[i].difference);
        call->candidates[i].difference = NULL;
    }
}

static void free_places(struct fg_match_call *call)
{
    for (size_t i = 0; i < call->places_capacity; i++)
        free(call->places[i].spans);
    free(call->places);
    call->places = NULL;
    call->places_capacity = 0;
}

static void free_call(struct fg_match_call *call)
{
    free_differences(call);
    free_places(call);
    free(call->candidates);
    free(call->waiting);
    free(call);
}

static struct fg_match_call *new_call(struct fg_call_matcher *matcher)
{
    struct fg_match_call *call = matcher->free;

    if (!call)
        return calloc(1, sizeof(*call));
    matcher->free = call->next;
    *call = (struct fg_match_call){
        .candidates = call->candidates,
        .capacity = call->capacity,
        .places = call->places,
        .places_capacity = call->places_capacity,
    };
    return call;
}

static void recycle(struct fg_call_matcher *matcher, struct fg_match_call *call)
{
    free_differences(call);
    free(call->waiting);
    call->waiting = NULL;
    call->next = matcher->free;
    matcher->free = call;
}

void fg_call_matcher_free(struct fg_call_matcher *matcher)
{
    while (matcher->free) {
        struct fg_match_call *call = matcher->free;

        matcher->free = call->next;
        free_call(call);
    }
    free(matcher->next.spans);
    free(matcher->arguments.texts);
    free(matcher->met.lines);
    fg_match_verdicts_free(&matcher->verdicts);
    free(matcher->expected.lines);
    fg_text_free(&matcher->text);
}

/* ---- candidates */

static int add_candidate(struct fg_call_matcher *matcher, struct fg_match_call *call, uint32_t number)
{
    const struct fg_expected_line *line = &matcher->expectation->lines[number];
    struct fg_match_candidate *candidate;

    if (fg_array_reserve(&call->candidates, &call->capacity, call->n + 1) < 0)
        return -ENOMEM;
    candidate = &call->candidates[call->n];
    *candidate = (struct fg_match_candidate){.line = number, .fit = FG_FITS};
    if (line->has_arguments && !fg_expected_arguments(line, &matcher->arguments))
        candidate->fit = FG_WRONG_ARGUMENTS;
    call->n++;
    if (!line->has_items || candidate->fit != FG_FITS)
        return 0;
    if (fg_array_reserve_zeroed(&call->places, &call->places_capacity, call->n) < 0)
        return -ENOMEM;
    candidate->is_running = true;
    call->nr_running++;
    return fg_places_begin(matcher->expectation, line, &call->places[call->n - 1]);
}

/* What arguments are compared with is printed once. */
struct begin {
    uint32_t func;
    fg_match_print *print;
    const void *source;
    bool has_arguments;
};

static int look_at_arguments(struct fg_call_matcher *matcher, struct begin *begin)
{
    begin->has_arguments = true;
    matcher->text.bytes = 0;
    begin->print(&matcher->text, begin->source);
    return matcher->text.failed ? -ENOMEM : fg_split_arguments(&matcher->arguments, &matcher->text);
}

/* Makes the line a candidate if the call is of its function. */
static int try_line(struct fg_call_matcher *matcher, struct fg_match_call *call, uint32_t number,
                    struct begin *begin)
{
    const struct fg_expected_line *line = &matcher->expectation->lines[number];
    int error = 0;

    matcher->steps++;
    if (!fg_expected_function(matcher->expectation, line->name, begin->func))
        return 0;
    if (line->has_arguments && !begin->has_arguments)
        error = look_at_arguments(matcher, begin);
    return error ? error : add_candidate(matcher, call, number);
}

/* The lines that come at the places. */
static int try_places(struct fg_call_matcher *matcher, struct fg_match_call *call,
                      const struct fg_expected_line *around, const struct fg_places *places,
                      struct begin *begin)
{
    uint32_t last = FG_ANY_CALLS;
    int error = 0;

    for (size_t i = 0; i < places->n && !error; i++) {
        uint32_t line = fg_place_line(matcher->expectation, around, &places->spans[i]);

        if (line != FG_ANY_CALLS && line != last)
            error = try_line(matcher, call, line, begin);
        last = line != FG_ANY_CALLS ? line : last;
    }
    return error;
}

/* The lines that may come at the places after some calls of which nothing is known yet. */
static int try_later_places(struct fg_call_matcher *matcher, struct fg_match_call *call,
                            const struct fg_expected_line *around, const struct fg_places *places,
                            uint64_t nr_calls, struct begin *begin)
{
    uint32_t first = places->spans[0].item, last = places->spans[places->n - 1].item;
    int error = 0;

    for (; nr_calls && last < around->nr_items; nr_calls--)
        last = fg_places_last_reached(matcher->expectation, around, last + 1);
    for (uint32_t item = first; item <= last && item < around->nr_items && !error; item++)
        if (around->items[item] != FG_ANY_CALLS)
            error = try_line(matcher, call, around->items[item], begin);
    return error;
}

static int find_candidates(struct fg_call_matcher *matcher, struct fg_match_call *call, struct begin *begin)
{
    const struct fg_match_call *parent = call->parent;
    int error = 0;

    for (size_t i = 0; i < parent->n && !error; i++) {
        const struct fg_expected_line *around = line_of(matcher, &parent->candidates[i]);

        if (!parent->candidates[i].is_running)
            continue;
        matcher->steps += parent->places[i].n;
        error = fg_likely(!parent->nr_waiting)
                    ? try_places(matcher, call, around, &parent->places[i], begin)
                    : try_later_places(matcher, call, around, &parent->places[i], parent->nr_waiting, begin);
    }
    return error;
}

int fg_match_begin(struct fg_call_matcher *matcher, struct fg_match_call *parent, uint64_t number,
                   uint32_t func, fg_match_print *print_arguments, const void *source,
                   struct fg_match_call **begun)
{
    struct begin begin = {.func = func, .print = print_arguments, .source = source};
    struct fg_match_call *call;
    int error;

    *begun = NULL;
    if (!parent || !parent->nr_running)
        return 0;
    call = new_call(matcher);
    if (!call)
        return -ENOMEM;
    call->parent = parent;
    call->number = number;
    error = find_candidates(matcher, call, &begin);
    call->previous = parent->last;
    if (parent->last)
        parent->last->next = call;
    else
        parent->first = call;
    parent->last = call;
    parent->nr_waiting++;
    *begun = call;
    return error;
}

/* ---- differences */

static struct fg_match_candidate *candidate_of(const struct fg_match_call *call, uint32_t line)
{
    size_t low = 0, n = call->n;

    while (low < n) {
        size_t middle = low + (n - low) / 2;

        if (call->candidates[middle].line == line)
            return &call->candidates[middle];
        if (call->candidates[middle].line < line)
            low = middle + 1;
        else
            n = middle;
    }
    return NULL;
}

static int find_expected(struct fg_call_matcher *matcher, const struct fg_expected_line *around,
                         const struct fg_places *places)
{
    matcher->expected.n = 0;
    for (size_t i = 0; i < places->n; i++) {
        uint32_t line = fg_place_line(matcher->expectation, around, &places->spans[i]);

        if (line == FG_ANY_CALLS ||
            (matcher->expected.n && matcher->expected.lines[matcher->expected.n - 1] == line))
            continue;
        if (fg_array_reserve(&matcher->expected.lines, &matcher->expected.capacity, matcher->expected.n + 1) <
            0)
            return -ENOMEM;
        matcher->expected.lines[matcher->expected.n++] = line;
    }
    return 0;
}

/* The first of the lines to which the call is nearest. NULL: it is of another function than all. */
static struct fg_match_candidate *nearest_of(const struct fg_call_matcher *matcher,
                                             const struct fg_match_call *call)
{
    struct fg_match_candidate *nearest = NULL;

    for (size_t i = 0; call && i < matcher->expected.n; i++) {
        struct fg_match_candidate *candidate = candidate_of(call, matcher->expected.lines[i]);

        if (candidate && (!nearest || candidate->fit > nearest->fit))
            nearest = candidate;
    }
    return nearest;
}

/* Where what @parent called differs, as its candidate at @place: at @call, or at the end. NULL: memory is
 * short. */
static struct fg_match_difference *make_difference(struct fg_call_matcher *matcher,
                                                   const struct fg_match_call *parent, size_t place,
                                                   const struct fg_match_call *call)
{
    struct fg_match_difference *difference;
    struct fg_match_candidate *nearest;
    size_t n;

    if (find_expected(matcher, line_of(matcher, &parent->candidates[place]), &parent->places[place]) < 0)
        return NULL;
    nearest = nearest_of(matcher, call);
    n = nearest ? 1 : matcher->expected.n;
    difference = malloc(sizeof(*difference) + n * sizeof(difference->expected[0]));
    if (!difference)
        return NULL;
    *difference = (struct fg_match_difference){
        .got = call ? call->number : 0,
        .before = {parent->before[0], parent->before[1]},
        .what = !nearest                             ? FG_MATCH_call
                : nearest->fit == FG_WRONG_ARGUMENTS ? FG_MATCH_arguments
                                                     : FG_MATCH_result,
        .nr_expected = (uint32_t)n,
    };
    for (size_t i = 0; i < n; i++)
        difference->expected[i] = nearest ? nearest->line : matcher->expected.lines[i];
    if (nearest) {
        difference->inner = nearest->difference;
        nearest->difference = NULL;
    }
    return difference;
}

static int set_wrong_calls(struct fg_call_matcher *matcher, struct fg_match_call *parent, size_t place,
                           const struct fg_match_call *call)
{
    struct fg_match_candidate *candidate = &parent->candidates[place];

    candidate->difference = make_difference(matcher, parent, place, call);
    candidate->fit = FG_WRONG_CALLS;
    candidate->is_running = false;
    parent->nr_running--;
    return candidate->difference ? 0 : -ENOMEM;
}

/* ---- a call that is decided is taken by the one that made it */

static int find_met(struct fg_call_matcher *matcher, const struct fg_match_call *call)
{
    matcher->met.n = 0;
    if (fg_array_reserve(&matcher->met.lines, &matcher->met.capacity, call->n) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < call->n; i++)
        if (call->candidates[i].fit == FG_FITS)
            matcher->met.lines[matcher->met.n++] = call->candidates[i].line;
    return 0;
}

/* Whether the call is another one of the only line of which one may come: that is what most calls are. */
static bool take_one_more(struct fg_call_matcher *matcher, const struct fg_expected_line *around,
                          struct fg_places *places)
{
    struct fg_place_span *span = places->spans;
    uint32_t line = places->n == 1 ? fg_place_line(matcher->expectation, around, span) : FG_ANY_CALLS;

    if (line == FG_ANY_CALLS || matcher->met.n != 1 || matcher->met.lines[0] != line ||
        span->high + 1 >= matcher->expectation->lines[line].least)
        return false;
    span->low++;
    span->high++;
    return true;
}

static int take_as(struct fg_call_matcher *matcher, struct fg_match_call *parent, size_t place,
                   const struct fg_match_call *call)
{
    const struct fg_expected_line *around = line_of(matcher, &parent->candidates[place]);
    struct fg_places *places = &parent->places[place], last = *places;

    matcher->steps += places->n;
    if (take_one_more(matcher, around, places))
        return 0;
    if (fg_places_step(matcher->expectation, around, places, matcher->met.lines, matcher->met.n,
                       &matcher->next) < 0)
        return -ENOMEM;
    if (!matcher->next.n)
        return set_wrong_calls(matcher, parent, place, call);
    *places = matcher->next;
    matcher->next = last;
    return 0;
}

static int take(struct fg_call_matcher *matcher, struct fg_match_call *parent,
                const struct fg_match_call *call)
{
    int error = find_met(matcher, call);

    for (size_t i = 0; i < parent->n && !error; i++)
        if (parent->candidates[i].is_running)
            error = take_as(matcher, parent, i, call);
    parent->before[0] = parent->before[1];
    parent->before[1] = call->number;
    return error;
}

/* ---- calls that wait for one before them: 16 bytes each, and what is known of them once for all alike */

static void unlink_call(struct fg_match_call *call)
{
    struct fg_match_call *parent = call->parent;

    *(call->previous ? &call->previous->next : &parent->first) = call->next;
    *(call->next ? &call->next->previous : &parent->last) = call->previous;
}

/* Adds the calls of the next batch. */
static int append(struct fg_call_matcher *matcher, struct fg_match_call *batch, struct fg_match_call *next)
{
    if (fg_array_reserve(&batch->waiting, &batch->batch_capacity, batch->nr_batch + next->nr_batch) < 0)
        return -ENOMEM;
    memcpy(batch->waiting + batch->nr_batch, next->waiting, next->nr_batch * sizeof(*next->waiting));
    batch->nr_batch += next->nr_batch;
    unlink_call(next);
    recycle(matcher, next);
    return 0;
}

static bool has_differences(const struct fg_match_call *call)
{
    for (size_t i = 0; i < call->n; i++)
        if (call->candidates[i].difference)
            return true;
    return false;
}

/* A call that is decided waits for one before it: it becomes one of a batch. */
static int wait_decided(struct fg_call_matcher *matcher, struct fg_match_call *call)
{
    int error;

    free_places(call);
    if (has_differences(call))
        return 0;
    if (fg_array_reserve(&call->waiting, &call->batch_capacity, 1) < 0)
        return -ENOMEM;
    error = fg_match_verdict_find(&matcher->verdicts, call->candidates, call->n, &call->waiting->verdict);
    call->waiting->number = call->number;
    call->nr_batch = 1;
    if (!error && call->next && call->next->nr_batch)
        error = append(matcher, call, call->next);
    return !error && call->previous && call->previous->nr_batch ? append(matcher, call->previous, call)
                                                                : error;
}

static int take_batch(struct fg_call_matcher *matcher, struct fg_match_call *parent,
                      const struct fg_match_call *batch)
{
    int error = 0;

    for (size_t i = 0; i < batch->nr_batch && !error; i++) {
        const struct fg_match_verdict *verdict = &matcher->verdicts.places[batch->waiting[i].verdict];
        struct fg_match_call call = {
            .number = batch->waiting[i].number,
            .candidates = matcher->verdicts.candidates + verdict->first,
            .n = verdict->n,
        };

        error = take(matcher, parent, &call);
        parent->nr_waiting--;
    }
    return error;
}

static int take_decided(struct fg_call_matcher *matcher, struct fg_match_call *parent)
{
    int error = 0;

    while (!error && parent->first && parent->first->is_decided) {
        struct fg_match_call *call = parent->first;

        if (fg_unlikely(call->nr_batch)) {
            error = take_batch(matcher, parent, call);
        } else {
            error = take(matcher, parent, call);
            parent->nr_waiting--;
        }
        unlink_call(call);
        recycle(matcher, call);
    }
    return error;
}

/* There is no further call in it. */
static int decide(struct fg_call_matcher *matcher, struct fg_match_call *call)
{
    int error = 0;

    for (size_t i = 0; i < call->n && !error; i++)
        if (call->candidates[i].is_running &&
            !fg_places_has_end(&call->places[i], line_of(matcher, &call->candidates[i])))
            error = set_wrong_calls(matcher, call, i, NULL);
    call->is_decided = true;
    return error;
}

/* Decides a call that has ended, if all that it made are taken; then perhaps the one around it, too. */
static int settle(struct fg_call_matcher *matcher, struct fg_match_call *call)
{
    int error = 0;

    while (!error && call->has_ended && !call->first) {
        struct fg_match_call *parent = call->parent;

        error = decide(matcher, call);
        if (error || !parent)
            return error;
        error = parent->first == call ? take_decided(matcher, parent) : wait_decided(matcher, call);
        call = parent;
    }
    return error;
}

static bool is_any(const char *glob)
{
    return glob[0] == '*' && !glob[1];
}

static bool has_result(struct fg_call_matcher *matcher, const struct fg_expected_line *line, bool *is_printed,
                       enum fg_call_end ended, fg_match_print *print, const void *source)
{
    if (line->raises && ended != FG_CALL_raise)
        return false;
    if (!line->result)
        return true;
    if (ended != (line->raises ? FG_CALL_raise : FG_CALL_return))
        return false;
    if (is_any(line->result))
        return true;
    if (!*is_printed) {
        matcher->text.bytes = 0;
        print(&matcher->text, source);
        fg_text_char(&matcher->text, 0);
        *is_printed = true;
    }
    return !matcher->text.failed && fg_glob_match(line->result, matcher->text.data);
}

int fg_match_end(struct fg_call_matcher *matcher, struct fg_match_call *call, enum fg_call_end ended,
                 fg_match_print *print_result, const void *source)
{
    bool is_printed = false;

    for (size_t i = 0; i < call->n; i++) {
        struct fg_match_candidate *candidate = &call->candidates[i];

        if (candidate->fit == FG_WRONG_ARGUMENTS ||
            has_result(matcher, line_of(matcher, candidate), &is_printed, ended, print_result, source))
            continue;
        free_difference(candidate->difference);
        candidate->difference = NULL;
        candidate->fit = FG_WRONG_RESULT;
        call->nr_running -= candidate->is_running;
        candidate->is_running = false;
    }
    if (matcher->text.failed)
        return -ENOMEM;
    call->has_ended = true;
    return settle(matcher, call);
}

/* ---- threads */

struct fg_match_call *fg_match_thread_new(struct fg_call_matcher *matcher, const uint8_t *sections)
{
    const struct fg_expectation *expectation = matcher->expectation;
    struct fg_match_call *thread = new_call(matcher);

    for (uint32_t i = 0; thread && i < expectation->nr_sections; i++)
        if (sections[i] &&
            add_candidate(matcher, thread, expectation->nr_lines - expectation->nr_sections + i) < 0) {
            free_call(thread);
            thread = NULL;
        }
    return thread;
}

int fg_match_thread_end(struct fg_call_matcher *matcher, struct fg_match_call *thread)
{
    thread->has_ended = true;
    return settle(matcher, thread);
}

const struct fg_match_difference *fg_match_thread_difference(const struct fg_call_matcher *matcher,
                                                             const struct fg_match_call *thread,
                                                             uint32_t section)
{
    const struct fg_expectation *expectation = matcher->expectation;
    const struct fg_match_candidate *candidate =
        candidate_of(thread, expectation->nr_lines - expectation->nr_sections + section);

    return candidate ? candidate->difference : NULL;
}

void fg_match_thread_free(struct fg_match_call *thread)
{
    struct fg_match_call *call;

    if (!thread)
        return;
    while ((call = thread->first) != NULL) {
        thread->first = call->next;
        if (call->first) { /* what it made comes in its place */
            call->last->next = thread->first;
            thread->first = call->first;
        }
        free_call(call);
    }
    free_call(thread);
}
