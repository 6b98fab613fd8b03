/* See assemble.h. */
#include "tracedata/make/assemble.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include "tracedata/base/file_io.h"
#include "tracedata/base/new_file.h"
#include "tracedata/base/text.h"
#include "tracedata/make/dat_events.h"
#include "tracedata/make/dat_image.h"
#include "tracedata/make/pages.h"
#include "tracedata/make/trace_head.h"
#include "tracedata/make/trace_sections.h"
#include "tracedata/read/fg/row_lane.h"

struct assembly {
    const struct fg_recorded *recorded;
    const struct fg_trace_dat_format *format;
    struct fg_row_pass pass;
    struct fg_lane_extent *extents;
    struct fg_text head, meta;
    struct fg_dat_events events;
    struct fg_pages pages;
    struct fg_trace_sections sections; /* of version 7 */
    struct fg_lane_chunks chunks;      /* of version 7, unless its codec is none */
};

static uint64_t page_round(uint64_t bytes)
{
    return (bytes + FG_WIRE_PAGE_BYTES - 1) & ~(uint64_t)(FG_WIRE_PAGE_BYTES - 1);
}

static int write_other(struct assembly *assembly, const struct fg_event *event)
{
    uint32_t bytes = fg_dat_other_bytes(event);
    const uint8_t *data;

    if (bytes) {
        fg_dat_other_put(event, fg_pages_reserve(&assembly->pages, event->time_ns, bytes));
        return 0;
    }
    data = fg_dat_events_record(&assembly->events, event, &bytes);
    if (data == NULL)
        return -ENOMEM;
    memcpy(fg_pages_reserve(&assembly->pages, event->time_ns, bytes), data, bytes);
    return 0;
}

/* Writes an event that may have a start, a caller, values. */
static int write_event(struct assembly *assembly, const struct fg_event *event)
{
    struct fg_pages *pages = &assembly->pages;

    fg_pages_miss(pages, event->lost);
    if (!fg_event_is_call(event->type))
        return write_other(assembly, event);
    fg_dat_graph_put(event, fg_pages_reserve(pages, event->time_ns, fg_dat_graph_bytes(event)));
    return 0;
}

/* Writes the events of plain records, which most are. */
static void write_plain(struct fg_pages *pages, int32_t tid, const struct fg_plain_event *at, size_t n)
{
    for (const struct fg_plain_event *end = at + n; at < end; at++) {
        if (at->type == FG_EVENT_funcgraph_entry)
            fg_dat_put_entry(
                &at->graph, tid, FG_ENTRY_START,
                (void *)fg_pages_reserve(pages, at->time_ns, sizeof(struct fg_wire_funcgraph_entry)));
        else
            fg_dat_put_exit(
                &at->graph, tid, FG_EXIT_RETURN,
                (void *)fg_pages_reserve(pages, at->time_ns, sizeof(struct fg_wire_funcgraph_exit)));
    }
}

static int write_lane(struct assembly *assembly, struct fg_row_lane *lane)
{
    const struct fg_plain_event *plain;
    struct fg_event event;
    size_t nr_plain;
    int result;

    while ((result = fg_row_lane_next(lane, &event)) > 0) {
        if (write_event(assembly, &event) < 0)
            return -ENOMEM;
        nr_plain = fg_row_lane_take_plain(lane, &plain);
        write_plain(&assembly->pages, event.tid, plain, nr_plain);
        if (fg_unlikely(assembly->pages.error))
            return assembly->pages.error;
    }
    return result < 0 ? result : fg_pages_end_lane(&assembly->pages);
}

static bool has_sections(const struct assembly *assembly)
{
    return assembly->format->version == 7;
}

static void begin_lane(struct assembly *assembly, uint32_t number)
{
    if (has_sections(assembly) && number % assembly->recorded->lanes.nr_cpus == 0) {
        assembly->sections.end = assembly->pages.offset;
        assembly->pages.offset = fg_trace_sections_begin_buffer(&assembly->sections);
    }
    assembly->extents[number].offset = assembly->pages.offset;
}

static int end_lane(struct assembly *assembly, uint32_t number)
{
    const struct fg_recorded *recorded = assembly->recorded;
    uint32_t nr_cpus = recorded->lanes.nr_cpus;

    assembly->extents[number].bytes = assembly->pages.offset - assembly->extents[number].offset;
    if (!has_sections(assembly) || number % nr_cpus != nr_cpus - 1)
        return 0;
    return fg_trace_sections_end_buffer(&assembly->sections, assembly->pages.offset, &recorded->lanes,
                                        number / nr_cpus, recorded->contents.clock, assembly->extents);
}

/* Writes the pages of all lanes, and notes where they lie. */
static int write_lanes(struct assembly *assembly)
{
    int error = 0;

    for (uint32_t number = 0; number < assembly->recorded->lanes.nr_lanes && error == 0; number++) {
        struct fg_row_lane lane;

        begin_lane(assembly, number);
        fg_row_lane_open(&lane, &assembly->pass, number);
        error = write_lane(assembly, &lane);
        fg_row_lane_close(&lane);
        if (error == 0)
            error = end_lane(assembly, number);
    }
    return error;
}

