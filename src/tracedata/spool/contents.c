/* See contents.h. */
#include "tracedata/spool/contents.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"
#include "tracedata/base/json.h"
#include "tracedata/spool/record_check.h"

/* In a damaged file the number of a function or event may be anything; above these it is not believed. Nor is
 * one that makes all rings together have room for more numbers than MAX_IDS, and so many more for each
 * symbol. */
#define MAX_FUNCTION_ID (UINT32_C(1) << 24)
#define MAX_EVENT_NUMBER UINT16_MAX
#define MAX_IDS (UINT64_C(1) << 25)
#define MAX_IDS_A_SYMBOL 16u

static int contents_ring(struct fg_contents *contents, uint32_t number, struct fg_trace_ring **ring)
{
    size_t count = (size_t)number + 1;

    if (fg_array_reserve_zeroed(&contents->rings, &contents->rings_capacity, count) < 0)
        return -ENOMEM;
    if (count > contents->nr_rings)
        contents->nr_rings = count;
    *ring = &contents->rings[number];
    return 0;
}

static int ring_task(struct fg_trace_ring *ring, uint32_t id, struct fg_trace_task **task)
{
    uint64_t hash = fg_hash_uint64(id), place = fg_hash_find(&ring->by_id, hash);

    if (place == 0) {
        if (fg_array_reserve(&ring->tasks, &ring->tasks_capacity, ring->nr_tasks + 1) < 0 ||
            fg_hash_add(&ring->by_id, hash, ring->nr_tasks + 1) < 0)
            return -ENOMEM;
        ring->tasks[ring->nr_tasks] = (struct fg_trace_task){.id = id, .tid = ring->pid};
        place = ++ring->nr_tasks;
    }
    *task = &ring->tasks[place - 1];
    return 0;
}

/* Replaces *text by a copy; an empty text becomes NULL. */
static int replace_text(char **text, const char *new_text, size_t bytes)
{
    char *copy = NULL;

    if (bytes > 0) {
        size_t length = strnlen(new_text, bytes);

        copy = malloc(length + 1);
        if (copy == NULL)
            return -ENOMEM;
        memcpy(copy, new_text, length);
        copy[length] = 0;
    }
    free(*text);
    *text = copy;
    return 0;
}

static bool is_credible_id(const struct fg_contents *contents, uint32_t id, uint32_t limit, size_t capacity)
{
    /* The capacity of an array at least doubles. */
    uint64_t more = id < capacity ? 0 : 2 * (uint64_t)id;

    return id <= limit && contents->nr_ids + more <= MAX_IDS + MAX_IDS_A_SYMBOL * contents->nr_symbols;
}

static int ring_reserve_id(struct fg_contents *contents, struct fg_trace_ring *ring, uint32_t id)
{
    size_t capacity = ring->functions_capacity, before = capacity;

    /* Both arrays have functions_capacity. */
    if (fg_array_reserve_zeroed(&ring->recorded, &capacity, (size_t)id + 1) < 0 ||
        fg_array_reserve_zeroed(&ring->functions, &ring->functions_capacity, (size_t)id + 1) < 0)
        return -ENOMEM;
    contents->nr_ids += ring->functions_capacity - before;
    return 0;
}

static int take_function(struct fg_contents *contents, struct fg_trace_ring *ring,
                         const struct fg_symbol *symbol)
{
    int64_t number = fg_symbols_take(&contents->symbols, symbol);

    if (number < 0)
        return (int)number;
    ring->nr_seen++;
    if (symbol->type == FG_SYMBOL_SEEN ||
        !is_credible_id(contents, symbol->id, MAX_FUNCTION_ID, ring->functions_capacity))
        return 0;
    ring->nr_functions += symbol->type == FG_SYMBOL_FUNC;
    if (ring_reserve_id(contents, ring, symbol->id) < 0)
        return -ENOMEM;
    ring->functions[symbol->id] = (uint32_t)number + 1;
    return 0;
}

