/* See exceptions.h. */
#include "tracedata/answers/exceptions.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/ring/record.h"
#include "tracedata/answers/value_bytes.h"

#define MOST_PENDING 16u  /* of a call; the oldest is over when one more arrives */
#define MOST_FRAMES 4096u /* that are kept of an exception */
#define MOST_GROUPS 65536u

/* What a call has received from its callees. */
struct pending {
    struct fg_exception *items[MOST_PENDING];
    unsigned n;
};

static struct pending *pending_of(const struct fg_answer_call *call)
{
    return call->slots[FG_SLOT_EXCEPTIONS];
}

static void free_exception(struct fg_exception *exception)
{
    if (exception)
        free(exception->frames);
    free(exception);
}

void fg_exceptions_drop(struct fg_answer_call *call)
{
    struct pending *pending = pending_of(call);

    for (unsigned i = 0; pending && i < pending->n; i++)
        free_exception(pending->items[i]);
    free(pending);
}

void fg_exceptions_free(struct fg_exceptions *exceptions)
{
    for (size_t i = 0; i < exceptions->nr_groups; i++)
        free(exceptions->groups[i].first.frames);
    free(exceptions->groups);
    free(exceptions->found.frames);
    fg_hash_clear(&exceptions->table);
}

/* ---- groups */

static uint32_t origin_of(const struct fg_exception *exception)
{
    return exception->frames[0].func;
}

static bool is_of_group(const struct fg_exception *exception, const struct fg_exception *other)
{
    return origin_of(exception) == origin_of(other) && exception->handler == other->handler &&
           exception->fate == other->fate && exception->type.bytes == other->type.bytes &&
           memcmp(exception->type.text, other->type.text, other->type.bytes) == 0;
}

static uint64_t hash_of(const struct fg_exception *exception)
{
    uint64_t hash = fg_hash_values(origin_of(exception), exception->type.text, exception->type.bytes);

    return fg_hash_uint64(hash ^ ((uint64_t)exception->handler << 2 | exception->fate));
}

static int copy(struct fg_exception *into, const struct fg_exception *exception)
{
    struct fg_exception_frame *frames = malloc(exception->nr_frames * sizeof(*frames));

    if (!frames)
        return -ENOMEM;
    memcpy(frames, exception->frames, exception->nr_frames * sizeof(*frames));
    free(into->frames);
    *into = *exception;
    into->frames = frames;
    return 0;
}

/* The group of an exception, which is made if need be. */
static int find_group(struct fg_exceptions *exceptions, const struct fg_exception *exception,
                      struct fg_exception_group **group)
{
    uint64_t hash = hash_of(exception);
    struct fg_hash_slot *slot = fg_hash_first(&exceptions->table, hash);

    *group = NULL;
    while (slot && !is_of_group(exception, &exceptions->groups[slot->value - 1].first))
        slot = fg_hash_next(&exceptions->table, slot);
    if (slot) {
        *group = &exceptions->groups[slot->value - 1];
        return 0;
    }
    if (exceptions->nr_groups == MOST_GROUPS) {
        exceptions->nr_left_out++;
        return 0;
    }
    if (fg_array_reserve_zeroed(&exceptions->groups, &exceptions->groups_capacity,
                                exceptions->nr_groups + 1) < 0 ||
        fg_hash_add(&exceptions->table, hash, exceptions->nr_groups + 1) < 0)
        return -ENOMEM;
    *group = &exceptions->groups[exceptions->nr_groups];
    if (copy(&(*group)->first, exception) < 0)
        return -ENOMEM;
    exceptions->nr_groups++;
    return 0;
}

/* What became of it is known. Takes it over. */
static int settle(struct fg_exceptions *exceptions, struct fg_exception *exception,
                  enum fg_exception_fate fate)
{
    struct fg_exception_group *group;
    int error;

    exception->fate = fate;
    error = find_group(exceptions, exception, &group);
    if (!error && group && group->first.number > exception->number)
        error = copy(&group->first, exception);
    if (!error && group) {
        group->count++;
        if (exception->number > group->last_number) {
            group->last_number = exception->number;
            group->last_ns = exception->raised_ns;
        }
    }
    if (!error && exception->number == exceptions->target)
        error = copy(&exceptions->found, exception);
    free_exception(exception);
    return error;
}

/* ---- one exception */

/* What tells an exception from others of its type: its address; of one that was recorded with its arguments
 * these, as it has no address then. */
