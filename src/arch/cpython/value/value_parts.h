/* Encoding values with their parts: items of containers, attributes of instances, arguments of exceptions.
 *
 * Read from CPython's structures alone: a subclass of dict shows what lies in its table, whatever its methods
 * do, and an instance what lies in its dictionary and slots: properties never run. Cycles end at the depth,
 * and everything ends where the room does. */
#ifndef FG_CPYTHON_VALUE_PARTS_H
#define FG_CPYTHON_VALUE_PARTS_H

#include "arch/cpython/value/value_out.h"
#include "engine/base/compiler.h"

/* Needs room for FG_VALUE_MAX_BYTES. @depth: so many levels of parts, at most */
void fg_put_value(struct fg_out *out, PyObject *value, uint32_t depth);

/* As fg_is_hidden(), for a style that leaves values out. */
bool fg_hides_name(const struct fg_value_style *style, PyObject *name);

/* The same of an exception that ends a call: with its __cause__, whose own cause is left out.
 * @depth: at least 1 */
void fg_put_exception(struct fg_out *out, PyObject *exception, uint32_t depth);

/* The same of an exception that is no instance yet. @arguments: fg_exception_is_unmade() */
void fg_put_unmade_exception(struct fg_out *out, const PyTypeObject *type, PyObject *arguments,
                             uint32_t depth);

/* True if the style wants the value left out that has this name: a str or bytes; any other object names
 * nothing. */
static inline bool fg_is_hidden(const struct fg_value_style *style, PyObject *name)
{
    return fg_unlikely(fg_value_style_redacts(style)) && fg_hides_name(style, name);
}

#endif
