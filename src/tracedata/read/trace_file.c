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

#include "engine/base/array.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/wire.h"
#include "tracedata/read/dat/dat_options.h"
#include "tracedata/read/dat/header_walk.h"
#include "tracedata/read/fg/trace_meta.h"

#define MAGIC "\x17\x08\x44tracing"
/* More would take more memory as JSON, and as Python's objects, than all else. */
#define MOST_LISTED_FUNCTIONS (UINT32_C(1) << 16)

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
            "not recorded by funcgraph: it is a trace.dat of version %s, funcgraph reads versions 6 and 7",
            version);
    return strcmp(version, "7") == 0;
}

static bool is_page_size(uint32_t bytes)
{
    return bytes >= FG_PAGE_MIN_BYTES && bytes <= FG_PAGE_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

static void walk_machine(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    uint8_t machine[2];
    fg_walk_read(walk, machine, sizeof(machine));
    uint32_t page_bytes = fg_walk_u32(walk);
    if (walk->error)
        return;
    if (machine[0] != 0 || (machine[1] != 4 && machine[1] != 8) || !is_page_size(page_bytes))
        walk->error = fg_refuse(
            walk->reason, "funcgraph cannot read it: it has %s order, %d-byte words and pages of %u bytes",
            machine[0] ? "big-endian" : "little-endian", machine[1], page_bytes);
    if (machine[1] != 8 || page_bytes != FG_WIRE_PAGE_BYTES)
        fg_dat_deviates(&file->head, "it has %d-byte words and pages of %u bytes", machine[1], page_bytes);
    file->head.word_bytes = machine[1];
    file->head.page_bytes = page_bytes;
    /* u64 timestamp, and the number of bytes as a word */
    file->page_header_bytes = (uint32_t)sizeof(uint64_t) + machine[1];
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
        else if (lane->bytes % file->head.page_bytes)
            walk->error =
                fg_refuse(walk->reason, "damaged: the data of lane %u is not a multiple of the page size",
                          file->nr_lanes - 1);
    }
}

/* Walks one option, for the first or second time. *buffer_offset is that of a BUFFER option, else 0. False
 * after the last option. */
static bool walk_option(struct fg_header_walk *walk, struct fg_trace_file *file, bool is_first,
                        uint64_t *buffer_offset)
{
    uint16_t id = fg_walk_u16(walk);
    uint64_t end;
    uint32_t bytes;

    *buffer_offset = 0;
    if (walk->error || id == FG_DAT_END)
        return false;
    bytes = fg_walk_u32(walk);
    end = walk->offset + bytes;
    if (!walk->error && bytes > walk->input.bytes - walk->offset)
        walk->error = fg_refuse(walk->reason, "truncated: it ends at byte %" PRIu64 ", inside of an option",
                                walk->input.bytes);
    if (id == FG_DAT_BUFFER && bytes > sizeof(*buffer_offset)) {
        *buffer_offset = fg_walk_u64(walk);
        if (is_first)
            fg_walk_name(walk, &file->head.names);
    } else if (is_first) {
        fg_walk_dat_option(walk, &file->head, id, bytes);
    }
    if (!walk->error && walk->offset > end)
        walk->error = fg_refuse(walk->reason, "damaged: an option is too long");
    walk->offset = end;
    return !walk->error;
}

/* The top instance's buffer follows the options; options say where the other buffers lie. */
static void walk_buffers(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    uint64_t options, buffer_offset;

    fg_walk_expect(walk, "options  ", sizeof("options  "));
    options = walk->offset;
    fg_text_char(&file->head.names, 0); /* the top instance has none */
    while (walk_option(walk, file, true, &buffer_offset))
        ;
    walk_lanes(walk, file);
    /* trace-cmd may write the option TRACECLOCK without a text, and the clock here. */
    if (file->head.has_clock_option && !file->head.clock[0])
        fg_walk_dat_clock(walk, &file->head);
    walk->offset = options;
    while (walk_option(walk, file, false, &buffer_offset)) {
        uint64_t next = walk->offset;

        if (!buffer_offset)
            continue;
        walk->offset = buffer_offset;
        walk_lanes(walk, file);
        walk->offset = next;
    }
}

