/* An event filter accepts what its program says, ends, and reads nothing outside of the image.
 *
 * tests/events/test_filter_model.py compares random filters with a slow model. Here are the edges, under the
 * sanitizers. Fails if a bound is off by one (under ASan), a sign is lost, or a program could lead back. */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <sys/prctl.h>

#include "engine/core/task.h"
#include "engine/filter/filter.h"
#include "engine/filter/text_glob.h"
#include "engine/ring/record.h"
#include "support/check.h"

#define ACCEPT FG_EVENT_FILTER_ACCEPT
#define REJECT FG_EVENT_FILTER_REJECT
#define FIELDS_AT 16u
#define SOURCE(name) (-1 - FG_EVENT_FILTER_##name)

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

static uint64_t bits_of(double real)
{
    uint64_t bits;

    memcpy(&bits, &real, sizeof(bits));
    return bits;
}

/* The bytes of the program lie at the end of an allocation, where ASan looks. */
static int make(struct fg_event_filter **filter, const struct term *terms, uint16_t n, const void *rest,
                uint32_t rest_bytes, const struct fg_field *fields, uint32_t nr_fields)
{
    struct head head = {.terms = n, .zero = 0, .rest_bytes = rest_bytes};
    size_t bytes = sizeof(head) + n * sizeof(*terms);
    char *program = malloc(bytes + rest_bytes);
    int error;

    memcpy(program, &head, sizeof(head));
    memcpy(program + sizeof(head), terms, n * sizeof(*terms));
    if (rest_bytes)
        memcpy(program + bytes, rest, rest_bytes);
    error = fg_event_filter_make(filter, program, bytes + rest_bytes, fields, nr_fields);
    free(program);
    return error;
}

/* Whether a filter of these terms accepts an image with these fields, at the end of an allocation. */
static bool accepts(const struct term *terms, uint16_t n, const char *text, const struct fg_field *fields,
                    uint32_t nr_fields, const void *content, uint32_t bytes)
{
    struct fg_event_filter *filter;
    uint8_t *image = malloc(FIELDS_AT + bytes);
    bool matches;

    memset(image, 0xee, FIELDS_AT);
    memcpy(image + FIELDS_AT, content, bytes);
    CHECK_EQ(make(&filter, terms, n, text, text ? (uint32_t)strlen(text) : 0, fields, nr_fields), 0);
    matches = fg_event_filter_matches(filter, image, FIELDS_AT + bytes);
    fg_event_filter_free(filter);
    free(image);
    return matches;
}

static bool one_accepts(enum fg_field_type type, unsigned operation, uint8_t operand, uint64_t number,
                        const char *text, const void *content, uint32_t bytes)
{
    struct term term = {0, (uint8_t)operation, operand, ACCEPT, REJECT, number};
    struct fg_field field = {.offset = FIELDS_AT, .type = (uint8_t)type, .count = 0};

    return accepts(&term, 1, text, &field, 1, content, bytes);
}

/* ---- integers */

static const uint8_t signed_types[] = {FG_FIELD_S8, FG_FIELD_S16, FG_FIELD_S32, FG_FIELD_S64};
static const uint8_t unsigned_types[] = {FG_FIELD_U8, FG_FIELD_U16, FG_FIELD_U32, FG_FIELD_U64};

static bool expected(int order, unsigned operation)
{
    static const bool accepted[][3] = {
        [FG_EVENT_FILTER_EQ] = {false, true, false}, [FG_EVENT_FILTER_LT] = {true, false, false},
        [FG_EVENT_FILTER_LE] = {true, true, false},  [FG_EVENT_FILTER_GT] = {false, false, true},
        [FG_EVENT_FILTER_GE] = {false, true, true},
    };

    return accepted[operation][order + 1];
}

