/* What stands before the data of a trace.dat, besides the lanes: where its texts lie, and what its options
 * say. A trace of funcgraph's has the same in its JSON, which is preferred. */
#ifndef FG_DAT_HEAD_H
#define FG_DAT_HEAD_H

#include <stdbool.h>
#include <stdint.h>

#include "tracedata/base/text.h"
#include "tracedata/read/dat/blocks.h"

/* X(name, what is there). In both versions the bytes of a part are the same; those of version 7 may be
 * compressed. They have the order of FG_DAT_HEADER_INFO and the ids after it. */
#define FG_DAT_PARTS(X)                                                                                      \
    X(header, "\"header_page\", its text, \"header_event\", its text")                                       \
    X(ftrace, "u32 number; of each format: u64 size, text")                                                  \
    X(events, "u32 number of systems; of each: name, NUL, and then as `ftrace`")                             \
    X(kallsyms, "u32 size, text")                                                                            \
    X(printk, "u32 size, text")                                                                              \
    X(cmdlines, "u64 size, text")

enum fg_dat_part_name {
#define X(name, text) FG_DAT_PART_##name,
    FG_DAT_PARTS(X)
#undef X
        FG_NR_DAT_PARTS
};

/* All zeros: the file lacks it. */
struct fg_dat_part {
    uint64_t offset, bytes;
    bool is_compressed;
};

/* How times in the pages become times of the trace. */
struct fg_dat_time {
    uint32_t mult, shift; /* of ticks that trace-cmd measured; mult 0: the pages have the trace's times */
    int64_t offset_ns;    /* added after that */
    bool has_units;       /* the clock counts nanoseconds, or something that trace-cmd shows as such */
};

#define FG_DAT_CLOCK_BYTES 256

/* Pages of the kernel: of 4 KB or more, and its sub-buffers may have several. */
#define FG_PAGE_MIN_BYTES 1024u
#define FG_PAGE_MAX_BYTES (1u << 20)

struct fg_dat_head {
    struct fg_dat_part parts[FG_NR_DAT_PARTS];
    uint32_t page_bytes, word_bytes;
    uint32_t nr_cpus;               /* of the machine; lanes may be fewer */
    struct fg_text names;           /* of the buffers, each with a NUL */
    char clock[FG_DAT_CLOCK_BYTES]; /* as the kernel's file trace_clock; "" if the file has none */
    bool has_clock_option;
    struct fg_dat_time time;
    char
        deviation[FG_REASON_BYTES]; /* why funcgraph did not write this file; "": nothing speaks against it */
};

void fg_dat_head_free(struct fg_dat_head *head);

/* Notes why funcgraph did not write the file. The first reason stays. */
void __attribute__((format(printf, 2, 3))) fg_dat_deviates(struct fg_dat_head *head, const char *format, ...);

/* True for a clock whose times trace-cmd prints as seconds. */
bool fg_dat_clock_has_units(const char *clock);

#endif
