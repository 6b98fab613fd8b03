/* See repeats.h. */
#include "tracedata/answers/repeats.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/base/compiler.h"
#include "engine/ring/record.h"
#include "tracedata/answers/repeat_counts.h"
#include "tracedata/answers/repeat_keys.h"
#include "tracedata/answers/sql_shape.h"
#include "tracedata/answers/value_bytes.h"

#define MOST_GROUPS 65536u
#define SHAPE "shape"

struct fg_repeats {
    struct fg_answer answer;
    struct fg_exceptions exceptions;
    struct fg_discards discards;
    uint64_t least;
    struct fg_repeat_keys keys;
    struct fg_repeat_function *functions; /* by index */
    struct fg_repeat_group *groups;
    size_t nr_groups, capacity;
    struct fg_hash_table table; /* of groups: 1 + place */
    struct fg_text shape;       /* of the statement at hand */
    uint64_t forgotten;         /* counts below calls */
};

static inline struct fg_repeats *repeats_of(struct fg_answer *answer)
{
    return (struct fg_repeats *)(void *)answer;
}

static inline struct fg_repeat_counts *counts_of(const struct fg_answer_call *call)
{
    return call->slots[FG_SLOT_REPEATS];
}

/* ---- what is repeated below a call */

static bool is_of_group(const struct fg_repeat_group *group, uint32_t below,
                        const struct fg_repeat_count *count)
{
    return group->below == below && group->func == count->func && group->kind == count->kind &&
           (group->kind == FG_REPEAT_CALL || group->key == count->key);
}

static struct fg_repeat_group *find_group(struct fg_repeats *repeats, uint32_t below,
                                          const struct fg_repeat_count *count)
{
    uint64_t hash = fg_hash_uint64(((uint64_t)below << 32 | count->func) ^
                                   (count->kind == FG_REPEAT_SQL ? count->key : 0));
    struct fg_hash_slot *slot = fg_hash_first(&repeats->table, hash);
    struct fg_repeat_group *group;

    while (slot && !is_of_group(&repeats->groups[slot->value - 1], below, count))
        slot = fg_hash_next(&repeats->table, slot);
    if (slot)
        return &repeats->groups[slot->value - 1];
    if (fg_array_reserve(&repeats->groups, &repeats->capacity, repeats->nr_groups + 1) < 0 ||
        fg_hash_add(&repeats->table, hash, repeats->nr_groups + 1) < 0)
        return NULL;
    group = &repeats->groups[repeats->nr_groups++];
    *group = (struct fg_repeat_group){.below = below, .func = count->func, .kind = count->kind};
    return group;
}

static void set_most(struct fg_repeats *repeats, struct fg_repeat_group *group,
                     const struct fg_answer_end *end, const struct fg_repeat_count *count)
{
    const struct fg_repeat_key *key = fg_repeat_keys_find(&repeats->keys, count->key);

    group->key = count->key;
    group->most = count->calls;
    group->most_begin_ns = end->call->begin_ns;
    group->most_end_ns = end->end_ns;
    group->most_task = end->task;
    group->text_at = key ? key->text_at : 0;
    group->text_bytes = key ? key->text_bytes : 0;
}

static int add_run(struct fg_repeats *repeats, const struct fg_answer_end *end,
                   const struct fg_repeat_count *count)
{
    const struct fg_repeat_key *key = fg_repeat_keys_find(&repeats->keys, count->key);
    struct fg_repeat_group *group;

    if (repeats->nr_groups == MOST_GROUPS || (key && key->differs)) /* not the same: it has a state */
        return 0;
    group = find_group(repeats, end->call->func, count);
    if (!group)
        return -ENOMEM;
    group->runs++;
    group->calls += count->calls;
    group->ran_ns += count->ran_ns;
    group->repeated_ns += count->ran_ns - count->ran_ns / count->calls;
    if (count->calls > group->most)
        set_most(repeats, group, end, count);
    return 0;
}

/* Takes out of the call's counts what was repeated below it. */
static int add_runs(struct fg_repeats *repeats, const struct fg_answer_end *end)
{
    struct fg_repeat_counts *counts = counts_of(end->call);
    int error = 0;

    for (uint32_t i = 0; counts && i < counts->nr_slots && !error; i++) {
        struct fg_repeat_count *count = &counts->slots[i];

        if (!count->key || count->calls < repeats->least)
            continue;
        error = add_run(repeats, end, count);
        count->calls = count->ran_ns = 0;
    }
    return error;
}

/* A call without a caller on its stack, or one that did not end, passes nothing on. */
static int pass_on(struct fg_repeats *repeats, const struct fg_answer_end *end)
{
    struct fg_repeat_counts *counts = counts_of(end->call);
    struct fg_repeat_counts *into;
    int error;

    end->call->slots[FG_SLOT_REPEATS] = NULL;
    if (!end->parent) {
        fg_repeat_counts_free(counts);
        return 0;
    }
    into = counts_of(end->parent);
    error = fg_repeat_counts_merge(&into, counts, &repeats->forgotten);
    end->parent->slots[FG_SLOT_REPEATS] = into;
    return error;
}

