/* Encoding Python values into records, in the notation of engine/ring/record.h. Never calls repr() or
 * any other code of the traced program. Nothing here allocates or raises. */
#ifndef FG_CPYTHON_VALUES_H
#define FG_CPYTHON_VALUES_H

#include <stdint.h>

#include "arch/cpython/base/compat/frame.h"
#include "engine/ring/record.h"

/* The size of the largest encoded value: tag, u64, count, text. */
#define FG_VALUE_MAX_BYTES                                                                                   \
    (1 + 8 + 1 + (FG_VALUE_MAX_TEXT > FG_VALUE_MAX_TYPE ? FG_VALUE_MAX_TEXT : FG_VALUE_MAX_TYPE))

/* Each returns the number of bytes written; 0: no room for one value. */

/* The arguments of a frame that has just been entered, in the order of its variables. */
size_t fg_encode_arguments(fg_pyframe *frame, uint8_t *buffer, size_t bytes);
/* Encodes one value; nothing if it is NULL. */
size_t fg_encode_value(PyObject *value, uint8_t *buffer, size_t bytes);
/* Encodes a str, also one of a subclass. */
size_t fg_encode_str(PyObject *text, uint8_t *buffer, size_t bytes);
/* Encodes the type and address of any object, or its length if it is a container. */
size_t fg_encode_object(PyObject *value, uint8_t *buffer, size_t bytes);
/* Encodes the type and address of an exception; nothing if it is NULL. Before 3.12 an exception that is
 * not caught yet may be represented by its class alone. */
size_t fg_encode_exception(PyObject *exception, uint8_t *buffer, size_t bytes);

#endif
