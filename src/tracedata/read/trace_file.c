/* See trace_file.h. Checks all of the header of a trace.dat, of version 6, before it uses any of it. */
#include "tracedata/read/trace_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "engine/core/array.h"
#include "tracedata/base/trace_event.h"

#define MAGIC "\x17\x08\x44tracing"

static int __attribute__((format(printf, 2, 3))) refuse(char reason[FG_REASON_BYTES], const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(reason, FG_REASON_BYTES, format, arguments);
    va_end(arguments);
    return -EINVAL;
}

int fg_trace_file_read(const struct fg_trace_file *file, uint64_t offset, void *into, size_t bytes,
                       char reason[FG_REASON_BYTES])
{
    if (offset > file->bytes || bytes > file->bytes - offset)
        return refuse(reason,
                      "truncated: the file has %" PRIu64 " bytes, and should have %" PRIu64 " at least",
                      file->bytes, offset + bytes);
    while (bytes) {
        ssize_t got = pread(file->fd, into, bytes, (off_t)offset);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return -errno;
        if (got == 0)
            return refuse(reason, "was cut short at byte %" PRIu64 " while being read", offset);
        into = (char *)into + got;
        offset += (uint64_t)got;
        bytes -= (size_t)got;
    }
    return 0;
}

/* Walks the header from front to back. The first error stays, and all later steps do nothing. */
struct header_walk {
    const struct fg_trace_file *file;
    uint64_t offset;
    int error;
    char *reason;
};

static void walk_read(struct header_walk *walk, void *into, size_t bytes)
{
    memset(into, 0, bytes);
    if (!walk->error)
        walk->error = fg_trace_file_read(walk->file, walk->offset, into, bytes, walk->reason);
    walk->offset += bytes;
}

static uint32_t walk_u32(struct header_walk *walk)
{
    uint8_t bytes[4];
    walk_read(walk, bytes, sizeof(bytes));
    return fg_load32(bytes);
}

static uint64_t walk_u64(struct header_walk *walk)
{
    uint8_t bytes[8];
    walk_read(walk, bytes, sizeof(bytes));
    return fg_load64(bytes);
}

static void walk_skip(struct header_walk *walk, uint64_t bytes)
{
    if (walk->error)
        return;
    if (bytes > walk->file->bytes - walk->offset)
        walk->error =
            refuse(walk->reason, "truncated: it ends at byte %" PRIu64 ", in the middle of its header",
                   walk->file->bytes);
    else
        walk->offset += bytes;
}

/* Expects these bytes, with the NUL of `expected`. */
static void walk_expect(struct header_walk *walk, const char *expected, size_t bytes)
{
    char found[16];
    uint64_t offset = walk->offset;
    walk_read(walk, found, bytes);
    if (!walk->error && memcmp(found, expected, bytes) != 0)
        walk->error = refuse(walk->reason, "damaged: no \"%s\" section at byte %" PRIu64, expected, offset);
}

#define walk_section(walk, name) walk_expect(walk, name, sizeof(name))

static void walk_skip_name(struct header_walk *walk)
{
    char c = 1;
    while (c && !walk->error)
        walk_read(walk, &c, 1);
}

static void walk_skip_formats(struct header_walk *walk)
{
    for (uint32_t left = walk_u32(walk); left && !walk->error; left--)
        walk_skip(walk, walk_u64(walk));
}

static void walk_start(struct header_walk *walk)
{
    char magic[sizeof(MAGIC) - 1], version[8] = "";
    const struct fg_trace_file *file = walk->file;
    if (file->bytes == 0) {
        walk->error = refuse(walk->reason, "the file is empty");
        return;
    }
    size_t bytes = file->bytes < sizeof(magic) ? (size_t)file->bytes : sizeof(magic);
    walk_read(walk, magic, bytes);
    if (!walk->error && memcmp(magic, MAGIC, bytes) != 0)
        walk->error = refuse(walk->reason, "not a trace.dat file");
    for (size_t i = 0; i < sizeof(version) && !walk->error; i++) {
        walk_read(walk, version + i, 1);
        if (version[i] == 0)
            break;
        if (version[i] < '0' || version[i] > '9' || i + 1 == sizeof(version))
            walk->error = refuse(walk->reason, "not a trace.dat file: it has no version number");
    }
    if (!walk->error && strcmp(version, "6") != 0)
        walk->error =
            refuse(walk->reason,
                   "not recorded by funcgraph: it is a trace.dat of version %s, funcgraph writes version 6",
                   version);
}

static void walk_machine(struct header_walk *walk)
{
    uint8_t machine[2];
    walk_read(walk, machine, sizeof(machine));
    uint32_t page_bytes = walk_u32(walk);
    if (!walk->error && (machine[0] != 0 || machine[1] != 8 || page_bytes != FG_WIRE_PAGE_BYTES))
        walk->error = refuse(
            walk->reason, "not recorded by funcgraph: it has %s order, %d-byte words and pages of %u bytes",
            machine[0] ? "big-endian" : "little-endian", machine[1], page_bytes);
}

