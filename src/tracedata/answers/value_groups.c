/* See value_groups.h. */
#include "tracedata/answers/value_groups.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/answers/answer_calls.h"
#include "tracedata/answers/value_bytes.h"

#define MOST_KEY_BYTES 512u /* of a value; the recording bounds it, damage does not */

struct fg_value_groups {
    struct fg_answer answer;
    struct fg_value_function *functions;
    size_t n, capacity;
    uint32_t *places; /* by function: 1 + its place in `functions` */
    struct fg_text keys;
};

/* ---- figures */

/* The binary logarithm, linear between powers of two: it needs no table, and is the same everywhere. */
static double log2_of(uint64_t ns)
{
    unsigned exponent;

    if (!ns)
        return 0;
    exponent = 63u - (unsigned)__builtin_clzll(ns);
    return exponent + (double)(ns - (UINT64_C(1) << exponent)) / (double)(UINT64_C(1) << exponent);
}

static unsigned bin_of(uint64_t ns)
{
    unsigned exponent = ns < 4 ? 0 : 63u - (unsigned)__builtin_clzll(ns);
    unsigned bin = exponent < 2 ? (unsigned)ns : exponent * 4 + (unsigned)(ns >> (exponent - 2) & 3);

    return bin < FG_VALUE_BINS ? bin : FG_VALUE_BINS - 1;
}

/* What a call adds to its groups. */
struct call_figures {
    bool raised, is_timed;
    uint64_t ran_ns;
    double log;
    uint64_t begin_ns, end_ns;
    uint32_t task;
};

static void count(struct fg_value_group *group, const struct call_figures *call)
{
    group->calls++;
    group->raised += call->raised;
    if (!call->is_timed)
        return;
    if (!group->timed || call->ran_ns < group->min_ns)
        group->min_ns = call->ran_ns;
    if (!group->timed || call->ran_ns > group->max_ns) {
        group->max_ns = call->ran_ns;
        group->slowest_begin_ns = call->begin_ns;
        group->slowest_end_ns = call->end_ns;
        group->slowest_task = call->task;
    }
    group->timed++;
    group->total_ns += call->ran_ns;
    group->log_sum += call->log;
    group->bins[bin_of(call->ran_ns)]++;
}

/* ---- groups */

static bool is_key(const struct fg_value_groups *groups, const struct fg_value_group *group, const void *key,
                   size_t bytes)
{
    return group->key_bytes == bytes && memcmp(groups->keys.data + group->key_at, key, bytes) == 0;
}

/* The group of a key; the first one if there are too many. NULL: memory is short. */
static struct fg_value_group *find_group(struct fg_value_groups *groups, struct fg_value_grouping *grouping,
                                         const void *key, size_t bytes)
{
    uint64_t hash = fg_hash_values(0, key, bytes);
    struct fg_hash_slot *slot = fg_hash_first(&grouping->table, hash);

    while (slot && !is_key(groups, &grouping->groups[slot->value], key, bytes))
        slot = fg_hash_next(&grouping->table, slot);
    if (slot)
        return &grouping->groups[slot->value];
    if (fg_array_reserve_zeroed(&grouping->groups, &grouping->capacity, grouping->n + 2) < 0)
        return NULL;
    if (grouping->n == FG_MOST_VALUES) {
        grouping->distinct_later++;
        return &grouping->groups[0];
    }
    if (fg_hash_add(&grouping->table, hash, ++grouping->n) < 0)
        return NULL;
    grouping->groups[grouping->n].key_at = (uint32_t)groups->keys.bytes;
    grouping->groups[grouping->n].key_bytes = (uint32_t)bytes;
    fg_text_put(&groups->keys, key, bytes);
    return groups->keys.failed ? NULL : &grouping->groups[grouping->n];
}

static int add_to_group(struct fg_value_groups *groups, struct fg_value_grouping *grouping, const void *key,
                        size_t bytes, const struct call_figures *call)
{
    struct fg_value_group *group = find_group(groups, grouping, key, bytes);

    if (!group)
        return -ENOMEM;
    count(group, call);
    return 0;
}

