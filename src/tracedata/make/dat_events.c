/* See dat_events.h. */
#include "tracedata/make/dat_events.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/base/field_text.h"
#include "tracedata/spool/record_check.h"

/* ---- which values are numbers */

static bool is_number(const uint8_t *image, uint32_t bytes, const struct fg_field *field)
{
    uint32_t tagged_bytes;
    const uint8_t *tagged = fg_field_referred(image, bytes, field, 0, &tagged_bytes);

    return tagged && tagged_bytes && (*tagged == FG_VALUE_INT8 || *tagged == FG_VALUE_INT64) &&
           fg_field_load(image, bytes, field, 0).kind == FG_LOADED_SIGNED;
}

static void look_at_values(struct fg_dat_event *event, const struct fg_event_type *type,
                           const struct fg_record *record)
{
    const uint64_t *payload = (const uint64_t *)(record + 1);
    const uint8_t *fields = (const uint8_t *)(payload + 2 + ((record->info & FG_RECORD_HAS_START) != 0));
    /* What lies before the fields is not looked at. */
    const uint8_t *image = fields - type->fields_at;
    uint32_t bytes = type->fields_at + (uint32_t)(payload[0] >> 32);

    for (uint32_t i = 0; i < event->nr_views; i++) {
        struct fg_dat_view *view = &event->views[i];
        const struct fg_field *field = &type->fields[view->field].at;

        if (fg_dat_field_is_value(field) && is_number(image, bytes, field))
            view->has_number = true;
        else
            view->has_other = true;
    }
}

static void look_at_records(struct fg_dat_events *events, const struct fg_trace_ring *ring,
                            const uint64_t *at, size_t bytes)
{
    const uint64_t *end = at + bytes / FG_RECORD_WORD_BYTES;

    for (; at < end; at += fg_record_words(((const struct fg_record *)at)->info)) {
        const struct fg_record *record = (const struct fg_record *)at;
        uint32_t number;

        if (fg_record_kind(record->info) != FG_RECORD_EVENT)
            continue;
        number = (uint32_t)at[2];
        if (number >= ring->events_capacity || ring->events[number] == 0)
            continue;
        number = ring->events[number] - 1;
        if (events->events[number].has_values)
            look_at_values(&events->events[number], &events->types->types[number], record);
    }
}

static int look_at_task(struct fg_dat_events *events, struct fg_row_pass *pass,
                        const struct fg_trace_ring *ring, const struct fg_trace_task *task)
{
    struct fg_piece_run run = fg_piece_run(task);
    size_t bytes = 0;

    while (run.next < run.end) {
        int result = fg_row_pass_read(pass, &run, &bytes);

        if (result < 0)
            return result;
        if (result > 0)
            look_at_records(events, ring, pass->chunks.records, bytes);
    }
    return 0;
}

static int look_at_trace(struct fg_dat_events *events, struct fg_row_pass *pass)
{
    const struct fg_contents *contents = &pass->recorded->contents;
    int error = 0;

    for (size_t i = 0; i < contents->nr_rings; i++) {
        const struct fg_trace_ring *ring = &contents->rings[i];

        for (size_t j = 0; j < ring->nr_tasks && ring->events && error == 0; j++)
            error = look_at_task(events, pass, ring, &ring->tasks[j]);
    }
    return error;
}

/* ---- the table */

static int by_system(const void *a, const void *b)
{
    const struct fg_event_type *const *one = a, *const *other = b;
    int order = strcmp((*one)->system, (*other)->system);

    return order ? order : (*one > *other) - (*one < *other); /* elements of one array */
}

int fg_dat_events_init(struct fg_dat_events *events, struct fg_row_pass *pass, bool values_are_texts)
{
    const struct fg_event_table *types = &pass->recorded->contents.events;
    bool has_values = false;
    int error = 0;

    events->types = types;
    events->events = calloc(types->nr_types + 1, sizeof(*events->events));
    events->by_system = calloc(types->nr_types + 1, sizeof(*events->by_system));
    if (events->events == NULL || events->by_system == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < types->nr_types && error == 0; i++) {
        events->by_system[i] = &types->types[i];
        error = fg_dat_event_find_views(&events->events[i], &types->types[i]);
        has_values |= events->events[i].has_values;
    }
    if (error == 0 && has_values && !values_are_texts)
        error = look_at_trace(events, pass);
    if (error < 0)
        return error;
    for (size_t i = 0; i < types->nr_types; i++)
        fg_dat_event_place_views(&events->events[i], &types->types[i]);
    qsort(events->by_system, types->nr_types, sizeof(*events->by_system), by_system);
    return 0;
}

void fg_dat_events_free(struct fg_dat_events *events)
{
    for (size_t i = 0; events->events && i < events->types->nr_types; i++)
        free(events->events[i].views);
    free(events->events);
    free(events->by_system);
    fg_text_free(&events->text);
    events->events = NULL;
    events->by_system = NULL;
}

/* ---- format texts */

/* The end of the system that begins here in by_system. */
static size_t system_end(const struct fg_dat_events *events, size_t begin)
{
    size_t end = begin;

    while (end < events->types->nr_types &&
           strcmp(events->by_system[end]->system, events->by_system[begin]->system) == 0)
        end++;
    return end;
}

/* Where a system begins in by_system; the end of that if it has no event. */
static size_t system_begin(const struct fg_dat_events *events, const char *system)
{
    size_t begin = 0;

    while (begin < events->types->nr_types && strcmp(events->by_system[begin]->system, system) != 0)
        begin = system_end(events, begin);
    return begin;
}

