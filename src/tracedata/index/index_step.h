/* From call to call of a function, those included that the index has only in cells: the blocks in which such
 * are known to be are read from the trace. */
#ifndef FG_INDEX_STEP_H
#define FG_INDEX_STEP_H

#include "tracedata/index/index_detail.h"

struct fg_step {
    uint32_t func;
    uint32_t lane; /* UINT32_MAX: all */
    uint64_t time_ns;
    bool is_next; /* the first span that begins after the time; else the last one that begins before */
    bool raised;  /* only those that an exception ended */
};

/* Adds the span, if there is one. What cannot be read is not looked at. Return: 0 or a negative errno. */
int fg_index_step(const struct fg_call_index *index, const struct fg_recorded *recorded,
                  const struct fg_step *step, struct fg_span_rows *rows);

/* How many of the function's spans, in all lanes, begin before a time. Return: 0; -ENODATA: what must be read
 * for it cannot be, or is too much; or another negative errno. */
int fg_index_rank(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t func,
                  uint64_t begin_ns, uint64_t *rank);

#endif
