/* See hist_term.h. */
#include "engine/event/hist_term.h"

#include <errno.h>
#include <string.h>

#include "engine/core/compiler.h"
#include "engine/core/hash_table.h"
#include "engine/ring/record.h"

static const struct {
    const char *name;
    uint8_t words;
} kinds[] = {
#define X(kind, name, words) {name, words},
    FG_HIST_KINDS(X)
#undef X
};

static const char *const ops[] = {
#define X(op, name) name,
    FG_HIST_STEPS(X)
#undef X
};

uint32_t fg_hist_kind_words(enum fg_hist_kind kind)
{
    return kinds[kind].words;
}

int fg_hist_kind_by_name(const char *name)
{
    for (int i = 0; i < FG_NR_HIST_KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    }
    return -1;
}

int fg_hist_op_by_name(const char *name)
{
    for (int i = 0; i < FG_NR_HIST_OPS; i++) {
        if (strcmp(ops[i], name) == 0)
            return i;
    }
    return -1;
}

/* ---- checks when the trigger is set */

static unsigned nr_operands(enum fg_hist_op op)
{
    switch (op) {
    case FG_HIST_NEGATE:
        return 1;
    case FG_HIST_ADD:
    case FG_HIST_SUBTRACT:
    case FG_HIST_MULTIPLY:
    case FG_HIST_DIVIDE:
        return 2;
    default:
        return 0;
    }
}

int fg_hist_term_check(const struct fg_hist_term *term)
{
    unsigned depth = 0;

    if (term->kind >= FG_NR_HIST_KINDS || term->nr_steps > FG_HIST_MAX_STEPS ||
        term->modifier > FG_HIST_BUCKETS || (term->modifier == FG_HIST_BUCKETS && !term->bucket))
        return -EINVAL;
    for (unsigned i = 0; i < term->nr_steps; i++) {
        const struct fg_hist_step *step = &term->steps[i];

        if (step->op >= FG_NR_HIST_OPS || depth < nr_operands(step->op))
            return -EINVAL;
        if (step->op == FG_HIST_FIELD && (step->field.type >= FG_NR_FIELD_TYPES || step->field.count))
            return -EINVAL;
        depth += 1 - nr_operands(step->op);
    }
    return depth == 1 ? 0 : -EINVAL;
}

uint32_t fg_hist_term_needs(const struct fg_hist_term *term)
{
    uint32_t needs = 0;

    for (unsigned i = 0; i < term->nr_steps; i++) {
        switch (term->steps[i].op) {
        case FG_HIST_CPU:
            needs |= FG_HIST_NEEDS_CPU;
            break;
        case FG_HIST_TIME:
        case FG_HIST_TIME_USECS:
            needs |= FG_HIST_NEEDS_TIME;
            break;
        case FG_HIST_COMM:
            needs |= FG_HIST_NEEDS_COMM;
            break;
        case FG_HIST_STACK:
            needs |= FG_HIST_NEEDS_CALLERS;
            break;
        default:
            break;
        }
    }
    return needs;
}

/* ---- numbers */

static bool is_number(const struct fg_loaded *value)
{
    return value->kind == FG_LOADED_SIGNED || value->kind == FG_LOADED_UNSIGNED ||
           value->kind == FG_LOADED_FLOAT || value->kind == FG_LOADED_OBJECT;
}

bool fg_hist_is_number(const struct fg_loaded *value)
{
    return is_number(value) && (value->kind != FG_LOADED_FLOAT || value->real == value->real);
}

static uint64_t cut(double real)
{
    if (real >= 18446744073709551616.0)
        return UINT64_MAX;
    if (real >= 0)
        return (uint64_t)real;
    if (real >= -9223372036854775808.0)
        return (uint64_t)(int64_t)real;
    return real < 0 ? (uint64_t)INT64_MIN : 0; /* 0: not a number */
}

uint64_t fg_hist_integer(const struct fg_loaded *value)
{
    if (fg_unlikely(value->kind == FG_LOADED_FLOAT))
        return cut(value->real);
    return is_number(value) ? value->number : 0;
}

double fg_hist_real(const struct fg_loaded *value)
{
    switch (value->kind) {
    case FG_LOADED_FLOAT:
        return value->real;
    case FG_LOADED_SIGNED:
        return (double)(int64_t)value->number;
    default:
        return is_number(value) ? (double)value->number : 0;
    }
}

