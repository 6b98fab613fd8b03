/* Calls of functions, grouped by the values of each argument, of the result and of the exception; and by each
 * attribute of these that was recorded.
 *
 * Each field has two groupings: by the value itself, objects by their type; and by its size: numbers and
 * lengths by powers of two. The second one has few groups however many values there are. */
#ifndef FG_VALUE_GROUPS_H
#define FG_VALUE_GROUPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tracedata/read/merge.h"

#define FG_VALUE_BINS 160u           /* four for each power of two of nanoseconds */
#define FG_MOST_VALUES 4096u         /* groups of a grouping; what comes later is one group */
#define FG_MOST_VALUE_FIELDS 16u     /* arguments of a function */
#define FG_MOST_VALUE_ATTRIBUTES 32u /* of all of them */
#define FG_MOST_VALUE_FUNCTIONS 64u

/* The key of a group by size: tag, sign, exponent (i16), and of a container or object its type's name. */
#define FG_SIZE_KEY_BYTES 4u

struct fg_value_group {
    uint64_t calls, raised;
    uint64_t timed; /* of these: calls whose duration is known */
    uint64_t total_ns, min_ns, max_ns;
    double log_sum; /* of the binary logarithms of the durations */
    uint64_t slowest_begin_ns, slowest_end_ns;
    uint32_t slowest_task;
    uint32_t key_at, key_bytes; /* the value, in the bytes of all keys */
    uint32_t bins[FG_VALUE_BINS];
};

/* One grouping of one field. */
struct fg_value_grouping {
    struct fg_value_group *groups; /* the first one: what came after FG_MOST_VALUES */
    size_t n, capacity;
    struct fg_hash_table table;
    uint64_t distinct_later; /* values that were met when no more groups were made, counted at each call */
};

enum fg_value_grouping_kind { FG_GROUP_BY_VALUE, FG_GROUP_BY_SIZE, FG_NR_GROUPINGS };

struct fg_value_field {
    struct fg_value_grouping groupings[FG_NR_GROUPINGS];
};

/* Fields of a function: arguments, then these. */
enum fg_value_outcome { FG_FIELD_RESULT, FG_FIELD_EXCEPTION, FG_NR_OUTCOMES };

/* An attribute of an argument (its number), or of an outcome (FG_MOST_VALUE_FIELDS and its number). */
struct fg_value_attribute {
    uint32_t of;
    uint32_t name_at, name_bytes; /* in the bytes of all keys */
    struct fg_value_field field;
};

struct fg_value_function {
    uint32_t func;
    struct fg_value_group all;
    double log_squares;
    uint64_t nr_open;
    uint32_t nr_arguments; /* that were recorded, at most */
    struct fg_value_field arguments[FG_MOST_VALUE_FIELDS];
    struct fg_value_field outcomes[FG_NR_OUTCOMES];
    struct fg_value_attribute *attributes; /* the first FG_MOST_VALUE_ATTRIBUTES that were met */
    size_t nr_attributes, attributes_capacity;
};

struct fg_value_groups;

/* Begins with the calls in @merge of the functions with a byte that is not 0. Both stay the caller's. Return:
 * 0 or -ENOMEM. */
int fg_value_groups_new(struct fg_merge *merge, const uint8_t *function_mask,
                        struct fg_value_groups **groups);
void fg_value_groups_free(struct fg_value_groups *groups);
/* As fg_answer_run(). -E2BIG: calls of more functions than FG_MOST_VALUE_FUNCTIONS. */
int fg_value_groups_run(struct fg_value_groups *groups, uint64_t events);

const struct fg_value_function *fg_value_groups_functions(const struct fg_value_groups *groups, size_t *n);
const uint8_t *fg_value_groups_keys(const struct fg_value_groups *groups);

#endif