static void check_orders(enum fg_field_type type, bool is_signed, uint64_t value, uint64_t number)
{
    uint8_t operand = is_signed || number <= INT64_MAX ? FG_EVENT_FILTER_SIGNED : FG_EVENT_FILTER_UNSIGNED;
    uint32_t bytes = fg_field_element_bytes(type);
    int order = is_signed ? ((int64_t)value > (int64_t)number) - ((int64_t)value < (int64_t)number)
                          : (value > number) - (value < number);

    for (unsigned operation = FG_EVENT_FILTER_EQ; operation <= FG_EVENT_FILTER_GE; operation++) {
        bool is_accepted = expected(order, operation);

        CHECK_EQ(one_accepts(type, operation, operand, number, NULL, &value, bytes), is_accepted);
        /* The same with more of the image after it: it is then read in another way. */
        CHECK_EQ(one_accepts(type, operation, operand, number, NULL, (uint64_t[2]){value, ~0ull}, 16),
                 is_accepted);
        CHECK(!one_accepts(type, operation, operand, number, NULL, &value, bytes - 1));
    }
    CHECK_EQ(one_accepts(type, FG_EVENT_FILTER_AND, operand, number, NULL, &value, bytes),
             (value & number) != 0);
}

static void test_integers_compare_at_the_edges_of_their_types(void)
{
    for (unsigned i = 0; i < NR_OF(signed_types); i++) {
        unsigned bits = 8u << i;
        int64_t most = (int64_t)(UINT64_MAX >> (65 - bits)), least = -most - 1;
        int64_t values[] = {least, least + 1, -1, 0, 1, most - 1, most};
        int64_t numbers[] = {INT64_MIN, INT64_MIN + 1, least, -1, 0, 1, most, INT64_MAX - 1, INT64_MAX};

        for (unsigned v = 0; v < NR_OF(values); v++) {
            for (unsigned n = 0; n < NR_OF(numbers); n++)
                check_orders(signed_types[i], true, (uint64_t)values[v], (uint64_t)numbers[n]);
        }
    }
    for (unsigned i = 0; i < NR_OF(unsigned_types); i++) {
        uint64_t most = UINT64_MAX >> (64 - (8u << i));
        uint64_t values[] = {0, 1, most / 2, most - 1, most};
        uint64_t numbers[] = {0, 1, most / 2, most, INT64_MAX, (uint64_t)INT64_MAX + 1, UINT64_MAX};

        for (unsigned v = 0; v < NR_OF(values); v++) {
            for (unsigned n = 0; n < NR_OF(numbers); n++)
                check_orders(unsigned_types[i], false, values[v], numbers[n]);
        }
    }
}

static void test_sets(void)
{
    static const uint64_t set[] = {1, 3, UINT64_MAX};
    struct fg_field field = {.offset = 8, .type = FG_FIELD_U64, .count = 0};
    struct term term = {0,      FG_EVENT_FILTER_IN,         FG_EVENT_FILTER_SET, ACCEPT,
                        REJECT, (uint64_t)sizeof(set) << 32};
    struct fg_event_filter *filter;
    uint64_t image[2] = {0, 0};

    CHECK_EQ(make(&filter, &term, 1, set, sizeof(set), &field, 1), 0);
    for (image[1] = 0; image[1] < 6; image[1]++)
        CHECK_EQ(fg_event_filter_matches(filter, (uint8_t *)image, 16), image[1] == 1 || image[1] == 3);
    image[1] = UINT64_MAX;
    CHECK(fg_event_filter_matches(filter, (uint8_t *)image, 16));
    fg_event_filter_free(filter);
    CHECK_EQ(make(&filter, &term, 1, (uint64_t[3]){1, 1, 2}, sizeof(set), &field, 1), -EINVAL); /* no order */
    term.number = 12ull << 32;
    CHECK_EQ(make(&filter, &term, 1, set, 12, &field, 1), -EINVAL); /* half a number */
}

/* ---- other types */

static void test_floating_point_numbers_compare_exactly_with_whole_ones(void)
{
    double above = 0x1p53, nan = NAN, half = 0.5;
    uint64_t odd = (1ull << 53) + 1;

    CHECK(one_accepts(FG_FIELD_F64, FG_EVENT_FILTER_LT, FG_EVENT_FILTER_SIGNED, odd, NULL, &above, 8));
    CHECK(!one_accepts(FG_FIELD_F64, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, odd, NULL, &above, 8));
    CHECK(one_accepts(FG_FIELD_F64, FG_EVENT_FILTER_GT, FG_EVENT_FILTER_SIGNED, 0, NULL, &half, 8));
    CHECK(one_accepts(FG_FIELD_F64, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_REAL, bits_of(0.5), NULL, &half, 8));
    for (unsigned operation = FG_EVENT_FILTER_EQ; operation <= FG_EVENT_FILTER_GE; operation++)
        CHECK(!one_accepts(FG_FIELD_F64, operation, FG_EVENT_FILTER_REAL, bits_of(0.5), NULL, &nan, 8));
    CHECK(!one_accepts(FG_FIELD_F64, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_REAL, bits_of(0.5), NULL, &half, 7));
}