static uint64_t divide(uint64_t a, uint64_t b, bool is_signed)
{
    if (!b)
        return UINT64_MAX;
    if (!is_signed)
        return a / b;
    return (int64_t)b == -1 ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
}

static struct fg_loaded combine_reals(enum fg_hist_op op, double a, double b)
{
    struct fg_loaded result = {.kind = FG_LOADED_FLOAT};

    switch (op) {
    case FG_HIST_ADD:
        result.real = a + b;
        break;
    case FG_HIST_SUBTRACT:
        result.real = a - b;
        break;
    case FG_HIST_MULTIPLY:
        result.real = a * b;
        break;
    default:
        result.real = b == 0 ? -1 : a / b;
    }
    return result;
}

/* A difference is signed whatever its operands are: 3-5 is -2. */
static struct fg_loaded combine(enum fg_hist_op op, const struct fg_loaded *a, const struct fg_loaded *b)
{
    bool is_signed = a->kind == FG_LOADED_SIGNED || b->kind == FG_LOADED_SIGNED;
    struct fg_loaded result = {.kind = is_signed || op == FG_HIST_SUBTRACT ? FG_LOADED_SIGNED
                                                                           : FG_LOADED_UNSIGNED};

    if (!is_number(a) || !is_number(b))
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    if (a->kind == FG_LOADED_FLOAT || b->kind == FG_LOADED_FLOAT)
        return combine_reals(op, fg_hist_real(a), fg_hist_real(b));
    switch (op) {
    case FG_HIST_ADD:
        result.number = a->number + b->number;
        break;
    case FG_HIST_SUBTRACT:
        result.number = a->number - b->number;
        break;
    case FG_HIST_MULTIPLY:
        result.number = a->number * b->number;
        break;
    default:
        result.number = divide(a->number, b->number, is_signed);
    }
    return result;
}

static struct fg_loaded negative(const struct fg_loaded *a)
{
    if (!is_number(a))
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    if (a->kind == FG_LOADED_FLOAT)
        return (struct fg_loaded){.kind = FG_LOADED_FLOAT, .real = -a->real};
    return (struct fg_loaded){.kind = FG_LOADED_SIGNED, .number = 0 - a->number};
}

/* ---- running a term */

static struct fg_loaded unsigned_number(uint64_t number)
{
    return (struct fg_loaded){.kind = FG_LOADED_UNSIGNED, .number = number};
}

static struct fg_loaded load_pid(const struct fg_hit *hit)
{
    struct fg_event_common common = {.pid = 0};

    if (hit->bytes >= sizeof(common))
        memcpy(&common, hit->image, sizeof(common));
    return (struct fg_loaded){.kind = FG_LOADED_SIGNED, .number = (uint64_t)(int64_t)common.pid};
}

static struct fg_loaded load_comm(const struct fg_hit *hit)
{
    if (!hit->comm)
        return (struct fg_loaded){.kind = FG_LOADED_NONE};
    return (struct fg_loaded){
        .kind = FG_LOADED_TEXT,
        .text = hit->comm,
        .bytes = (uint16_t)strnlen(hit->comm, 16),
    };
}

static struct fg_loaded load(const struct fg_hist_step *step, const struct fg_hit *hit)
{
    switch ((enum fg_hist_op)step->op) {
    case FG_HIST_FIELD:
        return fg_field_load(hit->image, hit->bytes, &step->field, 0);
    case FG_HIST_NUMBER:
        return unsigned_number(step->number);
    case FG_HIST_PID:
        return load_pid(hit);
    case FG_HIST_CPU:
        return unsigned_number(hit->cpu);
    case FG_HIST_TIME:
        return unsigned_number(hit->time_ns);
    case FG_HIST_TIME_USECS:
        return unsigned_number(hit->time_ns / 1000);
    case FG_HIST_COMM:
        return load_comm(hit);
    case FG_HIST_VARIABLE:
        if (hit->variables)
            return hit->variables[step->index];
        break;
    default:
        break;
    }
    return (struct fg_loaded){.kind = FG_LOADED_NONE};
}

struct fg_loaded fg_hist_term_run(const struct fg_hist_term *term, const struct fg_hit *hit)
{
    struct fg_loaded stack[FG_HIST_MAX_STEPS];
    unsigned depth = 0;

