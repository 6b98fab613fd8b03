/* See cursor.h. Every length is checked against its page before it is used. */
#include "tracedata/read/cursor.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "tracedata/base/wire.h"
#include "tracedata/read/dat/dat_event.h"

enum { TYPE_LONG = 0, TYPE_MAX_WORDS = 28, TYPE_PADDING = 29, TYPE_TIME_EXTEND = 30, TYPE_TIME_STAMP = 31 };

#define COMMIT_BYTES ((UINT64_C(1) << 27) - 1)
#define COMMIT_MISSING (UINT64_C(1) << 31)
#define COMMIT_MISSING_STORED (UINT64_C(1) << 30)
#define DELTA_BITS 27
#define TIME_STAMP_HIGH_BITS (UINT64_C(31) << 59)

static int damaged(const struct fg_cursor *cursor, const uint8_t *at, const char *what,
                   char reason[FG_REASON_BYTES])
{
    uint64_t offset = cursor->file->has_chunks ? cursor->chunk_offset
                                               : cursor->file_offset - (uint64_t)(cursor->window_end - at);
    snprintf(reason, FG_REASON_BYTES, "damaged at byte %" PRIu64 " (lane %" PRIu32 "): %s", offset,
             cursor->head.lane, what);
    return -EINVAL;
}

/* Reads the next pages into a window. Returns how many bytes, or an error. */
static int64_t read_pages(struct fg_cursor *cursor, struct fg_window *window, char reason[FG_REASON_BYTES])
{
    uint64_t left = cursor->file_end - cursor->file_offset;
    size_t bytes = left < cursor->window_bytes ? (size_t)left : cursor->window_bytes;
    int error;

    if (window->room < bytes) { /* once: no later piece is larger */
        free(window->data);
        window->data = malloc(bytes);
        window->room = window->data ? bytes : 0;
    }
    if (!window->data)
        return -ENOMEM;
    error = fg_trace_file_read(cursor->file, cursor->file_offset, window->data, bytes, reason);
    cursor->file_offset += bytes;
    return error ? error : (int64_t)bytes;
}

/* The same from a chunk. */
static int64_t read_chunk(struct fg_cursor *cursor, struct fg_window *window, char reason[FG_REASON_BYTES])
{
    struct fg_blocks *blocks = cursor->file->blocks;
    uint64_t offset = cursor->file_offset;
    struct fg_dat_block block;
    int error = fg_block_open(blocks, offset, cursor->file_end, FG_DAT_CHUNK_MAX_BYTES, &block, reason);

    if (!error && block.bytes % cursor->file->head.page_bytes)
        error = fg_refuse(reason,
                          "damaged at byte %" PRIu64 " (lane %" PRIu32
                          "): a chunk is not a multiple of the page size",
                          offset, cursor->head.lane);
    if (!error)
        error = fg_window_reserve(blocks, window, block.bytes, reason);
    if (!error)
        error = fg_block_read(blocks, offset, &block, window->data, reason);
    if (error)
        return error;
    cursor->chunk_offset = offset;
    cursor->file_offset += sizeof(block) + block.packed_bytes;
    if (--cursor->chunks_left == 0)
        cursor->file_offset = cursor->file_end;
    else if (cursor->file_offset == cursor->file_end)
        return fg_refuse(reason, "damaged: the data of lane %" PRIu32 " ends before its last chunk",
                         cursor->head.lane);
    return block.bytes;
}

static int read_window(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    unsigned other = !cursor->window;
    struct fg_window *window = &cursor->windows[other];
    uint64_t offset = cursor->file_offset;
    int64_t bytes =
        cursor->file->has_chunks ? read_chunk(cursor, window, reason) : read_pages(cursor, window, reason);

    if (bytes < 0)
        return (int)bytes;
    cursor->window = other;
    cursor->next_page = window->data;
    cursor->window_end = cursor->next_page + bytes;
    return fg_reading_add(cursor->file->reading, cursor->file_offset - offset);
}

/* A word of the machine that wrote the trace. */
static uint64_t load_word(const struct fg_cursor *cursor, const uint8_t *at)
{
    return cursor->file->head.word_bytes == sizeof(uint64_t) ? fg_load64(at) : fg_load32(at);
}

