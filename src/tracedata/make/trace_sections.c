/* See trace_sections.h. */
#include "tracedata/make/trace_sections.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "tracedata/base/file_io.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/wire.h"

/* trace-cmd compares zlib's version with its own: this one is not newer than any. */
#define CODEC_VERSION "1"

static const char *const part_names[FG_NR_HEAD_PARTS] = {
    [FG_HEAD_PAGE_LAYOUT] = "headers",
    [FG_HEAD_FTRACE_FORMATS] = "ftrace events",
    [FG_HEAD_OTHER_FORMATS] = "events format",
    [FG_HEAD_KALLSYMS] = "kallsyms",
    [FG_HEAD_PRINTK] = "printk",
    [FG_HEAD_CMDLINES] = "command lines",
};

static void put_option(struct fg_text *options, uint16_t id, const void *data, uint32_t bytes)
{
    fg_text_put(options, (const char *)&id, sizeof(id));
    fg_text_put(options, (const char *)&bytes, sizeof(bytes));
    fg_text_put(options, data, bytes);
}

static uint32_t put_string(struct fg_text *strings, const char *string)
{
    uint32_t place = (uint32_t)strings->bytes;

    fg_text_put(strings, string, strlen(string) + 1);
    return place;
}

static bool compresses(const struct fg_trace_sections *sections)
{
    return sections->codec->id != FG_CODEC_NONE;
}

/* Appends a block of compressed data to `packed`. */
static int pack_block(struct fg_trace_sections *sections, const struct fg_text *data)
{
    struct fg_text *packed = &sections->packed;
    struct fg_dat_block block = {.bytes = (uint32_t)data->bytes};
    size_t room = sections->codec->bound(data->bytes);
    int64_t written;

    if (!fg_text_reserve(packed, sizeof(block) + room))
        return -ENOMEM;
    written = sections->codec->compress(sections->state, packed->data + packed->bytes + sizeof(block), room,
                                        data->data, data->bytes);
    if (written < 0)
        return (int)written;
    block.packed_bytes = (uint32_t)written;
    memcpy(packed->data + packed->bytes, &block, sizeof(block));
    packed->bytes += sizeof(block) + (size_t)written;
    return 0;
}

/* Appends `data` to `packed` as a section, compressed if it may be. */
static int pack_section(struct fg_trace_sections *sections, struct fg_dat_section header,
                        const struct fg_text *data)
{
    int error = 0;

    if (data->failed || !fg_text_reserve(&sections->packed, sizeof(header)))
        return -ENOMEM;
    sections->packed.bytes = sizeof(header);
    if (header.flags & FG_DAT_COMPRESSED)
        error = pack_block(sections, data);
    else
        fg_text_put(&sections->packed, data->data, data->bytes);
    if (error < 0 || sections->packed.failed)
        return error < 0 ? error : -ENOMEM;
    header.bytes = sections->packed.bytes - sizeof(header);
    memcpy(sections->packed.data, &header, sizeof(header));
    return 0;
}

static int write_packed(struct fg_trace_sections *sections)
{
    int error = fg_file_write(sections->fd, sections->packed.data, sections->packed.bytes, sections->end);

    sections->end += sections->packed.bytes;
    return error;
}

static int write_section(struct fg_trace_sections *sections, uint16_t id, uint16_t flags, uint32_t name,
                         const struct fg_text *data)
{
    struct fg_dat_section header = {.id = id, .flags = flags, .name = name};
    int error = pack_section(sections, header, data);

    return error < 0 ? error : write_packed(sections);
}

static uint16_t compressed_flag(const struct fg_trace_sections *sections)
{
    return compresses(sections) ? FG_DAT_COMPRESSED : 0;
}

static int write_part(struct fg_trace_sections *sections, enum fg_trace_head_part part,
                      const struct fg_contents *contents, const struct fg_lanes *lanes,
                      const struct fg_dat_events *events)
{
    uint16_t id = (uint16_t)(FG_DAT_HEADER_INFO + part);
    struct fg_text data = {0};
    int error;

    fg_trace_head_put(&data, part, contents, lanes, events);
    put_option(&sections->options, id, &sections->end, sizeof(sections->end));
    error = write_section(sections, id, compressed_flag(sections),
                          put_string(&sections->strings, part_names[part]), &data);
    fg_text_free(&data);
    return error;
}

static void put_clock_and_cpus(struct fg_text *options, const struct fg_contents *contents,
                               const struct fg_lanes *lanes)
{
    struct fg_text clock = {0};

    fg_trace_head_put_clock(&clock, contents->clock);
    put_option(options, FG_DAT_TRACECLOCK, clock.data, (uint32_t)clock.bytes);
    put_option(options, FG_DAT_CPUCOUNT, &lanes->nr_cpus, sizeof(lanes->nr_cpus));
    options->failed |= clock.failed;
    fg_text_free(&clock);
}

int fg_trace_sections_begin(struct fg_trace_sections *sections, int fd, const struct fg_codec *codec,
                            const struct fg_contents *contents, const struct fg_lanes *lanes,
                            const struct fg_dat_events *events)
{
    int error = 0;

    *sections = (struct fg_trace_sections){.fd = fd, .codec = codec};
    sections->state = codec->state_new_dense(codec);
    if (sections->state == NULL)
        return -ENOMEM;
    fg_trace_head_begin(&sections->first, "7");
    fg_text_put(&sections->first, codec->name, strlen(codec->name) + 1);
    fg_text_puts(&sections->first, compresses(sections) ? CODEC_VERSION : "");
    fg_text_char(&sections->first, 0);
    sections->end = sections->first.bytes + sizeof(uint64_t);
    put_clock_and_cpus(&sections->options, contents, lanes);
    for (int part = 0; part < FG_NR_HEAD_PARTS && error == 0; part++)
        error = write_part(sections, (enum fg_trace_head_part)part, contents, lanes, events);
    return error;
}