/* Reads the footer. False: there is none, which is so in a trace of trace-cmd's, or an error. */
static bool read_footer(struct fg_header_walk *walk, struct fg_trace_file *file,
                        struct fg_wire_footer *footer)
{
    if (walk->error || file->bytes < sizeof(*footer))
        return false;
    walk->offset = file->bytes - sizeof(*footer);
    fg_walk_read(walk, footer, sizeof(*footer));
    return !walk->error && memcmp(footer->magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer->magic)) == 0;
}

static void read_meta(struct fg_header_walk *walk, struct fg_trace_file *file,
                      const struct fg_wire_footer *footer)
{
    if (footer->offset > file->bytes || footer->bytes > file->bytes - footer->offset) {
        walk->error =
            fg_refuse(walk->reason, "damaged: its description cannot lie at byte %" PRIu64, footer->offset);
        return;
    }
    if (file->head.deviation[0]) {
        walk->error = fg_refuse(walk->reason, "not recorded by funcgraph: %.150s", file->head.deviation);
        return;
    }
    if (file->blocks) {
        walk->error = fg_section_read_description(file->blocks, footer->offset, footer->bytes, &file->meta,
                                                  &file->meta_bytes, walk->reason);
        return;
    }
    file->meta = malloc(footer->bytes + 1);
    if (!file->meta) {
        walk->error = -ENOMEM;
        return;
    }
    file->meta_bytes = footer->bytes;
    walk->error = fg_trace_file_read(file, footer->offset, file->meta, footer->bytes, walk->reason);
}

/* The file has no footer: its head tells what it holds. */
static void become_kernel(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    struct fg_dat_head *head = &file->head;

    head->time.has_units = head->time.mult != 0 || fg_dat_clock_has_units(head->clock);
    file->unit = head->time.has_units ? FG_UNIT_NS : FG_UNIT_TICKS;
    file->kernel = fg_kernel_new(&head->time);
    if (!file->kernel || head->names.failed)
        walk->error = -ENOMEM;
}

static void walk_sections(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    struct fg_section_walk found = {.head = &file->head};

    fg_section_walk(walk, &found);
    free(found.listed);
    file->blocks = found.blocks;
    file->has_chunks = found.is_compressed;
    file->nr_cpus = found.nr_cpus;
    file->nr_buffers = found.nr_buffers;
    file->nr_lanes = found.nr_lanes;
    file->lanes = found.lanes;
    file->lanes_capacity = found.lanes_capacity;
}

/* Begins a part of the head. */
static void begin_part(struct fg_header_walk *walk, struct fg_trace_file *file, enum fg_dat_part_name name)
{
    file->head.parts[name].offset = walk->offset;
}

static void end_part(struct fg_header_walk *walk, struct fg_trace_file *file, enum fg_dat_part_name name)
{
    if (!walk->error)
        file->head.parts[name].bytes = walk->offset - file->head.parts[name].offset;
}

static void walk_version_6(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    char system[2]; /* its name is not needed */

    begin_part(walk, file, FG_DAT_PART_header);
    walk_section(walk, "header_page");
    fg_walk_skip(walk, fg_walk_u64(walk));
    walk_section(walk, "header_event");
    fg_walk_skip(walk, fg_walk_u64(walk));
    end_part(walk, file, FG_DAT_PART_header);
    begin_part(walk, file, FG_DAT_PART_ftrace);
    walk_skip_formats(walk);
    end_part(walk, file, FG_DAT_PART_ftrace);
    begin_part(walk, file, FG_DAT_PART_events);
    for (uint32_t systems = fg_walk_u32(walk); systems && !walk->error; systems--) {
        fg_walk_text(walk, system, sizeof(system));
        walk_skip_formats(walk);
    }
    end_part(walk, file, FG_DAT_PART_events);
    begin_part(walk, file, FG_DAT_PART_kallsyms);
    fg_walk_skip(walk, fg_walk_u32(walk));
    end_part(walk, file, FG_DAT_PART_kallsyms);
    begin_part(walk, file, FG_DAT_PART_printk);
    fg_walk_skip(walk, fg_walk_u32(walk));
    end_part(walk, file, FG_DAT_PART_printk);
    begin_part(walk, file, FG_DAT_PART_cmdlines);
    fg_walk_skip(walk, fg_walk_u64(walk));
    end_part(walk, file, FG_DAT_PART_cmdlines);
    file->nr_cpus = fg_walk_u32(walk);
    walk_buffers(walk, file);
}