static int count_below(struct fg_repeats *repeats, struct fg_answer_call *parent,
                       const struct fg_repeat_count *count)
{
    if (!parent)
        return 0;
    if (!counts_of(parent))
        parent->slots[FG_SLOT_REPEATS] = calloc(1, sizeof(struct fg_repeat_counts));
    return counts_of(parent) ? fg_repeat_counts_add(counts_of(parent), count, &repeats->forgotten) : -ENOMEM;
}

/* ---- statements of SQL */

/* The first argument that is one. */
static bool find_sql(const struct fg_text *arguments, struct fg_value *value)
{
    const uint8_t *at = (const uint8_t *)arguments->data, *end = at + arguments->bytes;

    while (at < end && fg_value_next(&at, end, value))
        if (value->tag == FG_VALUE_STR && fg_is_sql(value->text, value->text_bytes))
            return true;
    return false;
}

static int count_sql(struct fg_repeats *repeats, const struct fg_answer_end *end)
{
    const struct fg_answer_call *call = end->call;
    struct fg_text *shape = &repeats->shape;
    struct fg_value value;
    uint64_t key;

    if (!call->arguments.bytes || !find_sql(&call->arguments, &value))
        return 0;
    shape->bytes = 0;
    fg_sql_shape(shape, value.text, value.text_bytes);
    if (shape->failed)
        return -ENOMEM;
    key = fg_hash_values(~(uint64_t)call->func, shape->data, shape->bytes) | 1;
    if (!fg_repeat_keys_count(&repeats->keys, key, call->func, shape->data, shape->bytes))
        return -ENOMEM;
    return count_below(
        repeats, end->parent,
        &(struct fg_repeat_count){
            .key = key, .calls = 1, .ran_ns = call->ran_ns, .func = call->func, .kind = FG_REPEAT_SQL});
}

/* ---- the same result */

/* An array of numpy, a frame or a series of pandas: only the shape and the type of its items are recorded. */
static bool is_shape(const struct fg_value *first_name)
{
    return first_name->text_bytes == strlen(SHAPE) && memcmp(first_name->text, SHAPE, strlen(SHAPE)) == 0;
}

/* Whether there is more in some values, or in a part of one, than was recorded. */
static bool is_partial(const uint8_t *at, const uint8_t *end)
{
    struct fg_value value;
    uint8_t before = FG_VALUE_NONE;

    for (; at < end && fg_value_token(&at, end, &value); before = (uint8_t)value.tag)
        switch ((enum fg_value_tag)value.tag) {
        case FG_VALUE_BIGINT:
        case FG_VALUE_SIZED:
        case FG_VALUE_OBJECT:
        case FG_VALUE_WORD: /* may be an address */
        case FG_VALUE_MORE:
            return true;
        case FG_VALUE_NAME:
            if (before == FG_VALUE_OPEN && is_shape(&value))
                return true;
            break;
        case FG_VALUE_STR:
        case FG_VALUE_BYTES:
        case FG_VALUE_SHOWN:
            if (value.text_bytes < value.length)
                return true;
            break;
        default:
            break;
        }
    return false;
}

/* Looks whether a caller is a hit of a function. */
struct hit_search {
    const struct fg_repeats *repeats;
    uint32_t func;
};

static bool is_hit_of(const struct fg_answer_call *caller, const void *argument)
{
    const struct hit_search *search = argument;
    const struct fg_repeat_key *key;

    if (caller->func != search->func || !caller->key)
        return false;
    key = fg_repeat_keys_find(&search->repeats->keys, caller->key);
    return key && key->has_result && key->first_ns <= caller->begin_ns;
}

/* What a hit took is saved once, if a hit of the same function is around it. */
static bool is_in_hit(struct fg_repeats *repeats, const struct fg_answer_end *end)
{
    struct hit_search search = {.repeats = repeats, .func = end->call->func};

    return repeats->functions[search.func].open &&
           fg_answer_each_caller(&repeats->answer, end->stretch, is_hit_of, &search);
}

static void count_result(struct fg_repeats *repeats, const struct fg_answer_end *end,
                         struct fg_repeat_key *key)
{
    struct fg_repeat_function *function = &repeats->functions[end->call->func];
    uint64_t result = fg_hash_values(0, end->values, (size_t)(end->values_end - end->values));
    const struct fg_text *arguments = &end->call->arguments;

    function->is_none = (function->is_none || !function->calls) && *end->values == FG_VALUE_NONE;
    function->calls++;
    if (!function->is_partial) /* one look at each call, until it is known */
        function->is_partial = is_partial((const uint8_t *)arguments->data,
                                          (const uint8_t *)arguments->data + arguments->bytes) ||
                               is_partial(end->values, end->values_end);
    if (!key->has_result) {
        key->has_result = true;
        key->result = result;
        key->first_ns = end->end_ns;
        return;
    }
    key->differs |= key->result != result;
    key->hits++;
    if (!is_in_hit(repeats, end))
        key->hit_ns += end->call->ran_ns;
}

/* ---- calls */

