/* Promises: calls are what lines say where trying all ways says so, in whatever order they end. The
 * difference is the first call with which no way is left. Wide counts cost no more than narrow ones. What is
 * left in the middle of a trace is freed. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "support/spool_bytes.h"
#include "tracedata/answers/call_matcher.h"

#define ROUNDS 4000
#define MOST_LINES 64u
#define MOST_CALLS 64u
#define MANY 10000u

/* ---- random lines and calls */

struct model_call {
    struct model_call *below[4];
    struct fg_match_call *match;
    uint32_t func, number, n;
    enum fg_call_end ended;
};

static struct fg_expected_name names[] = {{{"a", NULL}}, {{"b", NULL}}, {{"*", NULL}}, {{"b", "*.a"}}};
static const char *functions[] = {"a", "b", "m.a"};
static struct fg_expected_line lines[MOST_LINES];
static uint32_t items[MOST_LINES][4];
static struct model_call calls[MOST_CALLS];
static uint32_t nr_lines, nr_calls;

static const struct {
    uint32_t least, most;
} counts[] = {{1, 1}, {1, 1}, {0, 1}, {2, 2}, {0, 0}, {1, 3}, {0, FG_ANY_NUMBER}, {2, FG_ANY_NUMBER}};

static void fill_items(struct fg_expected_line *line, uint32_t *numbers, unsigned levels);

static uint32_t make_line(unsigned levels)
{
    uint32_t number = nr_lines++, count = fg_test_chance() % 8;
    struct fg_expected_line *line = &lines[number];

    *line = (struct fg_expected_line){
        .name = fg_test_chance() % 4,
        .least = counts[count].least,
        .most = counts[count].most,
        .result = fg_test_chance() % 4 ? NULL : "b*",
        .raises = fg_test_chance() % 8 == 0,
    };
    if (levels && fg_test_chance() % 2)
        fill_items(line, items[number], levels - 1);
    return number;
}

static void fill_items(struct fg_expected_line *line, uint32_t *numbers, unsigned levels)
{
    uint32_t n = fg_test_chance() % 4;

    line->has_items = true;
    line->items = numbers;
    for (uint32_t i = 0; i < n; i++)
        if (nr_lines < MOST_LINES - 1)
            numbers[line->nr_items++] = fg_test_chance() % 4 ? make_line(levels) : FG_ANY_CALLS;
}

static struct model_call *make_call(unsigned levels)
{
    struct model_call *call = &calls[nr_calls++];
    uint32_t n = levels ? fg_test_chance() % 5 : 0;

    *call = (struct model_call){.func = fg_test_chance() % 3,
                                .ended = fg_test_chance() % 3 ? FG_CALL_return : FG_CALL_raise};
    while (call->n < n && nr_calls < MOST_CALLS)
        call->below[call->n++] = make_call(levels - 1);
    return call;
}

/* ---- the model: all ways */

static bool is_met(const struct fg_expected_line *around, uint32_t item, uint32_t count,
                   struct model_call *const *below, uint32_t n);

static const char *result_of(const struct model_call *call)
{
    return call->func ? "bb" : "aa";
}

static bool fits(uint32_t number, const struct model_call *call)
{
    static const bool has_name[4][3] = {{1, 0, 0}, {0, 1, 0}, {1, 1, 1}, {0, 1, 1}};
    const struct fg_expected_line *line = &lines[number];

    if (!has_name[line->name][call->func] || line->raises > (call->ended == FG_CALL_raise) ||
        (line->result && (line->raises != (call->ended == FG_CALL_raise) || result_of(call)[0] != 'b')))
        return false;
    return !line->has_items || is_met(line, 0, 0, call->below, call->n);
}

static bool is_met(const struct fg_expected_line *around, uint32_t item, uint32_t count,
                   struct model_call *const *below, uint32_t n)
{
    const struct fg_expected_line *line;

    if (item == around->nr_items)
        return n == 0;
    if (around->items[item] == FG_ANY_CALLS)
        return is_met(around, item + 1, 0, below, n) || (n && is_met(around, item, 0, below + 1, n - 1));
    line = &lines[around->items[item]];
    return (count >= line->least && is_met(around, item + 1, 0, below, n)) ||
           (count < line->most && n && fits(around->items[item], below[0]) &&
            is_met(around, item, count + 1, below + 1, n - 1));
}

/* Whether some calls more could meet the lines: an item at the end stands for any. */
static bool may_be_met(const struct fg_expected_line *around, uint32_t item, uint32_t count,
                       struct model_call *const *below, uint32_t n)
{
    const struct fg_expected_line *line;

    if (!n)
        return true;
    if (item == around->nr_items)
        return false;
    if (around->items[item] == FG_ANY_CALLS)
        return may_be_met(around, item + 1, 0, below, n) || may_be_met(around, item, 0, below + 1, n - 1);
    line = &lines[around->items[item]];
    return (count >= line->least && may_be_met(around, item + 1, 0, below, n)) ||
           (count < line->most && fits(around->items[item], below[0]) &&
            may_be_met(around, item, count + 1, below + 1, n - 1));
}

/* ---- the matcher */

struct run {
    struct fg_call_matcher matcher;
    struct model_call *late[MOST_CALLS]; /* that end later than those around them */
    uint32_t nr_late, nr_begun;
};

