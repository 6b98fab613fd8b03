/* Promises: while the short spans of an index are counted, the logs of all lanes together have bounded
 * memory, however many lanes there are and however long blocks become. No span is counted twice or lost. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>

#include "tracedata/index/call_index.h"
#include "tracedata/index/index_short.h"

#define NR_FUNCTIONS 8u
#define MOST_LANES 3000u
#define LEAST_LOG_BYTES 1024u /* of a lane whose log may not grow */

static struct fg_span span_of(uint32_t lane, uint64_t number)
{
    return (struct fg_span){.begin_ns = number * 10,
                            .end_ns = number * 10 + 5,
                            .lane = lane,
                            .func = (uint32_t)(number % NR_FUNCTIONS),
                            .ended = number % 3 ? FG_SPAN_return : FG_SPAN_raise};
}

/* Adds the spans lane by lane for each of them. Return: the largest log. */
static size_t fill(struct fg_shorts *shorts, uint32_t nr_lanes, uint64_t nr_spans)
{
    size_t largest = 0;

    for (uint64_t number = 0; number < nr_spans; number++)
        for (uint32_t lane = 0; lane < nr_lanes; lane++) {
            const struct fg_span span = span_of(lane, number);

            assert(!fg_shorts_add(shorts, &span));
        }
    for (uint32_t lane = 0; lane < nr_lanes; lane++)
        if (shorts->lanes[lane].capacity > largest)
            largest = shorts->lanes[lane].capacity;
    return largest;
}

/* Each lane has all of its spans in its blocks, of each function as many as were added. */
static void check_counts(const struct fg_call_index *index, uint32_t nr_lanes, uint64_t nr_spans)
{
    static uint64_t counts[MOST_LANES][NR_FUNCTIONS];
    static uint64_t raised[MOST_LANES];

    for (uint32_t lane = 0; lane < nr_lanes; lane++) {
        raised[lane] = 0;
        for (uint32_t func = 0; func < NR_FUNCTIONS; func++)
            counts[lane][func] = 0;
    }
    for (size_t i = 0; i < index->nr_shorts; i++) {
        const struct fg_index_short *one = &index->shorts[i], *before = i ? one - 1 : NULL;
        uint32_t lane = index->blocks[one->block].lane;

        assert(!before || before->func < one->func || before->block < one->block); /* sorted, and only once */
        counts[lane][one->func] += one->count;
        raised[lane] += one->nr_raised;
    }
    for (uint32_t lane = 0; lane < nr_lanes; lane++) {
        assert(raised[lane] == (nr_spans + 2) / 3);
        for (uint32_t func = 0; func < NR_FUNCTIONS; func++)
            assert(counts[lane][func] == nr_spans / NR_FUNCTIONS);
    }
}

/* @most_bytes: of the blocks' counts. Return: the spans of a block in the end. */
static uint32_t check(uint32_t nr_lanes, uint64_t nr_spans, size_t most_bytes)
{
    struct fg_call_index *index = fg_call_index_new(NR_FUNCTIONS);
    struct fg_shorts shorts;
    uint32_t block_spans;

    assert(index && !fg_shorts_init(&shorts, NR_FUNCTIONS, most_bytes));
    assert(fill(&shorts, nr_lanes, nr_spans) <= FG_SHORT_MAX_LOG);
    assert(shorts.log_bytes <= FG_SHORT_MAX_LOG_BYTES + (size_t)nr_lanes * LEAST_LOG_BYTES);
    block_spans = shorts.block_spans;
    index->base = 1; /* there are cells */
    assert(!fg_shorts_finish(&shorts, index));
    check_counts(index, nr_lanes, nr_spans);
    fg_shorts_free(&shorts);
    fg_call_index_free(index);
    return block_spans;
}

int main(void)
{
    check(1, NR_FUNCTIONS, 1 << 20);
    assert(check(2, 200000, 1) > 10 * FG_SHORT_MAX_LOG); /* blocks become longer, logs do not */
    check(MOST_LANES, 1600, 1 << 20);                    /* each fits a log, all together do not */
    check(MOST_LANES, 800, 1 << 10);                     /* nothing can be merged any more */
    return 0;
}
