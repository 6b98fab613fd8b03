/* Where a function's spans are that are in cells only: how many of them each block of a lane has. So they are
 * found, and counted, by reading a block or two of the trace. */
#ifndef FG_INDEX_SHORT_H
#define FG_INDEX_SHORT_H

#include "tracedata/index/call_index.h"

/* What is gathered while an index is made. Zeroed, it is empty. */
struct fg_shorts {
    struct fg_short_lane *lanes; /* by number */
    size_t lanes_capacity;
    struct fg_index_block *blocks; /* in the order in which they began */
    size_t nr_blocks, blocks_capacity;
    struct fg_index_short *shorts; /* of finished blocks */
    size_t nr_shorts, shorts_capacity, most;
    uint32_t block_spans;          /* of a block */
    struct fg_index_short *counts; /* by function, while a block is counted; else zero */
};

/* @most_bytes: that the blocks' counts may have. Return, here and below: 0 or -ENOMEM. */
int fg_shorts_init(struct fg_shorts *shorts, uint32_t nr_functions, size_t most_bytes);
void fg_shorts_free(struct fg_shorts *shorts);

/* Adds a span, whatever its length. Those of a lane come in the order of their ends. */
int fg_shorts_add(struct fg_shorts *shorts, const struct fg_span *span);
/* Gives the index what was gathered, without the spans that it has one by one, which are sorted. */
int fg_shorts_finish(struct fg_shorts *shorts, struct fg_call_index *index);

#endif
