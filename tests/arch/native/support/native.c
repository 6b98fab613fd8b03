/* See native.h. */
#include "support/native.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "engine/core/root.h"
#include "engine/tracer/instance_start.h"
#include "support/check.h"
#include "support/planned.h"
#include "support/session.h"

/* Takes a plan, whose bytes are freed. */
static struct fg_native_object *open_plan(struct planned planned)
{
    char *path = planned_write(&planned);
    struct fg_native_refusal refusal = {""};
    struct fg_native_object *object;

    object = fg_native_open(path, "target", &refusal);
    CHECK_TEXT(refusal.text, "");
    CHECK(object != NULL);
    unlink(path);
    free(path);
    free(planned.bytes);
    return object;
}

static struct fg_native_object *begin(bool has_many)
{
    struct fg_native_refusal refusal = {""};

    CHECK_EQ(fg_engine_init(NULL), 0);
    CHECK(fg_native_start(NULL, &refusal));
    return open_plan(planned_make(has_many));
}

struct fg_native_object *native_begin(void)
{
    return begin(false);
}

struct fg_native_object *native_begin_with_many(void)
{
    return begin(true);
}

static void set(struct fg_patterns *patterns, const char *text)
{
    const char *reason;
    size_t column;

    memset(patterns, 0, sizeof(*patterns));
    CHECK_EQ(fg_patterns_add(patterns, text, &reason, &column), 0);
}

long native_meet(struct fg_native_object *object, const char *pattern)
{
    struct fg_patterns patterns;
    long n;

    set(&patterns, pattern);
    n = fg_native_meet(object, &patterns);
    fg_patterns_clear(&patterns);
    return n;
}

void native_place(const char *function, uint32_t offset, uint8_t displaced, uint8_t instructions)
{
    char pattern[64];

    snprintf(pattern, sizeof(pattern), "%s+%u:mod:target", function, offset);
    CHECK_EQ(native_meet(open_plan(planned_make_place(function, offset, displaced, instructions)), pattern),
             1);
}

void native_probe_place(struct fprobe *fp, const char *pattern)
{
    struct fg_fprobe_filter filter = {.is_native = true};

    fp->flags |= FTRACE_OPS_FL_NATIVE;
    set(&filter.filter, pattern);
    CHECK_EQ(fg_fprobe_register(fp, NULL, &filter), 0);
}

void native_probe(struct probe *probe, const char *pattern)
{
    probe_init(probe, "user", pattern, 2);
    fg_user_of(&probe->ops)->sees_native = true;
    probe_register(probe);
}

struct counts {
    uint32_t hooked, refused;
};

static void count(const struct fg_native_state *state, void *arg)
{
    struct counts *counts = arg;

    counts->hooked += state->is_hooked;
    counts->refused += state->refusal != NULL;
}

uint32_t native_hooked(uint32_t *refused)
{
    struct counts counts = {0, 0};

    fg_native_for_each(count, &counts);
    if (refused)
        *refused = counts.refused;
    return counts.hooked;
}

static void find_refusal(const struct fg_native_state *state, void *arg)
{
    if (state->refusal)
        *(const char **)arg = state->refusal;
}

const char *native_refusal(void)
{
    const char *refusal = NULL;

    fg_native_for_each(find_refusal, &refusal);
    return refusal;
}

void native_finish(struct probe *probe, uint64_t calls)
{
    CHECK_EQ(probe->entries, calls);
    probe_finish(probe);
}

static struct session session;
static int handle;

void native_record(const char *pattern)
{
    struct fg_instance_config config = {.tracer = &fg_tracer_function_graph,
                                        .ring = {.buffer_bytes = 32u << 20, .mode = FG_RING_DROP}};
    const char *const texts[] = {pattern};
    struct fg_pattern_error error;

    session_begin(&session);
    session.tally.has_signals = true; /* some tests have handlers */
    config.ring.directory = session.directory;
    CHECK_EQ(fg_filter_add(&config.filter, FGRAPH_FILTER, texts, 1, &error), 0);
    CHECK_EQ(fg_instance_start(&config, &handle), 0);
}

struct native_records native_recorded(void)
{
    struct native_records records;

    CHECK_EQ(fg_instance_stop(handle), 0);
    session_read(&session);
    records = (struct native_records){
        .entries = session.tally.kinds[FG_RECORD_ENTRY],
        .returns = session.tally.kinds[FG_RECORD_RETURN],
        .raises = session.tally.kinds[FG_RECORD_RAISE],
        .closes = session.tally.kinds[FG_RECORD_CLOSE],
        .lost = session.tally.records_lost,
    };
    session_end(&session);
    return records;
}
