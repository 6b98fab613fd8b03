/* Events that other events make: matches of two events by a key make a synthetic one, each once and with the
 * values of both; an event on its fields is made of those that a filter accepts; no event makes itself.
 *
 * Fails if a variable is taken twice or lost, a listener is called after it was removed (ASan), or a chain of
 * events that make each other has no end. */
#include <errno.h>
#include <sched.h>

#include "engine/event/eprobe.h"
#include "engine/event/probe_event.h"
#include "engine/tracer/instance_control.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/sim_arch.h"

enum { NR_THREADS = 8, NR_JOBS = 2000, JOB_AT = 16 };

static struct fg_func *funcs[2];
static struct fg_instance *instance;

/* ---- two events, at the entries of two functions: their field is the number of the thread's job */

static _Thread_local uint64_t job;

static uint32_t fetch(const void *program, const struct ftrace_regs *regs, uint32_t func,
                      const uint8_t *entry_data, uint8_t *image)
{
    (void)program, (void)regs, (void)func, (void)entry_data;
    memcpy(image + JOB_AT, &job, sizeof(job));
    return JOB_AT + sizeof(job);
}

static const struct fg_fetch_ops fetch_ops = {fetch, NULL};

struct source {
    struct fg_event *event;
    struct fg_probe_event probe;
};

static void source_begin(struct source *source, const char *name, const struct fg_func *func)
{
    struct fg_fprobe_filter filter = {0};
    const char *reason;
    size_t column;

    memset(source, 0, sizeof(*source));
    CHECK_EQ(fg_event_new("q", name, "u64 job 0 16", JOB_AT, &source->event), 0);
    fg_probe_event_init(&source->probe, source->event, &fetch_ops, NULL, false, 0);
    CHECK_EQ(fg_patterns_add(&filter.filter, func->name, &reason, &column), 0);
    CHECK_EQ(fg_fprobe_register(&source->probe.fp, NULL, &filter), 0);
}

static void source_end(struct source *source)
{
    CHECK_EQ(fg_fprobe_unregister(&source->probe.fp), 0);
    fg_event_free(source->event);
}

/* ---- terms, histograms, made events */

static struct fg_hist_term field_term(uint16_t offset)
{
    return (struct fg_hist_term){
        .nr_steps = 1,
        .kind = FG_HIST_KIND_NUMBER,
        .steps = {{.op = FG_HIST_FIELD, .field = {.offset = offset, .type = FG_FIELD_U64}}}};
}

static struct fg_hist_term variable_term(uint8_t index)
{
    return (struct fg_hist_term){
        .nr_steps = 1, .kind = FG_HIST_KIND_NUMBER, .steps = {{.op = FG_HIST_VARIABLE, .index = index}}};
}

/* keys: the u64 at @key_at; a variable if @variable says so */
static struct fg_hist *hist_of(uint16_t key_at, const struct fg_hist_term *variable)
{
    struct fg_hist_plan plan = {.size = 131072, .nr_keys = 1, .keys = {field_term(key_at)}};
    struct fg_hist *hist;

    if (variable) {
        plan.nr_variables = 1;
        plan.variables[0] = *variable;
    }
    CHECK_EQ(fg_hist_new(&plan, &hist), 0);
    return hist;
}

static void made_begin(struct fg_derived_event *made, const char *name, uint32_t nr_fields)
{
    struct fg_event *event;

    memset(made, 0, sizeof(*made));
    made->form.nr_fields = nr_fields;
    for (uint32_t i = 0; i < nr_fields; i++)
        made->form.fields[i].type = FG_FIELD_U64;
    CHECK_EQ(fg_image_lay_out(&made->form), 0);
    fg_derived_event_init(made);
    CHECK_EQ(fg_event_new("synthetic", name, "", FG_EVENT_PLAIN_FIELDS_AT, &event), 0);
    atomic_store(&made->event, event);
}

static void made_end(struct fg_derived_event *made)
{
    struct fg_event *event = atomic_load(&made->event);

    atomic_store(&made->event, NULL);
    fg_event_free(event);
}

static void want(struct fg_event *event, struct fg_trigger *trigger)
{
    struct fg_trigger *triggers[] = {trigger};
    struct fg_event_request request = {.triggers = triggers, .nr_triggers = 1};

    CHECK_EQ(fg_event_set(event, instance->handle, &request), 0);
}

static struct fg_trigger hist_trigger(struct fg_hist *hist)
{
    return (struct fg_trigger){.kind = FG_TRIGGER_HIST, .left = FG_TRIGGER_UNLIMITED, .hist = hist};
}

