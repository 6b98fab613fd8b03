/* See assemble.h. */
#include "tracedata/make/assemble.h"

#include "tracedata/base/file_io.h"
#include "tracedata/base/new_file.h"
#include "tracedata/base/text.h"
#include "tracedata/make/pages.h"
#include "tracedata/make/trace_head.h"
#include "tracedata/read/row_lane.h"
#include <errno.h>
#include <stdlib.h>

struct assembly {
    const struct fg_recorded *recorded;
    struct fg_row_pass pass;
    struct fg_lane_extent *extents;
    struct fg_text head, meta;
    struct fg_pages pages;
};

static uint64_t page_round(uint64_t bytes)
{
    return (bytes + FG_WIRE_PAGE_BYTES - 1) & ~(uint64_t)(FG_WIRE_PAGE_BYTES - 1);
}

static int write_lane(struct assembly *assembly, struct fg_row_lane *lane)
{
    struct fg_event event;
    int result;

    while ((result = fg_row_lane_next(lane, &event)) > 0) {
        fg_pages_miss(&assembly->pages, event.lost);
        memcpy(fg_pages_reserve(&assembly->pages, event.time_ns, event.size), event.data, event.size);
        if (fg_unlikely(assembly->pages.error))
            return assembly->pages.error;
    }
    return result < 0 ? result : fg_pages_end_lane(&assembly->pages);
}

/* Writes the pages of all lanes, and notes where they lie. */
static int write_lanes(struct assembly *assembly)
{
    for (uint32_t number = 0; number < assembly->recorded->lanes.nr_lanes; number++) {
        struct fg_row_lane lane;
        int error;

        assembly->extents[number].offset = assembly->pages.offset;
        fg_row_lane_open(&lane, &assembly->pass, number);
        error = write_lane(assembly, &lane);
        fg_row_lane_close(&lane);
        if (error < 0)
            return error;
        assembly->extents[number].bytes = assembly->pages.offset - assembly->extents[number].offset;
    }
    return 0;
}

static int write_meta(struct assembly *assembly, int fd)
{
    uint64_t offset = assembly->pages.offset;
    struct fg_wire_footer footer = {.offset = offset};

    memcpy(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic));
    fg_recorded_describe(assembly->recorded, &assembly->meta);
    footer.bytes = assembly->meta.bytes;
    fg_text_put(&assembly->meta, (const char *)&footer, sizeof(footer));
    if (assembly->meta.failed)
        return -ENOMEM;
    return fg_file_write(fd, assembly->meta.data, assembly->meta.bytes, offset);
}

/* The head is written last: no reader takes an incomplete file for a trace. */
static int write_trace(struct assembly *assembly, int fd)
{
    const struct fg_contents *contents = &assembly->recorded->contents;
    const struct fg_lanes *lanes = &assembly->recorded->lanes;
    int error;

    fg_trace_head_build(&assembly->head, contents, lanes);
    if (assembly->head.failed)
        return -ENOMEM;
    error = fg_pages_init(&assembly->pages, fd, page_round(assembly->head.bytes));
    if (error == 0)
        error = write_lanes(assembly);
    if (error == 0)
        error = write_meta(assembly, fd);
    if (error < 0)
        return error;
    fg_trace_head_set_extents(&assembly->head, contents, lanes, assembly->extents);
    return fg_file_write(fd, assembly->head.data, assembly->head.bytes, 0);
}

static void assembly_free(struct assembly *assembly)
{
    free(assembly->extents);
    fg_text_free(&assembly->head);
    fg_text_free(&assembly->meta);
    fg_pages_free(&assembly->pages);
    fg_row_pass_end(&assembly->pass);
}

int fg_assemble_into(const struct fg_recorded *recorded, int fd, uint64_t *damaged_at)
{
    struct assembly assembly = {.recorded = recorded};
    int error = fg_row_pass_begin(&assembly.pass, recorded);

    assembly.extents = calloc(recorded->lanes.nr_lanes, sizeof(*assembly.extents));
    if (error == 0)
        error = assembly.extents ? write_trace(&assembly, fd) : -ENOMEM;
    *damaged_at = assembly.pass.damaged_at;
    assembly_free(&assembly);
    return error;
}

int fg_assemble(const struct fg_recorded *recorded, const char *path, uint64_t *damaged_at)
{
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    *damaged_at = 0;
    if (error < 0)
        return error;
    error = fg_assemble_into(recorded, file.fd, damaged_at);
    if (error == 0)
        return fg_new_file_publish(&file);
    fg_new_file_discard(&file);
    return error;
}
