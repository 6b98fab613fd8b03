/* See dat_options.h. What trace-cmd adds to times was found out by giving it files with such options. */
#include "tracedata/read/dat/dat_options.h"

#include <stdlib.h>
#include <string.h>

#include "tracedata/base/sections.h"

#define NUMBER_BYTES 64

/* A number as text, with sign or 0x. */
static int64_t walk_number(struct fg_header_walk *walk, uint32_t bytes)
{
    char text[NUMBER_BYTES] = "";

    if (bytes >= sizeof(text))
        return 0;
    fg_walk_read(walk, text, bytes);
    return strtoll(text, NULL, 0);
}

static void walk_clock_text(struct fg_header_walk *walk, struct fg_dat_head *head, uint64_t bytes)
{
    memset(head->clock, 0, sizeof(head->clock));
    if (bytes < sizeof(head->clock))
        fg_walk_read(walk, head->clock, (size_t)bytes);
    head->clock[sizeof(head->clock) - 1] = 0;
}

void fg_walk_dat_option(struct fg_header_walk *walk, struct fg_dat_head *head, uint16_t id, uint32_t bytes)
{
    switch (id) {
    case FG_DAT_TRACECLOCK:
        head->has_clock_option = true;
        walk_clock_text(walk, head, bytes);
        break;
    case FG_DAT_CPUCOUNT:
        if (bytes == sizeof(head->nr_cpus))
            head->nr_cpus = fg_walk_u32(walk);
        break;
    case FG_DAT_DATE: /* in microseconds. Unsigned: what wraps around is damage, and harmless */
        head->time.offset_ns =
            (int64_t)((uint64_t)head->time.offset_ns + (uint64_t)walk_number(walk, bytes) * 1000);
        break;
    case FG_DAT_OFFSET:
        head->time.offset_ns = (int64_t)((uint64_t)head->time.offset_ns + (uint64_t)walk_number(walk, bytes));
        break;
    case FG_DAT_TSC2NSEC:
        if (bytes < 2 * sizeof(uint32_t))
            break;
        head->time.mult = fg_walk_u32(walk);
        head->time.shift = fg_walk_u32(walk) & 63;
        break;
    default:
        break;
    }
}

void fg_walk_dat_clock(struct fg_header_walk *walk, struct fg_dat_head *head)
{
    uint64_t bytes = fg_walk_u64(walk);

    if (!walk->error && bytes < sizeof(head->clock))
        walk_clock_text(walk, head, bytes);
}
