/* See text_writer.h. */
#include "arch/cpython/static/text_writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/cpython/value/utf8.h"

#define MAX_DEPTH 3        /* of tuples in tuples */
#define MAX_CHARACTERS 160 /* of one str or bytes among other objects */

static const char cut_mark[] = "...";

/* What comes after something that has no room is left out, too: it would stand in the wrong place. */
static void put(struct fg_text_writer *writer, const char *text, size_t n)
{
    if (writer->is_cut)
        return;
    writer->is_cut = n > FG_TEXT_WRITER_BYTES - strlen(cut_mark) - writer->n;
    if (writer->is_cut) {
        text = cut_mark;
        n = strlen(cut_mark);
    }
    memcpy(writer->text + writer->n, text, n);
    writer->n += (uint32_t)n;
}

void fg_text_write(struct fg_text_writer *writer, const char *text)
{
    put(writer, text, strlen(text));
}

const char *fg_type_name(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');

    return dot ? dot + 1 : type->tp_name;
}

/* ---- characters */

static void put_character(struct fg_text_writer *writer, Py_UCS4 c)
{
    uint8_t utf8[4];

    put(writer, (const char *)utf8, fg_utf8_of(c, utf8));
}

/* As repr() has it, except that all characters above ASCII stay as they are. */
static void put_escaped(struct fg_text_writer *writer, Py_UCS4 c, char quote, bool is_byte)
{
    char escape[8];

    if (c == '\n' || c == '\r' || c == '\t')
        snprintf(escape, sizeof(escape), "\\%c", c == '\n' ? 'n' : c == '\r' ? 'r' : 't');
    else if (c == '\\' || c == (Py_UCS4)quote)
        snprintf(escape, sizeof(escape), "\\%c", (char)c);
    else if (c < ' ' || c == 0x7f || (is_byte && c > 0x7f))
        snprintf(escape, sizeof(escape), "\\x%02x", (unsigned)c & 0xff);
    else {
        put_character(writer, c);
        return;
    }
    fg_text_write(writer, escape);
}

void fg_text_write_str(struct fg_text_writer *writer, PyObject *text)
{
    for (Py_ssize_t i = 0; i < PyUnicode_GET_LENGTH(text) && !writer->is_cut; i++)
        put_character(writer, PyUnicode_READ_CHAR(text, i));
}

/* repr() takes " only where the text has ' and no ". */
static void put_quoted_str(struct fg_text_writer *writer, PyObject *text)
{
    Py_ssize_t n = PyUnicode_GET_LENGTH(text);
    bool has_single = PyUnicode_FindChar(text, '\'', 0, n, 1) >= 0;
    bool has_double = has_single && PyUnicode_FindChar(text, '"', 0, n, 1) >= 0;
    char quote = has_single && !has_double ? '"' : '\'';

    put(writer, &quote, 1);
    for (Py_ssize_t i = 0; i < n && i < MAX_CHARACTERS; i++)
        put_escaped(writer, PyUnicode_READ_CHAR(text, i), quote, false);
    put(writer, &quote, 1);
    fg_text_write(writer, n > MAX_CHARACTERS ? cut_mark : "");
}

static void put_bytes(struct fg_text_writer *writer, PyObject *bytes)
{
    Py_ssize_t n = PyBytes_GET_SIZE(bytes);

    fg_text_write(writer, "b'");
    for (Py_ssize_t i = 0; i < n && i < MAX_CHARACTERS; i++)
        put_escaped(writer, (unsigned char)PyBytes_AS_STRING(bytes)[i], '\'', true);
    fg_text_write(writer, n > MAX_CHARACTERS ? "'..." : "'");
}

/* ---- numbers */

static void put_int(struct fg_text_writer *writer, PyObject *number)
{
    char text[32];
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);

    snprintf(text, sizeof(text), "%lld", value);
    fg_text_write(writer, overflow ? "<int>" : text);
}

/* The shortest text that reads back as the number. */
static void put_float(struct fg_text_writer *writer, double number)
{
    char text[32];

    for (int digits = 1; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, number);
        if (strtod(text, NULL) == number)
            break;
    }
    fg_text_write(writer, text);
    if (!strpbrk(text, ".einf"))
        fg_text_write(writer, ".0");
}

/* ---- objects */

static void put_object(struct fg_text_writer *writer, PyObject *object, int depth);

static void put_items(struct fg_text_writer *writer, PyObject *tuple, Py_ssize_t first, int depth)
{
    for (Py_ssize_t i = first; i < PyTuple_GET_SIZE(tuple) && !writer->is_cut; i++) {
        if (i > first)
            fg_text_write(writer, ", ");
        put_object(writer, PyTuple_GET_ITEM(tuple, i), depth);
    }
}

static void put_type(struct fg_text_writer *writer, const PyTypeObject *type)
{
    fg_text_write(writer, "<");
    fg_text_write(writer, fg_type_name(type));
    fg_text_write(writer, ">");
}

static void put_object(struct fg_text_writer *writer, PyObject *object, int depth)
{
    if (!object || object == Py_None)
        fg_text_write(writer, "None");
    else if (object == Py_True || object == Py_False)
        fg_text_write(writer, object == Py_True ? "True" : "False");
    else if (PyUnicode_CheckExact(object))
        put_quoted_str(writer, object);
    else if (PyBytes_CheckExact(object))
        put_bytes(writer, object);
    else if (PyLong_CheckExact(object))
        put_int(writer, object);
    else if (PyFloat_CheckExact(object))
        put_float(writer, PyFloat_AS_DOUBLE(object));
    else if (PyTuple_CheckExact(object) && depth < MAX_DEPTH) {
        fg_text_write(writer, "(");
        put_items(writer, object, 0, depth + 1);
        fg_text_write(writer, PyTuple_GET_SIZE(object) == 1 ? ",)" : ")");
    } else
        put_type(writer, Py_TYPE(object));
}

void fg_text_write_object(struct fg_text_writer *writer, PyObject *object)
{
    put_object(writer, object, 0);
}

void fg_text_write_items(struct fg_text_writer *writer, PyObject *tuple, Py_ssize_t first)
{
    put_items(writer, tuple, first, 0);
}
