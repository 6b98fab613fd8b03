/* Questions to an index and its trace together: what the index has only in cells is read from the file, where
 * that is little. */
#ifndef FG_INDEX_DETAIL_H
#define FG_INDEX_DETAIL_H

#include "tracedata/index/index_query.h"

/* @recorded, here and below: the trace, if it is a `.fg`; NULL: the index answers alone, as it does if the
 * clock does not count nanoseconds. Return: 0, -ENOMEM, or another negative errno of reading. */

/* As fg_index_picture(). If its pixels are shorter than what the index tells apart, and at most
 * FG_DETAIL_MAX_SPANS spans must be read, each span is there. */
int fg_detail_picture(const struct fg_call_index *index, const struct fg_recorded *recorded,
                      const struct fg_picture *picture, struct fg_span_rows *rows);

/* Adds the innermost span of the lane at a time, if there is one. */
int fg_detail_call_at(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                      uint64_t time_ns, struct fg_span_rows *rows);

/* Adds the spans that are in progress in the lane at a time, at lower depths than @depth, the innermost
 * first. */
int fg_detail_parents(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                      uint32_t depth, uint64_t time_ns, struct fg_span_rows *rows);

/* Reads the spans of a part of a lane that the index has only in cells, where the lane is number 0, and those
 * around it. @last_level: of its cells. *part: NULL: the index has them, or they are
 * too many, or cannot be read. */
int fg_detail_read_part(const struct fg_call_index *index, const struct fg_recorded *recorded, uint32_t lane,
                        uint64_t begin_ns, uint64_t end_ns, unsigned last_level, struct fg_call_index **part);

#define FG_DETAIL_MAX_SPANS 65536u

#endif