static uint64_t identity_of(const struct fg_value *value, const uint8_t *begin, const uint8_t *end)
{
    if (value->tag == FG_VALUE_OBJECT)
        return value->address;
    return value->tag == FG_VALUE_OPEN ? fg_hash_bytes(FG_HASH_BYTES_BEGIN, begin, (size_t)(end - begin)) : 0;
}

_Static_assert(FG_EXCEPTION_CAUSE_BYTES >= 1 + 8 + 1 + UINT8_MAX, "a type has room");

/* Keeps a value; of one that is too long its type. */
static void keep_cause(struct fg_exception_cause *cause, const struct fg_value *value, const uint8_t *begin,
                       const uint8_t *end)
{
    const struct fg_value whole = fg_value_without_parts(value);
    uint8_t *at = cause->value;

    if ((size_t)(end - begin) <= sizeof(cause->value)) {
        memcpy(at, begin, (size_t)(end - begin));
        cause->bytes = (uint16_t)(end - begin);
    } else if (whole.tag == FG_VALUE_OBJECT) {
        *at++ = FG_VALUE_OBJECT;
        memset(at, 0, sizeof(whole.address));
        at += sizeof(whole.address);
        *at++ = (uint8_t)whole.text_bytes;
        memcpy(at, whole.text, whole.text_bytes);
        cause->bytes = (uint16_t)(at + whole.text_bytes - cause->value);
    }
}

static void read_cause(struct fg_exception *exception, const struct fg_value *value)
{
    static const char cause[] = "__cause__";
    const uint8_t *at = value->parts, *begin;
    struct fg_value name, part;

    while (fg_value_next_attribute(value, &at, &name, &begin, &part))
        if (name.text_bytes == sizeof(cause) - 1 && memcmp(name.text, cause, sizeof(cause) - 1) == 0)
            keep_cause(&exception->cause, &part, begin, at);
}

static void read_value(struct fg_exception *exception, const struct fg_answer_end *end)
{
    const uint8_t *at = end->values;
    struct fg_value value;
    size_t bytes;

    if (at >= end->values_end || !fg_value_next(&at, end->values_end, &value) ||
        (value.tag != FG_VALUE_OBJECT && value.tag != FG_VALUE_SIZED && value.tag != FG_VALUE_OPEN))
        return;
    bytes = value.text_bytes < FG_EXCEPTION_TYPE_BYTES ? value.text_bytes : FG_EXCEPTION_TYPE_BYTES;
    memcpy(exception->type.text, value.text, bytes);
    exception->type.bytes = (uint8_t)bytes;
    exception->identity = identity_of(&value, end->values, at);
    read_cause(exception, &value);
}

/* One without an identity may be any of its type: C code raised it in CPython 3.11, which makes an object of
 * it when something catches it. */
static bool is_same(const struct fg_exception *exception, const struct fg_exception *other)
{
    bool may_be = exception->identity == other->identity || !exception->identity || !other->identity;

    return may_be && exception->type.bytes == other->type.bytes &&
           memcmp(exception->type.text, other->type.text, other->type.bytes) == 0;
}

static struct fg_exception *take(struct pending *pending, unsigned i)
{
    struct fg_exception *taken = pending->items[i];

    pending->n--;
    memmove(&pending->items[i], &pending->items[i + 1], (pending->n - i) * sizeof(pending->items[0]));
    return taken;
}

/* The one that the call had received before, if it is the one that ends it now. */
static struct fg_exception *take_same(const struct fg_answer_call *call, const struct fg_exception *ending)
{
    struct pending *pending = pending_of(call);

    for (unsigned i = pending ? pending->n : 0; i--;)
        if (is_same(pending->items[i], ending))
            return take(pending, i);
    return NULL;
}

static int add_frame(struct fg_exception *exception, const struct fg_answer_call *call)
{
    if (exception->nr_frames == MOST_FRAMES)
        return 0;
    if (fg_array_reserve(&exception->frames, &exception->capacity, exception->nr_frames + 1) < 0)
        return -ENOMEM;
    exception->frames[exception->nr_frames++] =
        (struct fg_exception_frame){.func = call->func, .caller_line = call->caller_line};
    return 0;
}

static void set_after(struct fg_exception *exception, const struct fg_answer_call *call)
{
    const struct pending *pending = pending_of(call);
    const struct fg_exception *before = pending && pending->n ? pending->items[pending->n - 1] : NULL;

    if (!before)
        return;
    exception->after = before->number;
    exception->after_func = origin_of(before);
    exception->after_type = before->type;
}