static int write_meta(struct assembly *assembly, int fd)
{
    uint64_t offset = assembly->pages.offset;
    struct fg_wire_footer footer = {.offset = offset};

    memcpy(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic));
    footer.bytes = assembly->meta.bytes;
    fg_text_put(&assembly->meta, (const char *)&footer, sizeof(footer));
    if (assembly->meta.failed)
        return -ENOMEM;
    return fg_file_write(fd, assembly->meta.data, assembly->meta.bytes, offset);
}

static int begin_head(struct assembly *assembly, int fd)
{
    fg_trace_head_build(&assembly->head, &assembly->recorded->contents, &assembly->recorded->lanes,
                        &assembly->events);
    if (assembly->head.failed)
        return -ENOMEM;
    return fg_pages_init(&assembly->pages, fd, page_round(assembly->head.bytes), NULL);
}

/* The head is written last: no reader takes an incomplete file for a trace. */
static int end_head(struct assembly *assembly, int fd)
{
    int error = write_meta(assembly, fd);

    if (error < 0)
        return error;
    fg_trace_head_set_extents(&assembly->head, &assembly->recorded->contents, &assembly->recorded->lanes,
                              assembly->extents);
    return fg_file_write(fd, assembly->head.data, assembly->head.bytes, 0);
}

static int begin_sections(struct assembly *assembly, int fd)
{
    const struct fg_codec *codec = assembly->format->codec;
    const struct fg_recorded *recorded = assembly->recorded;
    bool compresses = codec->id != FG_CODEC_NONE;
    int error = fg_trace_sections_begin(&assembly->sections, fd, codec, &recorded->contents, &recorded->lanes,
                                        &assembly->events);

    if (error == 0 && compresses)
        error = fg_lane_chunks_init(&assembly->chunks, codec, recorded->lanes.nr_lanes);
    if (error < 0)
        return error;
    return fg_pages_init(&assembly->pages, fd, assembly->sections.end, compresses ? &assembly->chunks : NULL);
}

static int end_trace(struct assembly *assembly, int fd)
{
    fg_recorded_describe(assembly->recorded, 0, &assembly->meta);
    return has_sections(assembly) ? fg_trace_sections_finish(&assembly->sections, &assembly->meta)
                                  : end_head(assembly, fd);
}

static int write_trace(struct assembly *assembly, int fd)
{
    int error = has_sections(assembly) ? begin_sections(assembly, fd) : begin_head(assembly, fd);

    if (error == 0)
        error = write_lanes(assembly);
    return error < 0 ? error : end_trace(assembly, fd);
}

static void assembly_free(struct assembly *assembly)
{
    free(assembly->extents);
    fg_text_free(&assembly->head);
    fg_text_free(&assembly->meta);
    fg_pages_free(&assembly->pages);
    fg_trace_sections_free(&assembly->sections);
    fg_lane_chunks_free(&assembly->chunks);
    fg_dat_events_free(&assembly->events);
    fg_row_pass_end(&assembly->pass);
}

/* From here on what is read of the lanes is counted. */
static void begin_reading(struct assembly *assembly, struct fg_reading *reading)
{
    struct fg_row_lane lane;

    assembly->pass.reading = reading;
    for (uint32_t i = 0; i < assembly->recorded->lanes.nr_lanes && reading; i++) {
        fg_row_lane_open(&lane, &assembly->pass, i);
        fg_reading_expect(reading, (int64_t)fg_row_lane_bytes(&lane));
        fg_row_lane_close(&lane);
    }
}

int fg_assemble_into(const struct fg_recorded *recorded, int fd, const struct fg_trace_dat_format *format,
                     struct fg_reading *reading, uint64_t *damaged_at)
{
    struct assembly assembly = {.recorded = recorded, .format = format};
    int error = fg_row_pass_begin(&assembly.pass, recorded);

    assembly.extents = calloc(recorded->lanes.nr_lanes, sizeof(*assembly.extents));
    if (error == 0)
        error = fg_dat_events_init(&assembly.events, &assembly.pass, format->values_are_texts);
    begin_reading(&assembly, reading);
    if (error == 0)
        error = assembly.extents ? write_trace(&assembly, fd) : -ENOMEM;
    *damaged_at = assembly.pass.damaged_at;
    assembly_free(&assembly);
    return error;
}

int fg_assemble(const struct fg_recorded *recorded, const char *path,
                const struct fg_trace_dat_format *format, struct fg_reading *reading, uint64_t *damaged_at)
{
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    *damaged_at = 0;
    if (error < 0)
        return error;
    error = fg_assemble_into(recorded, file.fd, format, reading, damaged_at);
    if (error == 0)
        return fg_new_file_publish(&file);
    fg_new_file_discard(&file);
    return error;
}