static struct fg_event_words event_words(const struct fg_symbol *symbol)
{
    struct fg_event_words words = {.system = "", .name = "", .fields = "", .fields_at = symbol->line};
    const char **const texts[] = {&words.system, &words.name, &words.fields};
    const char *text = NULL;

    for (uint32_t i = 0; i < 3 && i < symbol->nr_strings; i++) {
        text = fg_symbol_string(symbol, text);
        if (text == NULL)
            break;
        *texts[i] = text;
    }
    return words;
}

/* One that is not understood, maybe of a later version, leaves its records without a name. */
static int take_event(struct fg_contents *contents, struct fg_trace_ring *ring,
                      const struct fg_symbol *symbol)
{
    const struct fg_event_words words = event_words(symbol);
    size_t before = ring->events_capacity;
    int64_t number;

    if (!is_credible_id(contents, symbol->id, MAX_EVENT_NUMBER, before))
        return 0;
    number = fg_event_table_take(&contents->events, &words);
    if (number < 0)
        return number == -EINVAL ? 0 : (int)number;
    if (fg_array_reserve_zeroed(&ring->events, &ring->events_capacity, (size_t)symbol->id + 1) < 0)
        return -ENOMEM;
    contents->nr_ids += ring->events_capacity - before;
    ring->events[symbol->id] = (uint32_t)number + 1;
    return 0;
}

static int take_task(struct fg_trace_ring *ring, const struct fg_symbol *symbol)
{
    const char *name = fg_symbol_string(symbol, NULL);
    struct fg_trace_task *task;
    int error = ring_task(ring, symbol->id, &task);

    if (error < 0)
        return error;
    task->tid = symbol->tid;
    return name ? replace_text(&task->name, name, strlen(name)) : 0;
}

static int take_run_time(struct fg_trace_ring *ring, const struct fg_symbol *symbol)
{
    const char *cpu = fg_symbol_string(symbol, NULL), *ready = cpu ? fg_symbol_string(symbol, cpu) : NULL;
    struct fg_trace_task *task;
    int error = ring_task(ring, symbol->id, &task);

    if (error < 0 || ready == NULL)
        return error;
    task->last_run = (struct fg_run_time){strtoull(cpu, NULL, 10), strtoull(ready, NULL, 10)};
    if (!task->has_run)
        task->first_run = task->last_run;
    task->has_run = true;
    return 0;
}

static int take_process(struct fg_trace_ring *ring, const struct fg_symbol *symbol)
{
    const char *text = NULL;

    ring->ppid = symbol->tid;
    ring->argv.bytes = 0;
    for (uint32_t i = 0; i < symbol->nr_strings; i++) {
        text = fg_symbol_string(symbol, text);
        if (text == NULL)
            break;
        fg_text_put(&ring->argv, text, strlen(text) + 1);
    }
    return ring->argv.failed ? -ENOMEM : 0;
}

static int take_symbol(struct fg_contents *contents, struct fg_trace_ring *ring,
                       const struct fg_symbol *symbol)
{
    ring->nr_symbols++;
    contents->nr_symbols++;
    switch ((enum fg_symbol_type)symbol->type) {
    case FG_SYMBOL_FUNC:
    case FG_SYMBOL_SEEN:
    case FG_SYMBOL_CALLER:
        return take_function(contents, ring, symbol);
    case FG_SYMBOL_TASK:
        return take_task(ring, symbol);
    case FG_SYMBOL_PROCESS:
        return take_process(ring, symbol);
    case FG_SYMBOL_EVENT:
        return take_event(contents, ring, symbol);
    case FG_SYMBOL_RUN_TIME:
        return take_run_time(ring, symbol);
    }
    return 0; /* of a later version */
}