static void add_action(struct fg_trigger *trigger, struct fg_derived_event *made, struct fg_hist_term *values)
{
    trigger->actions.actions[trigger->actions.nr_actions++] = (struct fg_hist_action){
        .tracked = -1, .sink = &made->sink, .nr_values = made->form.nr_fields, .values = values};
    CHECK_EQ(fg_hist_actions_check(&trigger->actions, 0), 0);
}

struct sums {
    uint64_t rows, hits;
};

/* Each row is: number, key, hitcount. */
static struct sums sums_of(struct fg_hist *hist)
{
    uint64_t dropped, *rows;
    uint32_t n = fg_hist_snapshot(hist, NULL, 0, &dropped), words = fg_hist_row_words(hist);
    struct sums sums = {.rows = n};

    rows = malloc(n * words * sizeof(*rows) + 1);
    CHECK_EQ(fg_hist_snapshot(hist, rows, n, &dropped), n);
    CHECK_EQ(dropped, 0);
    for (uint32_t i = 0; i < n; i++)
        sums.hits += rows[i * words + 2];
    free(rows);
    return sums;
}

/* ---- matches of two events */

static struct fg_derived_event match;

/* A listener of the synthetic event: both values are of the job that was matched. */
static _Atomic uint64_t nr_matches, sum_of_jobs;

static void see_match(struct fg_event_listener *listener, const struct fg_event_site *site,
                      const uint8_t *image, uint32_t bytes)
{
    uint64_t values[2];

    (void)listener, (void)site;
    CHECK_EQ(bytes, FG_EVENT_PLAIN_FIELDS_AT + sizeof(values) + 1); /* and the faults */
    memcpy(values, image + FG_EVENT_PLAIN_FIELDS_AT, sizeof(values));
    CHECK_EQ(values[0], values[1]);
    atomic_fetch_add(&nr_matches, 1);
    atomic_fetch_add(&sum_of_jobs, values[0]);
}

static _Atomic bool over;

/* Each job of the thread's own is put in once and taken out twice: the second time nothing matches. */
static void *match_own_jobs(void *arg)
{
    uint64_t thread = (uint64_t)(uintptr_t)arg;

    for (uint64_t i = 0; i < NR_JOBS; i++) {
        job = 1 + thread * NR_JOBS + i;
        sim_call_return(funcs[0]);
        sim_call_return(funcs[1]);
        sim_call_return(funcs[1]);
    }
    return NULL;
}

static void *listen_and_leave(void *arg)
{
    static struct fg_event_listener listener = {see_match};

    (void)arg;
    while (!atomic_load(&over)) {
        CHECK_EQ(fg_event_listen(atomic_load(&match.event), &listener), 0);
        sched_yield();
        fg_event_unlisten(atomic_load(&match.event), &listener);
    }
    return NULL;
}

static void run_threads(void *(*function)(void *arg), void *(*other)(void *arg))
{
    pthread_t threads[NR_THREADS], one;

    atomic_store(&over, false);
    if (other)
        sim_spawn(&one, other, NULL);
    for (uintptr_t i = 0; i < NR_THREADS; i++)
        sim_spawn(&threads[i], function, (void *)i);
    for (int i = 0; i < NR_THREADS; i++)
        sim_join(threads[i]);
    atomic_store(&over, true);
    if (other)
        sim_join(one);
}

static void test_eight_threads_match_each_job_once(void)
{
    struct fg_hist_term values[2] = {variable_term(0), field_term(JOB_AT)}, kept = field_term(JOB_AT);
    struct fg_hist *puts = hist_of(JOB_AT, &kept), *takes = hist_of(JOB_AT, NULL),
                   *matches = hist_of(FG_EVENT_PLAIN_FIELDS_AT, NULL);
    struct fg_trigger put = hist_trigger(puts), take = hist_trigger(takes), count = hist_trigger(matches);
    struct source in, out;

    made_begin(&match, "match", 2);
    source_begin(&in, "in", funcs[0]);
    source_begin(&out, "out", funcs[1]);
    take.actions.nr_references = 1;
    take.actions.references[0] = (struct fg_hist_reference){puts, 0};
    add_action(&take, &match, values);
    want(in.event, &put);
    want(out.event, &take);
    want(atomic_load(&match.event), &count);
    CHECK(fg_event_is_used(atomic_load(&match.event)));
    run_threads(match_own_jobs, listen_and_leave);
    CHECK_EQ(sums_of(puts).hits, NR_THREADS * NR_JOBS);
    CHECK_EQ(sums_of(takes).hits, NR_THREADS * NR_JOBS);
    CHECK_EQ(sums_of(matches).hits, NR_THREADS * NR_JOBS);
    CHECK_EQ(sums_of(matches).rows, NR_THREADS * NR_JOBS);
    source_end(&in);
    source_end(&out);
    made_end(&match);
    fg_hist_free(puts);
    fg_hist_free(takes);
    fg_hist_free(matches);
}

