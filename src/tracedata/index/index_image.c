/* See index_image.h. */
#include "tracedata/index/index_image.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/base/crc32.h"
#include "tracedata/base/file_io.h"
#include "tracedata/base/trace_event.h"

/* The arrays of an index but cells and `functions`, in the order of the image: X(pointer, their number). */
#define ARRAYS_BEFORE_CELLS(X)                                                                               \
    X(lanes, nr_lanes)                                                                                       \
    X(tasks, nr_tasks)                                                                                       \
    X(spans, nr_spans)                                                                                       \
    X(by_function.numbers, by_function.n)                                                                    \
    X(raised.numbers, raised.n)

#define ARRAYS_AFTER_CELLS(X)                                                                                \
    X(blocks, nr_blocks)                                                                                     \
    X(shorts, nr_shorts)                                                                                     \
    X(marks, nr_marks)

static uint64_t padded(uint64_t bytes)
{
    return (bytes + 7) & ~UINT64_C(7);
}

/* ---- writing */

struct image {
    int fd;
    uint64_t at;
    uint32_t crc; /* of what was put so far */
    int error;
};

static void put_bytes(struct image *image, const void *data, uint64_t bytes)
{
    if (!image->error)
        image->error = fg_file_write(image->fd, data, bytes, image->at);
    image->crc = fg_crc32(image->crc, data, bytes);
    image->at += bytes;
}

static void put(struct image *image, const void *data, uint64_t n, size_t item_bytes)
{
    static const uint8_t zeros[8];

    if (n)
        put_bytes(image, data, n * item_bytes);
    put_bytes(image, zeros, padded(n * item_bytes) - n * item_bytes);
}

static uint32_t put_functions(struct image *image, const struct fg_call_index *index)
{
    struct fg_index_function *called;
    uint32_t n = 0;

    for (uint32_t i = 0; i <= index->nr_functions; i++)
        n += index->functions[i] != NULL;
    called = malloc((n + (size_t)1) * sizeof(*called));
    if (!called) {
        image->error = -ENOMEM;
        return 0;
    }
    n = 0;
    for (uint32_t i = 0; i <= index->nr_functions; i++)
        if (index->functions[i])
            called[n++] = *index->functions[i];
    put(image, called, n, sizeof(*called));
    free(called);
    return n;
}

static void put_runs(struct image *image, const struct fg_run_table *runs)
{
#define X(name, type, format, text) put(image, runs->roots.name, runs->roots.n, sizeof(type));
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text) put(image, runs->runs.name, runs->runs.n, sizeof(type));
    FG_RUN_COLUMNS(X)
#undef X
}

static void put_header(struct image *image, struct fg_index_header *header)
{
    header->bytes = image->at;
    header->crc = image->crc;
    header->header_crc = fg_crc32(0, header, sizeof(*header));
    if (!image->error)
        image->error = fg_file_write(image->fd, header, sizeof(*header), 0);
}

int fg_index_image_write(const struct fg_call_index *index, const struct fg_run_table *runs, int fd,
                         const uint8_t key[FG_INDEX_KEY_BYTES])
{
    struct image image = {.fd = fd, .at = sizeof(struct fg_index_header)};
    struct fg_index_header header = {
        .base = index->base,
        .top = index->top,
        .nr_functions = index->nr_functions,
        .nr_lanes = index->nr_lanes,
        .nr_tasks = index->nr_tasks,
        .nr_spans = index->nr_spans,
        .nr_raised = index->raised.n,
        .nr_blocks = index->nr_blocks,
        .nr_shorts = index->nr_shorts,
        .nr_marks = index->nr_marks,
        .first_ns = index->first_ns,
        .last_ns = index->last_ns,
    };

    memcpy(header.magic, FG_INDEX_MAGIC, sizeof(header.magic));
    memcpy(header.key, key, sizeof(header.key));
#define X(array, n) put(&image, index->array, index->n, sizeof(*index->array));
    ARRAYS_BEFORE_CELLS(X)
    for (unsigned i = 0; i < FG_INDEX_MAX_LEVELS; i++) {
        header.nr_cells[i] = index->levels[i].n;
        put(&image, index->levels[i].cells, index->levels[i].n, sizeof(struct fg_span_cell));
    }
    ARRAYS_AFTER_CELLS(X)
#undef X
    header.nr_called = put_functions(&image, index);
    if (runs) {
        header.has_runs = true;
        header.nr_roots = (uint32_t)runs->roots.n;
        header.nr_runs = runs->runs.n;
        header.nr_left_out = runs->nr_left_out;
        put_runs(&image, runs);
    }
    put_header(&image, &header);
    return image.error;
}

/* ---- what a query relies on */

static bool are_tasks_sound(const struct fg_call_index *index, uint32_t nr_file_lanes)
{
    for (size_t i = 0; i < index->nr_tasks; i++)
        if (index->tasks[i].lane >= nr_file_lanes)
            return false;
    return true;
}

