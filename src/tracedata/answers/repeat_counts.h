/* How often each key was met below one call: a small table that hangs on the call while it is in progress. */
#ifndef FG_REPEAT_COUNTS_H
#define FG_REPEAT_COUNTS_H

#include <stddef.h>
#include <stdint.h>

struct fg_repeat_count {
    uint64_t key; /* 0: the slot is empty */
    uint64_t calls, ran_ns;
    uint32_t func, kind;
};

struct fg_repeat_counts {
    struct fg_repeat_count *slots;
    uint32_t n, nr_slots; /* a power of two, or 0 */
};

void fg_repeat_counts_free(struct fg_repeat_counts *counts); /* NULL is let through */

/* Adds to the count of a key. *@forgotten grows if others, met once, had to be forgotten. Return: 0 or
 * -ENOMEM. */
int fg_repeat_counts_add(struct fg_repeat_counts *counts, const struct fg_repeat_count *count,
                         uint64_t *forgotten);

/* Adds all counts of @from, which is freed, to those of *@into, which may be NULL. */
int fg_repeat_counts_merge(struct fg_repeat_counts **into, struct fg_repeat_counts *from,
                           uint64_t *forgotten);

#endif
