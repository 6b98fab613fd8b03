/* See shown_values.h. Dates, times and Decimal do not change, so they are read without the GIL, too. */
#include "arch/cpython/value/shown_values.h"

#include <datetime.h>

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/base/compat/shown.h"
#include "arch/cpython/value/plain_values.h"
#include "arch/cpython/value/slots.h"
#include "arch/cpython/value/utf8.h"

/* A text that grows, and is cut where it is full. */
struct text {
    size_t bytes;
    bool is_cut;
    char data[FG_VALUE_MAX_STRING];
};

static void put(struct text *text, const char *data, size_t bytes)
{
    size_t room = sizeof(text->data) - text->bytes;

    if (bytes > room) {
        bytes = room;
        text->is_cut = true;
    }
    memcpy(text->data + text->bytes, data, bytes);
    text->bytes += bytes;
}

static void put_char(struct text *text, char c)
{
    put(text, &c, 1);
}

/* Decimal digits, with zeros in front for a width. */
static void put_number(struct text *text, uint64_t number, int width)
{
    char digits[20];
    int n = 0;

    do {
        digits[sizeof(digits) - 1 - (size_t)n++] = (char)('0' + number % 10);
        number /= 10;
    } while (number || n < width);
    put(text, digits + sizeof(digits) - n, (size_t)n);
}

static void put_signed(struct text *text, int64_t number)
{
    if (number < 0)
        put_char(text, '-');
    put_number(text, number < 0 ? -(uint64_t)number : (uint64_t)number, 1);
}

/* ---- dates and times */

static void put_date(struct text *text, PyObject *date)
{
    put_number(text, (uint64_t)PyDateTime_GET_YEAR(date), 4);
    put_char(text, '-');
    put_number(text, PyDateTime_GET_MONTH(date), 2);
    put_char(text, '-');
    put_number(text, PyDateTime_GET_DAY(date), 2);
}

static void put_fraction(struct text *text, int microseconds)
{
    if (!microseconds)
        return;
    put_char(text, '.');
    put_number(text, (uint64_t)microseconds, 6);
}

static void put_clock(struct text *text, int hours, int minutes, int seconds, int microseconds)
{
    put_number(text, (uint64_t)hours, 2);
    put_char(text, ':');
    put_number(text, (uint64_t)minutes, 2);
    put_char(text, ':');
    put_number(text, (uint64_t)seconds, 2);
    put_fraction(text, microseconds);
}

/* ±HH:MM[:SS[.ffffff]] */
static void put_offset(struct text *text, PyObject *delta)
{
    int64_t seconds = PyDateTime_DELTA_GET_DAYS(delta) * INT64_C(86400) + PyDateTime_DELTA_GET_SECONDS(delta);
    int microseconds = PyDateTime_DELTA_GET_MICROSECONDS(delta);

    if (seconds < 0 && microseconds) {
        seconds++;
        microseconds = 1000000 - microseconds;
    }
    put_char(text, seconds < 0 || PyDateTime_DELTA_GET_DAYS(delta) < 0 ? '-' : '+');
    seconds = seconds < 0 ? -seconds : seconds;
    put_number(text, (uint64_t)seconds / 3600, 2);
    put_char(text, ':');
    put_number(text, (uint64_t)seconds / 60 % 60, 2);
    if (seconds % 60 || microseconds) {
        put_char(text, ':');
        put_number(text, (uint64_t)seconds % 60, 2);
    }
    put_fraction(text, microseconds);
}

static bool is_named(PyObject *object, const char *name)
{
    return (Py_TYPE(object)->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) &&
           strcmp(Py_TYPE(object)->tp_name, name) == 0;
}

/* The offset of a fixed zone; of others, whose offset only code could tell, the name or the type. */
static void put_zone(struct text *text, PyObject *zone)
{
    PyObject *key;

    if (zone == Py_None)
        return;
    if (is_named(zone, "datetime.timezone")) {
        put_offset(text, ((struct fg_timezone *)zone)->offset);
        return;
    }
    key = strcmp(fg_type_name(Py_TYPE(zone)), "ZoneInfo") == 0 ? fg_slot(zone, "key") : NULL;
    put_char(text, ' ');
    if (key && PyUnicode_CheckExact(key) && PyUnicode_IS_ASCII(key))
        put(text, PyUnicode_DATA(key), (size_t)PyUnicode_GET_LENGTH(key));
    else
        put(text, fg_type_name(Py_TYPE(zone)), strnlen(fg_type_name(Py_TYPE(zone)), FG_VALUE_MAX_TYPE));
}

