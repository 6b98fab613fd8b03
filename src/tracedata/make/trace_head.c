/* See trace_head.h. */
#include "tracedata/make/trace_head.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "tracedata/base/json.h"
#include "tracedata/base/sections.h"
#include "tracedata/base/wire.h"
#include "tracedata/make/format_text.h"

/* Appends a string literal with its NUL. */
#define put_name(text, literal) fg_text_put(text, "" literal, sizeof(literal))

void fg_put_header_page(struct fg_text *text)
{
    /* A blank after the colon, which the fields of events do not have: so the kernel writes this file. */
    fg_put_format_field(text, " u64", "timestamp", 0, 8, 0);
    fg_put_format_field(text, " local_t", "commit", 8, 8, 1);
    fg_put_format_field(text, " char", "overwrite", 8, 1, 0);
    fg_put_format_field(text, " char", "data", FG_WIRE_PAGE_HEADER_BYTES,
                        FG_WIRE_PAGE_BYTES - FG_WIRE_PAGE_HEADER_BYTES, 0);
}

void fg_put_header_event(struct fg_text *text)
{
    fg_text_lit(text, "# compressed entry header\n"
                      "\ttype_len    :    5 bits\n"
                      "\ttime_delta  :   27 bits\n"
                      "\tarray       :   32 bits\n"
                      "\n"
                      "\tpadding     : type == 29\n"
                      "\ttime_extend : type == 30\n"
                      "\ttime_stamp : type == 31\n"
                      "\tdata max type_len  == 28\n");
}

static void put_page_layout(struct fg_text *text)
{
    size_t begin;

    put_name(text, "header_page");
    begin = fg_begin_u64(text);
    fg_put_header_page(text);
    fg_end_u64(text, begin);
    put_name(text, "header_event");
    begin = fg_begin_u64(text);
    fg_put_header_event(text);
    fg_end_u64(text, begin);
}

/* The lines of a table of fields, in a function where `record` is the type of its struct. A tail has the
 * size 0. */
