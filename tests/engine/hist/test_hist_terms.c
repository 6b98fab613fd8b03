/* Keys and numbers of a histogram are what the hit holds. Tried are each kind of field, modifiers at their
 * edges, expressions that wrap, texts that are cut, and stacks.
 *
 * Fails if equal values make two keys, different ones make one, or a modifier is off by one. */
#include <errno.h>
#include <math.h>

#include "engine/base/hash_table.h"
#include "engine/hist/hist_key.h"
#include "engine/ring/record.h"
#include "support/check.h"

#define AT 8u /* where the only field is */

struct made {
    uint64_t words[FG_HIST_MAX_KEY_WORDS];
    uint64_t hash;
};

static struct fg_hist_term field_term(enum fg_field_type type, enum fg_hist_kind kind)
{
    return (struct fg_hist_term){
        .nr_steps = 1,
        .kind = (uint8_t)kind,
        .steps = {{.op = FG_HIST_FIELD, .field = {.offset = AT, .type = (uint8_t)type}}},
    };
}

static struct made key_of_hit(const struct fg_hist_term *term, const struct fg_hit *hit)
{
    struct made made;

    CHECK_EQ(fg_hist_term_check(term), 0);
    memset(&made, 0xee, sizeof(made));
    made.hash = fg_hist_term_key(term, hit, made.words, 0);
    return made;
}

/* The key of an image whose field is these bytes. */
static struct made key_of(const struct fg_hist_term *term, const void *bytes, uint32_t n)
{
    uint8_t image[AT + 256] = {0};
    struct fg_hit hit = {.image = image, .bytes = AT + n};

    memcpy(image + AT, bytes, n);
    return key_of_hit(term, &hit);
}

static uint64_t word_of_int(struct fg_hist_term term, int64_t number)
{
    return key_of(&term, &number, 8).words[0];
}

static uint64_t word_of_real(struct fg_hist_term term, double number)
{
    return key_of(&term, &number, 8).words[0];
}

static void test_log2_is_the_power_at_or_above(void)
{
    static const int64_t numbers[][2] = {
        {0, 0},
        {1, 0},
        {2, 1},
        {3, 2},
        {4, 2},
        {5, 3},
        {1000, 10},
        {1024, 10},
        {1025, 11},
        {-2, 64},
        {INT64_MAX, 63},
        {INT64_MIN, 63},
        {INT64_MIN + 1, 64},
    };
    struct fg_hist_term term = field_term(FG_FIELD_S64, FG_HIST_KIND_NUMBER);

    term.modifier = FG_HIST_LOG2;
    for (unsigned i = 0; i < NR_OF(numbers); i++)
        CHECK_EQ(word_of_int(term, numbers[i][0]), numbers[i][1]);
    term.steps[0].field.type = FG_FIELD_F64;
    CHECK_EQ(word_of_real(term, 0.25), 0);
    CHECK_EQ(word_of_real(term, 2.0), 1);
    CHECK_EQ(word_of_real(term, 2.5), 2);
    CHECK_EQ(word_of_real(term, -1.0), 64);
    CHECK_EQ(word_of_real(term, 1e300), 64);
    CHECK_EQ(word_of_real(term, NAN), 0);
}

static void test_a_bucket_begins_at_a_multiple_of_its_size(void)
{
    static const int64_t numbers[][2] = {{0, 0},    {9, 0},     {10, 10},   {19, 10},
                                         {-1, -10}, {-10, -10}, {-11, -20}, {INT64_MAX, INT64_MAX - 7}};
    struct fg_hist_term term = field_term(FG_FIELD_S64, FG_HIST_KIND_NUMBER);

    term.modifier = FG_HIST_BUCKETS;
    term.bucket = 10;
    for (unsigned i = 0; i < NR_OF(numbers); i++)
        CHECK_EQ(word_of_int(term, numbers[i][0]), numbers[i][1]);
    term.steps[0].field.type = FG_FIELD_U64;
    CHECK_EQ(word_of_int(term, -2), (int64_t)18446744073709551610u);
    term.steps[0].field.type = FG_FIELD_F64;
    CHECK_EQ(word_of_real(term, 10.5), 10);
    CHECK_EQ((int64_t)word_of_real(term, -0.5), -10);
    CHECK_EQ((int64_t)word_of_real(term, -10.0), -10);
    CHECK_EQ((int64_t)word_of_real(term, -10.5), -20);
}