static void put_datetime(struct text *text, PyObject *value)
{
    put_date(text, value);
    put_char(text, ' ');
    put_clock(text, PyDateTime_DATE_GET_HOUR(value), PyDateTime_DATE_GET_MINUTE(value),
              PyDateTime_DATE_GET_SECOND(value), PyDateTime_DATE_GET_MICROSECOND(value));
    put_zone(text, PyDateTime_DATE_GET_TZINFO(value));
}

static void put_time(struct text *text, PyObject *value)
{
    put_clock(text, PyDateTime_TIME_GET_HOUR(value), PyDateTime_TIME_GET_MINUTE(value),
              PyDateTime_TIME_GET_SECOND(value), PyDateTime_TIME_GET_MICROSECOND(value));
    put_zone(text, PyDateTime_TIME_GET_TZINFO(value));
}

static void put_delta(struct text *text, PyObject *value)
{
    int days = PyDateTime_DELTA_GET_DAYS(value), seconds = PyDateTime_DELTA_GET_SECONDS(value);

    if (days) {
        put_signed(text, days);
        put(text, days == 1 || days == -1 ? " day, " : " days, ", days == 1 || days == -1 ? 6 : 7);
    }
    put_number(text, (uint64_t)seconds / 3600, 1);
    put_char(text, ':');
    put_number(text, (uint64_t)seconds / 60 % 60, 2);
    put_char(text, ':');
    put_number(text, (uint64_t)seconds % 60, 2);
    put_fraction(text, PyDateTime_DELTA_GET_MICROSECONDS(value));
}

/* ---- Decimal */

/* The digits of the coefficient, with a point after @before of them; 0 or less: after "0." and zeros. */
static void put_digits(struct text *text, const struct fg_decimal *decimal, int64_t before)
{
    Py_ssize_t left = decimal->digits;

    if (before <= 0) {
        put(text, "0.", 2);
        for (; before < 0; before++)
            put_char(text, '0');
        before = -1;
    }
    for (Py_ssize_t i = decimal->len - 1; i >= 0 && !text->is_cut; i--) {
        uint64_t word = decimal->words[i];
        int n = (int)(left - i * FG_DECIMAL_WORD_DIGITS); /* the highest word may have fewer */
        char digits[FG_DECIMAL_WORD_DIGITS];

        if (n < 1 || n > FG_DECIMAL_WORD_DIGITS)
            return;
        left -= n;
        for (int k = n - 1; k >= 0; k--, word /= 10)
            digits[k] = (char)('0' + word % 10);
        for (int k = 0; k < n; k++) {
            if (before-- == 0)
                put_char(text, '.');
            put_char(text, digits[k]);
        }
    }
}

/* As str(): to-scientific-string of the General Decimal Arithmetic. */
static void put_decimal(struct text *text, PyObject *value)
{
    const struct fg_decimal *decimal = (struct fg_decimal *)value;
    int64_t before = decimal->exponent + decimal->digits, shown = before;

    if (decimal->flags & FG_DECIMAL_NEGATIVE)
        put_char(text, '-');
    if (decimal->flags & FG_DECIMAL_INFINITE) {
        put(text, "Infinity", 8);
        return;
    }
    if (decimal->flags & (FG_DECIMAL_NAN | FG_DECIMAL_SNAN)) {
        put(text, decimal->flags & FG_DECIMAL_NAN ? "NaN" : "sNaN", decimal->flags & FG_DECIMAL_NAN ? 3 : 4);
        if (decimal->len)
            put_digits(text, decimal, decimal->digits);
        return;
    }
    if (decimal->exponent > 0 || before <= -6)
        shown = 1;
    put_digits(text, decimal, shown);
    if (shown == before)
        return;
    put(text, before - 1 < 0 ? "E" : "E+", before - 1 < 0 ? 1 : 2);
    put_signed(text, before - 1);
}

/* ---- UUID, paths */

#if FG_HAVE_BORROWED_READS

static bool put_uuid(struct text *text, PyObject *value)
{
    static const char hex[] = "0123456789abcdef";
    PyObject *number = fg_slot(value, "int");
    uint8_t bytes[16];

    if (!number || !PyLong_CheckExact(number) || !fg_int_bytes(number, bytes, sizeof(bytes)))
        return false;
    for (size_t i = 0; i < sizeof(bytes); i++) {
        if (i == 4 || i == 6 || i == 8 || i == 10)
            put_char(text, '-');
        put_char(text, hex[bytes[i] >> 4]);
        put_char(text, hex[bytes[i] & 15]);
    }
    return true;
}

