/* The text of an object as far as it is known without running code: for the messages of exceptions and the
 * arguments of audit events. */
#ifndef FG_CPYTHON_STATIC_TEXT_WRITER_H
#define FG_CPYTHON_STATIC_TEXT_WRITER_H

#include "arch/cpython/base/compat/python.h"

#include <stdint.h>

#include "arch/cpython/value/fetched.h"

#define FG_TEXT_WRITER_BYTES 512u /* about what one text of an event has room for */

struct fg_text_writer {
    uint32_t n;
    bool is_cut; /* what would follow is left out */
    char text[FG_TEXT_WRITER_BYTES];
};

void fg_text_write(struct fg_text_writer *writer, const char *text);
/* A str as it is, without quotes. */
void fg_text_write_str(struct fg_text_writer *writer, PyObject *text);
/* As repr() of str, bytes, int, float, bool, None and of tuples of them; "<Type>" for anything else. */
void fg_text_write_object(struct fg_text_writer *writer, PyObject *object);
/* The objects of a tuple from @first on, joined by ", ". */
void fg_text_write_items(struct fg_text_writer *writer, PyObject *tuple, Py_ssize_t first);
/* The name of a type, without its module. */
const char *fg_type_name(const PyTypeObject *type);

static inline struct fg_fetched fg_text_writer_value(const struct fg_text_writer *writer)
{
    return (struct fg_fetched){.kind = FG_FETCHED_TEXT, .text = writer->text, .n = writer->n};
}

#endif