static int open_page(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    const struct fg_trace_file *file = cursor->file;
    const uint8_t *page = cursor->next_page;
    uint64_t commit = load_word(cursor, page + 8), used = commit & COMMIT_BYTES;
    const uint8_t *data = page + file->page_header_bytes, *page_end = page + file->head.page_bytes;
    if (used > (uint64_t)(page_end - data) || used % 4)
        return damaged(cursor, page, "a page claims to hold an impossible number of bytes", reason);
    cursor->time_ns = fg_load64(page);
    cursor->position = data;
    cursor->page_end = data + used;
    cursor->next_page = page_end;
    if (commit & COMMIT_MISSING) {
        bool stored =
            (commit & COMMIT_MISSING_STORED) && page_end - cursor->page_end >= file->head.word_bytes;
        uint64_t lost = stored ? load_word(cursor, cursor->page_end) : FG_LOST_UNKNOWN;
        /* An empty page before this one may have had losses too. */
        cursor->lost = lost > FG_LOST_UNKNOWN - cursor->lost ? FG_LOST_UNKNOWN : cursor->lost + lost;
    }
    return 0;
}

/* Takes the next ring-buffer record of the page. *data is NULL for padding and times, which are not
 * events. */
static int take_record(struct fg_cursor *cursor, const uint8_t **data, uint32_t *bytes,
                       char reason[FG_REASON_BYTES])
{
    const uint8_t *at = cursor->position;
    uint32_t word = fg_load32(at), type = word & 31, delta = word >> 5;
    size_t left = (size_t)(cursor->page_end - at) - 4;
    size_t length;
    *data = NULL;
    if (type == TYPE_PADDING && delta == 0) { /* the rest of the page is empty */
        cursor->position = cursor->page_end;
        return 0;
    }
    if (type >= 1 && type <= TYPE_MAX_WORDS) {
        length = (size_t)type * 4;
        at += 4;
    } else {
        if (left < 4)
            return damaged(cursor, at, "a record goes beyond its page", reason);
        uint32_t second = fg_load32(at + 4);
        left -= 4;
        at += 8;
        if (type == TYPE_TIME_EXTEND || type == TYPE_TIME_STAMP) {
            uint64_t time = ((uint64_t)second << DELTA_BITS) + delta;
            /* A time stamp has 59 bits; the page's time tells those above. */
            cursor->time_ns = type == TYPE_TIME_STAMP ? time | (cursor->time_ns & TIME_STAMP_HIGH_BITS)
                                                      : cursor->time_ns + time;
            cursor->position = at;
            return 0;
        }
        if (second < 4) /* an explicit length includes its own word */
            return damaged(cursor, at - 8, "a record with an impossible length", reason);
        length = ((size_t)second - 4 + 3) & ~(size_t)3;
    }
    if (length > left)
        return damaged(cursor, cursor->position, "a record goes beyond its page", reason);
    cursor->time_ns += delta;
    cursor->position = at + length;
    if (type != TYPE_PADDING) {
        *data = at;
        *bytes = (uint32_t)length;
    }
    return 0;
}

static int advance_rows(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    int result = fg_row_lane_next(cursor->rows, &cursor->head);

    reason[0] = 0;
    cursor->at_end = result == 0;
    return result < 0 ? result : 0;
}

/* Where the data of the next event is made. */
static void *next_made(struct fg_cursor *cursor)
{
    cursor->made_last = !cursor->made_last;
    return cursor->made + cursor->made_last * (size_t)cursor->made_bytes;
}

/* Makes an event of a kernel's record. */
static int make_event(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    const struct fg_kernel *kernel = cursor->file->kernel;
    const uint8_t *record = cursor->head.data;

    cursor->head.time_ns = fg_kernel_time(kernel, cursor->head.time_ns);
    if (fg_kernel_convert(kernel, next_made(cursor), &cursor->head))
        return 0;
    return damaged(cursor, record, "a record is shorter than its event's format says", reason);
}

static int advance_pages(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    const uint8_t *data = NULL;
    uint32_t bytes = 0;
    while (!data) {
        int error = 0;
        if (cursor->position < cursor->page_end) {
            error = take_record(cursor, &data, &bytes, reason);
        } else if (cursor->next_page < cursor->window_end) {
            error = open_page(cursor, reason);
        } else if (cursor->file_offset < cursor->file_end) {
            error = read_window(cursor, reason);
        } else {
            cursor->at_end = true;
            return 0;
        }
        if (error)
            return error;
    }
    const struct fg_wire_common *common = (const struct fg_wire_common *)data;
    if (bytes < sizeof(*common))
        return damaged(cursor, data, "an event too short for its common fields", reason);
    cursor->head.time_ns = cursor->time_ns;
    cursor->head.lost = cursor->lost;
    cursor->head.data = data;
    cursor->head.size = bytes;
    cursor->head.type = common->common_type;
    cursor->head.tid = common->common_pid;
    cursor->lost = 0;
    if (cursor->file->kernel)
        return make_event(cursor, reason);
    fg_dat_event_decode(&cursor->head, next_made(cursor));
    return 0;
}

