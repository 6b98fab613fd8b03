/* See assemble.h. */
#include "tracedata/make/assemble.h"

#include "tracedata/base/file_io.h"
#include "tracedata/base/new_file.h"
#include "tracedata/base/text.h"
#include "tracedata/make/convert.h"
#include "tracedata/make/lanes.h"
#include "tracedata/make/pages.h"
#include "tracedata/make/trace_head.h"
#include "tracedata/make/trace_meta.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct assembly {
    struct fg_contents *contents;
    const struct fg_spool *spool;
    struct fg_lanes lanes;
    struct fg_lane_extent *extents;
    uint32_t **addresses; /* per ring: function id -> synthetic address */
    struct fg_text head, meta, piece;
    struct fg_pages pages;
    struct fg_convert convert;
    struct fg_ranks ranks;
};

static uint64_t page_round(uint64_t bytes)
{
    return (bytes + FG_WIRE_PAGE_BYTES - 1) & ~(uint64_t)(FG_WIRE_PAGE_BYTES - 1);
}

static int by_seq(const void *a, const void *b)
{
    const struct fg_piece *one = a, *other = b;

    return (one->seq > other->seq) - (one->seq < other->seq);
}

/* Makes the table of addresses of a ring's functions, for the first of its tasks. */
static int ring_addresses(struct assembly *assembly, uint32_t number)
{
    const struct fg_trace_ring *ring = &assembly->contents->rings[number];
    const struct fg_symbols *symbols = &assembly->contents->symbols;
    uint32_t *addresses;

    if (assembly->addresses[number] || ring->functions_capacity == 0)
        return 0;
    addresses = malloc(ring->functions_capacity * sizeof(*addresses));
    if (addresses == NULL)
        return -ENOMEM;
    for (size_t id = 0; id < ring->functions_capacity; id++)
        addresses[id] =
            ring->functions[id] == 0
                ? FG_WIRE_FUNC_UNKNOWN
                : FG_WIRE_FUNC_BASE + FG_WIRE_FUNC_STEP * symbols->functions[ring->functions[id] - 1].index;
    assembly->addresses[number] = addresses;
    return 0;
}

static int read_piece(struct assembly *assembly, const struct fg_piece *piece)
{
    if (!fg_text_reserve(&assembly->piece, piece->bytes))
        return -ENOMEM;
    return fg_file_read(assembly->spool->fd, assembly->piece.data, piece->bytes, piece->offset);
}

/* The clock `counter`: numbers all events before the first is written. */
static int rank_events(struct assembly *assembly)
{
    int error = 0;

    for (size_t i = 0; i < assembly->lanes.nr_tasks; i++) {
        const struct fg_trace_ring *ring = &assembly->contents->rings[assembly->lanes.tasks[i].ring];
        const struct fg_trace_task *task = &ring->tasks[assembly->lanes.tasks[i].task];
        struct fg_time_scale scale = fg_contents_time_scale(assembly->contents, ring->clock_kind);

        for (size_t j = 0; j < task->nr_pieces && error == 0; j++) {
            error = read_piece(assembly, &task->pieces[j]);
            if (error == 0)
                error = fg_ranks_add(&assembly->ranks, &scale, assembly->piece.data, task->pieces[j].bytes);
        }
    }
    return error < 0 ? error : fg_ranks_sort(&assembly->ranks);
}

static int convert_piece(struct assembly *assembly, const struct fg_piece *piece)
{
    int error = read_piece(assembly, piece);

    if (error < 0)
        return error;
    fg_pages_miss(&assembly->pages, piece->lost);
    error = fg_convert_records(&assembly->convert, assembly->piece.data, piece->bytes);
    fg_pages_miss(&assembly->pages, piece->damaged);
    return error < 0 ? error : assembly->pages.error;
}

static int convert_task(struct assembly *assembly, struct fg_lane_task *lane_task)
{
    struct fg_trace_ring *ring = &assembly->contents->rings[lane_task->ring];
    struct fg_trace_task *task = &ring->tasks[lane_task->task];
    struct fg_convert *convert = &assembly->convert;
    int error = ring_addresses(assembly, lane_task->ring);

    convert->scale = fg_contents_time_scale(assembly->contents, ring->clock_kind);
    convert->addresses = assembly->addresses[lane_task->ring];
    convert->nr_addresses = convert->addresses ? ring->functions_capacity : 0;
    fg_convert_begin_task(convert, (int32_t)task->tid);
    qsort(task->pieces, task->nr_pieces, sizeof(*task->pieces), by_seq);
    for (size_t i = 0; i < task->nr_pieces && error == 0; i++)
        error = convert_piece(assembly, &task->pieces[i]);
    lane_task->events = convert->events;
    if (convert->events) {
        lane_task->first_ns = convert->first_ns;
        lane_task->last_ns = convert->last_ns;
    }
    return error;
}

