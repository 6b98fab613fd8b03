/* Where a function's spans are that are in cells only: how many of them each block of a lane has. So they are
 * found, and counted, by reading a block or two of the trace. */
#ifndef FG_INDEX_SHORT_H
#define FG_INDEX_SHORT_H

#include <errno.h>

#include "engine/base/compiler.h"
#include "tracedata/index/call_index.h"

#define FG_SHORT_RAISED (UINT32_C(1) << 31) /* in a log: the span ended by an exception */

/* A log that has so many spans is counted, and so is any full log once all have so many bytes together. */
#define FG_SHORT_MAX_LOG 4096u
#define FG_SHORT_MAX_LOG_BYTES (8u << 20)

struct fg_short_lane {
    uint32_t *log; /* functions of the latest spans in the current block: the others are counted */
    size_t n, capacity;
    uint32_t block, block_spans; /* the current block, and how many spans it has; 0: there is none */
};

/* What is gathered while an index is made. Zeroed, it is empty. */
struct fg_shorts {
    struct fg_short_lane *lanes; /* by number */
    size_t lanes_capacity;
    struct fg_index_block *blocks; /* in the order in which they began */
    size_t nr_blocks, blocks_capacity;
    struct fg_index_short *shorts; /* of finished blocks */
    size_t nr_shorts, shorts_capacity, most;
    size_t limit;                  /* of nr_shorts: then they are made fewer */
    size_t log_bytes;              /* of all logs */
    uint32_t block_spans;          /* of a block */
    struct fg_index_short *counts; /* by function, while a block is counted; else zero */
};

/* @most_bytes: that the blocks' counts may have. Return, here and below: 0 or -ENOMEM. */
int fg_shorts_init(struct fg_shorts *shorts, uint32_t nr_functions, size_t most_bytes);
void fg_shorts_free(struct fg_shorts *shorts);

/* Begins a lane's first block or its next one with a span, and makes room in its log. */
int fg_shorts_make_room(struct fg_shorts *shorts, const struct fg_span *span);

/* Adds a span, whatever its length. Those of a lane come in the order of their ends. */
static inline int fg_shorts_add(struct fg_shorts *shorts, const struct fg_span *span)
{
    struct fg_short_lane *lane;
    struct fg_index_block *block;

    if (fg_unlikely(span->lane >= shorts->lanes_capacity || shorts->lanes[span->lane].block_spans == 0 ||
                    shorts->lanes[span->lane].n >= shorts->lanes[span->lane].capacity ||
                    shorts->lanes[span->lane].block_spans >= shorts->block_spans) &&
        fg_shorts_make_room(shorts, span) < 0)
        return -ENOMEM;
    lane = &shorts->lanes[span->lane];
    block = &shorts->blocks[lane->block];
    lane->block_spans++;
    lane->log[lane->n++] = span->func | (span->ended == FG_SPAN_raise ? FG_SHORT_RAISED : 0);
    if (span->end_ns > block->last_ns)
        block->last_ns = span->end_ns;
    return 0;
}

/* Gives the index what was gathered, without the spans that it has one by one, which are sorted. */
int fg_shorts_finish(struct fg_shorts *shorts, struct fg_call_index *index);

#endif