static bool text_accepts(unsigned operation, const char *operand, enum fg_field_type type,
                         const char *content, uint16_t bytes, uint16_t more)
{
    uint8_t part[64];
    uint16_t refers[2] = {FIELDS_AT + 4, (uint16_t)(bytes + more)};

    memcpy(part, refers, sizeof(refers));
    memcpy(part + sizeof(refers), content, bytes);
    return one_accepts(type, operation, FG_EVENT_FILTER_TEXT, (uint64_t)strlen(operand) << 32, operand, part,
                       (uint32_t)sizeof(refers) + bytes);
}

static void test_texts_end_where_their_field_does(void)
{
    CHECK(text_accepts(FG_EVENT_FILTER_EQ, "abc", FG_FIELD_STRING, "abc", 4, 0));
    CHECK(text_accepts(FG_EVENT_FILTER_EQ, "abc", FG_FIELD_STRING, "abc", 3, 0)); /* without a NUL */
    CHECK(!text_accepts(FG_EVENT_FILTER_EQ, "abc", FG_FIELD_STRING, "abc", 4, 1));
    CHECK(!text_accepts(FG_EVENT_FILTER_EQ, "abcd", FG_FIELD_STRING, "abc", 4, 0));
    CHECK(text_accepts(FG_EVENT_FILTER_GLOB, "a*", FG_FIELD_STRING, "abc", 3, 0));
    /* the length of a str, then how much of it is there */
    CHECK(text_accepts(FG_EVENT_FILTER_EQ, "ab", FG_FIELD_VALUE,
                       "\x08\x02\0\0\0\0\0\0\0\x02"
                       "ab",
                       12, 0));
    CHECK(!text_accepts(FG_EVENT_FILTER_EQ, "ab", FG_FIELD_VALUE,
                        "\x08\x03\0\0\0\0\0\0\0\x02"
                        "ab",
                        12, 0));
    CHECK(text_accepts(FG_EVENT_FILTER_EQ, "abc", FG_FIELD_VALUE,
                       "\x08\x03\0\0\0\0\0\0\0\x02"
                       "ab",
                       12, 0));
    CHECK(!text_accepts(FG_EVENT_FILTER_EQ, "ab", FG_FIELD_VALUE,
                        "\x08\x02\0\0\0\0\0\0\0\x02"
                        "ab",
                        11, 0));
    CHECK(!text_accepts(FG_EVENT_FILTER_EQ, "abc", FG_FIELD_VALUE,
                        "\x08\x02\0\0\0\0\0\0\0\x02"
                        "ab",
                        12, 0));
    CHECK(text_accepts(FG_EVENT_FILTER_GLOB, "C*t", FG_FIELD_OBJECT,
                       "\x0b\1\0\0\0\0\0\0\0\x04"
                       "Cart",
                       14, 0));
    for (uint16_t bytes = 0; bytes < 12; bytes++)
        CHECK(!text_accepts(FG_EVENT_FILTER_GLOB, "*", FG_FIELD_VALUE,
                            "\x08\x02\0\0\0\0\0\0\0\x02"
                            "ab",
                            bytes, 0));
}

