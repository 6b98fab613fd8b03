/* Which calls of a function are slow, and which typical. Their parts are the business of view/call_parts.h.
 *
 *     ten calls by how long they took     1 1 1 2 2 2 2 3 3 9
 *     typical: the fifth in the middle            ^ ^ ^
 *     slow: the slowest tenth                               ^
 *
 * Each group has all calls that took what its bounds say, so it may have more. */
#ifndef FG_CALL_CHOICE_H
#define FG_CALL_CHOICE_H

#include "tracedata/answers/slow_calls.h"
#include "tracedata/view/call_parts.h"

struct fg_call_group {
    uint64_t nr_calls;
    uint64_t least_ns, most_ns; /* what each of them took */
};

enum fg_call_group_number { FG_GROUP_SLOW, FG_GROUP_TYPICAL, FG_NR_CALL_GROUPS };

/* Slow calls beside typical ones; the typical ones alone, as the first group, if no call took longer. */
struct fg_call_choice {
    struct fg_call_group groups[FG_NR_CALL_GROUPS];
    uint32_t nr_groups;
    struct fg_chosen_call *calls; /* of each group so many spread evenly, by begin */
    size_t n, capacity;
};

struct fg_call_choice_limits {
    size_t ranked; /* so many calls are sorted at most, spread evenly, to find where the groups begin */
    size_t chosen; /* so many calls of a group are chosen at most */
};

/* Of at least one ranked call. @choice: zeroed; to be freed in any case. Return: 0 or -ENOMEM. */
int fg_call_choice_make(struct fg_call_choice *choice, const struct fg_ranked_calls *ranked,
                        const struct fg_call_choice_limits *limits);
void fg_call_choice_free(struct fg_call_choice *choice);

#endif
