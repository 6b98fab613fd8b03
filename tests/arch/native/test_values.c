/* Records of native calls with arguments and results: the words of the registers as the caller and the
 * function have set them, whichever of the two is on, in any thread and in handlers of signals.
 *
 * Broken by hand: arguments were in another order; fg_result_bytes() was always 8 (an int below zero had 8
 * bytes); names were not compared with what is redacted (a word was in the record); a return had no value. */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ring/record.h"
#include "engine/tracer/instance.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/native.h"
#include "support/session.h"
#include "target/target.h"

#define MOST_RECORDS 64u

/* A record of a call: its values as they are. */
struct seen {
    enum fg_record_kind kind;
    uint32_t bytes, task;
    uint8_t values[FG_RECORD_MAX_WORDS * 8];
};

static struct seen seen[MOST_RECORDS];
static uint32_t nr_seen;
static struct session session;
static struct fg_instance *instance;

static void on_record(struct tally *tally, uint32_t task, const struct fg_record *record, uint64_t lost)
{
    enum fg_record_kind kind = fg_record_kind(record->info);
    uint32_t words = fg_record_words(record->info);
    uint32_t before = sizeof(*record) / 8 + fg_record_fixed_words(kind);
    struct seen *one = &seen[nr_seen];

    (void)tally;
    CHECK_EQ(lost, 0);
    if (!(fg_record_kind_bits(kind) & (FG_KIND_BEGIN | FG_KIND_END)))
        return;
    CHECK(nr_seen++ < MOST_RECORDS);
    before += record->info & FG_RECORD_HAS_START ? 1 : 0;
    *one = (struct seen){.kind = kind, .task = task, .bytes = (words - before) * 8};
    CHECK_EQ(one->bytes != 0, (record->info & FG_RECORD_HAS_VALUES) != 0);
    memcpy(one->values, (const uint64_t *)record + before, one->bytes);
}

/* Records what @run calls. */
static void record(const struct fg_instance_settings *settings, void (*run)(void))
{
    struct fg_instance_config config = {.tracer = &fg_tracer_function_graph,
                                        .settings = *settings,
                                        .ring = {.buffer_bytes = 8u << 20, .mode = FG_RING_DROP}};
    const char *const filter[] = {"target_*:mod:target"};
    struct fg_pattern_error error;
    int handle;

    session_begin(&session);
    session.tally.on_record = on_record;
    nr_seen = 0;
    config.ring.directory = session.directory;
    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_FILTER, filter, 1, &error), 0);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    instance = fg_instance_get(handle);
    run();
    fg_instance_put(instance);
    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    session_end(&session);
}

static void check_no_values(uint32_t at, enum fg_record_kind kind)
{
    CHECK(at < nr_seen);
    CHECK_EQ(seen[at].kind, kind);
    CHECK_EQ(seen[at].bytes, 0);
}

static void check_word(const uint8_t *at, uint64_t word, uint8_t bytes)
{
    uint64_t found;

    CHECK_EQ(at[0], FG_VALUE_WORD);
    CHECK_EQ(at[1], bytes);
    memcpy(&found, at + 2, sizeof(found));
    CHECK_EQ(found, word);
}

/* The record of the call of a function with six arguments or more. */
static void check_arguments(uint32_t at, const uint64_t arguments[6])
{
    CHECK(at < nr_seen);
    CHECK_EQ(seen[at].kind, FG_RECORD_ENTRY);
    CHECK_EQ(seen[at].bytes, 64); /* six words, and zeros up to the next word of the record */
    for (uint32_t i = 0; i < 6; i++)
        check_word(seen[at].values + i * FG_VALUE_WORD_BYTES, arguments[i], 8);
    CHECK_EQ(seen[at].values[6 * FG_VALUE_WORD_BYTES], FG_VALUE_END);
}

static void check_result(uint32_t at, uint64_t result, uint8_t bytes)
{
    CHECK(at < nr_seen);
    CHECK_EQ(seen[at].kind, FG_RECORD_RETURN);
    CHECK_EQ(seen[at].bytes, 16);
    check_word(seen[at].values, result, bytes);
    CHECK_EQ(seen[at].values[FG_VALUE_WORD_BYTES], FG_VALUE_END);
}

static const uint64_t twelve[6] = {1, (uint64_t)-2, 3, 4, 5, 1ull << 62};
#define TWELVE_RESULT ((uint64_t)-3 + 9 + 16 + 25 + 6 * (1ull << 62))

static void call_twelve(void)
{
    CHECK_EQ((uint64_t)target_twelve(1, -2, 3, 4, 5, 1L << 62, 0, 0, 0, 0, 0, 0), TWELVE_RESULT);
}

static void test_arguments_alone(void)
{
    record(&(struct fg_instance_settings){.args = true}, call_twelve);
    CHECK_EQ(nr_seen, 2);
    check_arguments(0, twelve);
    check_no_values(1, FG_RECORD_RETURN);
}

static void call_for_results(void)
{
    target_twelve(1, -2, 3, 4, 5, 1L << 62, 0, 0, 0, 0, 0, 0);
    target_add(1, 2);
    target_add(1, -23);
    CHECK_EQ(target_sum(1, -22), -22);
}