static void print(struct fg_text *text, const void *source)
{
    fg_text_puts(text, source);
}

static void end(struct run *run, struct model_call *call)
{
    if (call->match)
        assert(fg_match_end(&run->matcher, call->match, call->ended, print, result_of(call)) == 0);
}

static void feed(struct run *run, struct model_call *call, struct fg_match_call *around)
{
    call->number = ++run->nr_begun;
    assert(fg_match_begin(&run->matcher, around, call->number, call->func, print, "", &call->match) == 0);
    for (uint32_t i = 0; i < call->n; i++)
        feed(run, call->below[i], call->match);
    if (fg_test_chance() % 4)
        end(run, call);
    else
        run->late[run->nr_late++] = call;
}

static void end_late(struct run *run)
{
    while (run->nr_late) {
        uint32_t place = fg_test_chance() % run->nr_late;
        struct model_call *call = run->late[place];

        run->late[place] = run->late[--run->nr_late];
        end(run, call);
    }
}

static void check(const struct fg_match_difference *found, const struct fg_expected_line *section,
                  const struct model_call *outermost)
{
    uint32_t n = 0;

    assert(is_met(section, 0, 0, outermost->below, outermost->n) == !found);
    if (!found)
        return;
    while (n < outermost->n && may_be_met(section, 0, 0, outermost->below, n + 1))
        n++;
    assert(found->got == (n < outermost->n ? outermost->below[n]->number : 0));
}

static void test_all_ways(void)
{
    static const uint8_t sections[] = {1};
    unsigned met = 0;

    for (int round = 0; round < ROUNDS; round++) {
        uint8_t *known[3] = {NULL};
        struct fg_expectation expectation = {.names = names,
                                             .lines = lines,
                                             .functions = functions,
                                             .known = known,
                                             .nr_names = 4,
                                             .nr_sections = 1,
                                             .nr_functions = 3};
        struct run run = {.matcher = {.expectation = &expectation, .most_steps = UINT64_MAX}};
        struct fg_expected_line section = {.most = 1};
        struct fg_match_call *thread;
        struct model_call *outermost;

        nr_lines = nr_calls = 0;
        outermost = make_call(3);
        fill_items(&section, items[MOST_LINES - 1], 2);
        lines[nr_lines++] = section;
        expectation.nr_lines = nr_lines;
        thread = fg_match_thread_new(&run.matcher, sections);
        assert(thread);
        for (uint32_t i = 0; i < outermost->n; i++)
            feed(&run, outermost->below[i], thread);
        if (round % 8) {
            end_late(&run);
            assert(fg_match_thread_end(&run.matcher, thread) == 0);
            check(fg_match_thread_difference(&run.matcher, thread, 0), &section, outermost);
            met += !fg_match_thread_difference(&run.matcher, thread, 0);
        } /* else the reading was interrupted */
        fg_match_thread_free(thread);
        fg_call_matcher_free(&run.matcher);
        for (int i = 0; i < 3; i++)
            free(known[i]);
    }
    assert(met > ROUNDS / 50 && met < ROUNDS * 7 / 8 - ROUNDS / 50);
}

/* ---- hostile lines */

static uint64_t steps_of(uint32_t n, uint32_t least, uint32_t most, uint32_t nr)
{
    static const uint8_t sections[] = {1};
    struct fg_expected_line *many = calloc(n + 1, sizeof(*many));
    uint32_t *numbers = calloc(n, sizeof(*numbers));
    uint8_t *known[3] = {NULL};
    struct fg_expectation expectation = {.names = names,
                                         .lines = many,
                                         .functions = functions,
                                         .known = known,
                                         .nr_names = 4,
                                         .nr_lines = n + 1,
                                         .nr_sections = 1,
                                         .nr_functions = 3};
    struct fg_call_matcher matcher = {.expectation = &expectation, .most_steps = UINT64_MAX};
    struct fg_match_call *thread, *call;

    assert(many && numbers);
    for (uint32_t i = 0; i < n; i++) {
        many[i] = (struct fg_expected_line){.least = least, .most = most};
        numbers[i] = i;
    }
    many[n] = (struct fg_expected_line){.has_items = true, .items = numbers, .nr_items = n};
    thread = fg_match_thread_new(&matcher, sections);
    for (uint32_t i = 1; i <= nr; i++) {
        assert(fg_match_begin(&matcher, thread, i, 0, print, "", &call) == 0);
        assert(fg_match_end(&matcher, call, FG_CALL_return, print, "") == 0);
    }
    assert(fg_match_thread_end(&matcher, thread) == 0);
    assert(!fg_match_thread_difference(&matcher, thread, 0) == (least == 0));
    fg_match_thread_free(thread);
    fg_call_matcher_free(&matcher);
    free(known[0]);
    free(numbers);
    free(many);
    return matcher.steps;
}

static void test_many_lines_and_wide_counts(void)
{
    assert(steps_of(3, 0, 999999999, 1000) <= steps_of(3, 0, 2000, 1000));
    assert(steps_of(MANY, 0, 1000, 10) <= 4ull * MANY * 10);
    assert(steps_of(MANY, 1, 1, 100) <= 100 * 8);
}

int main(void)
{
    test_all_ways();
    test_many_lines_and_wide_counts();
    return 0;
}