static int take_symbols(struct fg_contents *contents, struct fg_trace_ring *ring,
                        const struct fg_spool_chunk *chunk, const char *payload)
{
    size_t bytes = chunk->bytes;

    contents->symbol_bytes += bytes;
    contents->stored_symbol_bytes += chunk->stored_bytes;
    if (contents->symbol_bytes >
        FG_SPOOL_MAX_SYMBOL_BYTES + FG_SPOOL_MAX_SYMBOL_RATIO * contents->stored_symbol_bytes) {
        contents->symbol_bytes -= bytes;
        contents->nr_gaps++;
        return 0;
    }
    for (size_t at = 0; at < bytes;) {
        const struct fg_symbol *symbol = (const struct fg_symbol *)(payload + at);
        int error;

        if (bytes - at < sizeof(*symbol) || symbol->bytes < sizeof(*symbol) || symbol->bytes % 8 != 0 ||
            symbol->bytes > bytes - at) {
            contents->nr_gaps++;
            return 0;
        }
        error = take_symbol(contents, ring, symbol);
        if (error < 0)
            return error;
        at += symbol->bytes;
    }
    return 0;
}

/* The name goes into texts: bytes that are not UTF-8, from a damaged spool, become '_'. */
static void mend_name(char *name)
{
    for (size_t at = 0, bytes = strlen(name), length; at < bytes; at += length) {
        length = fg_utf8_sequence(name + at, bytes - at);
        if (!length) {
            name[at] = '_';
            length = 1;
        }
    }
}

static int take_ring(struct fg_contents *contents, struct fg_trace_ring *ring, const void *payload,
                     size_t bytes)
{
    const struct fg_spool_ring *facts = payload;

    if (bytes < sizeof(*facts) || facts->name_bytes > bytes - sizeof(*facts) ||
        facts->name_bytes > FG_SPOOL_MAX_TEXT_BYTES) {
        contents->nr_gaps++;
        return 0;
    }
    ring->pid = facts->pid;
    ring->clock_kind = facts->clock_kind;
    ring->clock_start = facts->clock_start;
    memcpy(ring->instance, facts->instance, sizeof(ring->instance) - 1);
    mend_name(ring->instance);
    if (ring->state.clock_latest.monotonic_ns == 0)
        ring->state.clock_latest = facts->clock_start;
    return replace_text(&ring->name, (const char *)(facts + 1), facts->name_bytes);
}

/* Symbols that found no room are missing in every later file, too. */
struct fg_spool_state fg_spool_state_since(struct fg_spool_state state, const struct fg_spool_state *base)
{
    state.records_lost -= base->records_lost;
    state.overrun -= base->overrun;
    state.wait_count -= base->wait_count;
    state.wait_ticks -= base->wait_ticks;
    state.nr_tasks -= base->nr_tasks;
    return state;
}

static int take_state(struct fg_contents *contents, struct fg_trace_ring *ring, uint16_t flags,
                      const void *payload, size_t bytes)
{
    const struct fg_spool_state *state = payload;

    if (bytes < sizeof(*state) || state->killed_bytes > bytes - sizeof(*state) ||
        state->killed_bytes > FG_SPOOL_MAX_TEXT_BYTES) {
        contents->nr_gaps++;
        return 0;
    }
    if (flags & FG_SPOOL_BASE)
        ring->base = *state;
    ring->state = fg_spool_state_since(*state, &ring->base);
    return replace_text(&ring->killed, (const char *)(state + 1), state->killed_bytes);
}

static int take_host(struct fg_contents *contents, struct fg_trace_ring *ring, const void *payload,
                     size_t bytes)
{
    const struct fg_spool_host *facts = payload;
    int error;

    if (bytes < sizeof(*facts) || facts->name_bytes > bytes - sizeof(*facts) || facts->name_bytes == 0 ||
        facts->name_bytes > FG_SPOOL_MAX_TEXT_BYTES || facts->host >= FG_CONTENTS_MAX_RINGS) {
        contents->nr_gaps++;
        return 0;
    }
    error = replace_text(&ring->host.name, (const char *)(facts + 1), facts->name_bytes);
    if (error < 0)
        return error;
    mend_name(ring->host.name);
    ring->host.number = facts->host;
    ring->host.first = facts->first;
    ring->host.last = facts->last;
    ring->host.error_ns = facts->error_ns;
    return 0;
}