static void test_floats_that_are_equal_are_one_key(void)
{
    struct fg_hist_term term = field_term(FG_FIELD_F64, FG_HIST_KIND_REAL);

    CHECK_EQ(word_of_real(term, 0.0), word_of_real(term, -0.0));
    CHECK_EQ(word_of_real(term, NAN), word_of_real(term, -NAN));
    CHECK(word_of_real(term, 1.0) != word_of_real(term, 1.5));
}

/* An image with a text: the field, then what it refers to. */
static struct made key_of_text(const struct fg_hist_term *term, const char *text, uint32_t n)
{
    uint8_t part[4 + 240];
    uint32_t place = (AT + 4u) | n << 16;

    memcpy(part, &place, 4);
    memcpy(part + 4, text, n);
    return key_of(term, part, 4 + n);
}

static bool is_same(const struct made *a, const struct made *b, uint32_t words)
{
    bool is_equal = memcmp(a->words, b->words, 8u * words) == 0;

    CHECK_EQ(a->hash == b->hash, is_equal);
    return is_equal;
}

static void test_texts_differ_up_to_their_bound(void)
{
    struct fg_hist_term term = field_term(FG_FIELD_STRING, FG_HIST_KIND_TEXT);
    uint32_t words = fg_hist_kind_words(FG_HIST_KIND_TEXT), bound = 8 * (words - 1);
    struct made made[8];
    char long_text[240];

    CHECK(bound >= 32);
    memset(long_text, 'x', sizeof(long_text));
    made[0] = key_of_text(&term, "", 1);
    made[1] = key_of_text(&term, "a", 2);
    made[2] = key_of_text(&term, "a\0b", 4); /* ends at its NUL */
    made[3] = key_of_text(&term, "ab", 3);
    made[4] = key_of_text(&term, long_text, bound);
    made[5] = key_of_text(&term, long_text, bound - 1);
    long_text[bound] = 'y';
    made[6] = key_of_text(&term, long_text, bound + 2);
    long_text[bound - 1] = 'y';
    made[7] = key_of_text(&term, long_text, bound + 2);
    CHECK_EQ(made[3].words[0], 2);
    CHECK(memcmp(&made[3].words[1], "ab\0\0\0\0\0\0", 8) == 0);
    for (unsigned i = 0; i < NR_OF(made); i++) {
        for (unsigned k = 0; k < i; k++)
            CHECK_EQ(is_same(&made[i], &made[k], words), (i == 2 && k == 1) || (i == 6 && k == 4));
    }
}

/* A tagged value as the field's value. */
static struct made key_of_value(const struct fg_hist_term *term, uint8_t tag, uint64_t number,
                                const char *text)
{
    char part[64];
    uint32_t n = text ? (uint32_t)strlen(text) : 0;

    part[0] = (char)tag;
    memcpy(part + 1, &number, 8);
    part[9] = (char)n;
    if (n)
        memcpy(part + 10, text, n);
    return key_of_text(term, part, tag == FG_VALUE_INT8 ? 2 : n ? 10 + n : 9);
}

static void test_a_tagged_value_is_a_key_by_what_it_holds(void)
{
    struct fg_hist_term term = field_term(FG_FIELD_VALUE, FG_HIST_KIND_VALUE);
    double half = 0.5;
    uint64_t half_word;
    struct made made[9];

    memcpy(&half_word, &half, 8);
    made[0] = key_of_value(&term, FG_VALUE_INT8, 5, NULL);
    made[1] = key_of_value(&term, FG_VALUE_INT64, 5, NULL);
    made[2] = key_of_value(&term, FG_VALUE_FLOAT, half_word, NULL);
    made[3] = key_of_value(&term, FG_VALUE_STR, 2, "ab");
    made[4] = key_of_value(&term, FG_VALUE_BYTES, 2, "ab");
    made[5] = key_of_value(&term, FG_VALUE_NONE, 0, NULL);
    made[6] = key_of_value(&term, FG_VALUE_UNBOUND, 0, NULL);
    made[7] = key_of_value(&term, FG_VALUE_SIZED, 3, "list");
    made[8] = key_of_value(&term, FG_VALUE_OBJECT, 3, "list");
    CHECK_EQ(made[0].words[0], FG_LOADED_SIGNED);
    CHECK_EQ(made[3].words[0], FG_LOADED_TEXT | 2 << 8 | FG_VALUE_STR << 16);
    CHECK(memcmp(&made[7].words[2], "list\0\0\0\0", 8) == 0);
    for (unsigned i = 0; i < NR_OF(made); i++) {
        for (unsigned k = 0; k < i; k++)
            CHECK_EQ(is_same(&made[i], &made[k], fg_hist_kind_words(FG_HIST_KIND_VALUE)), i == 1 && k == 0);
    }
    term.modifier = FG_HIST_LOG2;
    made[0] = key_of_value(&term, FG_VALUE_INT8, 5, NULL);
    CHECK_EQ(made[0].words[1], 3);
    made[3] = key_of_value(&term, FG_VALUE_STR, 2, "ab"); /* stays what it is */
    CHECK_EQ(made[3].words[0], FG_LOADED_TEXT | 2 << 8 | FG_VALUE_STR << 16);
}