/* All threads put in and take out the same few jobs: no put matches twice. */
static void *match_shared_jobs(void *arg)
{
    uint64_t thread = (uint64_t)(uintptr_t)arg;

    for (uint64_t i = 0; i < NR_JOBS; i++) {
        job = (i * 7 + thread) % 5;
        sim_call_return(funcs[0]);
        sim_call_return(funcs[1]);
    }
    return NULL;
}

static void test_no_put_matches_twice(void)
{
    struct fg_hist_term values[2] = {variable_term(0), field_term(JOB_AT)}, kept = field_term(JOB_AT);
    struct fg_hist *puts = hist_of(JOB_AT, &kept), *takes = hist_of(JOB_AT, NULL);
    struct fg_trigger put = hist_trigger(puts), take = hist_trigger(takes);
    struct fg_event_listener listener = {see_match};
    struct source in, out;

    atomic_store(&nr_matches, 0);
    made_begin(&match, "match", 2);
    source_begin(&in, "in", funcs[0]);
    source_begin(&out, "out", funcs[1]);
    take.actions.nr_references = 1;
    take.actions.references[0] = (struct fg_hist_reference){puts, 0};
    add_action(&take, &match, values);
    want(in.event, &put);
    want(out.event, &take);
    CHECK_EQ(fg_event_listen(atomic_load(&match.event), &listener), 0);
    CHECK(fg_event_has_listeners(atomic_load(&match.event)));
    run_threads(match_shared_jobs, NULL);
    CHECK_EQ(sums_of(puts).hits, NR_THREADS * NR_JOBS);
    CHECK(atomic_load(&nr_matches) > 0 && atomic_load(&nr_matches) <= NR_THREADS * NR_JOBS);
    CHECK_EQ(sums_of(takes).hits, atomic_load(&nr_matches));
    fg_event_unlisten(atomic_load(&match.event), &listener);
    CHECK(!fg_event_is_used(atomic_load(&match.event)));
    source_end(&in);
    source_end(&out);
    made_end(&match);
    fg_hist_free(puts);
    fg_hist_free(takes);
}

/* ---- events on events */

static void test_an_event_on_an_event_is_made_of_its_fields(void)
{
    struct fg_hist_term values[1] = {field_term(JOB_AT)};
    struct fg_eprobe_value probed[2] = {{.term = field_term(FG_EVENT_PLAIN_FIELDS_AT)},
                                        {.term = field_term(FG_EVENT_PLAIN_FIELDS_AT)}};
    struct fg_derived_event base, on;
    struct fg_eprobe probe = {.made = &on, .nr_values = 2, .values = probed};
    struct fg_hist *sources = hist_of(JOB_AT, NULL);
    struct fg_trigger trigger = hist_trigger(sources);
    struct fg_event_listener listener = {see_match};
    struct source in;

    made_begin(&base, "base", 1);
    made_begin(&on, "on", 2);
    source_begin(&in, "in", funcs[0]);
    add_action(&trigger, &base, values);
    want(in.event, &trigger);
    probe.nr_values = 1;
    CHECK_EQ(fg_eprobe_init(&probe), -EINVAL);
    probe.nr_values = 2;
    CHECK_EQ(fg_eprobe_init(&probe), 0);
    CHECK_EQ(fg_event_listen(atomic_load(&base.event), &probe.listener), 0);
    CHECK_EQ(fg_event_listen(atomic_load(&on.event), &listener), 0);
    atomic_store(&nr_matches, 0);
    atomic_store(&sum_of_jobs, 0);
    for (job = 1; job <= 10; job++)
        sim_call_return(funcs[0]);
    CHECK_EQ(nr_matches, 10);
    CHECK_EQ(sum_of_jobs, 55);
    fg_event_unlisten(atomic_load(&base.event), &probe.listener);
    sim_call_return(funcs[0]);
    CHECK_EQ(nr_matches, 10);
    source_end(&in);
    made_end(&on); /* with a listener */
    made_end(&base);
    fg_hist_free(sources);
}

/* ---- chains */

enum { NR_LINKS = 6 };

static struct fg_derived_event links[NR_LINKS];

