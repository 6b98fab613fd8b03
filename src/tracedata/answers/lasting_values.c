/* See lasting_values.h. */
#include "tracedata/answers/lasting_values.h"

#include <math.h>
#include <string.h>

#include "engine/ring/record.h"
#include "tracedata/base/values.h"

static bool is_same_text(const struct fg_value *a, const struct fg_value *b)
{
    return a->text_bytes == b->text_bytes && memcmp(a->text, b->text, a->text_bytes) == 0;
}

static bool is_same_real(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) && isnan(b);
    return a == b && !signbit(a) == !signbit(b); /* 0.0 is another value than -0.0 */
}

/* An int of 8 bits that another run recorded with 64, in a list of both, is the same int. */
static uint32_t tag_of(const struct fg_value *value)
{
    return value->tag == FG_VALUE_INT8 ? FG_VALUE_INT64 : value->tag;
}

static bool is_same_token(const struct fg_value *a, const struct fg_value *b)
{
    if (tag_of(a) != tag_of(b))
        return false;
    switch ((enum fg_value_tag)tag_of(a)) {
    case FG_VALUE_INT64:
        return a->integer == b->integer;
    case FG_VALUE_FLOAT:
        return is_same_real(a->real, b->real);
    case FG_VALUE_BIGINT:
        return a->negative == b->negative && a->length == b->length;
    case FG_VALUE_WORD: /* most are addresses, or what another call has left in a register */
        return fg_word_error(a) == fg_word_error(b);
    case FG_VALUE_STR:
    case FG_VALUE_BYTES:
    case FG_VALUE_SIZED:
        return a->length == b->length && is_same_text(a, b);
    case FG_VALUE_OBJECT: /* its address differs from run to run */
    case FG_VALUE_MEMBER:
    case FG_VALUE_NAME:
        return is_same_text(a, b);
    case FG_VALUE_SHOWN:
        return a->length == b->length && is_same_text(a, b) && a->type_bytes == b->type_bytes &&
               memcmp(a->type, b->type, a->type_bytes) == 0;
    case FG_VALUE_OPEN:
        return a->form == b->form && a->length == b->length && is_same_text(a, b);
    default:
        return true;
    }
}

bool fg_lasting_values_equal(struct fg_lasting_values a, struct fg_lasting_values b)
{
    const uint8_t *end_a = a.data + fg_values_bytes(a.data, a.data + a.bytes);
    const uint8_t *end_b = b.data + fg_values_bytes(b.data, b.data + b.bytes);
    struct fg_value one, other;

    while (a.data < end_a && b.data < end_b)
        if (!fg_value_token(&a.data, end_a, &one) || !fg_value_token(&b.data, end_b, &other) ||
            !is_same_token(&one, &other))
            return false;
    return a.data == end_a && b.data == end_b;
}
