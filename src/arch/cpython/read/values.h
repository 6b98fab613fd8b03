/* Encoding Python values into records (the notation is record.h's): never by repr, never by any code of
 * the traced program. Nothing here allocates or raises. */
#ifndef FG_CPYTHON_VALUES_H
#define FG_CPYTHON_VALUES_H

#include <stdint.h>

#include "arch/cpython/base/compat/frame.h"

/* Each returns the bytes written, 0 if there is no room for one value. */

/* The arguments of a frame that has just been entered, in the order of its variables. */
size_t fg_encode_arguments(fg_pyframe *frame, uint8_t *buffer, size_t bytes);
/* One value; nothing for NULL. */
size_t fg_encode_value(PyObject *value, uint8_t *buffer, size_t bytes);
/* An exception by its type; nothing for NULL. Before 3.12 one that was not caught yet may be only its
 * class. */
size_t fg_encode_exception(PyObject *exception, uint8_t *buffer, size_t bytes);

#endif
