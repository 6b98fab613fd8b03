/* Each type of field reads back as what was stored, and a field that lies or refers outside of its image
 * has no value.
 *
 * Fails if a bound is off by one (also under ASan), or a sign is lost. */
#include "engine/ring/field.h"
#include "engine/ring/record.h"
#include "support/check.h"

#define FIELDS_AT 16u

static struct fg_loaded load(const void *bytes, uint32_t n, enum fg_field_type type, uint32_t index)
{
    uint8_t *image = malloc(FIELDS_AT + n); /* its end is where ASan looks */
    struct fg_field field = {.offset = FIELDS_AT, .type = (uint8_t)type};
    struct fg_loaded loaded;

    memset(image, 0xee, FIELDS_AT);
    memcpy(image + FIELDS_AT, bytes, n);
    loaded = fg_field_load(image, FIELDS_AT + n, &field, index);
    if (loaded.text)
        CHECK((const uint8_t *)loaded.text + loaded.bytes <= image + FIELDS_AT + n);
    free(image);
    return loaded;
}

static void test_numbers(void)
{
    static const uint8_t ones[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    static const enum fg_field_type is_signed[] = {FG_FIELD_S8, FG_FIELD_S16, FG_FIELD_S32, FG_FIELD_S64};
    static const enum fg_field_type is_unsigned[] = {FG_FIELD_U8, FG_FIELD_U16, FG_FIELD_X32, FG_FIELD_X64};

    for (unsigned i = 0; i < NR_OF(is_signed); i++) {
        uint32_t bytes = 1u << i;
        struct fg_loaded loaded = load(ones, bytes, is_signed[i], 0);

        CHECK_EQ(fg_field_element_bytes(is_signed[i]), bytes);
        CHECK_EQ(loaded.kind, FG_LOADED_SIGNED);
        CHECK_EQ((int64_t)loaded.number, -1);
        loaded = load(ones, bytes, is_unsigned[i], 0);
        CHECK_EQ(loaded.kind, FG_LOADED_UNSIGNED);
        CHECK(loaded.number == UINT64_MAX >> (64 - 8 * bytes));
        CHECK_EQ(load(ones, bytes - 1, is_signed[i], 0).kind, FG_LOADED_NONE);
    }
    CHECK_EQ(load(&(double){-2.5}, 8, FG_FIELD_F64, 0).real * 2, -5);
}

static void test_an_array_ends_where_its_image_does(void)
{
    static const uint32_t numbers[3] = {7, 8, 9};

    CHECK_EQ(load(numbers, sizeof(numbers), FG_FIELD_U32, 2).number, 9);
    CHECK_EQ(load(numbers, sizeof(numbers), FG_FIELD_U32, 3).kind, FG_LOADED_NONE);
    CHECK_EQ(load(numbers, sizeof(numbers) - 1, FG_FIELD_U32, 2).kind, FG_LOADED_NONE);
}

/* A u32 that refers to what follows it, with lengths up to and beyond the end. */
static struct fg_loaded load_referring(const char *what, uint16_t bytes, enum fg_field_type type,
                                       uint16_t more)
{
    uint8_t part[64];
    uint16_t refers[2] = {FIELDS_AT + 4, (uint16_t)(bytes + more)};

    memcpy(part, refers, sizeof(refers));
    memcpy(part + sizeof(refers), what, bytes);
    return load(part, (uint32_t)sizeof(refers) + bytes, type, 0);
}

static void test_texts(void)
{
    CHECK_EQ(load_referring("abc", 4, FG_FIELD_STRING, 0).bytes, 3);
    CHECK_EQ(load_referring("abc", 3, FG_FIELD_STRING, 0).bytes, 3); /* without a NUL */
    CHECK_EQ(load_referring("abc", 4, FG_FIELD_STRING, 1).kind, FG_LOADED_NONE);
}

static void test_values(void)
{
    static const struct {
        const char *bytes;
        uint16_t n;
        enum fg_loaded_kind kind;
        int64_t number;
    } cases[] = {
        {"\2", 1, FG_LOADED_SIGNED, 1},
        {"\3", 1, FG_LOADED_SIGNED, 0},
        {"\4\xfe", 2, FG_LOADED_SIGNED, -2},
        {"\5\1\0\0\0\0\0\0\x80", 9, FG_LOADED_SIGNED, INT64_MIN + 1},
        {"\1", 1, FG_LOADED_NONE, 0},
        {"\6\0\1\0\0\0", 6, FG_LOADED_NONE, 0},
        {"\x0a\5\0\0\0\0\0\0\0\4list", 14, FG_LOADED_OBJECT, 5},
        {"\x08\3\0\0\0\0\0\0\0\3abc", 13, FG_LOADED_TEXT, 0},
        {"\x0e\2\7\0\0\0\0\0\0\0", 10, FG_LOADED_UNSIGNED, 7},
    };

    for (unsigned i = 0; i < NR_OF(cases); i++) {
        struct fg_loaded loaded = load_referring(cases[i].bytes, cases[i].n, FG_FIELD_VALUE, 0);

        CHECK_EQ(loaded.kind, cases[i].kind);
        CHECK_EQ((int64_t)loaded.number, cases[i].number);
        for (uint16_t n = 0; n < cases[i].n; n++)
            CHECK_EQ(load_referring(cases[i].bytes, n, FG_FIELD_VALUE, 0).kind, FG_LOADED_NONE);
    }
    CHECK_EQ(load_referring("\x08\3\0\0\0\0\0\0\0\3abc", 13, FG_FIELD_VALUE, 0).bytes, 3);
}

static void test_names(void)
{
    CHECK_EQ(fg_field_type_by_name("s16"), FG_FIELD_S16);
    CHECK_EQ(fg_field_type_by_name("s17"), -1);
}

int main(void)
{
    test_numbers();
    test_an_array_ends_where_its_image_does();
    test_texts();
    test_values();
    test_names();
    return 0;
}
