/* Encoding Python values into records, in the notation of engine/ring/record.h. Never calls repr() or
 * any other code of the traced program. Nothing here allocates or raises. */
#ifndef FG_CPYTHON_VALUES_H
#define FG_CPYTHON_VALUES_H

#include <stdint.h>

#include "arch/cpython/base/compat/frame.h"
#include "arch/cpython/value/value_out.h"

/* Each returns the number of bytes written; 0: no room for one value. */

/* The arguments of a frame that has just been entered, in the order of its variables. */
size_t fg_encode_arguments(fg_pyframe *frame, const struct fg_value_style *style, uint8_t *buffer,
                           size_t bytes);
/* What a function returns, yields or, in C, is called with; nothing if it is NULL.
 * @is_hidden: it is left out */
size_t fg_encode_result(PyObject *value, bool is_hidden, const struct fg_value_style *style, uint8_t *buffer,
                        size_t bytes);
/* Encodes the type and address of an exception, or what it was made of, and its cause; nothing if it is NULL.
 * Before 3.12 @exception is the class if C code raised it and nothing has caught it yet: it has no address
 * then, and its arguments are known as long as it is the one that is set. */
size_t fg_encode_exception(PyObject *exception, const struct fg_value_style *style, uint8_t *buffer,
                           size_t bytes);

/* Without parts, as fields of events have them: */

/* Encodes one value; nothing if it is NULL. */
size_t fg_encode_value(PyObject *value, uint8_t *buffer, size_t bytes);
/* Encodes a str, also one of a subclass. */
size_t fg_encode_str(PyObject *text, uint8_t *buffer, size_t bytes);
/* Encodes the type and address of any object, or its length if it is a container. */
size_t fg_encode_object(PyObject *value, uint8_t *buffer, size_t bytes);

#endif