/* Whether it is the number of a task that the trace's description names, or that the index has found. */
static bool is_task(const struct fg_call_index *index, uint32_t task, uint32_t nr_tasks)
{
    return task < nr_tasks + index->nr_tasks;
}

static bool are_lanes_sound(const struct fg_call_index *index, uint32_t nr_tasks)
{
    for (size_t i = 0; i < index->nr_lanes; i++) {
        const struct fg_index_lane *lane = &index->lanes[i];

        if (lane->nr_depths > FG_RECORD_MAX_DEPTH + 1 || !is_task(index, lane->task, nr_tasks))
            return false;
    }
    return true;
}

static bool is_place(const struct fg_call_index *index, uint32_t lane, uint32_t depth)
{
    return lane < index->nr_lanes && depth < index->lanes[lane].nr_depths;
}

static bool are_spans_sound(const struct fg_call_index *index)
{
    for (size_t i = 0; i < index->nr_spans; i++) {
        const struct fg_span *span = &index->spans[i];

        if (!is_place(index, span->lane, span->depth) || span->func > index->nr_functions ||
            span->ended > FG_SPAN_open || span->is_resumed > 1 || span->begin_ns > span->end_ns)
            return false;
    }
    return true;
}

static bool is_order_sound(const struct fg_span_order *order, size_t nr_spans)
{
    for (size_t i = 0; i < order->n; i++)
        if (order->numbers[i] >= nr_spans)
            return false;
    return true;
}

static bool are_levels_sound(const struct fg_call_index *index)
{
    for (unsigned i = 0; i < FG_INDEX_MAX_LEVELS; i++)
        for (size_t j = 0; j < index->levels[i].n; j++) {
            const struct fg_span_cell *cell = &index->levels[i].cells[j];

            if (!is_place(index, cell->lane, cell->depth) || cell->func > index->nr_functions)
                return false;
        }
    return true;
}

static bool are_marks_sound(const struct fg_call_index *index)
{
    for (size_t i = 0; i < index->nr_marks; i++) {
        const struct fg_index_mark *mark = &index->marks[i];

        if (mark->lane >= index->nr_lanes || mark->kind >= FG_NR_MARK_KINDS)
            return false;
    }
    return true;
}

static bool are_blocks_sound(const struct fg_call_index *index)
{
    for (size_t i = 0; i < index->nr_blocks; i++)
        if (index->blocks[i].lane >= index->nr_lanes || index->blocks[i].first_ns > index->blocks[i].last_ns)
            return false;
    for (size_t i = 0; i < index->nr_shorts; i++)
        if (index->shorts[i].block >= index->nr_blocks)
            return false;
    return index->nr_blocks < UINT32_MAX;
}

static bool is_function(uint32_t func, const struct fg_index_trace *trace)
{
    return func < trace->nr_functions || func == FG_FUNC_UNKNOWN;
}

static bool are_roots_sound(const struct fg_run_table *table, const struct fg_index_trace *trace)
{
    const struct fg_root_columns *roots = &table->roots;

    for (size_t i = 0; i < roots->n; i++)
        if (roots->first[i] > table->runs.n || roots->runs[i] > table->runs.n - roots->first[i] ||
            !is_function(roots->function[i], trace) || !is_function(roots->maker[i], trace) ||
            roots->kind[i] >= FG_NR_ROOT_KINDS)
            return false;
    return true;
}

static bool are_runs_sound(const struct fg_call_index *index, uint32_t nr_tasks)
{
    const struct fg_run_columns *runs = &index->runs.runs;

    for (size_t i = 0; i < runs->n; i++)
        if (runs->root[i] >= index->runs.roots.n || !is_task(index, runs->task[i], nr_tasks) ||
            runs->begin_ns[i] > runs->end_ns[i])
            return false;
    return true;
}

static bool is_sound(const struct fg_call_index *index, const struct fg_index_trace *trace)
{
    return index->first_ns <= index->last_ns && are_tasks_sound(index, trace->nr_lanes) &&
           are_lanes_sound(index, trace->nr_tasks) && are_spans_sound(index) &&
           is_order_sound(&index->by_function, index->nr_spans) &&
           is_order_sound(&index->raised, index->nr_spans) && are_levels_sound(index) &&
           are_blocks_sound(index) && are_marks_sound(index) && are_roots_sound(&index->runs, trace) &&
           are_runs_sound(index, trace->nr_tasks);
}

/* ---- reading */

static bool is_level(uint32_t level)
{
    return level <= FG_INDEX_NR_CLASSES && level % FG_INDEX_STEP == 0;
}

static bool is_header_sound(const struct fg_index_header *header, uint64_t file_bytes,
                            const struct fg_index_trace *trace)
{
    struct fg_index_header copy = *header;

    copy.header_crc = 0;
    return memcmp(header->magic, FG_INDEX_MAGIC, sizeof(header->magic)) == 0 &&
           memcmp(header->key, trace->key, sizeof(header->key)) == 0 &&
           header->header_crc == fg_crc32(0, &copy, sizeof(copy)) && header->bytes == file_bytes &&
           is_level(header->base) && is_level(header->top) && header->base <= header->top &&
           header->nr_functions == trace->nr_functions &&
           header->nr_called <= (uint64_t)trace->nr_functions + 1 && header->has_runs <= 1 &&
           (header->has_runs || (!header->nr_roots && !header->nr_runs));
}

