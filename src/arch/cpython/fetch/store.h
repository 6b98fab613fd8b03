/* Putting what was fetched into an image or into entry data, as engine/ring/field.h says. */
#ifndef FG_CPYTHON_FETCH_STORE_H
#define FG_CPYTHON_FETCH_STORE_H

#include <string.h>

#include "arch/cpython/base/compat/integer.h"
#include "arch/cpython/value/fetched.h"
#include "engine/fetch/texts.h"
#include "engine/ring/field.h"

/**
 * fg_fetch_store() - Put one element of a field in its place.
 * @type: enum fg_field_type
 * @at: the place; fg_field_element_bytes(type)
 * @later: bytes of @texts that later elements need
 *
 * A fault is stored as one.
 *
 * Return: false: it is a fault, or no such value as the type needs.
 */
bool fg_fetch_store(struct fg_fetched from, enum fg_field_type type, uint8_t *at,
                    struct fg_fetch_texts *texts, uint32_t later);

/* Puts a text or value that was stored in other texts into these. Parameters as above. */
void fg_fetch_copy_text(const uint8_t *base, const uint8_t *stored, enum fg_field_type type, uint8_t *at,
                        struct fg_fetch_texts *texts, uint32_t later);

/* Stores an int in a field of an integer type, if it is one of the usual size. */
static inline bool fg_fetch_store_int(struct fg_fetched from, uint8_t *at, uint32_t bytes)
{
    int64_t number;

    if (from.kind != FG_FETCHED_OBJECT || !PyLong_CheckExact(from.object) ||
        !fg_int_is_compact(from.object, &number))
        return false;
    fg_put_low(at, (uint64_t)number, bytes);
    return true;
}

#endif
