/* See store.h. */
#include "arch/cpython/fetch/store.h"

#include <string.h>

#include "arch/cpython/base/compat/lookup.h"
#include "arch/cpython/base/compat/text.h"
#include "arch/cpython/fetch/number.h"
#include "arch/cpython/read/cfunction.h"
#include "arch/cpython/read/code.h"
#include "arch/cpython/read/values.h"
#include "arch/cpython/value/utf8.h"
#include "engine/base/compiler.h"

/* ---- texts */

static void put_wide_str(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, PyObject *from)
{
    uint32_t most = fg_texts_room(texts, later) - 1, n = 0;
    Py_ssize_t length = PyUnicode_GET_LENGTH(from), i;

    for (i = 0; i < length; i++) {
        uint8_t utf8[4];
        uint32_t bytes = (uint32_t)fg_utf8_of(PyUnicode_READ_CHAR(from, i), utf8);

        if (n + bytes > most)
            break;
        memcpy(texts->base + texts->used + n, utf8, bytes);
        n += bytes;
    }
    fg_texts_end_string(texts, at, n, i < length);
}

static bool put_string_object(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, PyObject *from)
{
    if (fg_is_str(from) && PyUnicode_IS_ASCII(from))
        fg_texts_put_bytes(texts, at, later, PyUnicode_DATA(from), (size_t)PyUnicode_GET_LENGTH(from));
    else if (fg_is_str(from))
        put_wide_str(texts, at, later, from);
    else if (PyBytes_Check(from))
        fg_texts_put_bytes(texts, at, later, PyBytes_AS_STRING(from), (size_t)PyBytes_GET_SIZE(from));
    else if (FG_HAVE_BORROWED_READS && PyByteArray_Check(from))
        fg_texts_put_bytes(texts, at, later, PyByteArray_AS_STRING(from), (size_t)PyByteArray_GET_SIZE(from));
    else
        return false;
    return true;
}

static bool put_string(struct fg_fetched from, uint8_t *at, struct fg_fetch_texts *texts, uint32_t later)
{
    uint8_t utf8[4];

    if (from.kind == FG_FETCHED_OBJECT && put_string_object(texts, at, later, from.object))
        return true;
    if (from.kind == FG_FETCHED_TEXT)
        fg_texts_put_bytes(texts, at, later, from.text, from.n);
    else if (from.kind == FG_FETCHED_CHAR)
        fg_texts_put_bytes(texts, at, later, utf8, fg_utf8_of(from.character, utf8));
    else
        fg_texts_put_fault(texts, at, later);
    return from.kind == FG_FETCHED_TEXT || from.kind == FG_FETCHED_CHAR;
}

/* ---- tagged values */

static bool has_text(uint8_t tag)
{
    return tag == FG_VALUE_STR || tag == FG_VALUE_BYTES || tag == FG_VALUE_SIZED || tag == FG_VALUE_OBJECT;
}

/* Puts an encoded value in, and cuts the text at its end if there is less room. */
static void put_encoded(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, const uint8_t *from,
                        uint32_t n)
{
    uint32_t most = fg_texts_room(texts, later);
    uint8_t *to = texts->base + texts->used;

    if (n <= most || !has_text(from[0])) {
        memcpy(to, from, n);
        fg_texts_refer(texts, at, n);
        return;
    }
    if (from[0] != FG_VALUE_BYTES)
        most = 10 + fg_texts_whole_characters(from + 10, most - 10);
    memcpy(to, from, most);
    to[9] = (uint8_t)(most - 10);
    fg_texts_refer(texts, at, most);
}

static uint32_t encode_word(uint8_t *to, enum fg_value_tag tag, const void *word)
{
    to[0] = (uint8_t)tag;
    memcpy(to + 1, word, 8);
    return 9;
}

static uint32_t encode_signed(uint8_t *to, int64_t number)
{
    if (number < INT8_MIN || number > INT8_MAX)
        return encode_word(to, FG_VALUE_INT64, &number);
    to[0] = FG_VALUE_INT8;
    to[1] = (uint8_t)number;
    return 2;
}

static uint32_t encode_big(uint8_t *to, bool is_negative, uint32_t bits)
{
    to[0] = FG_VALUE_BIGINT;
    to[1] = is_negative;
    memcpy(to + 2, &bits, sizeof(bits));
    return 6;
}