static void walk_header(struct fg_header_walk *walk, struct fg_trace_file *file)
{
    bool has_sections = walk_start(walk);
    struct fg_wire_footer footer;

    walk_machine(walk, file);
    if (walk->error)
        return;
    if (has_sections)
        walk_sections(walk, file);
    else
        walk_version_6(walk, file);
    file->unit = fg_trace_clock_unit_in(file->head.clock);
    if (read_footer(walk, file, &footer))
        read_meta(walk, file, &footer);
    else if (!walk->error)
        become_kernel(walk, file);
}

int fg_trace_file_read_part(const struct fg_trace_file *file, enum fg_dat_part_name name,
                            struct fg_text *text, char reason[FG_REASON_BYTES])
{
    const struct fg_dat_part *part = &file->head.parts[name];
    struct fg_dat_block block;
    uint64_t bytes = part->bytes;
    int error;

    reason[0] = 0;
    if (part->is_compressed) {
        error = fg_block_open(file->blocks, part->offset, part->offset + part->bytes,
                              FG_DAT_DESCRIPTION_MAX_BYTES, &block, reason);
        if (error)
            return error;
        bytes = block.bytes;
    }
    if (bytes > FG_DAT_DESCRIPTION_MAX_BYTES)
        return fg_refuse(reason, "damaged: a part of its head has %" PRIu64 " bytes", bytes);
    if (!bytes)
        return 0;
    if (!fg_text_reserve(text, (size_t)bytes))
        return -ENOMEM;
    if (part->is_compressed)
        error = fg_block_read(file->blocks, part->offset, &block, text->data + text->bytes, reason);
    else
        error = fg_trace_file_read(file, part->offset, text->data + text->bytes, (size_t)bytes, reason);
    text->bytes += error ? 0 : (size_t)bytes;
    return error;
}

/* ---- .fg */

static int describe_recorded(struct fg_trace_file *file)
{
    struct fg_text json = {0};
    size_t nr_functions = file->recorded->contents.symbols.nr_matched;

    file->nr_unlisted = nr_functions > MOST_LISTED_FUNCTIONS ? (uint32_t)nr_functions : 0;
    fg_recorded_describe(file->recorded, file->nr_unlisted, &json);
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

/* The last byte of a .fg's magic is its version. */
enum { VERSION_AT = sizeof(FG_SPOOL_MAGIC) - 2 };

/* Returns the version of a .fg file; 0: it is none. */
static uint8_t fg_version(const struct fg_trace_file *file)
{
    char magic[VERSION_AT + 1];

    if (file->bytes < sizeof(struct fg_spool_header) ||
        pread(file->fd, magic, sizeof(magic), 0) != (ssize_t)sizeof(magic) ||
        memcmp(magic, FG_SPOOL_MAGIC, VERSION_AT) != 0)
        return 0;
    return (uint8_t)magic[VERSION_AT];
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
    const uint8_t ours = FG_SPOOL_MAGIC[VERSION_AT], version = walk.error ? 0 : fg_version(file);
    if (version == ours)
        walk.error = open_recorded(file, reason);
    else if (version)
        walk.error =
            fg_refuse(reason, "a .fg file of version %u: this funcgraph reads version %u", version, ours);
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

void fg_trace_file_put_function(const struct fg_trace_file *file, uint32_t number, struct fg_text *json)
{
    fg_trace_meta_put_function(json, fg_symbols_matched(&file->recorded->contents.symbols, number));
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
    fg_kernel_free(file->kernel);
    fg_dat_head_free(&file->head);
    free(file->lanes);
    free(file->meta);
    *file = (struct fg_trace_file){.fd = -1};
}