/* A value that refers beyond the end of its image holds nothing, not even None. */
static void test_a_value_lies_in_its_image(void)
{
    static const uint8_t operations[] = {FG_EVENT_FILTER_NONE, FG_EVENT_FILTER_TRUE};
    const uint16_t inside[2] = {FIELDS_AT + 4, 1}, beyond[2] = {FIELDS_AT + 4, 2},
                   outside[2] = {FIELDS_AT + 5, 1};
    uint8_t part[5] = {0, 0, 0, 0, FG_VALUE_NONE};

    memcpy(part, inside, sizeof(inside));
    CHECK(one_accepts(FG_FIELD_VALUE, FG_EVENT_FILTER_NONE, FG_EVENT_FILTER_NOTHING, 0, NULL, part, 5));
    CHECK(!one_accepts(FG_FIELD_VALUE, FG_EVENT_FILTER_TRUE, FG_EVENT_FILTER_NOTHING, 0, NULL, part, 5));
    for (unsigned i = 0; i < NR_OF(operations); i++) {
        memcpy(part, beyond, sizeof(beyond));
        CHECK(!one_accepts(FG_FIELD_VALUE, operations[i], FG_EVENT_FILTER_NOTHING, 0, NULL, part, 5));
        memcpy(part, outside, sizeof(outside));
        CHECK(!one_accepts(FG_FIELD_VALUE, operations[i], FG_EVENT_FILTER_NOTHING, 0, NULL, part, 5));
        CHECK(!one_accepts(FG_FIELD_VALUE, operations[i], FG_EVENT_FILTER_NOTHING, 0, NULL, part, 3));
    }
}

static void test_an_array_of_characters_is_a_text(void)
{
    struct term term = {0, FG_EVENT_FILTER_GLOB, FG_EVENT_FILTER_TEXT, ACCEPT, REJECT, 4ull << 32};
    struct fg_field field = {.offset = FIELDS_AT, .type = FG_FIELD_CHAR, .count = 4};

    CHECK(accepts(&term, 1, "*abc", &field, 1, "xabc", 4));
    CHECK(accepts(&term, 1, "*abc", &field, 1, "abc", 4));
    CHECK(!accepts(&term, 1, "*abc", &field, 1, "ab\0c", 4));
    CHECK(!accepts(&term, 1, "*abc", &field, 1, "abc", 3));
}

static void test_a_number_that_could_not_be_read_matches_no_comparison(void)
{
    struct fg_field field = {.offset = FIELDS_AT, .type = FG_FIELD_S32, .fault_bit = (FIELDS_AT + 4) * 8 + 3};
    struct fg_field characters = {
        .offset = FIELDS_AT, .type = FG_FIELD_CHAR, .count = 4, .fault_bit = (FIELDS_AT + 4) * 8};
    struct term glob = {0, FG_EVENT_FILTER_GLOB, FG_EVENT_FILTER_TEXT, ACCEPT, REJECT, 1ull << 32};
    uint8_t value[8] = {0};

    for (unsigned is_fault = 0; is_fault < 2; is_fault++) {
        struct term equal = {0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 0};
        struct term least = {0, FG_EVENT_FILTER_GE, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 0};
        struct term other = {0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, REJECT, ACCEPT, 0};

        value[4] = is_fault ? 8 : 0xf7; /* the bits beside it are of other fields */
        CHECK_EQ(accepts(&equal, 1, NULL, &field, 1, value, 5), !is_fault);
        CHECK_EQ(accepts(&least, 1, NULL, &field, 1, value, 5), !is_fault);
        CHECK_EQ(accepts(&other, 1, NULL, &field, 1, value, 5), is_fault); /* != */
        value[4] = (uint8_t)is_fault;
        CHECK_EQ(accepts(&glob, 1, "*", &characters, 1, value, 5), !is_fault);
    }
}

static void test_globs(void)
{
    static const struct {
        const char *glob, *text;
        bool matches;
    } rows[] = {
        {"", "", true},
        {"", "a", false},
        {"*", "", true},
        {"a*", "abc", true},
        {"*c", "abc", true},
        {"*b", "abc", false},
        {"a*c", "abcabc", true},
        {"?", "\xc3\xa9", true},
        {"??", "\xc3\xa9", false},
        {"[\xc3\xa8-\xc3\xaa]", "\xc3\xa9", true},
        {"?", "\xff", true},
        {"?", "\xc3", true},
        {"[!a]", "b", true},
        {"[!a]", "a", false},
        {"[^a]", "a", true},
        {"[]a]", "]", true},
        {"[a", "[a", true},
        {"[a", "a", false},
        {"a-[0-9]", "a-7", true},
        {"[a-]", "-", true},
        {"\\*", "*", true},
        {"\\*", "a", false},
        {"\\", "\\", true},
        {"**a**", "ba", true},
        {"*a*b*", "xbxa", false},
    };

    for (unsigned i = 0; i < NR_OF(rows); i++) {
        size_t glob_bytes = strlen(rows[i].glob), text_bytes = strlen(rows[i].text);
        char *glob = memcpy(malloc(glob_bytes + !glob_bytes), rows[i].glob, glob_bytes);
        char *text = memcpy(malloc(text_bytes + !text_bytes), rows[i].text, text_bytes);

        if (fg_text_glob_match(glob, glob_bytes, text, text_bytes) != rows[i].matches) {
            fprintf(stderr, "%s ~ %s\n", rows[i].text, rows[i].glob);
            abort();
        }
        free(glob);
        free(text);
    }
    CHECK_EQ(fg_text_characters("a\xc3\xa9\xff", 4), 3);
}

