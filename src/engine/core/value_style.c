/* See value_style.h. */
#include "engine/core/value_style.h"

#include <errno.h>
#include <string.h>

#include "engine/core/pattern.h"

const struct fg_value_style fg_plain_values = {.string_bytes = FG_VALUE_PLAIN_STRING};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* A word without special characters may stand anywhere in the name. Return: where the glob ends. */
static char *put_glob(char *at, const char *word, size_t bytes)
{
    bool is_glob = strcspn(word, "*?[|") < bytes;

    if (!is_glob)
        *at++ = '*';
    for (size_t i = 0; i < bytes; i++)
        *at++ = lower(word[i]);
    if (!is_glob)
        *at++ = '*';
    *at++ = 0;
    return at;
}

static int put_globs(char *at, const char *words)
{
    for (;;) {
        size_t bytes = strcspn(words, "|");

        if (!bytes)
            return -EINVAL;
        at = put_glob(at, words, bytes);
        if (!words[bytes])
            break;
        words += bytes + 1;
    }
    *at = 0;
    return 0;
}

/* A word of one byte takes four as a glob, and with its "|" two as it is given. */
int fg_value_style_init(struct fg_value_style *style, uint32_t depth, uint32_t string_size,
                        const char *redact)
{
    *style = (struct fg_value_style){
        .depth = depth,
        .string_size = string_size,
        .string_bytes = string_size ? string_size
                        : depth     ? FG_VALUE_DEEP_STRING
                                    : FG_VALUE_PLAIN_STRING,
    };
    if (!redact || !*redact)
        return 0;
    if (strlen(redact) > FG_REDACT_MAX_BYTES)
        return -EINVAL;
    memcpy(style->redact, redact, strlen(redact));
    return put_globs(style->globs, redact);
}

bool fg_value_style_hides(const struct fg_value_style *style, const char *name, size_t bytes)
{
    char folded[FG_REDACT_NAME_BYTES + 1];

    if (!fg_value_style_redacts(style))
        return false;
    if (bytes > FG_REDACT_NAME_BYTES || memchr(name, 0, bytes))
        return true;
    for (size_t i = 0; i < bytes; i++)
        folded[i] = lower(name[i]);
    folded[bytes] = 0;
    for (const char *glob = style->globs; *glob; glob += strlen(glob) + 1) {
        if (fg_glob_match(glob, folded))
            return true;
    }
    return false;
}
