/* See call_choice.h. */
#include "tracedata/answers/call_choice.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"

/* What calls of a group took: from least_ns to most_ns. */
struct bounds {
    uint64_t least_ns, most_ns;
};

static int compare_ns(const void *a, const void *b)
{
    uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

    return (one > other) - (one < other);
}

static int compare_chosen(const void *a, const void *b)
{
    const struct fg_chosen_call *one = a, *other = b;

    return one->begin_ns != other->begin_ns ? compare_ns(&one->begin_ns, &other->begin_ns)
                                            : (one->group > other->group) - (one->group < other->group);
}

/* Each how many-th of @n is taken so that at most @most are. */
static size_t stride_of(size_t n, size_t most)
{
    return most && n > most ? (n + most - 1) / most : 1;
}

/* Where the slowest tenth begins, and the fifth in the middle begins and ends. If most take the same, slow is
 * what takes longer. */
static void set_bounds(struct bounds bounds[FG_NR_CALL_GROUPS], const uint64_t *sorted, size_t n)
{
    uint64_t slow_ns = sorted[n * 9 / 10], low_ns = sorted[n * 2 / 5], high_ns = sorted[n * 3 / 5];

    if (slow_ns <= low_ns)
        slow_ns = high_ns + 1;
    bounds[FG_GROUP_SLOW] = (struct bounds){slow_ns, UINT64_MAX};
    bounds[FG_GROUP_TYPICAL] = (struct bounds){low_ns, high_ns < slow_ns ? high_ns : slow_ns - 1};
}

static int find_bounds(struct bounds bounds[FG_NR_CALL_GROUPS], const struct fg_ranked_calls *ranked,
                       size_t most_ranked)
{
    size_t stride = stride_of(ranked->n, most_ranked), n = 0;
    uint64_t *sorted = malloc((ranked->n / stride + 1) * sizeof(*sorted));

    if (!sorted)
        return -ENOMEM;
    for (size_t i = 0; i < ranked->n; i += stride)
        sorted[n++] = ranked->calls[i].took_ns;
    qsort(sorted, n, sizeof(*sorted), compare_ns);
    set_bounds(bounds, sorted, n);
    free(sorted);
    return 0;
}

static bool is_within(const struct fg_ranked_call *call, const struct bounds *bounds)
{
    return bounds->least_ns <= call->took_ns && call->took_ns <= bounds->most_ns;
}

static struct fg_call_group group_within(const struct fg_ranked_calls *ranked, const struct bounds *bounds)
{
    struct fg_call_group group = {.least_ns = UINT64_MAX};

    for (size_t i = 0; i < ranked->n; i++) {
        const struct fg_ranked_call *call = &ranked->calls[i];

        if (!is_within(call, bounds))
            continue;
        group.nr_calls++;
        if (call->took_ns < group.least_ns)
            group.least_ns = call->took_ns;
        if (call->took_ns > group.most_ns)
            group.most_ns = call->took_ns;
    }
    return group;
}

/* Adds a group, and some of its calls. One without calls is left out. */
static int add_group(struct fg_call_choice *choice, const struct fg_ranked_calls *ranked,
                     const struct bounds *bounds, size_t most_chosen)
{
    struct fg_call_group group = group_within(ranked, bounds);
    size_t stride = stride_of(group.nr_calls, most_chosen), seen = 0;

    if (!group.nr_calls)
        return 0;
    if (fg_array_reserve(&choice->calls, &choice->capacity, choice->n + group.nr_calls / stride + 1) < 0)
        return -ENOMEM;
    for (size_t i = 0; i < ranked->n; i++)
        if (is_within(&ranked->calls[i], bounds) && seen++ % stride == 0)
            choice->calls[choice->n++] =
                (struct fg_chosen_call){ranked->calls[i].begin_ns, choice->nr_groups};
    choice->groups[choice->nr_groups++] = group;
    return 0;
}

int fg_call_choice_make(struct fg_call_choice *choice, const struct fg_ranked_calls *ranked,
                        const struct fg_call_choice_limits *limits)
{
    struct bounds bounds[FG_NR_CALL_GROUPS];
    int error = find_bounds(bounds, ranked, limits->ranked);

    for (unsigned i = 0; i < FG_NR_CALL_GROUPS && !error; i++)
        error = add_group(choice, ranked, &bounds[i], limits->chosen);
    if (!error)
        qsort(choice->calls, choice->n, sizeof(*choice->calls), compare_chosen);
    return error;
}

void fg_call_choice_free(struct fg_call_choice *choice)
{
    free(choice->calls);
}