static void test_a_stack_is_its_functions(void)
{
    struct fg_caller callers[20];
    struct fg_hit hit = {.callers = callers, .nr_callers = 20};
    struct fg_hist_term term = {.nr_steps = 1, .kind = FG_HIST_KIND_STACK, .steps = {{.op = FG_HIST_STACK}}};
    uint32_t words = fg_hist_kind_words(FG_HIST_KIND_STACK), ids[2 * (FG_HIST_MAX_KEY_WORDS)];
    struct made made[4];

    for (uint32_t i = 0; i < 20; i++)
        callers[i] = (struct fg_caller){.func = 100 + i, .place = i};
    CHECK_EQ(fg_hist_term_needs(&term), FG_HIST_NEEDS_CALLERS);
    made[0] = key_of_hit(&term, &hit);
    callers[3].place++;      /* another line of the same function */
    callers[16].func = 1000; /* further out than is kept */
    made[1] = key_of_hit(&term, &hit);
    callers[15].func = 1000;
    made[2] = key_of_hit(&term, &hit);
    hit.nr_callers = 3;
    made[3] = key_of_hit(&term, &hit);
    CHECK_EQ(made[0].words[0], FG_HIST_MAX_STACK);
    CHECK_EQ(made[3].words[0], 3);
    memcpy(ids, &made[0].words[1], 64);
    CHECK_EQ(ids[0], 100);
    CHECK_EQ(ids[15], 115);
    CHECK(is_same(&made[0], &made[1], words));
    CHECK(!is_same(&made[1], &made[2], words));
    CHECK(!is_same(&made[2], &made[3], words));
}

/* Fails if a stack of the event's goes on after its first 0, after the image, or beyond what a key holds. */
static void test_a_stack_in_a_field_ends_before_the_first_zero(void)
{
    struct fg_hist_term term = field_term(FG_FIELD_SYMBOL, FG_HIST_KIND_STACK);
    uint64_t functions[FG_HIST_MAX_STACK + 2];
    struct made whole, cut, made;
    uint32_t ids[FG_HIST_MAX_STACK];

    CHECK_EQ(fg_hist_term_check(&term), -EINVAL); /* one function is no stack */
    term.steps[0].field.count = FG_HIST_MAX_STACK + 2;
    for (uint32_t i = 0; i < FG_HIST_MAX_STACK + 2; i++)
        functions[i] = 100 + i;
    whole = key_of(&term, functions, sizeof(functions));
    CHECK_EQ(whole.words[0], FG_HIST_MAX_STACK);
    memcpy(ids, whole.words + 1, sizeof(ids));
    CHECK_EQ(ids[0], 100);
    CHECK_EQ(ids[FG_HIST_MAX_STACK - 1], 99 + FG_HIST_MAX_STACK);
    cut = key_of(&term, functions, 3 * 8 + 4);
    CHECK_EQ(cut.words[0], 3);
    functions[3] = 0;
    made = key_of(&term, functions, sizeof(functions));
    CHECK_EQ(made.hash, cut.hash);
    term.kind = FG_HIST_KIND_NUMBER;
    CHECK_EQ(fg_hist_term_check(&term), -EINVAL);
}

static void test_a_variable_is_the_stack_that_it_holds(void)
{
    const uint32_t functions[] = {7, 8, 9};
    const struct fg_loaded variables[] = {
        {.kind = FG_LOADED_STACK, .text = (const char *)functions, .bytes = sizeof(functions)},
        {.kind = FG_LOADED_UNSIGNED, .number = 5},
    };
    struct fg_hist_term term = {
        .nr_steps = 1, .kind = FG_HIST_KIND_STACK, .steps = {{.op = FG_HIST_VARIABLE}}};
    const struct fg_hit hit = {.variables = variables};
    struct made made = key_of_hit(&term, &hit);
    struct fg_loaded back = fg_hist_term_value(FG_HIST_KIND_STACK, false, made.words);

    CHECK_EQ(back.kind, FG_LOADED_STACK);
    CHECK_EQ(back.bytes, sizeof(functions));
    CHECK_EQ(memcmp(back.text, functions, sizeof(functions)), 0);
    term.steps[0].index = 1; /* a number is no stack */
    CHECK_EQ(key_of_hit(&term, &hit).words[0], 0);
}

