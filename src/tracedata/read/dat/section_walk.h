/* Reads what a trace.dat of version 7 has before and after the data of its lanes: sections.h. */
#ifndef FG_SECTION_WALK_H
#define FG_SECTION_WALK_H

#include <stdbool.h>

#include "tracedata/base/trace_clock.h"
#include "tracedata/read/dat/blocks.h"
#include "tracedata/read/dat/dat_head.h"
#include "tracedata/read/dat/header_walk.h"

struct fg_lane_data {
    uint64_t offset;
    uint64_t bytes;
};

/* A lane that an option lists. */
struct fg_section_lane {
    struct fg_lane_data data;
    uint32_t buffer, cpu;
};

/* More lanes than any machine has: room for 512 CPUs in each of 128 instances. */
#define FG_DAT_LANES_MAX (1u << 16)

struct fg_section_walk {
    struct fg_blocks *blocks;
    bool is_compressed;  /* the lanes are in chunks */
    uint32_t nr_cpus;    /* lanes of each buffer */
    uint32_t nr_buffers; /* the top instance's, then the others */
    uint32_t nr_lanes;
    struct fg_lane_data *lanes;
    size_t lanes_capacity;
    enum fg_clock_unit unit;
    struct fg_dat_head *head;
    struct fg_section_lane *listed; /* as the options list them; fg_section_walk() makes `lanes` of them */
    size_t nr_listed, listed_capacity;
};

/* Continues @walk after the first bytes, which say what the machine is. @found has its head. Errors are in
 * @walk; whatever is in @found then is to be freed. */
void fg_section_walk(struct fg_header_walk *walk, struct fg_section_walk *found);

/* Reads the JSON of a section of @bytes with its header, to which the footer leads. Return: as
 * fg_input_read(); or 0, and *@json is to be freed. */
int fg_section_read_description(struct fg_blocks *blocks, uint64_t offset, uint64_t bytes, char **json,
                                size_t *json_bytes, char reason[FG_REASON_BYTES]);

#endif