static bool makes(const struct fg_trigger *trigger, const void *made)
{
    const struct fg_derived_event *event = made;

    return trigger->kind == FG_TRIGGER_HIST && fg_hist_actions_have(&trigger->actions, &event->sink);
}

/* Each link makes the next one and itself. */
static void test_a_chain_of_events_ends_and_none_makes_itself(void)
{
    static struct fg_trigger triggers[NR_LINKS + 1];
    struct fg_hist *hists[NR_LINKS + 1];
    struct fg_hist_term values[1] = {field_term(FG_EVENT_PLAIN_FIELDS_AT)}, first[1] = {field_term(JOB_AT)};
    struct source in;

    source_begin(&in, "in", funcs[0]);
    for (int i = 0; i < NR_LINKS; i++)
        made_begin(&links[i], "link", 1);
    for (int i = 0; i < NR_LINKS; i++) {
        hists[i] = hist_of(FG_EVENT_PLAIN_FIELDS_AT, NULL);
        triggers[i] = hist_trigger(hists[i]);
        add_action(&triggers[i], &links[(i + 1) % NR_LINKS], values);
        add_action(&triggers[i], &links[i], values);
        want(atomic_load(&links[i].event), &triggers[i]);
    }
    hists[NR_LINKS] = hist_of(JOB_AT, NULL);
    triggers[NR_LINKS] = hist_trigger(hists[NR_LINKS]);
    add_action(&triggers[NR_LINKS], &links[0], first);
    want(in.event, &triggers[NR_LINKS]);
    CHECK(fg_event_find_trigger(makes, &links[0]));
    job = 7;
    sim_call_return(funcs[0]);
    for (uint32_t i = 0; i < NR_LINKS; i++)
        CHECK_EQ(sums_of(hists[i]).hits, i < FG_MADE_EVENT_MAX_CHAIN ? 1 : 0);
    CHECK_EQ(links[0].nmissed, 1);                       /* itself */
    CHECK_EQ(links[FG_MADE_EVENT_MAX_CHAIN].nmissed, 1); /* one too many */
    source_end(&in);
    for (int i = 0; i < NR_LINKS; i++)
        made_end(&links[i]);
    CHECK(!fg_event_find_trigger(makes, &links[0]));
    for (int i = 0; i <= NR_LINKS; i++)
        fg_hist_free(hists[i]);
}

/* ---- images */

static struct fg_loaded text_value(const char *text)
{
    return (struct fg_loaded){.kind = FG_LOADED_TEXT, .text = text, .bytes = (uint16_t)strlen(text)};
}

static struct fg_loaded loaded(const struct fg_image_form *form, const uint8_t *image, uint32_t bytes, int i)
{
    return fg_field_load(image, bytes, &form->fields[i], 0);
}

static void test_values_become_what_the_fields_are(void)
{
    static const uint8_t types[] = {FG_FIELD_U8,     FG_FIELD_S64,    FG_FIELD_F64,    FG_FIELD_BOOL,
                                    FG_FIELD_STRING, FG_FIELD_STRING, FG_FIELD_STRING, FG_FIELD_VALUE,
                                    FG_FIELD_VALUE,  FG_FIELD_S32,    FG_FIELD_F64,    FG_FIELD_S16};
    struct fg_loaded values[] = {{.kind = FG_LOADED_SIGNED, .number = 258},
                                 {.kind = FG_LOADED_FLOAT, .real = -2.5},
                                 {.kind = FG_LOADED_SIGNED, .number = (uint64_t)-3},
                                 text_value("x"),
                                 text_value("d\xc3\xa9j\xc3\xa0"),
                                 {.kind = FG_LOADED_SIGNED, .number = (uint64_t)-12},
                                 {.kind = FG_LOADED_NONE},
                                 {.kind = FG_LOADED_UNSIGNED, .number = UINT64_MAX},
                                 {.kind = FG_LOADED_FLOAT, .real = 1.5},
                                 {.kind = FG_LOADED_NONE},
                                 {.kind = FG_LOADED_NONE},
                                 {.kind = FG_LOADED_SIGNED, .number = 0}};
    struct fg_image_form form = {.nr_fields = sizeof(types)};
    uint8_t *image = malloc(FG_EVENT_MAX_BYTES);
    uint32_t bytes;

    for (uint32_t i = 0; i < form.nr_fields; i++)
        form.fields[i].type = types[i];
    form.most_bytes[4] = 5; /* in the middle of a character */
    CHECK_EQ(fg_image_lay_out(&form), 0);
    bytes = fg_image_make(&form, values, image);
    CHECK_EQ(loaded(&form, image, bytes, 0).number, 2);
    CHECK_EQ((int64_t)loaded(&form, image, bytes, 1).number, -2);
    CHECK(loaded(&form, image, bytes, 2).real == -3);
    CHECK_EQ(loaded(&form, image, bytes, 3).number, 1);
    CHECK(strcmp(loaded(&form, image, bytes, 4).text, "d\xc3\xa9j") == 0);
    CHECK(strcmp(loaded(&form, image, bytes, 5).text, "-12") == 0);
    CHECK(strcmp(loaded(&form, image, bytes, 6).text, "(fault)") == 0);
    CHECK_EQ(loaded(&form, image, bytes, 7).number, UINT64_MAX);
    CHECK(loaded(&form, image, bytes, 8).real == 1.5);
    CHECK_EQ(loaded(&form, image, bytes, 9).kind, FG_LOADED_NONE);
    CHECK_EQ(loaded(&form, image, bytes, 10).kind, FG_LOADED_NONE);
    CHECK_EQ(loaded(&form, image, bytes, 11).kind, FG_LOADED_SIGNED);
    free(image);
}