void fg_trace_sections_free(struct fg_trace_sections *sections)
{
    if (sections->codec)
        sections->codec->state_free(sections->state);
    fg_text_free(&sections->first);
    fg_text_free(&sections->options);
    fg_text_free(&sections->strings);
    fg_text_free(&sections->packed);
    *sections = (struct fg_trace_sections){0};
}

/* trace-cmd maps the pages of lanes that are not compressed. */
uint64_t fg_trace_sections_begin_buffer(struct fg_trace_sections *sections)
{
    uint64_t offset = sections->end + sizeof(struct fg_dat_section);

    sections->buffer = sections->end;
    if (!compresses(sections))
        offset = (offset + FG_WIRE_PAGE_BYTES - 1) & ~(uint64_t)(FG_WIRE_PAGE_BYTES - 1);
    return offset;
}

static void put_buffer_option(struct fg_trace_sections *sections, const struct fg_lanes *lanes,
                              uint32_t buffer, enum fg_trace_clock clock,
                              const struct fg_lane_extent *extents)
{
    const char *name = lanes->buffers[buffer], *clock_name = fg_trace_clock_names[clock];
    uint32_t page_bytes = FG_WIRE_PAGE_BYTES;
    struct fg_text data = {0};

    fg_text_put(&data, (const char *)&sections->buffer, sizeof(sections->buffer));
    fg_text_put(&data, name, strlen(name) + 1);
    fg_text_put(&data, clock_name, strlen(clock_name) + 1);
    fg_text_put(&data, (const char *)&page_bytes, sizeof(page_bytes));
    fg_text_put(&data, (const char *)&lanes->nr_cpus, sizeof(lanes->nr_cpus));
    for (uint32_t cpu = 0; cpu < lanes->nr_cpus; cpu++) {
        const struct fg_lane_extent *extent = &extents[(size_t)buffer * lanes->nr_cpus + cpu];
        struct fg_dat_lane lane = {.cpu = cpu, .offset = extent->offset, .bytes = extent->bytes};

        fg_text_put(&data, (const char *)&lane, sizeof(lane));
    }
    put_option(&sections->options, FG_DAT_BUFFER, data.data, (uint32_t)data.bytes);
    sections->options.failed |= data.failed;
    fg_text_free(&data);
}

int fg_trace_sections_end_buffer(struct fg_trace_sections *sections, uint64_t end,
                                 const struct fg_lanes *lanes, uint32_t buffer, enum fg_trace_clock clock,
                                 const struct fg_lane_extent *extents)
{
    struct fg_dat_section header = {
        .id = FG_DAT_BUFFER,
        .flags = compressed_flag(sections),
        .name = (uint32_t)sections->strings.bytes,
        .bytes = end - sections->buffer - sizeof(header),
    };

    fg_text_lit(&sections->strings, "buffer flyrecord ");
    put_string(&sections->strings, lanes->buffers[buffer]);
    put_buffer_option(sections, lanes, buffer, clock, extents);
    sections->end = end;
    return fg_file_write(sections->fd, &header, sizeof(header), sections->buffer);
}

/* What is too large for a reader to decompress in one piece is not compressed. */
static int write_description(struct fg_trace_sections *sections, uint32_t name, const struct fg_text *json)
{
    struct fg_wire_footer footer = {.offset = sections->end};
    struct fg_dat_section header = {
        .id = FG_DAT_DESCRIPTION,
        .flags = json->bytes <= FG_DAT_DESCRIPTION_MAX_BYTES ? compressed_flag(sections) : 0,
        .name = name,
    };
    int error = pack_section(sections, header, json);

    if (error < 0)
        return error;
    memcpy(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic));
    footer.bytes = sections->packed.bytes;
    fg_text_put(&sections->packed, (const char *)&footer, sizeof(footer));
    if (sections->packed.failed)
        return -ENOMEM;
    /* The footer is a part of the section, for readers that go from section to section. */
    header.bytes = sections->packed.bytes - sizeof(header);
    memcpy(sections->packed.data, &header, sizeof(header));
    return write_packed(sections);
}

int fg_trace_sections_finish(struct fg_trace_sections *sections, const struct fg_text *json)
{
    uint64_t options = sections->end, more_options = 0;
    uint32_t options_name = put_string(&sections->strings, "options");
    uint32_t strings_name = put_string(&sections->strings, "strings");
    uint32_t json_name = put_string(&sections->strings, "funcgraph");
    int error;

    put_option(&sections->options, FG_DAT_END, &more_options, sizeof(more_options));
    error = write_section(sections, FG_DAT_END, 0, options_name, &sections->options);
    if (error == 0)
        error = write_section(sections, FG_DAT_STRINGS, compressed_flag(sections), strings_name,
                              &sections->strings);
    if (error == 0)
        error = write_description(sections, json_name, json);
    fg_text_put(&sections->first, (const char *)&options, sizeof(options));
    if (error < 0 || sections->first.failed)
        return error < 0 ? error : -ENOMEM;
    return fg_file_write(sections->fd, sections->first.data, sections->first.bytes, 0);
}
