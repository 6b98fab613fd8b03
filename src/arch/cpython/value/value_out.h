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

/* Copies a few bytes without a call. */
static inline void fg_put_short(struct fg_out *out, const void *bytes, size_t n)
{
    const uint8_t *from = bytes;

    if (n > 32) {
        memcpy(out->at, from, n);
    } else if (n >= 16) {
        memcpy(out->at, from, 16);
        memcpy(out->at + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        memcpy(out->at, from, 8);
        memcpy(out->at + n - 8, from + n - 8, 8);
    } else if (n >= 4) {
        memcpy(out->at, from, 4);
        memcpy(out->at + n - 4, from + n - 4, 4);
    } else {
        for (size_t i = 0; i < n; i++)
            out->at[i] = from[i];
    }
    out->at += n;
}

static inline void fg_put_u64(struct fg_out *out, uint64_t value)
{
    fg_put_bytes(out, &value, sizeof(value));
}

static inline void fg_put_counted(struct fg_out *out, const void *text, size_t n)
{
    *out->at++ = (uint8_t)n;
    fg_put_short(out, text, n);
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