static void test_results_alone(void)
{
    record(&(struct fg_instance_settings){.retval = true}, call_for_results);
    CHECK_EQ(nr_seen, 8);
    for (uint32_t i = 0; i < 8; i += 2)
        check_no_values(i, FG_RECORD_ENTRY);
    check_result(1, TWELVE_RESULT, 8);
    check_result(3, 3, 4);
    check_result(5, (uint64_t)-22, 8);
    check_result(7, UINT32_MAX - 21, 4);
}

static void set(bool args, bool retval)
{
    struct fg_instance_settings settings = fg_instance_settings(instance);

    settings.args = args;
    settings.retval = retval;
    CHECK_EQ(fg_instance_set_settings(instance, &settings), 0);
}

static void set_both(void *arg)
{
    (void)arg;
    set(true, true);
}

/* Options change between calls, and within one: its return has what the option says at that time. */
static void call_while_options_change(void)
{
    call_twelve();
    target_call(set_both, NULL);
    call_twelve();
    set(false, false);
    call_twelve();
}

static void test_options_change_while_it_runs(void)
{
    record(&(struct fg_instance_settings){0}, call_while_options_change);
    CHECK_EQ(nr_seen, 8);
    check_no_values(0, FG_RECORD_ENTRY);
    check_no_values(1, FG_RECORD_RETURN);
    check_no_values(2, FG_RECORD_ENTRY);
    CHECK_EQ(seen[3].bytes, 16);
    check_arguments(4, twelve);
    check_result(5, TWELVE_RESULT, 8);
    check_no_values(6, FG_RECORD_ENTRY);
    check_no_values(7, FG_RECORD_RETURN);
}

static void on_signal(int number)
{
    (void)number;
    call_twelve();
}

static void raise_signal(void *arg)
{
    (void)arg;
    CHECK_EQ(raise(SIGUSR1), 0);
}

static void *call_in_thread(void *arg)
{
    target_call(raise_signal, arg);
    return NULL;
}

static void call_in_handlers(void)
{
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK};
    stack_t stack = {.ss_sp = malloc(1 << 20), .ss_size = 1 << 20}, off = {.ss_flags = SS_DISABLE};
    pthread_t thread;

    CHECK_EQ(sigaltstack(&stack, NULL), 0);
    CHECK_EQ(sigaction(SIGUSR1, &action, NULL), 0);
    call_in_thread(NULL);
    CHECK_EQ(pthread_create(&thread, NULL, call_in_thread, NULL), 0);
    pthread_join(thread, NULL);
    CHECK_EQ(sigaltstack(&off, NULL), 0);
    free(stack.ss_sp);
}

static void test_threads_and_handlers(void)
{
    record(&(struct fg_instance_settings){.args = true, .retval = true}, call_in_handlers);
    CHECK_EQ(nr_seen, 8);
    CHECK(seen[0].task != seen[4].task);
    for (uint32_t at = 0; at < 8; at += 4) {
        check_word(seen[at].values, (uintptr_t)raise_signal, 8);
        check_arguments(at + 1, twelve);
        check_result(at + 2, TWELVE_RESULT, 8);
    }
}

static void throw(void *arg)
{
    (void)arg;
    target_throw(5);
}

static void call_that_throws(void)
{
    CHECK_EQ(target_catch(throw, NULL), 5);
}

/* The exception is in no register that is known. */
static void test_a_call_that_an_exception_ends_has_no_result(void)
{
    record(&(struct fg_instance_settings){.retval = true}, call_that_throws);
    CHECK_EQ(nr_seen, 4);
    check_no_values(2, FG_RECORD_RAISE);
    check_result(3, 5, 4);
}

static void call_redacted(void)
{
    target_add(1, 2);
    target_sum(1, 7);
}

static void test_words_are_redacted_by_their_names(void)
{
    struct fg_instance_settings settings = {.args = true, .retval = true};

    CHECK_EQ(fg_value_style_init(&settings.value_style, 0, 0, "arg2|_add"), 0);
    record(&settings, call_redacted);
    CHECK_EQ(nr_seen, 4);
    check_word(seen[0].values, 1, 8);
    CHECK_EQ(seen[0].values[FG_VALUE_WORD_BYTES], FG_VALUE_HIDDEN);
    CHECK_EQ(seen[0].values[FG_VALUE_WORD_BYTES + 1], FG_VALUE_WORD);
    CHECK_EQ(seen[1].values[0], FG_VALUE_HIDDEN);
    CHECK_EQ(seen[1].values[1], FG_VALUE_END);
    check_result(3, 7, 4);
}

int main(void)
{
    struct fg_native_object *object = native_begin();

    CHECK(native_meet(object, "*:mod:target") > 10);
    test_arguments_alone();
    test_results_alone();
    test_options_change_while_it_runs();
    test_a_call_that_an_exception_ends_has_no_result();
    test_words_are_redacted_by_their_names();
    if (NATIVE_STOPS)
        test_threads_and_handlers();
    return 0;
}
