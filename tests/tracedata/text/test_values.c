/* Promise: whatever bytes stand for values, taking and printing them ends within the bytes, however deep
 * they nest. For the sanitizers (make asan): random values with parts, cut anywhere and damaged. */
#undef NDEBUG
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "engine/ring/record.h"
#include "support/seed.h"
#include "tracedata/base/values.h"

#define ROUNDS 20000
#define DEPTH 2000

static void put(struct fg_text *data, uint64_t number, size_t bytes)
{
    fg_text_put(data, (const char *)&number, bytes);
}

static void put_open(struct fg_text *data, enum fg_value_form form, uint64_t length, const char *type)
{
    put(data, FG_VALUE_OPEN, 1);
    put(data, form, 1);
    put(data, length, 8);
    put(data, strlen(type), 1);
    fg_text_puts(data, type);
}

static void put_int(struct fg_text *data, int8_t number)
{
    put(data, FG_VALUE_INT8, 1);
    put(data, (uint8_t)number, 1);
}

static void put_name(struct fg_text *data, const char *name)
{
    put(data, FG_VALUE_NAME, 1);
    put(data, strlen(name), 1);
    fg_text_puts(data, name);
}

/* All values in the data, as arguments are printed. */
static void print(struct fg_text *text, const uint8_t *data, size_t bytes)
{
    const uint8_t *end = data + bytes;
    struct fg_value value;

    text->bytes = 0;
    while (fg_value_next(&data, end, &value)) {
        assert(data <= end);
        fg_value_print(text, &value, false);
        fg_text_char(text, ';');
    }
    fg_text_char(text, 0);
}

/* Point(x=1, y=[-1, {2: 3}, ...](9)); 4 */
static void put_sample(struct fg_text *data)
{
    put_open(data, FG_FORM_CALL, 0, "Point");
    put_name(data, "x");
    put_int(data, 1);
    put_name(data, "y");
    put_open(data, FG_FORM_LIST, 9, "");
    put_int(data, -1);
    put_open(data, FG_FORM_DICT, 1, "");
    put_int(data, 2);
    put_int(data, 3);
    put(data, FG_VALUE_CLOSE, 1);
    put(data, FG_VALUE_MORE, 1);
    put(data, FG_VALUE_CLOSE, 1);
    put(data, FG_VALUE_CLOSE, 1);
    put_int(data, 4);
    put(data, FG_VALUE_TEXT, 1);
    put(data, 1000, 8);
    put(data, 3, 2);
    fg_text_lit(data, "abc");
    put(data, FG_VALUE_SHOWN, 1);
    put(data, 4, 1);
    fg_text_lit(data, "date");
    put(data, FG_VALUE_STR, 1);
    put(data, 1, 8);
    put(data, 1, 1);
    fg_text_lit(data, "d");
    put(data, FG_VALUE_HIDDEN, 1);
    put(data, FG_VALUE_FAULT, 1);
}

/* A result that the caller throws away is the same value: nothing that follows it is one. */
static void check_discarded(void)
{
    struct fg_text data = {0}, text = {0};
    const uint8_t *at, *end;
    struct fg_value value;

    put_int(&data, 1);
    put(&data, FG_VALUE_DISCARDED, 1);
    put_int(&data, 2);
    at = (const uint8_t *)data.data;
    end = at + data.bytes;
    assert(fg_values_bytes(at, end) == 2);
    assert(fg_values_are_discarded(at + 2, end) && !fg_values_are_discarded(at, end));
    assert(!fg_values_are_discarded(end, end));
    assert(fg_value_next(&at, end, &value) && value.integer == 1);
    assert(!fg_value_next(&at, end, &value));
    print(&text, (const uint8_t *)data.data, data.bytes);
    assert(strcmp(text.data, "1;") == 0);
    fg_text_free(&text);
    fg_text_free(&data);
}

static void check_sample(const struct fg_text *data)
{
    struct fg_text text = {0};

    print(&text, (const uint8_t *)data->data, data->bytes);
    assert(strcmp(text.data,
                  "Point(x=1, y=[-1, {2: 3}, ...](9));4;'abc'...(1000);date('d');<redacted>;(fault);") == 0);
    fg_text_free(&text);
}

/* Cut off anywhere, and then with bytes of it changed. A copy of just so many bytes shows reads behind it. */
static void check_damaged(const struct fg_text *data)
{
    struct fg_text text = {0};

    assert(data->bytes);
    for (size_t bytes = 0; bytes <= data->bytes; bytes++) {
        uint8_t *copy = malloc(bytes ? bytes : 1);

        memcpy(copy, data->data, bytes);
        print(&text, copy, bytes);
        free(copy);
    }
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint8_t *copy = malloc(data->bytes);

        memcpy(copy, data->data, data->bytes);
        for (int changes = rand() % 4; changes >= 0; changes--)
            copy[(size_t)rand() % data->bytes] = (uint8_t)(rand() % (rand() % 2 ? 27 : 256));
        print(&text, copy, data->bytes);
        free(copy);
    }
    fg_text_free(&text);
}

/* More levels than a tracer writes are left out, and what follows is found. */
static void check_depth(void)
{
    struct fg_text data = {0}, text = {0};

    for (int i = 0; i < DEPTH; i++)
        put_open(&data, FG_FORM_LIST, 1, "");
    for (int i = 0; i < DEPTH; i++)
        put(&data, FG_VALUE_CLOSE, 1);
    put_int(&data, 7);
    print(&text, (const uint8_t *)data.data, data.bytes);
    assert(strcmp(text.data, "[[[[[[[[[[...]]]]]]]]]];7;") == 0);
    fg_text_free(&data);
    fg_text_free(&text);
}

int main(void)
{
    struct fg_text data = {0};

    srand((unsigned)fg_test_seed());
    put_sample(&data);
    check_sample(&data);
    check_damaged(&data);
    check_depth();
    check_discarded();
    fg_text_free(&data);
    return 0;
}