/* Reads how many chunks the lane has. */
static int open_chunks(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    uint8_t count[4];
    int error;

    if (cursor->file_end - cursor->file_offset < sizeof(count))
        return fg_refuse(reason, "damaged: lane %" PRIu32 " has no room for a number of chunks",
                         cursor->head.lane);
    error = fg_trace_file_read(cursor->file, cursor->file_offset, count, sizeof(count), reason);
    cursor->file_offset += sizeof(count);
    cursor->chunks_left = fg_load32(count);
    if (cursor->chunks_left == 0)
        cursor->file_offset = cursor->file_end;
    return error;
}

int fg_cursor_advance(struct fg_cursor *cursor, char reason[FG_REASON_BYTES])
{
    if (cursor->rows)
        return advance_rows(cursor, reason);
    return cursor->cpus ? cursor->advance_cpus(cursor, reason) : advance_pages(cursor, reason);
}

static int open_rows(struct fg_cursor *cursor, struct fg_row_pass *pass, uint32_t lane, uint64_t from_ns)
{
    int error = 0;

    cursor->rows = malloc(sizeof(*cursor->rows));
    if (!cursor->rows)
        return -ENOMEM;
    fg_row_lane_open(cursor->rows, pass, lane);
    /* Of other clocks the chunks' headers have other times. */
    if (from_ns && pass->recorded->unit == FG_UNIT_NS)
        error = fg_row_lane_skip_to(cursor->rows, from_ns);
    if (pass->reading)
        fg_reading_expect(pass->reading, (int64_t)fg_row_lane_bytes(cursor->rows));
    return error;
}

static int open_pages(struct fg_cursor *cursor, uint32_t lane, uint32_t window_bytes,
                      char reason[FG_REASON_BYTES])
{
    const struct fg_lane_data *data = &cursor->file->lanes[lane];

    /* A record lies in one page, of some 2^n bytes. */
    cursor->made_bytes = sizeof(struct fg_graph_data) + cursor->file->head.page_bytes;
    if (cursor->made_bytes < sizeof(struct fg_kernel_record))
        cursor->made_bytes = sizeof(struct fg_kernel_record);
    cursor->made = malloc(2 * (size_t)cursor->made_bytes);
    if (!cursor->made)
        return -ENOMEM;
    cursor->file_offset = data->offset;
    cursor->file_end = data->offset + data->bytes;
    /* trace-cmd does not count the number of chunks to a lane's bytes. */
    if (cursor->file->kernel && cursor->file->has_chunks && data->bytes)
        cursor->file_end += sizeof(uint32_t);
    cursor->window_bytes = data->bytes < window_bytes ? (uint32_t)data->bytes : window_bytes;
    fg_reading_expect(cursor->file->reading, (int64_t)data->bytes);
    return cursor->file->has_chunks && data->bytes ? open_chunks(cursor, reason) : 0;
}

int fg_cursor_open(struct fg_cursor *cursor, const struct fg_trace_file *file, struct fg_row_pass *pass,
                   uint32_t lane, uint64_t from_ns, uint32_t window_bytes, char reason[FG_REASON_BYTES])
{
    int error = 0;

    *cursor = (struct fg_cursor){.file = file};
    cursor->number = lane;
    cursor->head.lane = lane;
    cursor->head.thread = lane;
    cursor->head.buffer = lane / file->nr_cpus;
    cursor->head.cpu = lane % file->nr_cpus;
    reason[0] = 0;
    if (pass)
        error = open_rows(cursor, pass, lane, from_ns);
    else
        error = open_pages(cursor, lane, window_bytes, reason);
    return error ? error : fg_cursor_advance(cursor, reason);
}

/* What a cursor leaves unread is due no longer: another pass may go on. */
static void leave_rest(const struct fg_cursor *cursor)
{
    if (cursor->rows && cursor->rows->pass->reading)
        fg_reading_expect(cursor->rows->pass->reading, -(int64_t)fg_row_lane_bytes(cursor->rows));
    else if (cursor->made)
        fg_reading_expect(cursor->file->reading, (int64_t)(cursor->file_offset - cursor->file_end));
}

void fg_cursor_close(struct fg_cursor *cursor)
{
    leave_rest(cursor);
    if (cursor->rows)
        fg_row_lane_close(cursor->rows);
    free(cursor->rows);
    free(cursor->made);
    for (int i = 0; i < 2; i++) {
        if (cursor->file && cursor->file->has_chunks)
            fg_window_free(cursor->file->blocks, &cursor->windows[i]);
        free(cursor->windows[i].data);
    }
    *cursor = (struct fg_cursor){0};
}
