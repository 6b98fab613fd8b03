/* How much of a program's values a trace has, and which of them it never has. The arch's encoders heed it. */
#ifndef FG_VALUE_STYLE_H
#define FG_VALUE_STYLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define FG_VALUE_MAX_DEPTH 8
#define FG_VALUE_MAX_STRING 960  /* a record has room for no more */
#define FG_VALUE_PLAIN_STRING 48 /* of a text where nothing else was chosen */
#define FG_VALUE_DEEP_STRING 256 /* the same, if the parts of values are recorded */
#define FG_REDACT_MAX_BYTES 255
#define FG_REDACT_NAME_BYTES 255 /* a longer name counts as one that matches */

#define FG_REDACT_PART 1 /* may stand anywhere in a name */
#define FG_REDACT_GLOB 2 /* matches all of it */

struct fg_value_style {
    uint32_t depth;        /* levels of parts: items, attributes; 0: type and length, or address */
    uint32_t string_size;  /* bytes of a text's beginning, as set; 0: what is best for the depth */
    uint32_t string_bytes; /* the same; 0: the style is that of a structure of zeros, which is plain */
    char redact[FG_REDACT_MAX_BYTES + 1]; /* as set */
    uint64_t redact_hash;                 /* of it: names that were compared with the same words */
    /* Its words in lower case: each has a byte before it, FG_REDACT_PART or _GLOB, and a zero byte at its
     * end. Another zero byte ends them. */
    char words[2 * FG_REDACT_MAX_BYTES + 4];
};

extern const struct fg_value_style fg_plain_values;

/**
 * fg_value_style_init() - Make a style of its settings.
 * @string_size: 0: what is best for the depth
 * @redact: words with "|" between them: each is a part of a name, or with `*`, `?` or `[` a glob over all of
 *     it. Case does not matter. NULL or "": none.
 *
 * Return: 0; -EINVAL: @redact is too long, or one of its words is empty.
 */
int fg_value_style_init(struct fg_value_style *style, uint32_t depth, uint32_t string_size,
                        const char *redact);

static inline bool fg_value_style_redacts(const struct fg_value_style *style)
{
    return style->words[0] != 0;
}

/* True if the value that has this name, of @bytes bytes of UTF-8, must not be recorded. */
bool fg_value_style_hides(const struct fg_value_style *style, const char *name, size_t bytes);

#endif
