/* The orders of an index's spans. The builder adds spans in the order of their ends; as spans of one lane and
 * depth never overlap, these are in order of their begins, too, and stay so in stable sorts. */
#ifndef FG_INDEX_SORT_H
#define FG_INDEX_SORT_H

#include "tracedata/index/call_index.h"

/* By (lane, depth, begin). Return: 0 or -ENOMEM. */
int fg_index_sort_by_place(struct fg_call_index *index);
/* By (lane, depth, class, begin), the order of a made index. @index->spans are in the order of their ends, or
 * by place. */
int fg_index_sort_by_class(struct fg_call_index *index);
/* Makes by_function and raised. */
int fg_index_sort_by_function(struct fg_call_index *index);

#endif
