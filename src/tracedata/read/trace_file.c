/* See trace_file.h. Checks all of the header of a trace.dat before it uses any of it: of version 6 here, of
 * version 7 in section_walk.c. */
#include "tracedata/read/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/array.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/read/header_walk.h"

#define MAGIC "\x17\x08\x44tracing"

int fg_trace_file_read(const struct fg_trace_file *file, uint64_t offset, void *into, size_t bytes,
                       char reason[FG_REASON_BYTES])
{
    const struct fg_input input = {.fd = file->fd, .bytes = file->bytes};

    return fg_input_read(&input, offset, into, bytes, reason);
}

#define walk_section(walk, name) fg_walk_expect(walk, name, sizeof(name))

static void walk_skip_formats(struct fg_header_walk *walk)
{
    for (uint32_t left = fg_walk_u32(walk); left && !walk->error; left--)
        fg_walk_skip(walk, fg_walk_u64(walk));
}

/* Returns whether it is of version 7. */
static bool walk_start(struct fg_header_walk *walk)
{
    char magic[sizeof(MAGIC) - 1], version[8] = "";
    uint64_t file_bytes = walk->input.bytes;
    if (file_bytes == 0) {
        walk->error = fg_refuse(walk->reason, "the file is empty");
        return false;
    }
    size_t bytes = file_bytes < sizeof(magic) ? (size_t)file_bytes : sizeof(magic);
    fg_walk_read(walk, magic, bytes);
    if (!walk->error && memcmp(magic, MAGIC, bytes) != 0)
        walk->error = fg_refuse(walk->reason, "not a trace.dat file");
    for (size_t i = 0; i < sizeof(version) && !walk->error; i++) {
        fg_walk_read(walk, version + i, 1);
        if (version[i] == 0)
            break;
        if (version[i] < '0' || version[i] > '9' || i + 1 == sizeof(version))
            walk->error = fg_refuse(walk->reason, "not a trace.dat file: it has no version number");
    }
    if (!walk->error && strcmp(version, "6") != 0 && strcmp(version, "7") != 0)
        walk->error = fg_refuse(
            walk->reason,
            "not recorded by funcgraph: it is a trace.dat of version %s, funcgraph writes versions 6 and 7",
            version);
    return strcmp(version, "7") == 0;
}

static void walk_machine(struct fg_header_walk *walk)
{
    uint8_t machine[2];
    fg_walk_read(walk, machine, sizeof(machine));
    uint32_t page_bytes = fg_walk_u32(walk);
    if (!walk->error && (machine[0] != 0 || machine[1] != 8 || page_bytes != FG_WIRE_PAGE_BYTES))
        walk->error = fg_refuse(
            walk->reason, "not recorded by funcgraph: it has %s order, %d-byte words and pages of %u bytes",
            machine[0] ? "big-endian" : "little-endian", machine[1], page_bytes);
}

/* Reads the table of lanes of one buffer. */
static void walk_lanes(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    walk_section(walk, "flyrecord");
    if (walk->error)
        return;
    /* Each lane has 16 bytes of a table: no file has more lanes than that allows. */
    if (file->nr_cpus > (file->bytes - walk->offset) / 16 ||
        file->nr_lanes + (uint64_t)file->nr_cpus > file->bytes / 16) {
        walk->error = fg_refuse(
            walk->reason, "damaged or truncated: it is too short for its table of %u lanes", file->nr_cpus);
        return;
    }
    if (fg_array_reserve(&file->lanes, &file->lanes_capacity, file->nr_lanes + (size_t)file->nr_cpus) < 0) {
        walk->error = -ENOMEM;
        return;
    }
    file->nr_buffers++;
    for (uint32_t i = 0; i < file->nr_cpus && !walk->error; i++) {
        struct fg_lane_data *lane = &file->lanes[file->nr_lanes++];
        lane->offset = fg_walk_u64(walk);
        lane->bytes = fg_walk_u64(walk);
        if (walk->error)
            return;
        if (lane->offset > file->bytes || lane->bytes > file->bytes - lane->offset)
            walk->error = fg_refuse(
                walk->reason, "truncated: it ends at byte %" PRIu64 ", inside or before the data of lane %u",
                file->bytes, file->nr_lanes - 1);
        else if (lane->bytes % FG_WIRE_PAGE_BYTES)
            walk->error =
                fg_refuse(walk->reason, "damaged: the data of lane %u is not a multiple of the page size",
                          file->nr_lanes - 1);
    }
}