/* ---- what is not in the image */

static void test_the_processor_and_the_threads_name_are_those_of_the_thread(void)
{
    struct term cpu = {SOURCE(CPU), FG_EVENT_FILTER_GE, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 0};
    struct term comm = {SOURCE(COMM), FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_TEXT, ACCEPT, REJECT, 6ull << 32};

    CHECK(accepts(&cpu, 1, NULL, NULL, 0, "", 0));
    cpu.operation = FG_EVENT_FILTER_LT;
    CHECK(!accepts(&cpu, 1, NULL, NULL, 0, "", 0));
    CHECK(!accepts(&comm, 1, "filter", NULL, 0, "", 0));
    prctl(PR_SET_NAME, "filter");
    CHECK(accepts(&comm, 1, "filter", NULL, 0, "", 0));
    CHECK(fg_task_current() != NULL);
    strcpy(fg_task_self->name, "worker");
    CHECK(!accepts(&comm, 1, "filter", NULL, 0, "", 0));
    CHECK(accepts(&comm, 1, "worker", NULL, 0, "", 0));
}

static void test_the_common_fields_lie_before_the_others(void)
{
    static const struct {
        int16_t source;
        uint64_t number;
    } rows[] = {{SOURCE(COMMON_TYPE), 0x0201},      {SOURCE(COMMON_FLAGS), 3},
                {SOURCE(COMMON_PREEMPT_COUNT), 4},  {SOURCE(COMMON_PID), 0x08070605},
                {SOURCE(AT_8), 0x0909090909090909}, {SOURCE(AT_16), 0x1010101010101010}};
    uint8_t image[24] = {1, 2, 3, 4, 5, 6, 7, 8};

    memset(image + 8, 9, 8);
    memset(image + 16, 16, 8);
    for (unsigned i = 0; i < NR_OF(rows); i++) {
        struct term term = {rows[i].source, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT,
                            REJECT,         rows[i].number};
        struct fg_event_filter *filter;

        CHECK_EQ(make(&filter, &term, 1, NULL, 0, NULL, 0), 0);
        CHECK(fg_event_filter_matches(filter, image, sizeof(image)));
        fg_event_filter_free(filter);
    }
}

/* ---- programs */

static const struct fg_field two_fields[] = {{.offset = 16, .type = FG_FIELD_U8, .count = 0},
                                             {.offset = 17, .type = FG_FIELD_U8, .count = 0}};

static void test_exits_lead_where_they_say(void)
{
    /* a == 1 && b == 2 || a == 3 */
    struct term terms[] = {{0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, 1, 2, 1},
                           {1, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT, 2, 2},
                           {0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 3}};

    for (uint8_t a = 0; a < 5; a++) {
        for (uint8_t b = 0; b < 5; b++) {
            uint8_t content[] = {a, b};

            CHECK_EQ(accepts(terms, 3, NULL, two_fields, 2, content, 2), (a == 1 && b == 2) || a == 3);
        }
    }
}

