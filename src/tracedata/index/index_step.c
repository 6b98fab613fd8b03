/* See index_step.h. A block has spans by their ends. A span that is in cells only begins at most a slot of
 * the base cells before its end. */
#include "tracedata/index/index_step.h"

#include <errno.h>
#include <stdlib.h>

#define MAX_READS 64u /* of blocks, for one step: lanes that run at the same time need one each */
#define NO_PLACE SIZE_MAX

static uint64_t add(uint64_t ns, uint64_t more)
{
    return ns < UINT64_MAX - more ? ns + more : UINT64_MAX;
}

/* Calls @visit for the short spans of a function in a block. Return: 0; -ENODATA: they cannot be read; or
 * another negative errno. */
static int visit_block(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t number,
                       uint32_t func, void (*visit)(void *context, const struct fg_span *span), void *context)
{
    const struct fg_index_block *block = &index->blocks[number];
    struct fg_call_index *part;
    int error =
        fg_detail_read_part(index, recorded, block->lane, block->first_ns, add(block->last_ns, 1), 0, &part);

    if (!error && !part)
        return -ENODATA;
    for (size_t i = 0; !error && i < part->nr_spans; i++) {
        struct fg_span span = part->spans[i];

        span.lane = block->lane;
        if (span.func == func && span.end_ns >= block->first_ns && span.end_ns <= block->last_ns)
            visit(context, &span);
    }
    fg_call_index_free(part);
    return error;
}

/* ---- the nearest span */

struct search {
    const struct fg_call_index *index;
    const struct fg_step *step;
    size_t *places; /* by lane: of the count that is next; NO_PLACE: there is none */
    bool has_best;
    struct fg_span best;
};

static void offer(void *context, const struct fg_span *span)
{
    struct search *search = context;
    const struct fg_step *step = search->step;

    if (step->is_next ? span->begin_ns <= step->time_ns : span->begin_ns >= step->time_ns)
        return;
    if ((step->raised && span->ended != FG_SPAN_raise) ||
        (search->has_best &&
         (step->is_next ? span->begin_ns >= search->best.begin_ns : span->begin_ns <= search->best.begin_ns)))
        return;
    search->best = *span;
    search->has_best = true;
}

/* The place from @place on, in the direction of the step, that has spans of a lane; or NO_PLACE. */
static size_t settle(const struct search *search, uint32_t lane, size_t place)
{
    const struct fg_call_index *index = search->index;

    for (; place < index->nr_shorts; place += search->step->is_next ? 1 : SIZE_MAX) {
        const struct fg_index_short *count = &index->shorts[place];

        if (count->func != search->step->func || index->blocks[count->block].lane != lane)
            return NO_PLACE;
        if (!search->step->raised || count->nr_raised)
            return place;
    }
    return NO_PLACE;
}

/* Where a lane is begun with. */
static size_t first_place(const struct search *search, uint32_t lane)
{
    const struct fg_call_index *index = search->index;
    const struct fg_step *step = search->step;
    uint64_t ends_ns = step->is_next ? step->time_ns : add(step->time_ns, fg_index_slot_ns(index));
    uint32_t block = fg_index_block_at(index, lane, ends_ns);

    if (step->is_next)
        return settle(search, lane, fg_index_find_short(index, step->func, block));
    if (block == index->nr_blocks) /* all blocks of the lane end before */
        block = lane + 1 < index->nr_lanes ? fg_index_block_from(index, lane + 1) : block;
    else
        block++;
    return settle(search, lane, fg_index_find_short(index, step->func, block) - 1);
}

static const struct fg_index_block *block_at(const struct search *search, size_t place)
{
    return &search->index->blocks[search->index->shorts[place].block];
}

/* The lane whose next block is the nearest; nr_lanes: no block can have a nearer span than the best one. */
static uint32_t nearest_lane(const struct search *search)
{
    uint32_t nearest = (uint32_t)search->index->nr_lanes;

    for (uint32_t lane = 0; lane < search->index->nr_lanes; lane++) {
        const struct fg_index_block *block;
        uint64_t slot_ns = fg_index_slot_ns(search->index);

        if (search->places[lane] == NO_PLACE)
            continue;
        block = block_at(search, search->places[lane]);
        if (search->has_best && (search->step->is_next ? block->first_ns > add(search->best.begin_ns, slot_ns)
                                                       : block->last_ns < search->best.begin_ns))
            continue;
        if (nearest == search->index->nr_lanes ||
            (search->step->is_next ? block->first_ns < block_at(search, search->places[nearest])->first_ns
                                   : block->last_ns > block_at(search, search->places[nearest])->last_ns))
            nearest = lane;
    }
    return nearest;
}

static int search_blocks(struct search *search, const struct fg_recorded *recorded)
{
    const struct fg_call_index *index = search->index;
    const struct fg_step *step = search->step;
    uint32_t lane;
    int error = 0;

    for (uint32_t i = 0; i < index->nr_lanes; i++)
        search->places[i] = step->lane == UINT32_MAX || step->lane == i ? first_place(search, i) : NO_PLACE;
    for (unsigned n = 0; n < MAX_READS && (!error || error == -ENODATA); n++) {
        lane = nearest_lane(search);
        if (lane == index->nr_lanes)
            return 0;
        error = visit_block(index, recorded, index->shorts[search->places[lane]].block, step->func, offer,
                            search);
        search->places[lane] = settle(search, lane, search->places[lane] + (step->is_next ? 1 : SIZE_MAX));
    }
    return error == -ENODATA ? 0 : error;
}

int fg_index_step(const struct fg_call_index *index, const struct fg_recorded *recorded,
                  const struct fg_step *step, struct fg_span_rows *rows)
{
    uint32_t kept = (step->is_next ? fg_index_next : fg_index_previous)(index, step->func, step->lane,
                                                                        step->time_ns, step->raised);
    struct search search = {.index = index, .step = step, .has_best = kept != FG_NO_SPAN};
    int error = 0;

    if (search.has_best)
        search.best = index->spans[kept];
    if (index->nr_shorts && recorded) {
        search.places = malloc((index->nr_lanes + 1) * sizeof(*search.places));
        error = search.places ? search_blocks(&search, recorded) : -ENOMEM;
        free(search.places);
    }
    return error || !search.has_best ? error : fg_span_rows_add(rows, &search.best);
}

/* ---- ranks */

struct ranking {
    uint64_t begin_ns, n;
};

static void count(void *context, const struct fg_span *span)
{
    struct ranking *ranking = context;

    ranking->n += span->begin_ns < ranking->begin_ns;
}

int fg_index_rank(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t func,
                  uint64_t begin_ns, uint64_t *rank)
{
    struct ranking ranking = {.begin_ns = begin_ns, .n = fg_index_count_before(index, func, begin_ns)};
    uint64_t latest_ns = add(begin_ns, fg_index_slot_ns(index));
    unsigned reads = 0;
    int error = 0;

    for (size_t i = fg_index_find_short(index, func, 0);
         !error && i < index->nr_shorts && index->shorts[i].func == func; i++) {
        const struct fg_index_block *block = &index->blocks[index->shorts[i].block];

        if (block->last_ns < begin_ns)
            ranking.n += index->shorts[i].count;
        else if (block->first_ns < latest_ns)
            error = recorded && reads++ < MAX_READS
                        ? visit_block(index, recorded, index->shorts[i].block, func, count, &ranking)
                        : -ENODATA;
    }
    *rank = ranking.n;
    return error;
}