/* What is left of an image. */
struct rest {
    uint8_t *at;
    uint64_t bytes;
};

/* Takes the next array; NULL: it is longer than the rest. */
static void *take(struct rest *rest, uint64_t n, size_t item_bytes)
{
    void *array = rest->at;

    if (n > rest->bytes / item_bytes || padded(n * item_bytes) > rest->bytes)
        return NULL;
    rest->at += padded(n * item_bytes);
    rest->bytes -= padded(n * item_bytes);
    return array;
}

static bool take_functions(struct fg_call_index *index, struct rest *rest, uint32_t n)
{
    struct fg_index_function *called = take(rest, n, sizeof(*called));

    for (uint32_t i = 0; called && i < n; i++) {
        if (called[i].func > index->nr_functions)
            return false;
        index->functions[called[i].func] = &called[i];
    }
    return called != NULL;
}

static bool take_runs(struct fg_call_index *index, struct rest *rest, const struct fg_index_header *header)
{
    struct fg_root_columns *roots = &index->runs.roots;
    struct fg_run_columns *runs = &index->runs.runs;

    index->has_runs = header->has_runs;
    index->runs.nr_left_out = header->nr_left_out;
    roots->n = header->nr_roots;
    runs->n = header->nr_runs;
#define X(name, type, format, text)                                                                          \
    roots->name = take(rest, roots->n, sizeof(type));                                                        \
    if (!roots->name)                                                                                        \
        return false;
    FG_ROOT_COLUMNS(X)
#undef X
#define X(name, type, format, text)                                                                          \
    runs->name = take(rest, runs->n, sizeof(type));                                                          \
    if (!runs->name)                                                                                         \
        return false;
    FG_RUN_COLUMNS(X)
#undef X
    return true;
}

static bool take_arrays(struct fg_call_index *index, const struct fg_index_header *header, struct rest rest)
{
    index->nr_lanes = header->nr_lanes;
    index->nr_tasks = header->nr_tasks;
    index->nr_spans = index->by_function.n = header->nr_spans;
    index->raised.n = header->nr_raised;
    index->nr_blocks = header->nr_blocks;
    index->nr_shorts = header->nr_shorts;
    index->nr_marks = header->nr_marks;
#define X(array, n)                                                                                          \
    index->array = take(&rest, index->n, sizeof(*index->array));                                             \
    if (!index->array)                                                                                       \
        return false;
    ARRAYS_BEFORE_CELLS(X)
    for (unsigned i = 0; i < FG_INDEX_MAX_LEVELS; i++) {
        index->levels[i].n = header->nr_cells[i];
        index->levels[i].cells = take(&rest, index->levels[i].n, sizeof(struct fg_span_cell));
        if (!index->levels[i].cells)
            return false;
    }
    ARRAYS_AFTER_CELLS(X)
#undef X
    return take_functions(index, &rest, header->nr_called) && take_runs(index, &rest, header) &&
           rest.bytes == 0;
}

/* Makes the index of all after the header. Return: 0, -EBADMSG, -ENOMEM or an error of reading. */
static int read_rest(int fd, const struct fg_index_header *header, const struct fg_index_trace *trace,
                     struct fg_call_index *index)
{
    struct rest rest = {.bytes = header->bytes - sizeof(*header)};
    int error;

    index->image = rest.at = malloc(rest.bytes + 1);
    if (!rest.at)
        return -ENOMEM;
    error = fg_file_read(fd, rest.at, rest.bytes, sizeof(*header));
    if (error)
        return error;
    index->base = header->base;
    index->top = header->top;
    index->first_ns = header->first_ns;
    index->last_ns = header->last_ns;
    return fg_crc32(0, rest.at, rest.bytes) == header->crc && take_arrays(index, header, rest) &&
                   is_sound(index, trace)
               ? 0
               : -EBADMSG;
}

int fg_index_image_read(int fd, const struct fg_index_trace *trace, struct fg_call_index **index)
{
    struct fg_index_header header;
    struct stat status;
    int error;

    if (fstat(fd, &status) < 0)
        return -errno;
    if (status.st_size < (off_t)sizeof(header) || (uint64_t)status.st_size > FG_INDEX_MAX_IMAGE_BYTES)
        return -EBADMSG;
    error = fg_file_read(fd, &header, sizeof(header), 0);
    if (error)
        return error;
    if (!is_header_sound(&header, (uint64_t)status.st_size, trace))
        return -EBADMSG;
    *index = fg_call_index_new(trace->nr_functions);
    if (!*index)
        return -ENOMEM;
    error = read_rest(fd, &header, trace, *index);
    if (error) {
        fg_call_index_free(*index);
        *index = NULL;
    }
    return error;
}