/* Reads the table of lanes of one buffer. */
static void walk_lanes(struct header_walk *walk, struct fg_trace_file *file)
{
    walk_section(walk, "flyrecord");
    if (walk->error)
        return;
    /* Each lane has 16 bytes of a table: no file has more lanes than that allows. */
    if (file->nr_cpus > (file->bytes - walk->offset) / 16 ||
        file->nr_lanes + (uint64_t)file->nr_cpus > file->bytes / 16) {
        walk->error = refuse(walk->reason, "damaged or truncated: it is too short for its table of %u lanes",
                             file->nr_cpus);
        return;
    }
    if (fg_array_reserve(&file->lanes, &file->lanes_capacity, file->nr_lanes + (size_t)file->nr_cpus) < 0) {
        walk->error = -ENOMEM;
        return;
    }
    file->nr_buffers++;
    for (uint32_t i = 0; i < file->nr_cpus && !walk->error; i++) {
        struct fg_lane_data *lane = &file->lanes[file->nr_lanes++];
        lane->offset = walk_u64(walk);
        lane->bytes = walk_u64(walk);
        if (walk->error)
            return;
        if (lane->offset > file->bytes || lane->bytes > file->bytes - lane->offset)
            walk->error = refuse(
                walk->reason, "truncated: it ends at byte %" PRIu64 ", inside or before the data of lane %u",
                file->bytes, file->nr_lanes - 1);
        else if (lane->bytes % FG_WIRE_PAGE_BYTES)
            walk->error =
                refuse(walk->reason, "damaged: the data of lane %u is not a multiple of the page size",
                       file->nr_lanes - 1);
    }
}

/* The text of the option TRACECLOCK. trace-cmd writes the option without a text: its clocks count nanoseconds
 * unless the text that follows a buffer's lanes says otherwise, which is not read here. */
static void walk_clock(struct header_walk *walk, uint32_t bytes, struct fg_trace_file *file)
{
    char text[128] = "";

    if (bytes >= sizeof(text)) {
        walk_skip(walk, bytes);
        return;
    }
    walk_read(walk, text, bytes);
    file->unit = fg_trace_clock_unit_in(text);
}

/* Walks one option. *buffer_offset is that of a BUFFER option, else 0. False after the last option. */
static bool walk_option(struct header_walk *walk, struct fg_trace_file *file, uint64_t *buffer_offset)
{
    enum { OPTION_END = 0, OPTION_BUFFER = 3, OPTION_TRACECLOCK = 4 };
    uint8_t id[2];
    uint32_t bytes;

    *buffer_offset = 0;
    walk_read(walk, id, sizeof(id));
    if (walk->error || fg_load16(id) == OPTION_END)
        return false;
    bytes = walk_u32(walk);
    if (fg_load16(id) == OPTION_BUFFER && bytes > sizeof(*buffer_offset)) {
        *buffer_offset = walk_u64(walk);
        bytes -= sizeof(*buffer_offset);
    }
    if (fg_load16(id) == OPTION_TRACECLOCK)
        walk_clock(walk, bytes, file);
    else
        walk_skip(walk, bytes);
    return !walk->error;
}

/* The top instance's buffer follows the options; options say where the other buffers lie. */
static void walk_buffers(struct header_walk *walk, struct fg_trace_file *file)
{
    uint64_t options, buffer_offset;

    walk_expect(walk, "options  ", sizeof("options  "));
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

static void read_meta(struct header_walk *walk, struct fg_trace_file *file)
{
    struct fg_wire_footer footer;
    if (walk->error)
        return;
    if (file->bytes < sizeof(footer)) {
        walk->error = refuse(walk->reason, "not recorded by funcgraph");
        return;
    }
    walk->offset = file->bytes - sizeof(footer);
    walk_read(walk, &footer, sizeof(footer));
    if (walk->error)
        return;
    if (memcmp(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic)) != 0) {
        walk->error = refuse(walk->reason,
                             "truncated, or not recorded by funcgraph: its last %zu bytes are not the footer",
                             sizeof(footer));
        return;
    }
    if (footer.offset > file->bytes || footer.bytes > file->bytes - footer.offset) {
        walk->error =
            refuse(walk->reason, "damaged: its description cannot lie at byte %" PRIu64, footer.offset);
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

static void walk_header(struct header_walk *walk, struct fg_trace_file *file)
{
    walk_start(walk);
    walk_machine(walk);
    walk_section(walk, "header_page");
    walk_skip(walk, walk_u64(walk));
    walk_section(walk, "header_event");
    walk_skip(walk, walk_u64(walk));
    walk_skip_formats(walk);
    for (uint32_t systems = walk_u32(walk); systems && !walk->error; systems--) {
        walk_skip_name(walk);
        walk_skip_formats(walk);
    }
    walk_skip(walk, walk_u32(walk)); /* kallsyms: the JSON has more */
    walk_skip(walk, walk_u32(walk)); /* printk formats */
    walk_skip(walk, walk_u64(walk)); /* command lines */
    file->nr_cpus = walk_u32(walk);
    walk_buffers(walk, file);
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
        return refuse(reason, "compressed with zstd, and this system has no zstd library");
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
    struct header_walk walk = {.file = file, .reason = reason};
    struct stat status;
    reason[0] = 0;
    if (file->fd < 0)
        return -errno;
    if (fstat(file->fd, &status) < 0)
        walk.error = -errno;
    else if (S_ISDIR(status.st_mode))
        walk.error = -EISDIR;
    else if (!S_ISREG(status.st_mode))
        walk.error = refuse(reason, "not a regular file");
    file->bytes = (uint64_t)status.st_size;
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

void fg_trace_file_close(struct fg_trace_file *file)
{
    if (file->fd >= 0)
        close(file->fd);
    if (file->recorded)
        fg_recorded_close(file->recorded);
    free(file->recorded);
    free(file->lanes);
    free(file->meta);
    *file = (struct fg_trace_file){.fd = -1};
}