static bool put_str(struct text *text, PyObject *str)
{
    if (!str || !PyUnicode_Check(str))
        return false;
    if (PyUnicode_IS_ASCII(str)) {
        put(text, PyUnicode_DATA(str), (size_t)PyUnicode_GET_LENGTH(str));
        return true;
    }
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(str) && !text->is_cut; i++) {
        uint8_t utf8[4];
        size_t before = text->bytes, n = fg_utf8_of(PyUnicode_READ_CHAR(str, i), utf8);

        put(text, (const char *)utf8, n);
        if (text->is_cut)
            text->bytes = before;
    }
    return true;
}

/* Parts with "/" between them, as os.path.join(): an absolute one begins anew. */
static bool put_parts(struct text *text, PyObject *parts)
{
    if (!parts || !PyList_CheckExact(parts))
        return false;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(parts); i++) {
        PyObject *part = PyList_GET_ITEM(parts, i);

        if (!PyUnicode_Check(part) || !PyUnicode_GET_LENGTH(part))
            continue;
        if (PyUnicode_READ_CHAR(part, 0) == '/')
            text->bytes = 0;
        else if (text->bytes && text->data[text->bytes - 1] != '/')
            put_char(text, '/');
        put_str(text, part);
    }
    if (!text->bytes)
        put_char(text, '.');
    return true;
}

/* A path keeps its text once somebody has asked for it; until then the parts that it was made of: before
 * 3.12 without what does not matter, from then on as they were given. */
static bool put_path(struct text *text, PyObject *value)
{
    return put_str(text, fg_slot(value, "_str")) || put_parts(text, fg_slot(value, "_raw_paths")) ||
           put_parts(text, fg_slot(value, "_parts"));
}

static bool put_of_class(struct text *text, PyObject *value)
{
    for (const PyTypeObject *type = Py_TYPE(value); type && fg_is_class_in_python(type);
         type = type->tp_base) {
        if (strcmp(type->tp_name, "PurePath") == 0)
            return put_path(text, value);
        if (strcmp(type->tp_name, "UUID") == 0)
            return put_uuid(text, value);
    }
    return false;
}

#else

/* Another thread may change an instance meanwhile. */
static bool put_of_class(struct text *text, PyObject *value)
{
    (void)text, (void)value;
    return false;
}

#endif

/* ---- all of them */

static const struct {
    const char *name;
    size_t bytes;
    void (*put)(struct text *text, PyObject *value);
} shown_types[] = {
    {"datetime.datetime", sizeof(_PyDateTime_BaseDateTime), put_datetime},
    {"datetime.date", sizeof(PyDateTime_Date), put_date},
    {"datetime.time", sizeof(_PyDateTime_BaseTime), put_time},
    {"datetime.timedelta", sizeof(PyDateTime_Delta), put_delta},
    {"decimal.Decimal", sizeof(struct fg_decimal), put_decimal},
};

static bool put_of_type(struct text *text, PyObject *value, const PyTypeObject *type)
{
    for (size_t i = 0; i < sizeof(shown_types) / sizeof(shown_types[0]); i++) {
        if (strcmp(type->tp_name, shown_types[i].name) == 0 &&
            type->tp_basicsize >= (Py_ssize_t)shown_types[i].bytes) {
            shown_types[i].put(text, value);
            return true;
        }
    }
    return false;
}

/* Of the nearest base that is written in C, and of those below it. */
static bool put_of_base(struct text *text, PyObject *value)
{
    const PyTypeObject *type = Py_TYPE(value);

    for (; type && type != &PyBaseObject_Type; type = type->tp_base) {
        if ((type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE) && put_of_type(text, value, type))
            return true;
    }
    return false;
}

bool fg_put_shown(struct fg_out *out, PyObject *value)
{
    struct text text;
    size_t characters = 0;

    text.bytes = 0;
    text.is_cut = false;
    if (fg_out_room(out) < 2 + FG_VALUE_MAX_TYPE + FG_VALUE_MAX_BYTES ||
        (!put_of_base(&text, value) && !put_of_class(&text, value)))
        return false;
    for (size_t i = 0; i < text.bytes; i++)
        characters += (text.data[i] & 0xc0) != 0x80;
    fg_put_tag(out, FG_VALUE_SHOWN);
    fg_put_type_name(out, Py_TYPE(value));
    fg_put_utf8(out, text.data, text.bytes, characters + text.is_cut);
    return true;
}