#define PUT_FIELD(type, text_type, name)                                                                     \
    fg_put_format_field(text, text_type, #name, offsetof(record, name), sizeof(type), (type)-1 < (type)1);
#define PUT_PADDING(type, text_type, name)
#define PUT_TAIL(type, text_type, name)                                                                      \
    fg_put_format_field(text, text_type, #name "[]", offsetof(record, name), 0, 0);
#define PUT(sort, type, text_type, name) PUT_##sort(type, text_type, name)

#define X(event, system, print)                                                                              \
    static void put_format_##event(struct fg_text *text)                                                     \
    {                                                                                                        \
        __attribute__((unused)) typedef struct fg_wire_##event record; /* there may be no fields */          \
        size_t begin = fg_begin_format(text, #event, FG_EVENT_##event);                                      \
                                                                                                             \
        FG_WIRE_FIELDS_##event(PUT) fg_end_format(text, begin, print);                                       \
    }
FG_WIRE_EVENTS(X)
#undef X

static const struct {
    const char *system;
    void (*put)(struct fg_text *text);
} formats[] = {
#define X(event, system, print) {system, put_format_##event},
    FG_WIRE_EVENTS(X)
#undef X
};

#define OWN_SYSTEM "funcgraph"
#define NR_FORMATS (sizeof(formats) / sizeof(formats[0]))

static uint32_t count_formats_of(const char *system)
{
    uint32_t count = 0;

    for (size_t i = 0; i < NR_FORMATS; i++)
        count += strcmp(formats[i].system, system) == 0;
    return count;
}

static void put_formats_of(struct fg_text *text, const char *system)
{
    for (size_t i = 0; i < NR_FORMATS; i++)
        if (strcmp(formats[i].system, system) == 0)
            formats[i].put(text);
}

static void put_other_formats(struct fg_text *text, const struct fg_dat_events *events)
{
    fg_put_u32(text, 1 + fg_dat_events_nr_others(events, OWN_SYSTEM));
    put_name(text, OWN_SYSTEM);
    fg_put_u32(text, count_formats_of(OWN_SYSTEM) + fg_dat_events_count(events, OWN_SYSTEM));
    put_formats_of(text, OWN_SYSTEM);
    fg_dat_events_put_system(text, events, OWN_SYSTEM);
    fg_dat_events_put_others(text, events, OWN_SYSTEM);
}

/* A name in kallsyms ends at the first blank, one in cmdlines at the end of the line. So characters below
 * `lowest`, and bytes that are not UTF-8, become '_'. */
static void put_one_word(struct fg_text *text, const char *name, unsigned char lowest)
{
    size_t left = strlen(name);

    while (left > 0) {
        size_t bytes = fg_utf8_sequence(name, left);

        if (bytes == 0 || (unsigned char)*name < lowest || *name == 0x7f) {
            fg_text_char(text, '_');
            bytes = 1;
        } else {
            fg_text_put(text, name, bytes);
        }
        name += bytes;
        left -= bytes;
    }
}

static void put_kallsyms_line(struct fg_text *text, uint32_t address, const char *module,
                              const char *qualname)
{
    char start[32];

    fg_text_put(text, start, (size_t)snprintf(start, sizeof(start), "%016x t ", address));
    put_one_word(text, module, ' ' + 1);
    if (*module && *qualname)
        fg_text_char(text, '.');
    put_one_word(text, qualname, ' ' + 1);
    fg_text_char(text, '\n');
}

static void put_kallsyms(struct fg_text *text, const struct fg_symbols *symbols)
{
    size_t begin = fg_begin_u32(text);

    put_kallsyms_line(text, FG_WIRE_FUNC_MARK, "", FG_MARK_NAME);
    put_kallsyms_line(text, FG_FUNC_ADDRESS_UNKNOWN, "", "unknown");
    for (size_t i = 0; i < symbols->nr_matched; i++) {
        const struct fg_trace_function *function = fg_symbols_matched(symbols, i);
        const char *qualname = fg_function_string(function, FG_FUNCTION_QUALNAME);

        put_kallsyms_line(text, fg_function_address((uint32_t)i),
                          fg_function_string(function, FG_FUNCTION_MODULE), *qualname ? qualname : "unknown");
    }
    fg_end_u32(text, begin);
}

static void put_cmdlines(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes)
{
    size_t begin = fg_begin_u64(text);

    for (size_t i = 0; i < lanes->nr_tasks; i++) {
        const struct fg_trace_task *task = &contents->rings[lanes->tasks[i].ring].tasks[lanes->tasks[i].task];

        fg_text_u64(text, task->tid, 0, ' ');
        fg_text_char(text, ' ');
        put_one_word(text, task->name ? task->name : "<...>", ' ');
        fg_text_char(text, '\n');
    }
    fg_end_u64(text, begin);
}

void fg_trace_head_put(struct fg_text *text, enum fg_trace_head_part part, const struct fg_contents *contents,
                       const struct fg_lanes *lanes, const struct fg_dat_events *events)
{
    switch (part) {
    case FG_HEAD_PAGE_LAYOUT:
        put_page_layout(text);
        break;
    case FG_HEAD_FTRACE_FORMATS:
        fg_put_u32(text, count_formats_of("ftrace"));
        put_formats_of(text, "ftrace");
        break;
    case FG_HEAD_OTHER_FORMATS:
        put_other_formats(text, events);
        break;
    case FG_HEAD_KALLSYMS:
        put_kallsyms(text, &contents->symbols);
        break;
    case FG_HEAD_PRINTK:
        fg_put_u32(text, 0); /* no formats */
        break;
    case FG_HEAD_CMDLINES:
        put_cmdlines(text, contents, lanes);
    }
}

void fg_trace_head_put_clock(struct fg_text *text, enum fg_trace_clock clock)
{
    fg_text_char(text, '[');
    fg_text_puts(text, fg_trace_clock_names[clock]);
    fg_text_put(text, "]", 2);
}

static size_t trace_clock_bytes(enum fg_trace_clock clock)
{
    return strlen(fg_trace_clock_names[clock]) + sizeof("[]");
}

static const char section_name[] = "flyrecord";

static size_t buffer_bytes(const struct fg_lanes *lanes, enum fg_trace_clock clock)
{
    return sizeof(section_name) + lanes->nr_cpus * sizeof(struct fg_lane_extent) + sizeof(uint64_t) +
           trace_clock_bytes(clock);
}

static void put_buffer_option(struct fg_text *text, uint64_t offset, const char *name)
{
    fg_put_u32(text, (uint32_t)(sizeof(offset) + strlen(name) + 1));
    fg_put_u64(text, offset);
    fg_text_put(text, name, strlen(name) + 1);
}

static void put_options(struct fg_text *text, const struct fg_lanes *lanes, enum fg_trace_clock clock)
{
    size_t end;

    fg_text_put(text, "options  ", 10);
    fg_put_u16(text, FG_DAT_TRACECLOCK);
    fg_put_u32(text, (uint32_t)trace_clock_bytes(clock));
    fg_trace_head_put_clock(text, clock);
    end = text->bytes + sizeof(uint16_t);
    for (uint32_t i = 1; i < lanes->nr_buffers; i++)
        end += sizeof(uint16_t) + sizeof(uint32_t) + sizeof(uint64_t) + strlen(lanes->buffers[i]) + 1;
    for (uint32_t i = 1; i < lanes->nr_buffers; i++) {
        fg_put_u16(text, FG_DAT_BUFFER);
        put_buffer_option(text, end + i * buffer_bytes(lanes, clock), lanes->buffers[i]);
    }
    fg_put_u16(text, FG_DAT_END);
}

static void put_buffer(struct fg_text *text, const struct fg_lanes *lanes, enum fg_trace_clock clock)
{
    fg_text_put(text, section_name, sizeof(section_name));
    fg_text_fill(text, 0, lanes->nr_cpus * sizeof(struct fg_lane_extent));
    /* trace-cmd reads the clock's name here because there is an option TRACECLOCK. */
    fg_put_u64(text, trace_clock_bytes(clock));
    fg_trace_head_put_clock(text, clock);
}

void fg_trace_head_begin(struct fg_text *text, const char *version)
{
    fg_text_put(text, "\x17\x08\x44tracing", 10);
    fg_text_put(text, version, strlen(version) + 1);
    fg_text_char(text, 0);                      /* little-endian */
    fg_text_char(text, (char)sizeof(uint64_t)); /* a long's size */
    fg_put_u32(text, FG_WIRE_PAGE_BYTES);
}

void fg_trace_head_build(struct fg_text *text, const struct fg_contents *contents,
                         const struct fg_lanes *lanes, const struct fg_dat_events *events)
{
    fg_trace_head_begin(text, "6");
    for (int part = 0; part < FG_NR_HEAD_PARTS; part++)
        fg_trace_head_put(text, (enum fg_trace_head_part)part, contents, lanes, events);
    fg_put_u32(text, lanes->nr_cpus);
    put_options(text, lanes, contents->clock);
    for (uint32_t i = 0; i < lanes->nr_buffers; i++)
        put_buffer(text, lanes, contents->clock);
}

void fg_trace_head_set_extents(struct fg_text *text, const struct fg_contents *contents,
                               const struct fg_lanes *lanes, const struct fg_lane_extent *extents)
{
    size_t bytes = buffer_bytes(lanes, contents->clock);
    char *table = text->data + text->bytes - lanes->nr_buffers * bytes + sizeof(section_name);

    for (uint32_t i = 0; i < lanes->nr_buffers; i++)
        memcpy(table + i * bytes, extents + (size_t)i * lanes->nr_cpus, lanes->nr_cpus * sizeof(*extents));
}
