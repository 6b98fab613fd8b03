/* See index_short.h. Each lane has a log of the functions of its latest spans. Its functions are counted when
 * it is full, or its block is. So a block has several counts of a function until they are sorted. If there
 * are too many counts then, too, each two blocks of a lane become one, and later blocks are longer. Logs do
 * not become longer with them: there may be thousands of lanes. */
#include "tracedata/index/index_short.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "tracedata/index/index_query.h"

/* Of a block at first: as many as are read in a millisecond or two; fewer if few counts have room. */
#define MAX_FIRST_SPANS 4096u
#define MIN_FIRST_SPANS 8u
#define FIRST_COUNTS 64u /* blocks of so many functions have room */
#define MAX_BLOCK_SPANS (1u << 30)
#define NO_BLOCK UINT32_MAX

int fg_shorts_init(struct fg_shorts *shorts, uint32_t nr_functions, size_t most_bytes)
{
    size_t most = most_bytes / sizeof(*shorts->shorts), spans = most / FIRST_COUNTS;

    if (spans < MIN_FIRST_SPANS)
        spans = MIN_FIRST_SPANS;
    *shorts = (struct fg_shorts){.most = most + 1,
                                 .limit = most + 1,
                                 .block_spans = spans < MAX_FIRST_SPANS ? (uint32_t)spans : MAX_FIRST_SPANS,
                                 .counts = calloc((size_t)nr_functions + 1, sizeof(*shorts->counts))};
    return shorts->counts ? 0 : -ENOMEM;
}

void fg_shorts_free(struct fg_shorts *shorts)
{
    for (size_t i = 0; i < shorts->lanes_capacity; i++)
        free(shorts->lanes[i].log);
    free(shorts->lanes);
    free(shorts->blocks);
    free(shorts->shorts);
    free(shorts->counts);
}

/* ---- blocks */

/* Counts the functions of a lane's log, and empties it. */
static int count_log(struct fg_shorts *shorts, struct fg_short_lane *lane)
{
    size_t nr_functions = 0;

    for (size_t i = 0; i < lane->n; i++) {
        uint32_t func = lane->log[i] & ~FG_SHORT_RAISED;
        struct fg_index_short *count = &shorts->counts[func];

        count->nr_raised += (lane->log[i] & FG_SHORT_RAISED) != 0;
        if (!count->count++)
            lane->log[nr_functions++] = func; /* the place was read before */
    }
    lane->n = 0;
    if (fg_array_reserve(&shorts->shorts, &shorts->shorts_capacity, shorts->nr_shorts + nr_functions) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < nr_functions; i++) {
        struct fg_index_short *count = &shorts->counts[lane->log[i]];

        count->func = lane->log[i];
        count->block = lane->block;
        shorts->shorts[shorts->nr_shorts++] = *count;
        *count = (struct fg_index_short){0};
    }
    return 0;
}

static int compare_shorts(const void *a, const void *b)
{
    const struct fg_index_short *one = a, *other = b;

    if (one->func != other->func)
        return one->func < other->func ? -1 : 1;
    return (one->block > other->block) - (one->block < other->block);
}

/* Sorts the counts, and makes one of those of the same function and block. */
static void sort_shorts(struct fg_shorts *shorts)
{
    size_t n = 0;

    if (shorts->nr_shorts)
        qsort(shorts->shorts, shorts->nr_shorts, sizeof(*shorts->shorts), compare_shorts);
    for (size_t i = 0; i < shorts->nr_shorts; i++) {
        struct fg_index_short *next = &shorts->shorts[i], *last = n ? &shorts->shorts[n - 1] : NULL;

        if (last && compare_shorts(last, next) == 0) {
            last->count += next->count;
            last->nr_raised += next->nr_raised;
        } else {
            shorts->shorts[n++] = *next;
        }
    }
    shorts->nr_shorts = n;
}