static int begin_call(struct fg_answer *answer, struct fg_answer_call *call)
{
    struct fg_repeats *repeats = repeats_of(answer);

    fg_discards_begin(&repeats->discards, call->func);
    if (!call->has_arguments || !fg_answer_keeps_arguments(answer, call->func))
        return 0;
    call->key = fg_hash_values(call->func, call->arguments.data, call->arguments.bytes) | 1;
    repeats->functions[call->func].open++;
    return 0;
}

static int count_call(struct fg_repeats *repeats, const struct fg_answer_end *end)
{
    const struct fg_answer_call *call = end->call;
    struct fg_repeat_key *key;
    int error;

    repeats->functions[call->func].open--;
    key = fg_repeat_keys_count(&repeats->keys, call->key, call->func, call->arguments.data,
                               call->arguments.bytes);
    if (!key)
        return -ENOMEM;
    if (end->ended == FG_CALL_return && end->values < end->values_end && call->is_whole)
        count_result(repeats, end, key);
    error = count_below(repeats, end->parent,
                        &(struct fg_repeat_count){.key = call->key,
                                                  .calls = 1,
                                                  .ran_ns = call->ran_ns,
                                                  .func = call->func,
                                                  .kind = FG_REPEAT_CALL});
    return error ? error : count_sql(repeats, end);
}

static int end_call(struct fg_answer *answer, const struct fg_answer_end *end)
{
    struct fg_repeats *repeats = repeats_of(answer);
    int error = fg_exceptions_end(&repeats->exceptions, end);

    fg_discards_end(&repeats->discards, answer, end);
    if (!error && counts_of(end->call))
        error = add_runs(repeats, end);
    if (!error && end->call->key)
        error = count_call(repeats, end);
    if (!error && counts_of(end->call))
        error = pass_on(repeats, end);
    return error;
}

static void drop_call(struct fg_answer_call *call)
{
    fg_exceptions_drop(call);
    fg_repeat_counts_free(counts_of(call));
}

static const struct fg_answer_ops ops = {.begin = begin_call, .end = end_call, .drop = drop_call};

/* ---- the whole */

int fg_repeats_new(struct fg_merge *merge, const uint8_t *function_mask, uint64_t least,
                   struct fg_repeats **repeats)
{
    struct fg_repeats *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    fg_answer_init(&made->answer, merge, &ops, function_mask);
    made->least = least;
    made->functions = calloc(merge->names->nr_functions + (size_t)1, sizeof(*made->functions));
    if (!made->functions || fg_discards_init(&made->discards, merge->names->nr_functions) < 0) {
        fg_repeats_free(made);
        return -ENOMEM;
    }
    *repeats = made;
    return 0;
}

void fg_repeats_free(struct fg_repeats *repeats)
{
    if (!repeats)
        return;
    fg_answer_free(&repeats->answer);
    fg_exceptions_free(&repeats->exceptions);
    fg_discards_free(&repeats->discards);
    fg_repeat_keys_free(&repeats->keys);
    fg_hash_clear(&repeats->table);
    fg_text_free(&repeats->shape);
    free(repeats->functions);
    free(repeats->groups);
    free(repeats);
}

/* At the end: what each function's arguments come to. */
static void sum_up(struct fg_repeats *repeats)
{
    for (size_t i = 0; i < repeats->keys.n; i++) {
        const struct fg_repeat_key *key = &repeats->keys.keys[i];
        struct fg_repeat_function *function = &repeats->functions[key->func];

        if (key->differs)
            function->differing++;
        if (key->differs || !key->hits)
            continue;
        function->repeated++;
        function->hits += key->hits;
        function->hit_ns += key->hit_ns;
        if (key->hit_ns < function->best_ns || (function->best_calls && key->hit_ns == function->best_ns))
            continue;
        function->best_calls = key->hits + 1;
        function->best_ns = key->hit_ns;
        function->best_at = key->text_at;
        function->best_bytes = key->text_bytes;
    }
}

int fg_repeats_run(struct fg_repeats *repeats, uint64_t events)
{
    int result = fg_answer_run(&repeats->answer, events);

    if (result == 0)
        sum_up(repeats);
    return result;
}

const struct fg_repeat_group *fg_repeats_groups(const struct fg_repeats *repeats, size_t *n)
{
    *n = repeats->nr_groups;
    return repeats->groups;
}

const struct fg_repeat_function *fg_repeats_functions(const struct fg_repeats *repeats)
{
    return repeats->functions;
}

const struct fg_discards *fg_repeats_discards(const struct fg_repeats *repeats)
{
    return &repeats->discards;
}

const struct fg_exceptions *fg_repeats_exceptions(const struct fg_repeats *repeats)
{
    return &repeats->exceptions;
}

const struct fg_answer *fg_repeats_calls(const struct fg_repeats *repeats)
{
    return &repeats->answer;
}

const uint8_t *fg_repeats_texts(const struct fg_repeats *repeats)
{
    return (const uint8_t *)repeats->keys.texts.data;
}

uint64_t fg_repeats_forgotten(const struct fg_repeats *repeats)
{
    return repeats->keys.forgotten + repeats->forgotten;
}
