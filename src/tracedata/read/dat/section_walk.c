/* See section_walk.h. Every offset and size is checked against the file and against what it lies in. */
#include "tracedata/read/dat/section_walk.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "tracedata/base/wire.h"
#include "tracedata/read/dat/dat_options.h"

/* Reads the header of a section at `offset`, which must have this id. */
static struct fg_dat_section walk_section_header(struct fg_header_walk *walk, uint64_t offset, uint16_t id)
{
    struct fg_dat_section section;

    walk->offset = offset;
    fg_walk_read(walk, &section, sizeof(section));
    if (walk->error)
        return section;
    if (section.id != id)
        walk->error = fg_refuse(walk->reason, "damaged: no section %u at byte %" PRIu64, id, offset);
    else if (section.bytes > walk->input.bytes - walk->offset)
        walk->error = fg_refuse(walk->reason, "truncated: it ends at byte %" PRIu64 ", inside of section %u",
                                walk->input.bytes, id);
    return section;
}

static void walk_lane(struct fg_header_walk *walk, struct fg_section_walk *found, uint32_t number,
                      uint64_t section_begin, uint64_t section_end)
{
    struct fg_dat_lane lane;
    uint32_t page_bytes = found->head->page_bytes;

    fg_walk_read(walk, &lane, sizeof(lane));
    if (walk->error)
        return;
    found->listed[found->nr_listed++] =
        (struct fg_section_lane){{lane.offset, lane.bytes}, found->nr_buffers, lane.cpu};
    if (lane.cpu != number)
        fg_dat_deviates(found->head, "lane %u has the number %" PRIu32, number, lane.cpu);
    if (lane.cpu >= FG_DAT_LANES_MAX)
        walk->error = fg_refuse(walk->reason, "damaged: there is no CPU %" PRIu32, lane.cpu);
    else if (lane.bytes && (lane.offset < section_begin || lane.offset > section_end ||
                            lane.bytes > section_end - lane.offset))
        walk->error = fg_refuse(walk->reason, "damaged: the data of lane %zu does not lie in its section",
                                found->nr_listed - 1);
    else if (!found->is_compressed && lane.bytes % page_bytes)
        walk->error =
            fg_refuse(walk->reason, "damaged: the data of lane %zu is not a multiple of the page size",
                      found->nr_listed - 1);
    if (lane.cpu >= found->nr_cpus)
        found->nr_cpus = lane.cpu + 1;
}

/* The header of a buffer's section. All buffers are compressed, or none. */
static struct fg_dat_section walk_buffer_header(struct fg_header_walk *walk, struct fg_section_walk *found,
                                                uint64_t offset)
{
    struct fg_dat_section section = walk_section_header(walk, offset, FG_DAT_BUFFER);
    bool is_compressed = section.flags & FG_DAT_COMPRESSED;

    if (walk->error)
        return section;
    if (is_compressed ? found->blocks->codec->id == FG_CODEC_NONE : false)
        walk->error =
            fg_refuse(walk->reason, "damaged: lanes are compressed, and the file says with nothing");
    else if (found->nr_buffers && is_compressed != found->is_compressed)
        walk->error = fg_refuse(walk->reason, "damaged: only some of its buffers are compressed");
    found->is_compressed = is_compressed;
    return section;
}

/* The numbers of an option BUFFER before its lanes, which are checked against `end`, that of the option.
 * Returns how many lanes there are. */
static uint32_t walk_buffer_sizes(struct fg_header_walk *walk, struct fg_section_walk *found, uint64_t end)
{
    uint32_t page_bytes = fg_walk_u32(walk), nr_cpus = fg_walk_u32(walk);

    if (walk->error)
        return 0;
    if (page_bytes != FG_WIRE_PAGE_BYTES)
        fg_dat_deviates(found->head, "it has pages of %" PRIu32 " bytes", page_bytes);
    if (nr_cpus == 0 || (found->nr_buffers && nr_cpus != found->nr_cpus))
        fg_dat_deviates(found->head, "a buffer of it has %" PRIu32 " lanes", nr_cpus);
    if (page_bytes != found->head->page_bytes)
        walk->error =
            fg_refuse(walk->reason, "a buffer of it has pages of %" PRIu32 " bytes, the file of %" PRIu32,
                      page_bytes, found->head->page_bytes);
    else if (walk->offset > end || nr_cpus > (end - walk->offset) / sizeof(struct fg_dat_lane))
        walk->error =
            fg_refuse(walk->reason,
                      "damaged or truncated: it is too short for its table of %" PRIu32 " lanes", nr_cpus);
    else if (fg_array_reserve(&found->listed, &found->listed_capacity, found->nr_listed + (size_t)nr_cpus) <
             0)
        walk->error = -ENOMEM;
    return walk->error ? 0 : nr_cpus;
}

static void walk_buffer(struct fg_header_walk *walk, struct fg_section_walk *found, uint64_t end)
{
    uint64_t offset = fg_walk_u64(walk), option = walk->offset;
    struct fg_dat_section section = walk_buffer_header(walk, found, offset);
    char skipped[2];
    uint32_t nr_cpus;

    walk->offset = option;
    fg_walk_name(walk, &found->head->names);
    fg_walk_text(walk, skipped, sizeof(skipped)); /* its clock */
    nr_cpus = walk_buffer_sizes(walk, found, end);
    for (uint32_t cpu = 0; cpu < nr_cpus && !walk->error; cpu++)
        walk_lane(walk, found, cpu, offset + sizeof(section), offset + sizeof(section) + section.bytes);
    found->nr_buffers++;
}