uint32_t fg_dat_events_nr_others(const struct fg_dat_events *events, const char *system)
{
    uint32_t count = 0;

    for (size_t begin = 0; begin < events->types->nr_types; begin = system_end(events, begin))
        count += strcmp(events->by_system[begin]->system, system) != 0;
    return count;
}

uint32_t fg_dat_events_count(const struct fg_dat_events *events, const char *system)
{
    size_t begin = system_begin(events, system);

    return (uint32_t)(system_end(events, begin) - begin);
}

static void put_formats(struct fg_text *text, const struct fg_dat_events *events, size_t begin, size_t end)
{
    for (size_t i = begin; i < end; i++) {
        size_t number = (size_t)(events->by_system[i] - events->types->types);

        fg_dat_event_put_format(text, events->by_system[i], &events->events[number],
                                FG_EVENT_FIRST_DYNAMIC + (uint32_t)number);
    }
}

void fg_dat_events_put_system(struct fg_text *text, const struct fg_dat_events *events, const char *system)
{
    size_t begin = system_begin(events, system);

    put_formats(text, events, begin, system_end(events, begin));
}

void fg_dat_events_put_others(struct fg_text *text, const struct fg_dat_events *events, const char *system)
{
    for (size_t begin = 0, end; begin < events->types->nr_types; begin = end) {
        const char *name = events->by_system[begin]->system;
        uint32_t count;

        end = system_end(events, begin);
        if (strcmp(name, system) == 0)
            continue;
        fg_dat_put_word(text, name, strlen(name));
        fg_text_char(text, 0);
        count = (uint32_t)(end - begin);
        fg_text_put(text, (const char *)&count, sizeof(count));
        put_formats(text, events, begin, end);
    }
}

/* ---- records */

/* A field that refers behind the gap must refer as much further. */
static void move_references(uint8_t *record, const struct fg_event_type *type, uint32_t gap)
{
    for (uint32_t i = 0; i < type->nr_fields; i++) {
        const struct fg_field *field = &type->fields[i].at;
        uint32_t items = field->count ? field->count : 1;

        if (field->type != FG_FIELD_STRING && field->type != FG_FIELD_OBJECT && field->type != FG_FIELD_VALUE)
            continue;
        for (uint32_t item = 0; item < items; item++) {
            uint8_t *at = record + field->offset + item * FG_DAT_LOC_BYTES;
            uint32_t to = fg_load16(at) < type->fixed_end ? fg_load16(at) : fg_load16(at) + gap;
            uint16_t moved = to < UINT16_MAX ? (uint16_t)to : UINT16_MAX; /* damaged: outside as before */

            memcpy(at, &moved, sizeof(moved));
        }
    }
}

/* Appends the view's text to the record. Return: its new length. */
static uint32_t put_text_view(struct fg_dat_events *events, const struct fg_dat_view *view, uint32_t bytes,
                              uint32_t views_left)
{
    uint32_t room = FG_DAT_EVENT_BYTES - bytes - views_left;
    uint16_t loc[2] = {(uint16_t)bytes};

    if (events->text.bytes >= room)
        events->text.bytes = room - 1;
    loc[1] = (uint16_t)(events->text.bytes + 1);
    if (events->text.bytes)
        memcpy(events->record + bytes, events->text.data, events->text.bytes);
    events->record[bytes + events->text.bytes] = 0;
    memcpy(events->record + view->offset, loc, sizeof(loc));
    return bytes + loc[1];
}

/* Return: the length of the record with its views. */
static uint32_t put_views(struct fg_dat_events *events, const struct fg_dat_event *dat,
                          const struct fg_event_type *type, const struct fg_event *event, uint32_t bytes)
{
    for (uint32_t i = 0; i < dat->nr_views; i++) {
        const struct fg_field *field = &type->fields[dat->views[i].field].at;

        if (dat->views[i].is_number) {
            uint64_t number = fg_field_load(event->data, event->size, field, 0).number;

            memcpy(events->record + dat->views[i].offset, &number, sizeof(number));
            continue;
        }
        events->text.bytes = 0;
        fg_put_field(&events->text, event->data, event->size, field, NULL, NULL);
        bytes = put_text_view(events, &dat->views[i], bytes, dat->nr_views - i - 1);
    }
    return bytes;
}

const uint8_t *fg_dat_events_record(struct fg_dat_events *events, const struct fg_event *event,
                                    uint32_t *bytes)
{
    const struct fg_event_type *type = fg_event_table_find(events->types, event->type);
    const struct fg_dat_event *dat = type ? &events->events[event->type - FG_EVENT_FIRST_DYNAMIC] : NULL;
    uint32_t fixed, rest;

    *bytes = event->size;
    if (!type || (dat->nr_views == 0 && event->size >= type->fixed_end))
        return event->data;
    fixed = event->size < type->fixed_end ? event->size : type->fixed_end;
    rest = event->size - fixed;
    memset(events->record, 0, (size_t)type->fixed_end + dat->view_bytes);
    memcpy(events->record, event->data, fixed);
    memcpy(events->record + type->fixed_end + dat->view_bytes, event->data + fixed, rest);
    move_references(events->record, type, dat->view_bytes);
    *bytes = put_views(events, dat, type, event, type->fixed_end + dat->view_bytes + rest);
    return events->text.failed ? NULL : events->record;
}