static void test_common_fields_are_of_the_hit(void)
{
    struct fg_event_common common = {.pid = 1234};
    struct fg_hit hit = {.image = (const uint8_t *)&common,
                         .bytes = sizeof(common),
                         .cpu = 3,
                         .time_ns = 12345678,
                         .comm = "a_name_of_16_chr_and_more"};
    struct fg_hist_term term = {.nr_steps = 1, .steps = {{.op = FG_HIST_PID}}};

    CHECK_EQ(key_of_hit(&term, &hit).words[0], 1234);
    term.steps[0].op = FG_HIST_CPU;
    CHECK_EQ(fg_hist_term_needs(&term), FG_HIST_NEEDS_CPU);
    CHECK_EQ(key_of_hit(&term, &hit).words[0], 3);
    term.steps[0].op = FG_HIST_TIME;
    CHECK_EQ(fg_hist_term_needs(&term), FG_HIST_NEEDS_TIME);
    CHECK_EQ(key_of_hit(&term, &hit).words[0], 12345678);
    term.steps[0].op = FG_HIST_TIME_USECS;
    CHECK_EQ(key_of_hit(&term, &hit).words[0], 12345);
    term.steps[0].op = FG_HIST_COMM;
    term.kind = FG_HIST_KIND_COMM;
    CHECK_EQ(fg_hist_term_needs(&term), FG_HIST_NEEDS_COMM);
    CHECK_EQ(key_of_hit(&term, &hit).words[0], 16);
    CHECK(memcmp(&key_of_hit(&term, &hit).words[1], "a_name_of_16_chr", 16) == 0);
}

/* ---- expressions */

#define N(value)                                                                                             \
    {                                                                                                        \
        .op = FG_HIST_NUMBER, .number = (uint64_t)(value)                                                    \
    }
#define OP(name)                                                                                             \
    {                                                                                                        \
        .op = FG_HIST_##name                                                                                 \
    }
#define RUN(...)                                                                                             \
    run_steps((struct fg_hist_step[]){__VA_ARGS__},                                                          \
              sizeof((struct fg_hist_step[]){__VA_ARGS__}) / sizeof(struct fg_hist_step))

static struct fg_loaded run_steps(const struct fg_hist_step *steps, size_t n)
{
    struct fg_hist_term term = {.nr_steps = (uint8_t)n};
    struct fg_hit hit = {.time_ns = 1};

    memcpy(term.steps, steps, n * sizeof(*steps));
    CHECK_EQ(fg_hist_term_check(&term), 0);
    return fg_hist_term_run(&term, &hit);
}

static void test_expressions_wrap_and_differences_are_signed(void)
{
    struct fg_loaded result = RUN(N(3), N(5), OP(SUBTRACT));

    CHECK_EQ(result.kind, FG_LOADED_SIGNED);
    CHECK_EQ((int64_t)result.number, -2);
    result = RUN(N(1000), N(3), N(10), OP(MULTIPLY), OP(ADD));
    CHECK_EQ(result.kind, FG_LOADED_UNSIGNED);
    CHECK_EQ(result.number, 1030);
    CHECK_EQ(RUN(N(-1), N(2), OP(ADD)).number, 1);
    CHECK_EQ(RUN(N(1000), N(3), OP(DIVIDE)).number, 333);
    CHECK_EQ(RUN(N(1), N(0), OP(DIVIDE)).number, -1);
    CHECK_EQ(RUN(N(9), OP(NEGATE), N(2), OP(DIVIDE)).number, -4);
    CHECK_EQ(RUN(N(INT64_MIN), OP(NEGATE), N(1), OP(NEGATE), OP(DIVIDE)).number, INT64_MIN);
    CHECK_EQ(RUN(N(1), OP(STACK), OP(ADD)).kind, FG_LOADED_NONE); /* no number */
    CHECK_EQ(RUN(OP(COMM), OP(NEGATE)).kind, FG_LOADED_NONE);
    CHECK_EQ(RUN({.op = FG_HIST_VARIABLE, .index = 2}, OP(NEGATE)).kind, FG_LOADED_NONE);
}

