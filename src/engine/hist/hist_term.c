/* See hist_term.h. */
#include "engine/hist/hist_term.h"

#include <errno.h>
#include <string.h>

#include "engine/base/compiler.h"

static const char *const ops[] = {
#define X(op, name) name,
    FG_HIST_STEPS(X)
#undef X
};

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

static bool can_be_taken(const struct fg_hist_term *term, const struct fg_field *field)
{
    bool is_stack = field->type == FG_FIELD_SYMBOL && field->count;

    return field->type < FG_NR_FIELD_TYPES && (term->kind == FG_HIST_KIND_STACK ? is_stack : !field->count);
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
        if (step->op == FG_HIST_FIELD && !can_be_taken(term, &step->field))
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

bool fg_hist_is_number(const struct fg_loaded *value)
{
    return fg_hist_has_number(value) && (value->kind != FG_LOADED_FLOAT || value->real == value->real);
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
    return fg_hist_has_number(value) ? value->number : 0;
}

double fg_hist_real(const struct fg_loaded *value)
{
    switch (value->kind) {
    case FG_LOADED_FLOAT:
        return value->real;
    case FG_LOADED_SIGNED:
        return (double)(int64_t)value->number;
    default:
        return fg_hist_has_number(value) ? (double)value->number : 0;
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

    if (!fg_hist_has_number(a) || !fg_hist_has_number(b))
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
    if (!fg_hist_has_number(a))
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

static struct fg_loaded stack_of(const uint32_t *functions, uint32_t n)
{
    return (struct fg_loaded){
        .kind = FG_LOADED_STACK, .text = (const char *)functions, .bytes = (uint16_t)(4 * n)};
}

/* A stack in an image ends before the first 0. */
static struct fg_loaded load_stack(const struct fg_field *field, const struct fg_hit *hit,
                                   uint32_t *functions)
{
    uint32_t n = 0;

    for (; n < field->count && n < FG_HIST_MAX_STACK; n++) {
        struct fg_loaded one = fg_field_load(hit->image, hit->bytes, field, n);

        if (one.kind != FG_LOADED_UNSIGNED || !one.number)
            break;
        functions[n] = (uint32_t)one.number;
    }
    return stack_of(functions, n);
}

static struct fg_loaded callers_of(const struct fg_hit *hit, uint32_t *functions)
{
    uint32_t n = hit->nr_callers < FG_HIST_MAX_STACK ? (uint32_t)hit->nr_callers : FG_HIST_MAX_STACK;

    for (uint32_t i = 0; i < n; i++)
        functions[i] = hit->callers[i].func;
    return stack_of(functions, n);
}

struct fg_loaded fg_hist_term_stack(const struct fg_hist_term *term, const struct fg_hit *hit,
                                    uint32_t *functions)
{
    const struct fg_hist_step *step = &term->steps[0];
    struct fg_loaded value;

    if (step->op == FG_HIST_STACK)
        return callers_of(hit, functions);
    if (step->op == FG_HIST_FIELD)
        return load_stack(&step->field, hit, functions);
    value = fg_hist_term_run(term, hit);
    return value.kind == FG_LOADED_STACK ? value : (struct fg_loaded){.kind = FG_LOADED_NONE};
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