static void test_as_many_texts_as_there_can_be_fit(void)
{
    static char text[2 * FG_EVENT_MAX_BYTES];
    struct fg_image_form form = {.nr_fields = 64};
    struct fg_loaded values[64];
    uint8_t *image = malloc(FG_EVENT_MAX_BYTES);
    uint32_t bytes;

    memset(text, 'x', sizeof(text) - 1);
    for (uint32_t i = 0; i < form.nr_fields; i++) {
        form.fields[i].type = i % 2 ? FG_FIELD_STRING : FG_FIELD_VALUE;
        values[i] = text_value(text);
    }
    CHECK_EQ(fg_image_lay_out(&form), 0);
    bytes = fg_image_make(&form, values, image);
    CHECK(bytes <= FG_EVENT_MAX_BYTES);
    for (int i = 0; i < 64; i++)
        CHECK_EQ(loaded(&form, image, bytes, i).kind, FG_LOADED_TEXT);
    free(image);
    form.nr_fields = FG_EVENT_MAX_FIELDS;
    for (uint32_t i = 0; i < form.nr_fields; i++)
        form.fields[i].type = FG_FIELD_VALUE;
    CHECK_EQ(fg_image_lay_out(&form), -E2BIG);
}

/* ---- keys of two histograms */

static void test_a_key_is_found_whatever_its_type(void)
{
    struct fg_hit hit = {.image = (const uint8_t *)&(const struct {
                             uint8_t head[16];
                             uint64_t n;
                         }){.n = 5},
                         .bytes = 24};
    struct fg_hist_term value = field_term(JOB_AT), kept = field_term(JOB_AT);
    struct fg_hist_plan plan = {.size = 128, .nr_keys = 1, .nr_variables = 1, .variables = {kept}};
    struct fg_hist *by_value, *by_number = hist_of(JOB_AT, NULL);
    uint64_t words[FG_HIST_MAX_KEY_WORDS];
    struct fg_loaded taken;

    value.kind = FG_HIST_KIND_VALUE;
    plan.keys[0] = value;
    CHECK_EQ(fg_hist_new(&plan, &by_value), 0);
    CHECK(!fg_hist_take(by_value, by_number, &hit, 0, words, &taken));
    CHECK(fg_hist_count(by_value, &hit));
    CHECK(!fg_hist_take(by_value, by_number, &hit, 1, words, &taken));
    CHECK(fg_hist_take(by_value, by_number, &hit, 0, words, &taken));
    CHECK_EQ(taken.number, 5);
    CHECK(!fg_hist_take(by_value, by_number, &hit, 0, words, &taken));
    fg_hist_free(by_value);
    fg_hist_free(by_number);
}

int main(void)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_nop,
                                        .ring = {.buffer_bytes = 1 << 20, .mode = FG_RING_DROP}};
    int handle;

    sim_begin();
    sim_functions(funcs, 2);
    strcpy(config.ring.instance, "one");
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
    instance = fg_instance_get(handle);
    test_eight_threads_match_each_job_once();
    test_no_put_matches_twice();
    test_an_event_on_an_event_is_made_of_its_fields();
    test_a_chain_of_events_ends_and_none_makes_itself();
    test_values_become_what_the_fields_are();
    test_as_many_texts_as_there_can_be_fit();
    test_a_key_is_found_whatever_its_type();
    fg_instance_put(instance);
    CHECK_EQ(fg_instance_stop(handle), 0);
    return 0;
}