/* ---- keys */

static int exponent_of(uint64_t number)
{
    return number ? 63 - __builtin_clzll(number) : -1;
}

/* The size of a value: enum fg_value_tag, sign, exponent. */
static size_t put_size_key(const struct fg_value *recorded, uint8_t key[FG_SIZE_KEY_BYTES + UINT8_MAX])
{
    const struct fg_value whole = fg_value_without_parts(recorded), *value = &whole;
    const char *type = value->text;
    int exponent = 0;
    bool is_negative = false;
    size_t type_bytes = 0;
    int16_t stored;

    switch ((enum fg_value_tag)value->tag) {
    case FG_VALUE_INT8:
    case FG_VALUE_INT64:
        is_negative = value->integer < 0;
        exponent = exponent_of(is_negative ? -(uint64_t)value->integer : (uint64_t)value->integer);
        break;
    case FG_VALUE_BIGINT:
        is_negative = value->negative;
        exponent = exponent_of(value->length);
        break;
    case FG_VALUE_FLOAT:
        is_negative = signbit(value->real) != 0;
        exponent = value->real != 0 && isfinite(value->real) ? ilogb(value->real) : INT16_MIN;
        break;
    case FG_VALUE_STR:
    case FG_VALUE_BYTES:
        exponent = exponent_of(value->length);
        break;
    case FG_VALUE_SIZED:
        exponent = exponent_of(value->length);
        type_bytes = value->text_bytes;
        break;
    case FG_VALUE_OBJECT:
    case FG_VALUE_MEMBER:
        type_bytes = value->text_bytes;
        break;
    case FG_VALUE_SHOWN:
        type = value->type;
        type_bytes = value->type_bytes;
        break;
    case FG_VALUE_WORD:
        is_negative = fg_word_error(value) != 0;
        exponent = exponent_of(is_negative ? -(uint64_t)fg_word_error(value) : value->word);
        break;
    default:
        break;
    }
    stored = (int16_t)exponent;
    key[0] = value->tag == FG_VALUE_INT8 ? FG_VALUE_INT64 : (uint8_t)value->tag;
    key[1] = is_negative;
    memcpy(key + 2, &stored, 2);
    memcpy(key + FG_SIZE_KEY_BYTES, type, type_bytes);
    return FG_SIZE_KEY_BYTES + type_bytes;
}

/* A value that has parts as a recording without parts has it. */
static size_t put_whole_key(const struct fg_value *value, uint8_t key[MOST_KEY_BYTES])
{
    const struct fg_value whole = fg_value_without_parts(value);

    key[0] = (uint8_t)whole.tag;
    memcpy(key + 1, &whole.length, 8); /* of an object: its address, which is not known */
    key[9] = (uint8_t)whole.text_bytes;
    memcpy(key + 10, whole.text, whole.text_bytes);
    return 10 + (size_t)whole.text_bytes;
}

/* The value itself; a longer one without its parts. */
static size_t put_value_key(const uint8_t *at, size_t bytes, const struct fg_value *value,
                            uint8_t key[MOST_KEY_BYTES])
{
    if (bytes > MOST_KEY_BYTES && value->tag == FG_VALUE_OPEN)
        return put_whole_key(value, key);
    if (bytes > MOST_KEY_BYTES)
        bytes = MOST_KEY_BYTES;
    memcpy(key, at, bytes);
    fg_values_clear_addresses(key, bytes); /* another object may have one later */
    return bytes;
}

static int add_value(struct fg_value_groups *groups, struct fg_value_field *field, const uint8_t *at,
                     size_t bytes, const struct fg_value *value, const struct call_figures *call)
{
    uint8_t key[MOST_KEY_BYTES];
    int error;

    bytes = put_value_key(at, bytes, value, key);
    error = add_to_group(groups, &field->groupings[FG_GROUP_BY_VALUE], key, bytes, call);
    if (error)
        return error;
    bytes = put_size_key(value, key);
    return add_to_group(groups, &field->groupings[FG_GROUP_BY_SIZE], key, bytes, call);
}