/* The text of the option TRACECLOCK. trace-cmd writes the option without a text: its clocks count nanoseconds
 * unless the text that follows a buffer's lanes says otherwise, which is not read here. */
static void walk_clock(struct fg_header_walk *walk, uint32_t bytes, struct fg_trace_file *file)
{
    char text[128] = "";

    if (bytes >= sizeof(text)) {
        fg_walk_skip(walk, bytes);
        return;
    }
    fg_walk_read(walk, text, bytes);
    file->unit = fg_trace_clock_unit_in(text);
}

/* Walks one option. *buffer_offset is that of a BUFFER option, else 0. False after the last option. */
static bool walk_option(struct fg_header_walk *walk, struct fg_trace_file *file, uint64_t *buffer_offset)
{
    uint16_t id = fg_walk_u16(walk);
    uint32_t bytes;

    *buffer_offset = 0;
    if (walk->error || id == FG_DAT_END)
        return false;
    bytes = fg_walk_u32(walk);
    if (id == FG_DAT_BUFFER && bytes > sizeof(*buffer_offset)) {
        *buffer_offset = fg_walk_u64(walk);
        bytes -= sizeof(*buffer_offset);
    }
    if (id == FG_DAT_TRACECLOCK)
        walk_clock(walk, bytes, file);
    else
        fg_walk_skip(walk, bytes);
    return !walk->error;
}

/* The top instance's buffer follows the options; options say where the other buffers lie. */
static void walk_buffers(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    uint64_t options, buffer_offset;

    fg_walk_expect(walk, "options  ", sizeof("options  "));
    options = walk->offset;
    while (walk_option(walk, file, &buffer_offset))
        ;
    walk_lanes(walk, file);
    walk->offset = options;
    while (walk_option(walk, file, &buffer_offset)) {
        uint64_t next = walk->offset;

        if (!buffer_offset)
            continue;
        walk->offset = buffer_offset;
        walk_lanes(walk, file);
        walk->offset = next;
    }
}

static void read_meta(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    struct fg_wire_footer footer;
    if (walk->error)
        return;
    if (file->bytes < sizeof(footer)) {
        walk->error = fg_refuse(walk->reason, "not recorded by funcgraph");
        return;
    }
    walk->offset = file->bytes - sizeof(footer);
    fg_walk_read(walk, &footer, sizeof(footer));
    if (walk->error)
        return;
    if (memcmp(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic)) != 0) {
        walk->error = fg_refuse(
            walk->reason, "truncated, or not recorded by funcgraph: its last %zu bytes are not the footer",
            sizeof(footer));
        return;
    }
    if (footer.offset > file->bytes || footer.bytes > file->bytes - footer.offset) {
        walk->error =
            fg_refuse(walk->reason, "damaged: its description cannot lie at byte %" PRIu64, footer.offset);
        return;
    }
    if (file->blocks) {
        walk->error = fg_section_read_description(file->blocks, footer.offset, footer.bytes, &file->meta,
                                                  &file->meta_bytes, walk->reason);
        return;
    }
    file->meta = malloc(footer.bytes + 1);
    if (!file->meta) {
        walk->error = -ENOMEM;
        return;
    }
    file->meta_bytes = footer.bytes;
    walk->error = fg_trace_file_read(file, footer.offset, file->meta, footer.bytes, walk->reason);
}

static void walk_sections(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    struct fg_section_walk found = {.unit = FG_UNIT_NS};

    fg_section_walk(walk, &found);
    file->blocks = found.blocks;
    file->has_chunks = found.is_compressed;
    file->nr_cpus = found.nr_cpus;
    file->nr_buffers = found.nr_buffers;
    file->nr_lanes = found.nr_lanes;
    file->lanes = found.lanes;
    file->lanes_capacity = found.lanes_capacity;
    file->unit = found.unit;
}