static void take_clock(struct fg_contents *contents, const void *payload, size_t bytes)
{
    const struct fg_spool_clock *clock = payload;

    if (bytes < sizeof(*clock) || clock->clock >= FG_NR_TRACE_CLOCKS) {
        contents->nr_gaps++;
        return;
    }
    contents->clock = (enum fg_trace_clock)clock->clock;
    contents->clock_last = clock->now;
    if (contents->clock_first.monotonic_ns == 0)
        contents->clock_first = clock->now;
}

static int take_meta(struct fg_contents *contents, const void *payload, size_t bytes)
{
    if (bytes > FG_SPOOL_MAX_META_BYTES) {
        contents->nr_gaps++;
        return 0;
    }
    contents->meta.bytes = 0;
    fg_text_put(&contents->meta, payload, bytes);
    return contents->meta.failed ? -ENOMEM : 0;
}

static int take_data(struct fg_trace_ring *ring, const struct fg_spool_place *place)
{
    const struct fg_spool_chunk *chunk = &place->chunk;
    struct fg_trace_task *task;
    int error = ring_task(ring, chunk->task, &task);

    if (error < 0)
        return error;
    if (fg_array_reserve(&task->pieces, &task->pieces_capacity, task->nr_pieces + 1) < 0)
        return -ENOMEM;
    if (chunk->record_bytes > 0 && (task->last_ticks == 0 || chunk->first_ticks < task->first_ticks))
        task->first_ticks = chunk->first_ticks;
    if (chunk->record_bytes > 0 && chunk->last_ticks > task->last_ticks)
        task->last_ticks = chunk->last_ticks;
    task->pieces[task->nr_pieces++] = (struct fg_piece){
        .offset = place->offset,
        .seq = chunk->seq,
        .lost = chunk->lost,
        .stored_bytes = chunk->stored_bytes,
        .nr_records = chunk->nr_records,
        .damaged = (chunk->flags & FG_SPOOL_DAMAGED) != 0,
    };
    task->nr_records += chunk->nr_records;
    ring->records += chunk->nr_records;
    ring->bytes += fg_spool_chunk_extent(chunk);
    ring->nr_damaged += (chunk->flags & FG_SPOOL_DAMAGED) != 0;
    return 0;
}

/* A chunk that belongs to a ring. */
static int take_of_ring(struct fg_contents *contents, const struct fg_spool_place *place, const void *payload)
{
    const struct fg_spool_chunk *chunk = &place->chunk;
    struct fg_trace_ring *ring;
    int error;

    if (chunk->ring >= FG_CONTENTS_MAX_RINGS) {
        contents->nr_gaps++;
        return 0;
    }
    error = contents_ring(contents, chunk->ring, &ring);
    if (error < 0)
        return error;
    switch (chunk->type) {
    case FG_SPOOL_RING:
        return take_ring(contents, ring, payload, chunk->bytes);
    case FG_SPOOL_SYMBOLS:
        return take_symbols(contents, ring, chunk, payload);
    case FG_SPOOL_DATA:
        return take_data(ring, place);
    case FG_SPOOL_HOST:
        return take_host(contents, ring, payload, chunk->bytes);
    default:
        return take_state(contents, ring, chunk->flags, payload, chunk->bytes);
    }
}

int fg_contents_take(struct fg_contents *contents, const struct fg_spool_place *place, const void *payload)
{
    switch ((enum fg_spool_chunk_type)place->chunk.type) {
    case FG_SPOOL_CLOCK:
        take_clock(contents, payload, place->chunk.bytes);
        return 0;
    case FG_SPOOL_META:
        return take_meta(contents, payload, place->chunk.bytes);
    case FG_SPOOL_RING:
    case FG_SPOOL_SYMBOLS:
    case FG_SPOOL_DATA:
    case FG_SPOOL_STATE:
    case FG_SPOOL_HOST:
        return take_of_ring(contents, place, payload);
    case FG_SPOOL_DIRECTORY:
    case FG_SPOOL_CHUNKS_END:
        break;
    }
    contents->nr_gaps++;
    return 0;
}