static uint32_t encode_text(uint8_t *to, const char *text, uint32_t n)
{
    uint64_t length = 0;
    uint32_t size =
        n <= FG_VALUE_MAX_TEXT ? n : fg_texts_whole_characters((const uint8_t *)text, FG_VALUE_MAX_TEXT);

    for (uint32_t i = 0; i < n; i++)
        length += (text[i] & 0xc0) != 0x80;
    encode_word(to, FG_VALUE_STR, &length);
    to[9] = (uint8_t)size;
    memcpy(to + 10, text, size);
    return 10 + size;
}

static uint32_t encode_lengths(uint8_t *to, uint64_t n)
{
    encode_word(to, FG_VALUE_SIZED, &n);
    memcpy(to + 9, "\5tuple", 6);
    return 15;
}

static uint32_t encode_number(uint8_t *to, struct fg_fetched number)
{
    switch (number.kind) {
    case FG_FETCHED_SIGNED:
    case FG_FETCHED_FUNCTION:
        return encode_signed(to, number.number);
    case FG_FETCHED_UNSIGNED: /* its highest bit is set */
        return encode_big(to, false, 64);
    case FG_FETCHED_BIG:
        return encode_big(to, number.number != 0, number.n);
    case FG_FETCHED_REAL:
        return encode_word(to, FG_VALUE_FLOAT, &number.real);
    default:
        return 0;
    }
}

/* Subclasses of int, float and str, and numpy's numbers, are encoded as the values that they hold. */
static uint32_t encode_object(uint8_t *to, PyObject *object)
{
    uint32_t n = 0;

    if (fg_is_str(object))
        return (uint32_t)fg_encode_str(object, to, FG_VALUE_MAX_BYTES);
    if (PyUnicode_Check(object))
        return (uint32_t)fg_encode_object(object, to, FG_VALUE_MAX_BYTES);
    if (object != Py_None && !PyBool_Check(object) && !PyBytes_CheckExact(object))
        n = encode_number(to, fg_fetched_number(fg_fetched_object(object)));
    return n ? n : (uint32_t)fg_encode_value(object, to, FG_VALUE_MAX_BYTES);
}

static uint32_t encode(uint8_t *to, struct fg_fetched from)
{
    uint8_t utf8[4];

    switch (from.kind) {
    case FG_FETCHED_OBJECT:
        return encode_object(to, from.object);
    case FG_FETCHED_RAISED:
        return (uint32_t)fg_encode_exception(from.object, &fg_plain_values, to, FG_VALUE_MAX_BYTES);
    case FG_FETCHED_TEXT:
        return encode_text(to, from.text, from.n);
    case FG_FETCHED_CHAR:
        return encode_text(to, (const char *)utf8, (uint32_t)fg_utf8_of(from.character, utf8));
    case FG_FETCHED_LENGTHS:
        return encode_lengths(to, from.n);
    default:
        return encode_number(to, from);
    }
}

/* Writes at most FG_VALUE_MAX_BYTES; 0: there is no value. */
static uint32_t encode_as(uint8_t *to, struct fg_fetched from, enum fg_field_type type)
{
    uint32_t n = 0;

    if (type == FG_FIELD_VALUE || from.kind == FG_FETCHED_RAISED)
        n = encode(to, from);
    else if (from.kind == FG_FETCHED_OBJECT)
        n = (uint32_t)fg_encode_object(from.object, to, FG_VALUE_MAX_BYTES);
    if (n == 0)
        to[0] = FG_VALUE_UNBOUND;
    return n;
}

FG_NOINLINE static bool put_value_cut(struct fg_fetched from, enum fg_field_type type, uint8_t *at,
                                      struct fg_fetch_texts *texts, uint32_t later)
{
    uint8_t encoded[FG_VALUE_MAX_BYTES];
    uint32_t n = encode_as(encoded, from, type);

    put_encoded(texts, at, later, encoded, n ? n : 1);
    return n != 0;
}

static bool put_value(struct fg_fetched from, enum fg_field_type type, uint8_t *at,
                      struct fg_fetch_texts *texts, uint32_t later)
{
    uint32_t n;

    if (fg_unlikely(fg_texts_room(texts, later) < FG_VALUE_MAX_BYTES))
        return put_value_cut(from, type, at, texts, later);
    n = encode_as(texts->base + texts->used, from, type);
    fg_texts_refer(texts, at, n ? n : 1);
    return n != 0;
}