/* Renames the blocks of counts and lanes. */
static void rename_blocks(struct fg_shorts *shorts, const uint32_t *names)
{
    for (size_t i = 0; i < shorts->nr_shorts; i++)
        shorts->shorts[i].block = names[shorts->shorts[i].block];
    for (size_t i = 0; i < shorts->lanes_capacity; i++)
        if (shorts->lanes[i].block_spans)
            shorts->lanes[i].block = names[shorts->lanes[i].block];
}

/* Makes one block of each two of a lane. */
FG_NOINLINE static int merge_blocks(struct fg_shorts *shorts)
{
    uint32_t *names = malloc((shorts->nr_blocks + 1) * sizeof(*names));
    uint32_t *firsts = malloc((shorts->lanes_capacity + 1) * sizeof(*firsts)); /* by lane: has no second */
    uint32_t n = 0;

    for (size_t i = 0; firsts && i < shorts->lanes_capacity; i++)
        firsts[i] = NO_BLOCK;
    for (size_t i = 0; names && firsts && i < shorts->nr_blocks; i++) {
        const struct fg_index_block block = shorts->blocks[i];
        uint32_t *first = &firsts[block.lane];

        if (*first == NO_BLOCK) {
            *first = names[i] = n;
            shorts->blocks[n++] = block;
        } else {
            names[i] = *first;
            shorts->blocks[*first].last_ns = block.last_ns;
            *first = NO_BLOCK;
        }
    }
    if (names && firsts) {
        shorts->nr_blocks = n;
        rename_blocks(shorts, names);
        sort_shorts(shorts);
        shorts->block_spans =
            shorts->block_spans < MAX_BLOCK_SPANS ? 2 * shorts->block_spans : MAX_BLOCK_SPANS;
    }
    free(names);
    free(firsts);
    return names && firsts ? 0 : -ENOMEM;
}

/* Makes fewer of the counts. Those of blocks that cannot be merged stay: then the next time is later. */
FG_NOINLINE static int make_fewer(struct fg_shorts *shorts)
{
    int error = 0;

    sort_shorts(shorts);
    if (shorts->nr_shorts > shorts->most)
        error = merge_blocks(shorts);
    shorts->limit = 2 * shorts->nr_shorts > shorts->most ? 2 * shorts->nr_shorts : shorts->most;
    return error;
}

static int empty_log(struct fg_shorts *shorts, struct fg_short_lane *lane)
{
    int error = count_log(shorts, lane);

    return !error && shorts->nr_shorts > shorts->limit ? make_fewer(shorts) : error;
}

static int begin_block(struct fg_shorts *shorts, struct fg_short_lane *lane, const struct fg_span *span)
{
    if (fg_array_reserve(&shorts->blocks, &shorts->blocks_capacity, shorts->nr_blocks + 1) < 0)
        return -ENOMEM;
    lane->block = (uint32_t)shorts->nr_blocks;
    lane->block_spans = 0;
    shorts->blocks[shorts->nr_blocks++] =
        (struct fg_index_block){.first_ns = span->end_ns, .last_ns = span->end_ns, .lane = span->lane};
    return 0;
}

/* A lane's next block begins with this span. */
FG_NOINLINE static int change_block(struct fg_shorts *shorts, uint32_t number, const struct fg_span *span)
{
    int error = empty_log(shorts, &shorts->lanes[number]);

    return error ? error : begin_block(shorts, &shorts->lanes[number], span);
}

/* Makes room for a span in a full log: it grows, as far as it may. */
static int make_log_room(struct fg_shorts *shorts, struct fg_short_lane *lane)
{
    size_t before = lane->capacity;
    int error;

    if (before && (before >= FG_SHORT_MAX_LOG || shorts->log_bytes >= FG_SHORT_MAX_LOG_BYTES))
        return empty_log(shorts, lane);
    error = fg_array_reserve(&lane->log, &lane->capacity, lane->n + 1);
    shorts->log_bytes += (lane->capacity - before) * sizeof(*lane->log);
    return error;
}