struct fg_survey fg_contents_survey(struct fg_trace_ring *ring, const void *data, size_t bytes)
{
    const uint64_t *begin = data, *at = begin, *end = begin + bytes / FG_RECORD_WORD_BYTES;
    struct fg_survey survey = {0};
    uint64_t lost_marks = 0;

    while (end - at >= 2) {
        const struct fg_record *record = (const struct fg_record *)at;
        enum fg_record_kind kind = fg_record_kind(record->info);

        if (!fg_record_is_sound(record, (size_t)(end - at)))
            break;
        if (at == begin)
            survey.first_ticks = record->time;
        survey.last_ticks = record->time;
        survey.records++;
        /* Also ends alone: with a threshold a call has no other record. */
        if (fg_record_kind_bits(kind) & FG_KIND_OF_FUNCTION) {
            if (record->func < ring->functions_capacity)
                ring->recorded[record->func] = 1;
        } else if (kind == FG_RECORD_LOST) {
            lost_marks++;
        }
        at += fg_record_words(record->info);
    }
    survey.bytes = (size_t)(at - begin) * FG_RECORD_WORD_BYTES;
    survey.records -= lost_marks;
    return survey;
}

static int load_place(struct fg_contents *contents, struct fg_chunk_reader *reader,
                      struct fg_spool_place place)
{
    int error = 0;

    if (place.chunk.type != FG_SPOOL_DATA)
        error = fg_chunk_read(reader, place.offset, place.chunk.stored_bytes, &place.chunk);
    if (error == -EBADMSG) {
        contents->nr_gaps++;
        return 0;
    }
    return error < 0 ? error : fg_contents_take(contents, &place, reader->payload.data);
}

int fg_contents_load(struct fg_contents *contents, struct fg_chunk_reader *reader,
                     const struct fg_spool_index *index, size_t first)
{
    int error = 0;

    for (size_t i = first; i < index->nr_places && error == 0; i++) {
        uint64_t nr_gaps = contents->nr_gaps;

        error = load_place(contents, reader, index->places[i]);
        if (contents->nr_gaps != nr_gaps && contents->damaged_at == 0)
            contents->damaged_at = index->places[i].offset;
    }
    return error < 0 ? error : fg_contents_set_time_scales(contents);
}

static int survey_piece(struct fg_trace_ring *ring, const struct fg_piece *piece,
                        struct fg_chunk_reader *reader)
{
    struct fg_spool_chunk chunk;
    int error = fg_chunk_read_records(reader, piece->offset, piece->stored_bytes, &chunk);

    if (error == 0)
        fg_contents_survey(ring, reader->records, chunk.record_bytes);
    return error == -EBADMSG ? 0 : error;
}

int fg_contents_survey_all(struct fg_contents *contents, struct fg_chunk_reader *reader)
{
    int error = 0;

    for (size_t i = 0; i < contents->nr_rings; i++) {
        struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks; j++)
            for (size_t k = 0; k < ring->tasks[j].nr_pieces && error == 0; k++)
                error = survey_piece(ring, &ring->tasks[j].pieces[k], reader);
    }
    return error;
}

uint64_t fg_trace_ring_lost(const struct fg_trace_ring *ring)
{
    return ring->state.records_lost + ring->nr_damaged;
}

static void ring_free(struct fg_trace_ring *ring)
{
    for (size_t i = 0; i < ring->nr_tasks; i++) {
        free(ring->tasks[i].name);
        free(ring->tasks[i].pieces);
    }
    free(ring->name);
    free(ring->host.name);
    free(ring->killed);
    fg_text_free(&ring->argv);
    free(ring->functions);
    free(ring->recorded);
    free(ring->events);
    free(ring->tasks);
    fg_hash_clear(&ring->by_id);
}

void fg_contents_free(struct fg_contents *contents)
{
    for (size_t i = 0; i < contents->nr_rings; i++)
        ring_free(&contents->rings[i]);
    free(contents->rings);
    fg_symbols_free(&contents->symbols);
    fg_event_table_free(&contents->events);
    fg_text_free(&contents->meta);
    *contents = (struct fg_contents){0};
}