/* Writes the pages of all lanes, and notes where they lie. */
static int convert_lanes(struct assembly *assembly)
{
    size_t next = 0;

    for (uint32_t lane = 0; lane < assembly->lanes.nr_lanes; lane++) {
        int error = 0;

        assembly->extents[lane].offset = assembly->pages.offset;
        for (; next < assembly->lanes.nr_tasks && assembly->lanes.tasks[next].lane == lane && error == 0;
             next++)
            error = convert_task(assembly, &assembly->lanes.tasks[next]);
        if (error == 0)
            error = fg_pages_end_lane(&assembly->pages);
        if (error < 0)
            return error;
        assembly->extents[lane].bytes = assembly->pages.offset - assembly->extents[lane].offset;
    }
    return 0;
}

static int write_meta(struct assembly *assembly, int fd, const char *extra)
{
    uint64_t offset = assembly->pages.offset;
    struct fg_wire_footer footer = {.offset = offset};

    memcpy(footer.magic, FG_WIRE_FOOTER_MAGIC, sizeof(footer.magic));
    fg_trace_meta_build(&assembly->meta, assembly->contents, &assembly->lanes, extra);
    footer.bytes = assembly->meta.bytes;
    fg_text_put(&assembly->meta, (const char *)&footer, sizeof(footer));
    if (assembly->meta.failed)
        return -ENOMEM;
    return fg_file_write(fd, assembly->meta.data, assembly->meta.bytes, offset);
}

/* The head is written last: no reader takes an incomplete file for a trace. */
static int write_trace(struct assembly *assembly, int fd, const char *extra)
{
    int error;

    fg_trace_head_build(&assembly->head, assembly->contents, &assembly->lanes);
    if (assembly->head.failed)
        return -ENOMEM;
    error = fg_pages_init(&assembly->pages, fd, page_round(assembly->head.bytes));
    if (error < 0)
        return error;
    assembly->convert.pages = &assembly->pages;
    assembly->convert.unit = fg_trace_clock_unit(assembly->contents->clock);
    assembly->convert.ranks = &assembly->ranks;
    if (assembly->convert.unit == FG_UNIT_COUNT)
        error = rank_events(assembly);
    if (error == 0)
        error = convert_lanes(assembly);
    if (error == 0)
        error = write_meta(assembly, fd, extra);
    if (error < 0)
        return error;
    fg_trace_head_set_extents(&assembly->head, assembly->contents, &assembly->lanes, assembly->extents);
    return fg_file_write(fd, assembly->head.data, assembly->head.bytes, 0);
}

static int assembly_init(struct assembly *assembly, struct fg_contents *contents,
                         const struct fg_spool *spool)
{
    int error;

    *assembly = (struct assembly){.contents = contents, .spool = spool};
    error = fg_lanes_assign(contents, &assembly->lanes);
    if (error < 0)
        return error;
    assembly->extents = calloc(assembly->lanes.nr_lanes, sizeof(*assembly->extents));
    assembly->addresses = calloc(contents->nr_rings + 1, sizeof(*assembly->addresses));
    return assembly->extents && assembly->addresses ? 0 : -ENOMEM;
}

static void assembly_free(struct assembly *assembly)
{
    if (assembly->addresses)
        for (size_t i = 0; i < assembly->contents->nr_rings; i++)
            free(assembly->addresses[i]);
    free(assembly->addresses);
    free(assembly->extents);
    fg_lanes_free(&assembly->lanes);
    fg_text_free(&assembly->head);
    fg_text_free(&assembly->meta);
    fg_text_free(&assembly->piece);
    fg_pages_free(&assembly->pages);
    fg_convert_free(&assembly->convert);
    fg_ranks_free(&assembly->ranks);
}

int fg_assemble_into(struct fg_contents *contents, const struct fg_spool *spool, int fd, const char *extra)
{
    struct assembly assembly;
    int error = assembly_init(&assembly, contents, spool);

    if (error == 0)
        error = write_trace(&assembly, fd, extra);
    assembly_free(&assembly);
    return error;
}

int fg_assemble(struct fg_contents *contents, const struct fg_spool *spool, const char *path,
                const char *extra)
{
    struct fg_new_file file;
    int error = fg_new_file_create(&file, path);

    if (error < 0)
        return error;
    error = fg_assemble_into(contents, spool, file.fd, extra);
    if (error == 0)
        return fg_new_file_publish(&file);
    fg_new_file_discard(&file);
    return error;
}