void fg_fetch_copy_text(const uint8_t *base, const uint8_t *stored, enum fg_field_type type, uint8_t *at,
                        struct fg_fetch_texts *texts, uint32_t later)
{
    uint16_t offset, bytes;

    memcpy(&offset, stored, sizeof(offset));
    memcpy(&bytes, stored + 2, sizeof(bytes));
    if (bytes == 0) /* an array is longer than what was put into it */
        memset(at, 0, fg_field_element_bytes(type));
    else if (type == FG_FIELD_STRING)
        fg_texts_put_bytes(texts, at, later, base + offset, bytes - 1u);
    else
        put_encoded(texts, at, later, base + offset, bytes);
}

/* ---- numbers */

static bool put_number(struct fg_fetched from, uint8_t *at, uint32_t bytes)
{
    struct fg_fetched number = fg_fetched_number(from);
    bool is_number = number.kind == FG_FETCHED_SIGNED || number.kind == FG_FETCHED_UNSIGNED ||
                     number.kind == FG_FETCHED_FUNCTION;

    if (!is_number)
        number.word = 0;
    fg_put_low(at, number.word, bytes);
    return is_number;
}

static bool put_real(struct fg_fetched from, uint8_t *at)
{
    double real = 0;
    bool is_number = fg_fetched_real_number(from, &real);

    memcpy(at, &real, sizeof(real));
    return is_number;
}

static bool put_truth(struct fg_fetched from, uint8_t *at)
{
    int truth = fg_fetched_truth(from);

    *at = truth > 0;
    return truth >= 0;
}

/* -1: it is no character of one byte. */
static int64_t character(struct fg_fetched from)
{
    struct fg_fetched number;

    if (from.kind == FG_FETCHED_CHAR)
        return from.character;
    if (from.kind == FG_FETCHED_OBJECT && fg_is_str(from.object))
        return PyUnicode_GET_LENGTH(from.object) == 1 ? (int64_t)PyUnicode_READ_CHAR(from.object, 0) : -1;
    if (from.kind == FG_FETCHED_OBJECT && PyBytes_Check(from.object))
        return PyBytes_GET_SIZE(from.object) == 1 ? (uint8_t)PyBytes_AS_STRING(from.object)[0] : -1;
    number = fg_fetched_number(from);
    return number.kind == FG_FETCHED_SIGNED ? number.number & 0xff : -1;
}

static bool put_char(struct fg_fetched from, uint8_t *at)
{
    int64_t c = character(from);
    bool fits = c >= 0 && c < 0x100;

    *at = fits ? (uint8_t)c : 0;
    return fits;
}

/* ---- symbols */

/* The record of a Python function, if it was met; 0: it was not, or this is none. */
static uint64_t function_id(PyObject *object)
{
    const struct fg_func *func = NULL;

    if (PyMethod_Check(object))
        object = PyMethod_GET_FUNCTION(object);
    if (fg_is_function(object) && fg_code_extra_index >= 0)
        func = fg_code_func((PyCodeObject *)PyFunction_GET_CODE(object));
    return func ? func->id : 0;
}

static bool put_symbol(struct fg_fetched from, uint8_t *at)
{
    uint64_t id = 0;

    if (from.kind == FG_FETCHED_FUNCTION)
        id = from.word;
    else if (FG_HAVE_BORROWED_READS && from.kind == FG_FETCHED_OBJECT)
        id = function_id(from.object);
    memcpy(at, &id, sizeof(id));
    return id != 0;
}

bool fg_fetch_store(struct fg_fetched from, enum fg_field_type type, uint8_t *at,
                    struct fg_fetch_texts *texts, uint32_t later)
{
    if (fg_likely(type <= FG_FIELD_X64))
        return put_number(from, at, fg_field_element_bytes(type));
    switch (type) {
    case FG_FIELD_STRING:
        return put_string(from, at, texts, later);
    case FG_FIELD_OBJECT:
    case FG_FIELD_VALUE:
        return put_value(from, type, at, texts, later);
    case FG_FIELD_F64:
        return put_real(from, at);
    case FG_FIELD_BOOL:
        return put_truth(from, at);
    case FG_FIELD_CHAR:
        return put_char(from, at);
    default:
        return put_symbol(from, at);
    }
}
