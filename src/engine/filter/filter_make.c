/* Making an event filter: checks the bytes of a program, and makes each term ready for its field's type. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "engine/filter/filter_step.h"

struct head {
    uint16_t terms, zero;
    uint32_t rest_bytes;
};

struct term {
    int16_t source;
    uint8_t operation, operand;
    uint16_t when_true, when_false;
    uint64_t number;
};

_Static_assert(sizeof(struct head) == 8 && sizeof(struct term) == 16, "as filter.py packs them");

static const struct fg_field sources[] = {
#define X(source, name, field_type, at) {.offset = (at), .type = FG_FIELD_##field_type, .count = 0},
    FG_EVENT_FILTER_SOURCES(X)
#undef X
};

static bool is_compared(const struct term *term)
{
    return term->operation <= FG_EVENT_FILTER_GE;
}

static bool has_integer(const struct term *term)
{
    return term->operand == FG_EVENT_FILTER_SIGNED || term->operand == FG_EVENT_FILTER_UNSIGNED;
}

static bool has_number(const struct term *term)
{
    double real;

    memcpy(&real, &term->number, sizeof(real));
    return has_integer(term) || (term->operand == FG_EVENT_FILTER_REAL && isfinite(real));
}

/* ---- what each kind of field can be compared with */

/* The integers that the operation accepts, as a range; it wraps around for signed ones. No range is empty. */
static bool set_range(struct fg_filter_step *step, uint64_t number)
{
    uint64_t least = step->is_signed ? (uint64_t)INT64_MIN : 0, most = least - 1;

    step->low = number;
    step->span = 0;
    switch ((enum fg_event_filter_operation)step->operation) {
    case FG_EVENT_FILTER_LT:
        step->low = least;
        step->span = number - 1 - least;
        return number != least;
    case FG_EVENT_FILTER_LE:
        step->low = least;
        step->span = number - least;
        return true;
    case FG_EVENT_FILTER_GT:
        step->low = number + 1;
        step->span = most - number - 1;
        return number != most;
    case FG_EVENT_FILTER_GE:
        step->span = most - number;
        return true;
    default:
        return true;
    }
}

static int make_integer(struct fg_filter_step *step, const struct term *term)
{
    /* A negative number for an unsigned field, or one that no signed field has. */
    bool is_beyond = has_integer(term) && (int64_t)term->number < 0 &&
                     step->is_signed != (term->operand == FG_EVENT_FILTER_SIGNED);

    if (is_compared(term) && has_integer(term) && !is_beyond) {
        step->test = !set_range(step, term->number)     ? FG_FILTER_NEVER
                     : step->from == FG_FILTER_FROM_CPU ? FG_FILTER_CPU_RANGE
                                                        : FG_FILTER_RANGE;
        return 0;
    }
    if (term->operation == FG_EVENT_FILTER_AND && has_integer(term) && !is_beyond) {
        step->test = FG_FILTER_MASK;
        step->number = term->number;
        return 0;
    }
    if (term->operation == FG_EVENT_FILTER_IN && term->operand == FG_EVENT_FILTER_SET) {
        step->test = step->bytes ? FG_FILTER_SET : FG_FILTER_NEVER;
        return 0;
    }
    if (term->operation == FG_EVENT_FILTER_TRUE) {
        step->test = FG_FILTER_RANGE;
        step->low = 1;
        step->span = UINT64_MAX - 1;
        return 0;
    }
    return -EINVAL;
}

static int make_real(struct fg_filter_step *step, const struct term *term)
{
    step->test = FG_FILTER_REAL;
    step->number = term->number;
    return is_compared(term) && has_number(term) ? 0 : -EINVAL;
}

/* A glob that begins with `!` means the texts that the rest does not match, as in the kernel. */
static int make_glob(struct fg_filter_step *step, const struct term *term)
{
    if (term->operand != FG_EVENT_FILTER_TEXT)
        return -EINVAL;
    step->is_not = step->bytes && step->text[0] == '!';
    step->text += step->is_not;
    step->bytes -= step->is_not;
    return 0;
}

static int make_text(struct fg_filter_step *step, const struct term *term)
{
    step->test = term->operation == FG_EVENT_FILTER_GLOB ? FG_FILTER_GLOB : FG_FILTER_TEXT;
    if (term->operation == FG_EVENT_FILTER_GLOB)
        return make_glob(step, term);
    return term->operation == FG_EVENT_FILTER_EQ && term->operand == FG_EVENT_FILTER_TEXT ? 0 : -EINVAL;
}

static int make_value(struct fg_filter_step *step, const struct term *term)
{
    step->test = FG_FILTER_VALUE;
    switch ((enum fg_event_filter_operation)term->operation) {
    case FG_EVENT_FILTER_TRUE:
    case FG_EVENT_FILTER_NONE:
        return 0;
    case FG_EVENT_FILTER_GLOB:
        return make_glob(step, term);
    case FG_EVENT_FILTER_IN:
        return term->operand == FG_EVENT_FILTER_SET ? 0 : -EINVAL;
    case FG_EVENT_FILTER_AND:
        step->number = term->number;
        return has_integer(term) ? 0 : -EINVAL;
    default:
        if (term->operand == FG_EVENT_FILTER_TEXT)
            return term->operation == FG_EVENT_FILTER_EQ ? 0 : -EINVAL;
        step->number = term->number;
        return has_number(term) ? 0 : -EINVAL;
    }
}

