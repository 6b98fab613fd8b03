/* Where encoded values are written, and how: tags, numbers, texts. The callers look whether there is room
 * (FG_VALUE_MAX_BYTES). */
#ifndef FG_CPYTHON_VALUE_OUT_H
#define FG_CPYTHON_VALUE_OUT_H

#include "arch/cpython/base/compat/python.h"

#include <string.h>

#include "engine/core/value_style.h"
#include "engine/ring/record.h"

/* The size of the largest encoded value if texts are as long as where nothing else was chosen: tag, u64,
 * count, text. */
#define FG_VALUE_MAX_BYTES                                                                                   \
    (1 + 8 + 1 + (FG_VALUE_MAX_TEXT > FG_VALUE_MAX_TYPE ? FG_VALUE_MAX_TEXT : FG_VALUE_MAX_TYPE))

/* ---- at an address: each returns where it ends. For all that a compiler knows, a byte that is stored may be
 * a part of fg_out. So what is written many times keeps its place in a variable. */

static inline uint8_t *fg_copy_tag(uint8_t *at, enum fg_value_tag tag)
{
    *at = (uint8_t)tag;
    return at + 1;
}

static inline uint8_t *fg_copy_u64(uint8_t *at, uint64_t value)
{
    memcpy(at, &value, sizeof(value));
    return at + sizeof(value);
}

/* Copies a few bytes without a call. */
static inline uint8_t *fg_copy_short(uint8_t *at, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;

    if (n > 32) {
        memcpy(at, from, n);
    } else if (n >= 16) {
        memcpy(at, from, 16);
        memcpy(at + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(at, from, 8);
        memcpy(at + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(at, from, 4);
        memcpy(at + n - 4, from + n - 4, 4);
    } else if (n) {
        at[0] = from[0];
        at[n / 2] = from[n / 2];
        at[n - 1] = from[n - 1];
    }
    return at + n;
}

static inline uint8_t *fg_copy_counted(uint8_t *at, const void *text, size_t n)
{
    *at = (uint8_t)n;
    return fg_copy_short(at + 1, text, n);
}

/* ---- into a buffer */

struct fg_out {
    uint8_t *at, *end;
    const struct fg_value_style *style;
};

static inline size_t fg_out_room(const struct fg_out *out)
{
    return (size_t)(out->end - out->at);
}

static inline void fg_put_tag(struct fg_out *out, enum fg_value_tag tag)
{
    *out->at++ = (uint8_t)tag;
}

static inline void fg_put_bytes(struct fg_out *out, const void *bytes, size_t n)
{
    memcpy(out->at, bytes, n);
    out->at += n;
}

static inline void fg_put_u64(struct fg_out *out, uint64_t value)
{
    out->at = fg_copy_u64(out->at, value);
}

static inline void fg_put_counted(struct fg_out *out, const void *text, size_t n)
{
    out->at = fg_copy_counted(out->at, text, n);
}

/* The last part of a type's name: static types are named "module.Name". */
static inline const char *fg_type_name(const PyTypeObject *type)
{
    const char *dot = strrchr(type->tp_name, '.');

    return dot ? dot + 1 : type->tp_name;
}

static inline void fg_put_type_name(struct fg_out *out, const PyTypeObject *type)
{
    const char *name = fg_type_name(type);

    fg_put_counted(out, name, strnlen(name, FG_VALUE_MAX_TYPE));
}

#endif