static void test_a_float_makes_the_result_a_float(void)
{
    struct fg_hist_term term = field_term(FG_FIELD_F64, FG_HIST_KIND_REAL);
    double half = 0.5, result;
    struct made made;

    term.nr_steps = 5;
    term.steps[1] = (struct fg_hist_step)N(3);
    term.steps[2] = (struct fg_hist_step)OP(NEGATE);
    term.steps[3] = (struct fg_hist_step)OP(MULTIPLY);
    term.steps[4] = (struct fg_hist_step)OP(NEGATE);
    made = key_of(&term, &half, 8);
    memcpy(&result, made.words, 8);
    CHECK(result == 1.5);
    term.steps[4] = (struct fg_hist_step)N(0);
    term.steps[5] = (struct fg_hist_step)OP(DIVIDE);
    term.nr_steps = 6;
    made = key_of(&term, &half, 8);
    memcpy(&result, made.words, 8);
    CHECK(result == -1);
}

static void test_numbers_that_do_not_fit_are_the_nearest(void)
{
    static const double reals[] = {1e30, -1e30, NAN, -2.9, 2.9};
    static const uint64_t integers[] = {UINT64_MAX, (uint64_t)INT64_MIN, 0, (uint64_t)-2, 2};
    struct fg_loaded none = {.kind = FG_LOADED_NONE, .number = 5};

    for (unsigned i = 0; i < NR_OF(reals); i++) {
        struct fg_loaded value = {.kind = FG_LOADED_FLOAT, .real = reals[i]};

        CHECK(fg_hist_integer(&value) == integers[i]);
    }
    CHECK_EQ(fg_hist_integer(&none), 0);
    CHECK(fg_hist_real(&none) == 0);
    CHECK(fg_hist_real(&(struct fg_loaded){.kind = FG_LOADED_SIGNED, .number = (uint64_t)-7}) == -7);
}

static void test_a_field_outside_of_the_image_is_nothing(void)
{
    struct fg_hist_term number = field_term(FG_FIELD_S64, FG_HIST_KIND_NUMBER);
    struct fg_hist_term value = field_term(FG_FIELD_VALUE, FG_HIST_KIND_VALUE);
    uint32_t beyond = 200u | 4u << 16;

    CHECK_EQ(key_of(&number, "1234567", 7).words[0], 0);
    CHECK_EQ(key_of(&value, &beyond, 4).words[0], FG_LOADED_NONE);
    CHECK_EQ(key_of(&value, &beyond, 3).words[0], FG_LOADED_NONE);
}

static void test_the_order_of_keys_matters(void)
{
    struct fg_hist_term number = field_term(FG_FIELD_S64, FG_HIST_KIND_NUMBER);
    uint8_t one[AT + 8] = {[AT] = 1}, two[AT + 8] = {[AT] = 2};
    struct fg_hit hits[2] = {{.image = one, .bytes = sizeof(one)}, {.image = two, .bytes = sizeof(two)}};
    uint64_t word, hashes[2];

    for (unsigned i = 0; i < 2; i++) {
        hashes[i] = fg_hist_term_key(&number, &hits[i], &word, 0);
        hashes[i] = fg_hist_term_key(&number, &hits[!i], &word, hashes[i]);
    }
    CHECK(hashes[0] != hashes[1]);
}

static void test_names(void)
{
    CHECK_EQ(fg_hist_op_by_name("time_usecs"), FG_HIST_TIME_USECS);
    CHECK_EQ(fg_hist_op_by_name("divide"), FG_HIST_DIVIDE);
    CHECK_EQ(fg_hist_op_by_name("nosuch"), -1);
    CHECK_EQ(fg_hist_kind_by_name("stack"), FG_HIST_KIND_STACK);
    CHECK_EQ(fg_hist_kind_by_name(""), -1);
}

int main(void)
{
    test_log2_is_the_power_at_or_above();
    test_a_bucket_begins_at_a_multiple_of_its_size();
    test_floats_that_are_equal_are_one_key();
    test_texts_differ_up_to_their_bound();
    test_a_tagged_value_is_a_key_by_what_it_holds();
    test_a_stack_is_its_functions();
    test_a_stack_in_a_field_ends_before_the_first_zero();
    test_a_variable_is_the_stack_that_it_holds();
    test_common_fields_are_of_the_hit();
    test_expressions_wrap_and_differences_are_signed();
    test_a_float_makes_the_result_a_float();
    test_numbers_that_do_not_fit_are_the_nearest();
    test_a_field_outside_of_the_image_is_nothing();
    test_the_order_of_keys_matters();
    test_names();
    return 0;
}
