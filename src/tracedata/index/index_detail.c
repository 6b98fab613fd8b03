/* See index_detail.h. A span that the index does not have is shorter than a slot of its base cells. So if it
 * is in progress within a part, it begins and ends within the part and a slot before and after it. */
#include "tracedata/index/index_detail.h"

#include <errno.h>

struct range {
    uint64_t begin_ns, end_ns;
};

static struct range widened(const struct fg_call_index *index, uint64_t begin_ns, uint64_t end_ns)
{
    uint64_t ns = fg_index_slot_ns(index);

    return (struct range){begin_ns > ns ? begin_ns - ns : 0,
                          end_ns < UINT64_MAX - ns ? end_ns + ns : UINT64_MAX};
}

/* Whether few enough spans of the lane lie there. */
static bool is_little(const struct fg_call_index *index, uint32_t lane, struct range range)
{
    uint64_t n = 0;

    for (uint32_t depth = 0; depth < index->lanes[lane].nr_depths && n <= FG_DETAIL_MAX_SPANS; depth++)
        n += fg_index_count_short(index, lane, depth, range.begin_ns, range.end_ns, FG_DETAIL_MAX_SPANS);
    return n <= FG_DETAIL_MAX_SPANS;
}

int fg_detail_read_part(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                        uint64_t begin_ns, uint64_t end_ns, unsigned last_level, struct fg_call_index **part)
{
    struct range range = widened(index, begin_ns, end_ns);

    *part = NULL;
    if (!index->base || !recorded || recorded->unit != FG_UNIT_NS || !is_little(index, lane, range))
        return 0;
    return fg_call_index_make_part(recorded, index, lane, range.begin_ns, range.end_ns, last_level, part);
}

static bool has_lane(const struct fg_call_index *part)
{
    return part && part->nr_lanes;
}

/* Rows from @first on are of the part, where each lane is number 0. */
static void set_lane(struct fg_span_rows *rows, size_t first, uint32_t lane)
{
    for (size_t i = first; i < rows->n; i++)
        rows->lane[i] = lane;
}

int fg_detail_picture(const struct fg_call_index *index, const struct fg_recorded *recorded,
                      const struct fg_picture *picture, struct fg_span_rows *rows)
{
    uint64_t pixel_ns = (picture->end_ns - picture->begin_ns) / picture->pixels;
    struct fg_picture short_ones = *picture;
    struct fg_call_index *part = NULL;
    int error = 0;

    if (pixel_ns < fg_index_slot_ns(index))
        error = fg_detail_read_part(index, recorded, picture->lane, picture->begin_ns, picture->end_ns,
                                    fg_duration_class(pixel_ns), &part);
    if (!error)
        error = part ? fg_index_long_spans(index, picture, rows) : fg_index_picture(index, picture, rows);
    if (!error && has_lane(part)) {
        size_t first = rows->n;

        short_ones.lane = 0;
        error = fg_index_picture(part, &short_ones, rows);
        set_lane(rows, first, picture->lane);
    }
    fg_call_index_free(part);
    return error;
}

/* Adds the span at the depth that is in progress at a time. Return: 1; 0: there is none; or -ENOMEM. */
static int add_at(const struct fg_call_index *index, const struct fg_call_index *part, uint32_t lane,
                  uint32_t depth, uint64_t time_ns, struct fg_span_rows *rows)
{
    uint32_t span = fg_index_span_at(index, lane, depth, time_ns);
    int error;

    if (span != FG_NO_SPAN) {
        error = fg_span_rows_add(rows, &index->spans[span]);
    } else {
        span = has_lane(part) ? fg_index_span_at(part, 0, depth, time_ns) : FG_NO_SPAN;
        if (span == FG_NO_SPAN)
            return 0;
        error = fg_span_rows_add(rows, &part->spans[span]);
        if (!error)
            rows->lane[rows->n - 1] = lane;
    }
    return error ? error : 1;
}

int fg_detail_call_at(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                      uint64_t time_ns, struct fg_span_rows *rows)
{
    struct fg_call_index *part;
    int result = fg_detail_read_part(index, recorded, lane, time_ns, time_ns, 0, &part);

    for (uint32_t depth = index->lanes[lane].nr_depths; !result && depth-- > 0;)
        result = add_at(index, part, lane, depth, time_ns, rows);
    fg_call_index_free(part);
    return result < 0 ? result : 0;
}

int fg_detail_parents(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                      uint32_t depth, uint64_t time_ns, struct fg_span_rows *rows)
{
    struct fg_call_index *part;
    int result = fg_detail_read_part(index, recorded, lane, time_ns, time_ns, 0, &part);

    if (depth > index->lanes[lane].nr_depths)
        depth = index->lanes[lane].nr_depths;
    while (result >= 0 && depth-- > 0)
        result = add_at(index, part, lane, depth, time_ns, rows);
    fg_call_index_free(part);
    return result < 0 ? result : 0;
}