static int make_for_type(struct fg_filter_step *step, const struct term *term)
{
    uint8_t type = step->field.type;

    if (type >= FG_NR_FIELD_TYPES)
        return -EINVAL;
    if (step->field.count) {
        step->from = FG_FILTER_FROM_CHARACTERS;
        return type == FG_FIELD_CHAR ? make_text(step, term) : -EINVAL;
    }
    step->size = (uint8_t)fg_field_element_bytes(type);
    switch ((enum fg_field_type)type) {
    case FG_FIELD_F64:
        return make_real(step, term);
    case FG_FIELD_STRING:
        return make_text(step, term);
    case FG_FIELD_OBJECT:
    case FG_FIELD_VALUE:
        return make_value(step, term);
    case FG_FIELD_S8:
    case FG_FIELD_S16:
    case FG_FIELD_S32:
    case FG_FIELD_S64:
        step->is_signed = true;
        /* fall through */
    default:
        return make_integer(step, term);
    }
}

/* ---- one term */

static int set_field(struct fg_filter_step *step, int source, const struct fg_field *fields,
                     uint32_t nr_fields)
{
    if (source < -FG_NR_EVENT_FILTER_SOURCES || source >= (int64_t)nr_fields)
        return -EINVAL;
    step->field = source < 0 ? sources[-1 - source] : fields[source];
    step->from = FG_FILTER_FROM_IMAGE;
    if (source == -1 - FG_EVENT_FILTER_CPU)
        step->from = FG_FILTER_FROM_CPU;
    if (source == -1 - FG_EVENT_FILTER_COMM)
        step->from = FG_FILTER_FROM_COMM;
    return 0;
}

/* A set ascends, so that it can be searched. */
static bool ascends(const char *set, uint32_t bytes)
{
    for (uint32_t at = 0; at + 16 <= bytes; at += 8) {
        uint64_t two[2];

        memcpy(two, set + at, sizeof(two));
        if (two[0] >= two[1])
            return false;
    }
    return bytes % 8 == 0;
}

static int set_operand(struct fg_filter_step *step, const struct term *term, const char *rest,
                       uint32_t rest_bytes)
{
    uint32_t at = (uint32_t)term->number, bytes = (uint32_t)(term->number >> 32);

    if (term->operand != FG_EVENT_FILTER_TEXT && term->operand != FG_EVENT_FILTER_SET)
        return 0;
    if (at > rest_bytes || bytes > rest_bytes - at)
        return -EINVAL;
    step->text = rest + at;
    step->bytes = bytes;
    return term->operand == FG_EVENT_FILTER_SET && !ascends(step->text, bytes) ? -EINVAL : 0;
}

static bool leads_on(uint32_t exit, uint32_t from, uint32_t nr_terms)
{
    return exit == FG_EVENT_FILTER_ACCEPT || exit == FG_EVENT_FILTER_REJECT ||
           (exit > from && exit < nr_terms);
}

static int make_step(struct fg_event_filter *filter, uint32_t i, const struct term *term, const char *rest,
                     uint32_t rest_bytes, const struct fg_field *fields, uint32_t nr_fields)
{
    struct fg_filter_step *step = &filter->steps[i];
    int error = set_field(step, term->source, fields, nr_fields);

    step->operation = term->operation;
    step->operand = term->operand;
    step->exits[0] = term->when_false;
    step->exits[1] = term->when_true;
    if (error)
        return error;
    if (!leads_on(term->when_true, i, filter->nr_steps) || !leads_on(term->when_false, i, filter->nr_steps))
        return -EINVAL;
    error = set_operand(step, term, rest, rest_bytes);
    return error ? error : make_for_type(step, term);
}

int fg_event_filter_make(struct fg_event_filter **filter, const void *program, size_t program_bytes,
                         const struct fg_field *fields, uint32_t nr_fields)
{
    struct fg_event_filter *made;
    struct head head;
    char *rest;

    if (program_bytes < sizeof(head))
        return -EINVAL;
    memcpy(&head, program, sizeof(head));
    if (!head.terms || head.terms >= FG_EVENT_FILTER_REJECT || head.zero ||
        program_bytes != sizeof(head) + head.terms * sizeof(struct term) + head.rest_bytes)
        return -EINVAL;
    made = calloc(1, sizeof(*made) + head.terms * sizeof(made->steps[0]) + head.rest_bytes);
    if (!made)
        return -ENOMEM;
    made->nr_steps = head.terms;
    rest = (char *)(made->steps + head.terms);
    memcpy(rest, (const char *)program + program_bytes - head.rest_bytes, head.rest_bytes);
    for (uint32_t i = 0; i < head.terms; i++) {
        struct term term;
        int error;

        memcpy(&term, (const char *)program + sizeof(head) + i * sizeof(term), sizeof(term));
        error = make_step(made, i, &term, rest, head.rest_bytes, fields, nr_fields);
        if (error) {
            free(made);
            return error;
        }
    }
    *filter = made;
    return 0;
}

void fg_event_filter_free(struct fg_event_filter *filter)
{
    free(filter);
}
