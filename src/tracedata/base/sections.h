/* The options of trace.dat, and the sections of which version 7 consists. The writer and the reader have them
 * from here; docs/reference/trace-file.md tells people. From trace-cmd's manual page trace-cmd.dat.v7(5).
 *
 *     +----------------------------+
 *     | magic, "7\0", machine      |
 *     | codec's name and version   |
 *     | u64 offset of options      |
 *     +----------------------------+  then sections, in any order:
 *     | struct fg_dat_section      |
 *     | data                       |
 *     +----------------------------+
 *     | ...                        |
 *
 * A section with FG_DAT_COMPRESSED has a struct fg_dat_block and the compressed data. But the data of a
 * buffer is in chunks, as each lane of it is: u32 number of chunks, and for each a struct fg_dat_block and
 * the compressed data, which is some whole pages. A lane without data has no chunks and not their number.
 *
 * Sections are found through options: an option has the id of the section and its offset. A buffer's option
 * has more: u64 offset of the section, name, clock, u32 page size, u32 number of lanes, and for each a struct
 * fg_dat_lane. */
#ifndef FG_SECTIONS_H
#define FG_SECTIONS_H

#include <stdint.h>

/* Ids of options and sections. */
enum fg_dat_id {
    FG_DAT_END = 0,  /* the last option: u64 offset of more options, or 0; a section: options */
    FG_DAT_DATE = 1, /* text: microseconds to add to all times */
    FG_DAT_BUFFER = 3,
    FG_DAT_TRACECLOCK = 4,
    FG_DAT_OFFSET = 7, /* text: nanoseconds to add to all times */
    FG_DAT_CPUCOUNT = 8,
    FG_DAT_TSC2NSEC = 14,    /* u32 factor and u32 shift that make nanoseconds of times */
    FG_DAT_STRINGS = 15,     /* names of sections */
    FG_DAT_HEADER_INFO = 16, /* this one and the next five are the parts of version 6's head */
    FG_DAT_CMDLINES = 21,
    FG_DAT_DESCRIPTION = 0x4746, /* "FG": the trace's own JSON. No option has it, as trace-cmd would warn */
};

#define FG_DAT_COMPRESSED 1u

struct fg_dat_section {
    uint16_t id;
    uint16_t flags;
    uint32_t name;  /* place in the section of strings */
    uint64_t bytes; /* in the file, after this */
};

struct fg_dat_block {
    uint32_t packed_bytes;
    uint32_t bytes;
};

struct __attribute__((packed)) fg_dat_lane {
    uint32_t cpu;
    uint64_t offset, bytes;
};

/* More than a reader takes in one piece. */
#define FG_DAT_CHUNK_MAX_BYTES (16u << 20)
#define FG_DAT_DESCRIPTION_MAX_BYTES (64u << 20)

#endif