/* A section that is a part of the head. */
static void walk_part(struct fg_header_walk *walk, struct fg_section_walk *found, uint16_t id)
{
    struct fg_dat_part *part = &found->head->parts[id - FG_DAT_HEADER_INFO];
    struct fg_dat_section section = walk_section_header(walk, fg_walk_u64(walk), id);

    *part = (struct fg_dat_part){walk->offset, section.bytes, (section.flags & FG_DAT_COMPRESSED) != 0};
}

/* Walks the option that ends at `end`. Those that are not needed are only checked. */
static void walk_option(struct fg_header_walk *walk, struct fg_section_walk *found, uint16_t id,
                        uint32_t bytes, uint64_t end)
{
    if (id == FG_DAT_BUFFER)
        walk_buffer(walk, found, end);
    else if (id >= FG_DAT_HEADER_INFO && id <= FG_DAT_CMDLINES)
        walk_part(walk, found, id);
    else
        fg_walk_dat_option(walk, found->head, id, bytes);
    if (!walk->error && id == FG_DAT_BUFFER && walk->offset > end)
        walk->error = fg_refuse(walk->reason, "damaged: the option of a buffer is too long");
    walk->offset = end;
}

/* Walks the options of one section. Returns the offset of the next ones, or 0. */
static uint64_t walk_options(struct fg_header_walk *walk, struct fg_section_walk *found, uint64_t offset)
{
    struct fg_dat_section section = walk_section_header(walk, offset, FG_DAT_END);
    uint64_t end = offset + sizeof(section) + section.bytes;

    if (!walk->error && section.flags & FG_DAT_COMPRESSED)
        walk->error = fg_refuse(walk->reason, "damaged: its options are compressed");
    while (!walk->error) {
        uint16_t id = fg_walk_u16(walk);
        uint32_t bytes = fg_walk_u32(walk);

        if (!walk->error && (walk->offset > end || bytes > end - walk->offset))
            walk->error = fg_refuse(
                walk->reason, "damaged: an option goes beyond its section, at byte %" PRIu64, walk->offset);
        if (id == FG_DAT_END && !walk->error)
            return fg_walk_u64(walk);
        walk_option(walk, found, id, bytes, walk->offset + bytes);
    }
    return 0;
}

/* Gives each buffer a lane for each CPU. Those that no option lists have no data. */
static void place_lanes(struct fg_header_walk *walk, struct fg_section_walk *found)
{
    uint64_t nr_lanes;

    if (walk->error)
        return;
    if (found->nr_cpus == 0)
        found->nr_cpus = 1;
    nr_lanes = (uint64_t)found->nr_cpus * found->nr_buffers;
    if (nr_lanes > FG_DAT_LANES_MAX) {
        walk->error = fg_refuse(walk->reason, "damaged: it has %" PRIu32 " buffers of %" PRIu32 " CPUs",
                                found->nr_buffers, found->nr_cpus);
        return;
    }
    if (fg_array_reserve_zeroed(&found->lanes, &found->lanes_capacity, (size_t)nr_lanes) < 0) {
        walk->error = -ENOMEM;
        return;
    }
    found->nr_lanes = (uint32_t)nr_lanes;
    for (size_t i = 0; i < found->nr_listed; i++) {
        const struct fg_section_lane *lane = &found->listed[i];

        found->lanes[lane->buffer * found->nr_cpus + lane->cpu] = lane->data;
    }
}

void fg_section_walk(struct fg_header_walk *walk, struct fg_section_walk *found)
{
    char codec[42], version[2];
    uint64_t before = 0, offset;

    fg_walk_text(walk, codec, sizeof(codec));
    fg_walk_text(walk, version, sizeof(version));
    offset = fg_walk_u64(walk);
    if (!walk->error)
        walk->error = fg_blocks_new(walk->input, codec, &found->blocks, walk->reason);
    while (offset && !walk->error) {
        if (offset <= before)
            walk->error = fg_refuse(walk->reason, "damaged: its options go in a circle");
        before = offset;
        offset = walk_options(walk, found, offset);
    }
    if (!walk->error && found->nr_buffers == 0)
        walk->error = fg_refuse(walk->reason, "damaged or truncated: it has no buffer");
    place_lanes(walk, found);
}

static int read_compressed(struct fg_blocks *blocks, uint64_t offset, uint64_t end, char **json,
                           size_t *json_bytes, char reason[FG_REASON_BYTES])
{
    struct fg_dat_block block;
    int error = fg_block_open(blocks, offset, end, FG_DAT_DESCRIPTION_MAX_BYTES, &block, reason);

    if (error)
        return error;
    *json = malloc((size_t)block.bytes + 1);
    if (!*json)
        return -ENOMEM;
    *json_bytes = block.bytes;
    return fg_block_read(blocks, offset, &block, *json, reason);
}

int fg_section_read_description(struct fg_blocks *blocks, uint64_t offset, uint64_t bytes, char **json,
                                size_t *json_bytes, char reason[FG_REASON_BYTES])
{
    struct fg_header_walk walk = {.input = blocks->input, .reason = reason};
    struct fg_dat_section section = walk_section_header(&walk, offset, FG_DAT_DESCRIPTION);
    uint64_t begin = offset + sizeof(section);

    if (walk.error)
        return walk.error;
    if (bytes < sizeof(section))
        return fg_refuse(reason, "damaged: its description has %" PRIu64 " bytes", bytes);
    if (section.flags & FG_DAT_COMPRESSED)
        return read_compressed(blocks, begin, offset + bytes, json, json_bytes, reason);
    *json_bytes = bytes - sizeof(section);
    *json = malloc(*json_bytes + 1);
    return *json ? fg_input_read(&blocks->input, begin, *json, *json_bytes, reason) : -ENOMEM;
}
