/* See value_style.h. */
#include "engine/core/value_style.h"

#include <errno.h>
#include <string.h>

#include "engine/base/hash_table.h"
#include "engine/core/pattern.h"

const struct fg_value_style fg_plain_values = {.string_bytes = FG_VALUE_PLAIN_STRING};

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c + ('a' - 'A')) : c;
}

/* Return: where the word ends. */
static char *put_word(char *at, const char *word, size_t bytes)
{
    *at++ = strcspn(word, "*?[|") < bytes ? FG_REDACT_GLOB : FG_REDACT_PART;
    for (size_t i = 0; i < bytes; i++)
        *at++ = lower(word[i]);
    *at++ = 0;
    return at;
}

static int put_words(char *at, const char *words)
{
    for (;;) {
        size_t bytes = strcspn(words, "|");

        if (!bytes)
            return -EINVAL;
        at = put_word(at, words, bytes);
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
    style->redact_hash = fg_hash_bytes(FG_HASH_BYTES_BEGIN, redact, strlen(redact));
    return put_words(style->words, redact);
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
    for (const char *word = style->words; *word; word += strlen(word) + 1) {
        if (*word == FG_REDACT_PART ? strstr(folded, word + 1) != NULL : fg_glob_match(word + 1, folded))
            return true;
    }
    return false;
}