    if (fg_likely(term->nr_steps == 1))
        return load(&term->steps[0], hit);
    for (unsigned i = 0; i < term->nr_steps; i++) {
        const struct fg_hist_step *step = &term->steps[i];
        unsigned taken = nr_operands(step->op);

        depth -= taken;
        if (taken == 2)
            stack[depth] = combine(step->op, &stack[depth], &stack[depth + 1]);
        else
            stack[depth] = taken ? negative(&stack[depth]) : load(step, hit);
        depth++;
    }
    return stack[0];
}

/* ---- keys */

/* The hash of all words so far, so that 1, 2 and 2, 1 differ. */
static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return fg_hash_uint64(hash ^ word);
}

static uint64_t least_power(uint64_t number)
{
    return number <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(number - 1);
}

/* A negative float is beyond all powers, as is a negative integer. */
static uint64_t least_power_of_real(double real)
{
    uint64_t whole = cut(real);

    if (real < 0 || whole == UINT64_MAX)
        return 64;
    return least_power((double)whole < real ? whole + 1 : whole);
}

static uint64_t bucket_of(const struct fg_loaded *value, uint64_t size)
{
    uint64_t number = fg_hist_integer(value), over;
    bool is_negative = value->kind != FG_LOADED_UNSIGNED && (int64_t)number < 0;

    if (value->kind == FG_LOADED_FLOAT && value->real < 0 && (double)(int64_t)number > value->real)
        number--; /* it was cut upwards */
    if (value->kind == FG_LOADED_FLOAT)
        is_negative = value->real < 0;
    if (!is_negative)
        return number - number % size;
    over = (0 - number) % size;
    return over ? number - (size - over) : number;
}

static void modify(struct fg_loaded *value, const struct fg_hist_term *term)
{
    if (!is_number(value))
        return;
    if (term->modifier == FG_HIST_LOG2) {
        value->number =
            value->kind == FG_LOADED_FLOAT ? least_power_of_real(value->real) : least_power(value->number);
        value->kind = FG_LOADED_UNSIGNED;
    } else {
        value->number = bucket_of(value, term->bucket);
        value->kind = value->kind == FG_LOADED_UNSIGNED ? FG_LOADED_UNSIGNED : FG_LOADED_SIGNED;
    }
}

/* One word for each number that compares as equal: -0 as 0, all NaN as one. */
static uint64_t real_word(double real)
{
    uint64_t word;

    real = real == 0 ? 0 : real;
    if (real != real)
        real = __builtin_nan("");
    memcpy(&word, &real, sizeof(word));
    return word;
}

/* Returns how many of the words are not only padding. */
static uint32_t put_text(uint64_t *words, uint32_t room, const struct fg_loaded *value)
{
    uint32_t bytes = value->kind == FG_LOADED_TEXT ? value->bytes : 0;

    bytes = bytes > room * 8 ? room * 8 : bytes;
    memset(words, 0, 8u * (room + 1));
    words[0] = bytes;
    if (bytes)
        memcpy(words + 1, value->text, bytes);
    return 1 + (bytes + 7) / 8;
}

/* The tag tells str from bytes, and an object from a container. */
static uint32_t put_value(uint64_t *words, const struct fg_loaded *value)
{
    uint32_t room = 8u * (kinds[FG_HIST_KIND_VALUE].words - 2u);
    uint32_t bytes = value->text ? value->bytes : 0;
    enum fg_loaded_kind kind = value->kind;

    if (kind == FG_LOADED_UNSIGNED && value->number <= INT64_MAX)
        kind = FG_LOADED_SIGNED; /* one number is one key, whatever the type of the field was */
    bytes = bytes > room ? room : bytes;
    memset(words, 0, room + 16);
    words[0] = (uint64_t)kind | (uint64_t)bytes << 8;
    if (kind != FG_LOADED_SIGNED && kind != FG_LOADED_UNSIGNED && kind != FG_LOADED_FLOAT)
        words[0] |= (uint64_t)value->tag
                    << 16; /* True is 1, and an int is one key in whatever bytes it came */
    words[1] = value->kind == FG_LOADED_FLOAT ? real_word(value->real) : value->number;
    if (bytes)
        memcpy(words + 2, value->text, bytes);
    return 2 + (bytes + 7) / 8;
}

static uint32_t put_stack(uint64_t *words, const struct fg_hit *hit)
{
    uint32_t n = hit->nr_callers < FG_HIST_MAX_STACK ? (uint32_t)hit->nr_callers : FG_HIST_MAX_STACK;
    uint8_t *at = (uint8_t *)(words + 1);

    memset(words, 0, 8u * kinds[FG_HIST_KIND_STACK].words);
    words[0] = n;
    for (uint32_t i = 0; i < n; i++)
        memcpy(at + 4 * i, &hit->callers[i].func, 4);
    return 1 + (n + 1) / 2;
}