/* The call raised it. */
static struct fg_exception *new_exception(struct fg_exceptions *exceptions, const struct fg_answer_end *end,
                                          const struct fg_exception *ending)
{
    struct fg_exception *made = malloc(sizeof(*made));

    if (!made)
        return NULL;
    *made = *ending;
    made->number = ++exceptions->nr_exceptions;
    made->raised_ns = end->end_ns;
    made->begin_ns = end->call->begin_ns;
    made->task = end->task;
    set_after(made, end->call);
    return made;
}

/* ---- the end of a call */

/* The call has ended: what became of those that it had received. The latest is replaced if an exception ended
 * the call. */
static int settle_pending(struct fg_exceptions *exceptions, const struct fg_answer_end *end, bool is_replaced)
{
    struct pending *pending = pending_of(end->call);
    int error = 0;

    while (pending && pending->n && !error) {
        bool is_latest = pending->n == 1;
        enum fg_exception_fate fate = end->ended == FG_CALL_open ? FG_EXCEPTION_open
                                      : is_replaced && is_latest ? FG_EXCEPTION_replaced
                                                                 : FG_EXCEPTION_handled;

        error = settle(exceptions, take(pending, 0), fate);
    }
    return error;
}

/* Takes over the exception. */
static int deliver(struct fg_exceptions *exceptions, struct fg_answer_call *parent,
                   struct fg_exception *exception)
{
    struct pending *pending;
    struct fg_exception *before;
    int error = 0;

    if (!parent) {
        exception->handler = FG_NO_FUNCTION;
        return settle(exceptions, exception, FG_EXCEPTION_left);
    }
    exception->handler = parent->func;
    pending = pending_of(parent);
    if (!pending)
        pending = parent->slots[FG_SLOT_EXCEPTIONS] = calloc(1, sizeof(*pending));
    if (!pending) {
        free_exception(exception);
        return -ENOMEM;
    }
    before = take_same(parent, exception);
    if (!before && pending->n == MOST_PENDING)
        before = take(pending, 0);
    if (before)
        error = settle(exceptions, before, FG_EXCEPTION_handled);
    pending->items[pending->n++] = exception;
    return error;
}

static int end_by_exception(struct fg_exceptions *exceptions, const struct fg_answer_end *end)
{
    struct fg_exception ending = {.handler = FG_NO_FUNCTION}, *exception;
    int error;

    read_value(&ending, end);
    exception = take_same(end->call, &ending);
    bool is_new = !exception;

    if (is_new)
        exception = new_exception(exceptions, end, &ending);
    else if (!exception->identity)
        exception->identity = ending.identity;
    if (!exception || add_frame(exception, end->call) < 0) {
        free_exception(exception);
        return -ENOMEM;
    }
    exception->left_ns = end->end_ns;
    error = settle_pending(exceptions, end, is_new);
    if (!error)
        return deliver(exceptions, end->parent, exception);
    free_exception(exception);
    return error;
}

int fg_exceptions_end(struct fg_exceptions *exceptions, const struct fg_answer_end *end)
{
    if (fg_unlikely(end->ended == FG_CALL_raise))
        return end_by_exception(exceptions, end);
    return fg_unlikely(pending_of(end->call) != NULL) ? settle_pending(exceptions, end, false) : 0;
}

/* ---- an answer of exceptions alone */

struct fg_exception_answer {
    struct fg_answer answer;
    struct fg_exceptions exceptions;
};

static int end_call(struct fg_answer *answer, const struct fg_answer_end *end)
{
    return fg_exceptions_end(&((struct fg_exception_answer *)(void *)answer)->exceptions, end);
}

static const struct fg_answer_ops ops = {.end = end_call, .drop = fg_exceptions_drop};

int fg_exception_answer_new(struct fg_merge *merge, uint64_t target, struct fg_exception_answer **answer)
{
    struct fg_exception_answer *made = calloc(1, sizeof(*made));

    if (!made)
        return -ENOMEM;
    fg_answer_init(&made->answer, merge, &ops, NULL);
    made->exceptions.target = target;
    *answer = made;
    return 0;
}

void fg_exception_answer_free(struct fg_exception_answer *answer)
{
    if (!answer)
        return;
    fg_answer_free(&answer->answer);
    fg_exceptions_free(&answer->exceptions);
    free(answer);
}

int fg_exception_answer_run(struct fg_exception_answer *answer, uint64_t events)
{
    return fg_answer_run(&answer->answer, events);
}

const struct fg_answer *fg_exception_answer_calls(const struct fg_exception_answer *answer)
{
    return &answer->answer;
}

const struct fg_exceptions *fg_exception_answer_result(const struct fg_exception_answer *answer)
{
    return &answer->exceptions;
}