static void walk_version_6(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    char system[2]; /* its name is not needed */

    walk_section(walk, "header_page");
    fg_walk_skip(walk, fg_walk_u64(walk));
    walk_section(walk, "header_event");
    fg_walk_skip(walk, fg_walk_u64(walk));
    walk_skip_formats(walk);
    for (uint32_t systems = fg_walk_u32(walk); systems && !walk->error; systems--) {
        fg_walk_text(walk, system, sizeof(system));
        walk_skip_formats(walk);
    }
    fg_walk_skip(walk, fg_walk_u32(walk)); /* kallsyms: the JSON has more */
    fg_walk_skip(walk, fg_walk_u32(walk)); /* printk formats */
    fg_walk_skip(walk, fg_walk_u64(walk)); /* command lines */
    file->nr_cpus = fg_walk_u32(walk);
    walk_buffers(walk, file);
}

static void walk_header(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    bool has_sections = walk_start(walk);

    walk_machine(walk);
    if (walk->error)
        return;
    if (has_sections)
        walk_sections(walk, file);
    else
        walk_version_6(walk, file);
    read_meta(walk, file);
}

/* ---- .fg */

static int describe_recorded(struct fg_trace_file *file)
{
    struct fg_text json = {0};

    fg_recorded_describe(file->recorded, &json);
    if (json.failed) {
        fg_text_free(&json);
        return -ENOMEM;
    }
    file->meta = json.data;
    file->meta_bytes = json.bytes;
    return 0;
}

static int open_recorded(struct fg_trace_file *file, char reason[FG_REASON_BYTES])
{
    int error;

    file->recorded = malloc(sizeof(*file->recorded));
    if (!file->recorded)
        return -ENOMEM;
    error = fg_recorded_open(file->fd, file->recorded);
    if (error == -ENOTSUP)
        fg_refuse(reason, "compressed with zstd, and this system has no zstd library");
    if (error)
        return error;
    file->nr_cpus = file->recorded->lanes.nr_cpus;
    file->nr_buffers = file->recorded->lanes.nr_buffers;
    file->nr_lanes = file->recorded->lanes.nr_lanes;
    file->unit = file->recorded->unit;
    return describe_recorded(file);
}

static bool is_recorded(const struct fg_trace_file *file)
{
    char magic[sizeof(FG_SPOOL_MAGIC) - 1];

    return file->bytes >= sizeof(struct fg_spool_header) &&
           pread(file->fd, magic, sizeof(magic), 0) == (ssize_t)sizeof(magic) &&
           memcmp(magic, FG_SPOOL_MAGIC, sizeof(magic)) == 0;
}

/* ---- both */

/* Takes over @fd; if that is -1, errno says why. */
static int open_fd(int fd, struct fg_trace_file *file, char reason[FG_REASON_BYTES])
{
    *file = (struct fg_trace_file){.fd = fd};
    struct fg_header_walk walk = {.input = {.fd = fd}, .reason = reason};
    struct stat status;
    reason[0] = 0;
    if (file->fd < 0)
        return -errno;
    if (fstat(file->fd, &status) < 0)
        walk.error = -errno;
    else if (S_ISDIR(status.st_mode))
        walk.error = -EISDIR;
    else if (!S_ISREG(status.st_mode))
        walk.error = fg_refuse(reason, "not a regular file");
    file->bytes = walk.input.bytes = (uint64_t)status.st_size;
    if (!walk.error && is_recorded(file))
        walk.error = open_recorded(file, reason);
    else if (!walk.error)
        walk_header(&walk, file);
    if (walk.error)
        fg_trace_file_close(file);
    return walk.error;
}

int fg_trace_file_open(const char *path, struct fg_trace_file *file, char reason[FG_REASON_BYTES])
{
    return open_fd(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), file, reason);
}

int fg_trace_file_open_fd(int fd, struct fg_trace_file *file, char reason[FG_REASON_BYTES])
{
    return open_fd(fcntl(fd, F_DUPFD_CLOEXEC, 0), file, reason);
}

int fg_trace_file_add_event(struct fg_trace_file *file, const struct fg_event_words *words)
{
    int64_t number;

    if (file->recorded)
        return 0;
    number = fg_event_table_append(&file->own_events, words);
    return number < 0 ? (int)number : 0;
}

void fg_trace_file_close(struct fg_trace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->recorded)
        fg_recorded_close(file->recorded);
    free(file->recorded);
    fg_event_table_free(&file->own_events);
    fg_blocks_free(file->blocks);
    free(file->lanes);
    free(file->meta);
    *file = (struct fg_trace_file){.fd = -1};
}