int fg_shorts_make_room(struct fg_shorts *shorts, const struct fg_span *span)
{
    struct fg_short_lane *lane;
    int error = 0;

    if (fg_array_reserve_zeroed(&shorts->lanes, &shorts->lanes_capacity, (size_t)span->lane + 1) < 0)
        return -ENOMEM;
    lane = &shorts->lanes[span->lane];
    if (lane->block_spans == 0)
        error = begin_block(shorts, lane, span);
    else if (lane->block_spans >= shorts->block_spans &&
             span->end_ns > shorts->blocks[lane->block].last_ns) /* so no two blocks have one time */
        error = change_block(shorts, span->lane, span);
    if (!error && lane->n >= lane->capacity)
        error = make_log_room(shorts, lane);
    return error;
}

/* ---- the end */

struct place {
    struct fg_index_block block;
    uint32_t number;
};

static int compare_places(const void *a, const void *b)
{
    const struct place *one = a, *other = b;

    if (one->block.lane != other->block.lane)
        return one->block.lane < other->block.lane ? -1 : 1;
    return (one->block.first_ns > other->block.first_ns) - (one->block.first_ns < other->block.first_ns);
}

/* Sorts the blocks by (lane, time). */
static int sort_blocks(struct fg_shorts *shorts)
{
    struct place *places = malloc((shorts->nr_blocks + 1) * sizeof(*places));
    uint32_t *names = malloc((shorts->nr_blocks + 1) * sizeof(*names));

    for (size_t i = 0; places && i < shorts->nr_blocks; i++)
        places[i] = (struct place){shorts->blocks[i], (uint32_t)i};
    if (places && shorts->nr_blocks)
        qsort(places, shorts->nr_blocks, sizeof(*places), compare_places);
    for (size_t i = 0; places && names && i < shorts->nr_blocks; i++) {
        names[places[i].number] = (uint32_t)i;
        shorts->blocks[i] = places[i].block;
    }
    if (places && names)
        rename_blocks(shorts, names);
    free(places);
    free(names);
    return places && names ? 0 : -ENOMEM;
}

/* Takes a span that the index has out of its count. */
static void take_out(struct fg_call_index *index, const struct fg_span *span)
{
    uint32_t block = fg_index_block_at(index, span->lane, span->end_ns);
    size_t place = fg_index_find_short(index, span->func, block);

    if (place >= index->nr_shorts || index->shorts[place].func != span->func ||
        index->shorts[place].block != block || !index->shorts[place].count)
        return;
    index->shorts[place].count--;
    if (span->ended == FG_SPAN_raise && index->shorts[place].nr_raised)
        index->shorts[place].nr_raised--;
}

static void drop_empty(struct fg_call_index *index)
{
    size_t n = 0;

    for (size_t i = 0; i < index->nr_shorts; i++)
        if (index->shorts[i].count)
            index->shorts[n++] = index->shorts[i];
    index->nr_shorts = n;
}

int fg_shorts_finish(struct fg_shorts *shorts, struct fg_call_index *index)
{
    int error = 0;

    if (!index->base)
        return 0; /* there are none */
    for (size_t i = 0; i < shorts->lanes_capacity && !error; i++)
        error = count_log(shorts, &shorts->lanes[i]);
    if (!error)
        error = make_fewer(shorts);
    if (!error)
        error = sort_blocks(shorts);
    if (error)
        return error;
    sort_shorts(shorts);
    index->blocks = shorts->blocks;
    index->nr_blocks = shorts->nr_blocks;
    index->shorts = shorts->shorts;
    index->nr_shorts = shorts->nr_shorts;
    shorts->blocks = NULL;
    shorts->shorts = NULL;
    for (size_t i = 0; i < index->nr_spans; i++)
        take_out(index, &index->spans[index->by_function.numbers[i]]);
    drop_empty(index);
    return 0;
}