static uint32_t put_loaded(enum fg_hist_kind kind, const struct fg_loaded *value, uint64_t *words)
{
    switch (kind) {
    case FG_HIST_KIND_NUMBER:
        words[0] = fg_hist_integer(value);
        return 1;
    case FG_HIST_KIND_REAL:
        words[0] = real_word(fg_hist_real(value));
        return 1;
    case FG_HIST_KIND_VALUE:
        return put_value(words, value);
    default:
        return put_text(words, kinds[kind].words - 1u, value);
    }
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        hash = hash_word(hash, words[i]);
    return hash;
}

static struct fg_loaded run_modified(const struct fg_hist_term *term, const struct fg_hit *hit)
{
    struct fg_loaded value = fg_hist_term_run(term, hit);

    if (term->modifier != FG_HIST_PLAIN)
        modify(&value, term);
    return value;
}

uint64_t fg_hist_term_key(const struct fg_hist_term *term, const struct fg_hit *hit, uint64_t *words,
                          uint64_t hash)
{
    struct fg_loaded value;

    if (term->kind == FG_HIST_KIND_STACK)
        return hash_words(hash, words, put_stack(words, hit));
    value = run_modified(term, hit);
    return hash_words(hash, words, put_loaded(term->kind, &value, words));
}

/* True if a key of this kind has the value itself. */
static bool is_held_by(enum fg_hist_kind kind, const struct fg_loaded *value)
{
    switch (kind) {
    case FG_HIST_KIND_NUMBER:
        return is_number(value) &&
               (value->kind != FG_LOADED_FLOAT || value->real == (double)(int64_t)cut(value->real));
    case FG_HIST_KIND_REAL:
        return is_number(value);
    case FG_HIST_KIND_TEXT:
    case FG_HIST_KIND_COMM:
        return value->kind == FG_LOADED_TEXT;
    default:
        return kind == FG_HIST_KIND_VALUE;
    }
}

bool fg_hist_term_key_as(enum fg_hist_kind kind, const struct fg_hist_term *term, const struct fg_hit *hit,
                         uint64_t *words, uint64_t *hash)
{
    struct fg_loaded value;

    if (kind == term->kind) {
        *hash = fg_hist_term_key(term, hit, words, *hash);
        return true;
    }
    value = run_modified(term, hit);
    if (kind == FG_HIST_KIND_VALUE && value.kind == FG_LOADED_TEXT && !value.tag)
        value.tag = FG_VALUE_STR;
    if (term->kind == FG_HIST_KIND_STACK || !is_held_by(kind, &value))
        return false;
    *hash = hash_words(*hash, words, put_loaded(kind, &value, words));
    return true;
}

static struct fg_loaded text_value(const uint64_t *words, uint64_t bytes)
{
    return (struct fg_loaded){
        .kind = FG_LOADED_TEXT,
        .text = (const char *)words,
        .bytes = (uint16_t)bytes,
    };
}

static struct fg_loaded real_value(uint64_t word)
{
    struct fg_loaded value = {.kind = FG_LOADED_FLOAT};

    memcpy(&value.real, &word, sizeof(value.real));
    return value;
}

struct fg_loaded fg_hist_term_value(enum fg_hist_kind kind, bool is_signed, const uint64_t *words)
{
    struct fg_loaded value = {.kind = FG_LOADED_NONE};

    switch (kind) {
    case FG_HIST_KIND_NUMBER:
        value.kind = is_signed ? FG_LOADED_SIGNED : FG_LOADED_UNSIGNED;
        value.number = words[0];
        return value;
    case FG_HIST_KIND_REAL:
        return real_value(words[0]);
    case FG_HIST_KIND_TEXT:
    case FG_HIST_KIND_COMM:
        return text_value(words + 1, words[0]);
    case FG_HIST_KIND_VALUE:
        break;
    default:
        return value;
    }
    if ((uint8_t)words[0] == FG_LOADED_FLOAT)
        return real_value(words[1]);
    value = text_value(words + 2, words[0] >> 8 & 0xff);
    value.kind = (enum fg_loaded_kind)(uint8_t)words[0];
    value.tag = (uint8_t)(words[0] >> 16);
    value.number = words[1];
    return value;
}
