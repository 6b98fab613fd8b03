/* Putting what was fetched into an image or into entry data, as engine/ring/field.h says. */
#ifndef FG_CPYTHON_FETCH_STORE_H
#define FG_CPYTHON_FETCH_STORE_H

#include "arch/cpython/fetch/fetched.h"
#include "engine/ring/field.h"

/* Where texts and tagged values go: after the fields. */
struct fg_fetch_texts {
    uint8_t *base;        /* of the image or the entry data; offsets count from here */
    uint32_t used, limit; /* bytes from `base` */
};

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

/* True if elements of the type refer to a text or tagged value. */
static inline bool fg_field_has_text(enum fg_field_type type)
{
    return type == FG_FIELD_STRING || type == FG_FIELD_OBJECT || type == FG_FIELD_VALUE;
}

#endif