static void test_a_program_that_is_none_is_refused(void)
{
    static const struct term good = {0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 1};
    static const struct fg_field array = {.offset = 16, .type = FG_FIELD_U8, .count = 2};
    struct fg_event_filter *filter;
    struct term bad[8];

    CHECK_EQ(make(&filter, &good, 1, NULL, 0, two_fields, 2), 0);
    fg_event_filter_free(filter);
    fg_event_filter_free(NULL);
    CHECK_EQ(make(&filter, &good, 0, NULL, 0, two_fields, 2), -EINVAL);
    CHECK_EQ(make(&filter, &good, 1, NULL, 0, two_fields, 0), -EINVAL);
    CHECK_EQ(make(&filter, &good, 1, NULL, 0, &array, 1), -EINVAL);
    CHECK_EQ(fg_event_filter_make(&filter, "", 0, two_fields, 2), -EINVAL);
    for (unsigned i = 0; i < NR_OF(bad); i++)
        bad[i] = good;
    bad[0].when_true = 0;              /* a loop */
    bad[1].when_false = 1;             /* after the end */
    bad[2].source = SOURCE(AT_16) - 1; /* no such source */
    bad[3].operation = FG_NR_EVENT_FILTER_OPERATIONS;
    bad[4].operand = FG_NR_EVENT_FILTER_OPERANDS;
    bad[5].number = (uint64_t)-1; /* negative, for an unsigned field */
    bad[6].operand = FG_EVENT_FILTER_TEXT;
    bad[7].operation = FG_EVENT_FILTER_GLOB;
    for (unsigned i = 0; i < NR_OF(bad); i++)
        CHECK_EQ(make(&filter, &bad[i], 1, NULL, 0, two_fields, 2), -EINVAL);
}

static void test_operands_lie_in_the_program(void)
{
    static const struct fg_field text = {.offset = 16, .type = FG_FIELD_STRING, .count = 0};
    static const struct {
        uint32_t at, bytes;
        int error;
    } rows[] = {{0, 3, 0},
                {3, 0, 0},
                {0, 4, -EINVAL},
                {2, 2, -EINVAL},
                {4, 0, -EINVAL},
                {4, UINT32_MAX, -EINVAL},
                {UINT32_MAX, 2, -EINVAL}};

    for (unsigned i = 0; i < NR_OF(rows); i++) {
        struct term term = {0,
                            FG_EVENT_FILTER_EQ,
                            FG_EVENT_FILTER_TEXT,
                            ACCEPT,
                            REJECT,
                            rows[i].at | (uint64_t)rows[i].bytes << 32};
        struct fg_event_filter *filter;

        CHECK_EQ(make(&filter, &term, 1, "abc", 3, &text, 1), rows[i].error);
        if (!rows[i].error)
            fg_event_filter_free(filter);
    }
}

static void *evaluate(void *filter)
{
    uint8_t image[24] = {0};
    uintptr_t accepted = 0;

    for (unsigned i = 0; i < 10000; i++) {
        image[16] = (uint8_t)(i % 2);
        accepted += fg_event_filter_matches(filter, image, sizeof(image));
    }
    return (void *)accepted;
}

static void test_threads_share_a_filter(void)
{
    struct term term = {0, FG_EVENT_FILTER_EQ, FG_EVENT_FILTER_SIGNED, ACCEPT, REJECT, 1};
    struct fg_event_filter *filter;
    pthread_t threads[4];

    CHECK_EQ(make(&filter, &term, 1, NULL, 0, two_fields, 2), 0);
    for (unsigned i = 0; i < NR_OF(threads); i++)
        CHECK_EQ(pthread_create(&threads[i], NULL, evaluate, filter), 0);
    for (unsigned i = 0; i < NR_OF(threads); i++) {
        void *accepted;

        pthread_join(threads[i], &accepted);
        CHECK_EQ((uintptr_t)accepted, 5000);
    }
    fg_event_filter_free(filter);
}

int main(void)
{
    test_integers_compare_at_the_edges_of_their_types();
    test_sets();
    test_floating_point_numbers_compare_exactly_with_whole_ones();
    test_texts_end_where_their_field_does();
    test_a_value_lies_in_its_image();
    test_an_array_of_characters_is_a_text();
    test_a_number_that_could_not_be_read_matches_no_comparison();
    test_globs();
    test_the_processor_and_the_threads_name_are_those_of_the_thread();
    test_the_common_fields_lie_before_the_others();
    test_exits_lead_where_they_say();
    test_a_program_that_is_none_is_refused();
    test_operands_lie_in_the_program();
    test_threads_share_a_filter();
    return 0;
}