/* ---- attributes */

static bool is_attribute(const struct fg_value_groups *groups, const struct fg_value_attribute *attribute,
                         uint32_t of, const struct fg_value *name)
{
    return attribute->of == of && attribute->name_bytes == name->text_bytes &&
           memcmp(groups->keys.data + attribute->name_at, name->text, name->text_bytes) == 0;
}

/* Sets @field to that of an attribute, which is made if need be; to NULL if there are too many. */
static int find_attribute(struct fg_value_groups *groups, struct fg_value_function *function, uint32_t of,
                          const struct fg_value *name, struct fg_value_field **field)
{
    struct fg_value_attribute *made;

    *field = NULL;
    for (size_t i = 0; i < function->nr_attributes; i++)
        if (is_attribute(groups, &function->attributes[i], of, name)) {
            *field = &function->attributes[i].field;
            return 0;
        }
    if (function->nr_attributes == FG_MOST_VALUE_ATTRIBUTES)
        return 0;
    if (fg_array_reserve_zeroed(&function->attributes, &function->attributes_capacity,
                                function->nr_attributes + 1) < 0)
        return -ENOMEM;
    made = &function->attributes[function->nr_attributes];
    made->of = of;
    made->name_at = (uint32_t)groups->keys.bytes;
    made->name_bytes = name->text_bytes;
    fg_text_put(&groups->keys, name->text, name->text_bytes);
    if (groups->keys.failed)
        return -ENOMEM;
    function->nr_attributes++;
    *field = &made->field;
    return 0;
}

/* Groups a call by the attributes of a value. */
static int add_attributes(struct fg_value_groups *groups, struct fg_value_function *function, uint32_t of,
                          const struct fg_value *value, const struct call_figures *call)
{
    const uint8_t *at = value->parts, *begin;
    struct fg_value name, part;
    int error = 0;

    while (!error && fg_value_next_attribute(value, &at, &name, &begin, &part)) {
        struct fg_value_field *field;

        error = find_attribute(groups, function, of, &name, &field);
        if (!error && field)
            error = add_value(groups, field, begin, (size_t)(at - begin), &part, call);
    }
    return error;
}

/* Groups a call by a value and by its attributes. */
static int add_field(struct fg_value_groups *groups, struct fg_value_function *function, uint32_t number,
                     const uint8_t *at, size_t bytes, const struct fg_value *value,
                     const struct call_figures *call)
{
    struct fg_value_field *field = number < FG_MOST_VALUE_FIELDS
                                       ? &function->arguments[number]
                                       : &function->outcomes[number - FG_MOST_VALUE_FIELDS];
    int error = add_value(groups, field, at, bytes, value, call);

    return error ? error : add_attributes(groups, function, number, value, call);
}

/* ---- calls */

static struct fg_value_function *function_of(struct fg_value_groups *groups, uint32_t func)
{
    struct fg_value_function *function;

    if (groups->places[func])
        return &groups->functions[groups->places[func] - 1];
    if (fg_array_reserve_zeroed(&groups->functions, &groups->capacity, groups->n + 1) < 0)
        return NULL;
    function = &groups->functions[groups->n++];
    function->func = func;
    groups->places[func] = (uint32_t)groups->n;
    return function;
}

static int add_arguments(struct fg_value_groups *groups, struct fg_value_function *function,
                         const struct fg_text *arguments, const struct call_figures *call)
{
    const uint8_t *at = (const uint8_t *)arguments->data, *end = at + arguments->bytes, *begin = at;
    struct fg_value value;
    uint32_t n = 0;
    int error = 0;

    for (; arguments->bytes && n < FG_MOST_VALUE_FIELDS && !error && fg_value_next(&at, end, &value);
         begin = at)
        error = add_field(groups, function, n++, begin, (size_t)(at - begin), &value, call);
    if (n > function->nr_arguments)
        function->nr_arguments = n;
    return error;
}

static int add_outcome(struct fg_value_groups *groups, struct fg_value_function *function,
                       const struct fg_answer_end *end, const struct call_figures *call)
{
    enum fg_value_outcome outcome = end->ended == FG_CALL_raise ? FG_FIELD_EXCEPTION : FG_FIELD_RESULT;
    const uint8_t *at = end->values;
    struct fg_value value;

    if ((end->ended != FG_CALL_return && end->ended != FG_CALL_raise) || at >= end->values_end ||
        !fg_value_next(&at, end->values_end, &value))
        return 0;
    return add_field(groups, function, FG_MOST_VALUE_FIELDS + outcome, end->values,
                     (size_t)(at - end->values), &value, call);
}

static int end_call(struct fg_answer *answer, const struct fg_answer_end *end)
{
    struct fg_value_groups *groups = (struct fg_value_groups *)(void *)answer;
    const struct fg_answer_call *call = end->call;
    struct call_figures figures = {
        .raised = end->ended == FG_CALL_raise,
        .is_timed = call->is_whole && end->ended != FG_CALL_open,
        .ran_ns = call->ran_ns,
        .log = log2_of(call->ran_ns),
        .begin_ns = call->begin_ns,
        .end_ns = end->end_ns,
        .task = end->task,
    };
    struct fg_value_function *function;
    int error;

    if (!fg_answer_keeps_arguments(answer, call->func))
        return 0;
    if (!groups->places[call->func] && groups->n == FG_MOST_VALUE_FUNCTIONS)
        return -E2BIG;
    function = function_of(groups, call->func);
    if (!function)
        return -ENOMEM;
    count(&function->all, &figures);
    function->nr_open += end->ended == FG_CALL_open;
    if (figures.is_timed)
        function->log_squares += figures.log * figures.log;
    error = add_arguments(groups, function, &call->arguments, &figures);
    return error ? error : add_outcome(groups, function, end, &figures);
}

static const struct fg_answer_ops ops = {.end = end_call};

/* ---- the whole */

int fg_value_groups_new(struct fg_merge *merge, const uint8_t *function_mask, struct fg_value_groups **groups)
{
    struct fg_value_groups *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    fg_answer_init(&made->answer, merge, &ops, function_mask);
    made->places = calloc(merge->names->nr_functions + (size_t)1, sizeof(*made->places));
    if (!made->places) {
        fg_value_groups_free(made);
        return -ENOMEM;
    }
    *groups = made;
    return 0;
}

static void free_field(struct fg_value_field *field)
{
    for (unsigned i = 0; i < FG_NR_GROUPINGS; i++) {
        free(field->groupings[i].groups);
        fg_hash_clear(&field->groupings[i].table);
    }
}

static void free_function(struct fg_value_function *function)
{
    for (unsigned i = 0; i < FG_MOST_VALUE_FIELDS; i++)
        free_field(&function->arguments[i]);
    for (unsigned i = 0; i < FG_NR_OUTCOMES; i++)
        free_field(&function->outcomes[i]);
    for (size_t i = 0; i < function->nr_attributes; i++)
        free_field(&function->attributes[i].field);
    free(function->attributes);
}

void fg_value_groups_free(struct fg_value_groups *groups)
{
    if (!groups)
        return;
    fg_answer_free(&groups->answer);
    for (size_t i = 0; i < groups->n; i++)
        free_function(&groups->functions[i]);
    free(groups->functions);
    free(groups->places);
    fg_text_free(&groups->keys);
    free(groups);
}

int fg_value_groups_run(struct fg_value_groups *groups, uint64_t events)
{
    return fg_answer_run(&groups->answer, events);
}

const struct fg_value_function *fg_value_groups_functions(const struct fg_value_groups *groups, size_t *n)
{
    *n = groups->n;
    return groups->functions;
}

const uint8_t *fg_value_groups_keys(const struct fg_value_groups *groups)
{
    return (const uint8_t *)groups->keys.data;
}
