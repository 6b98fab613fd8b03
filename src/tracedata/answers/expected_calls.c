/* See expected_calls.h. */
#include "tracedata/answers/expected_calls.h"

#include <errno.h>
#include <stdlib.h>

#include "engine/base/array.h"
#include "engine/core/pattern.h"

/* ---- functions */

enum { NOT_KNOWN, HAS_NAME, HAS_NOT }; /* two bits of `known` */

static bool has_name(const struct fg_expectation *expectation, uint32_t name, uint32_t func)
{
    const struct fg_expected_name *globs = &expectation->names[name];
    const char *function = expectation->functions[func];

    return fg_glob_match(globs->globs[0], function) ||
           (globs->globs[1] && fg_glob_match(globs->globs[1], function));
}

bool fg_expected_function(const struct fg_expectation *expectation, uint32_t name, uint32_t func)
{
    uint8_t **known = &expectation->known[func];
    unsigned shift = name % 4 * 2;
    bool has;

    if (!*known)
        *known = calloc(expectation->nr_names / 4 + 1, 1);
    if (!*known)
        return has_name(expectation, name, func);
    if ((*known)[name / 4] >> shift & 3u)
        return ((*known)[name / 4] >> shift & 3u) == HAS_NAME;
    has = has_name(expectation, name, func);
    (*known)[name / 4] |= (uint8_t)((has ? HAS_NAME : HAS_NOT) << shift);
    return has;
}

/* ---- arguments */

/* How many bytes of blank the character has that begins at @at; 0: it is none. It is what str.strip() of
 * Python takes away. */
static size_t blank_bytes(const char *at, size_t bytes)
{
    const unsigned char *c = (const unsigned char *)at;

    if (bytes >= 1 && ((c[0] >= 0x09 && c[0] <= 0x0d) || (c[0] >= 0x1c && c[0] <= 0x20)))
        return 1;
    if (bytes >= 2 && c[0] == 0xc2 && (c[1] == 0x85 || c[1] == 0xa0))
        return 2;
    if (bytes < 3)
        return 0;
    if ((c[0] == 0xe1 && c[1] == 0x9a && c[2] == 0x80) || (c[0] == 0xe3 && c[1] == 0x80 && c[2] == 0x80) ||
        (c[0] == 0xe2 && c[1] == 0x81 && c[2] == 0x9f))
        return 3;
    return c[0] == 0xe2 && c[1] == 0x80 && (c[2] <= 0x8a || c[2] == 0xa8 || c[2] == 0xa9 || c[2] == 0xaf) ? 3
                                                                                                          : 0;
}

static const char *skip_blanks(const char *at, const char *end)
{
    size_t bytes;

    while ((bytes = blank_bytes(at, (size_t)(end - at))) != 0)
        at += bytes;
    return at;
}

static bool is_blank(const char *text, size_t bytes)
{
    return !bytes || skip_blanks(text, text + bytes) == text + bytes;
}

static const char *skip_blanks_back(const char *begin, const char *end)
{
    for (size_t bytes = 1; bytes <= 3 && (size_t)(end - begin) >= bytes;)
        if (blank_bytes(end - bytes, bytes) == bytes) {
            end -= bytes;
            bytes = 1;
        } else {
            bytes++;
        }
    return end;
}

enum { PLAIN, QUOTE, COMMA, OPENING, CLOSING };

static const uint8_t kinds[256] = {
    ['\''] = QUOTE,  ['"'] = QUOTE,   [','] = COMMA,   ['('] = OPENING, ['['] = OPENING, ['{'] = OPENING,
    ['<'] = OPENING, [')'] = CLOSING, [']'] = CLOSING, ['}'] = CLOSING, ['>'] = CLOSING,
};

/* The end of the string that begins at @at, which is its quote; or @end. */
static const char *string_end(const char *at, const char *end)
{
    char quote = *at;

    for (at++; at < end && *at != quote; at++)
        at += *at == '\\';
    return at < end ? at : end;
}

/* The comma that ends the argument that begins at @at, or @end: one outside of quotes and parentheses. */
static const char *argument_end(const char *at, const char *end, int *depth)
{
    for (; at < end; at++)
        switch (kinds[(unsigned char)*at]) {
        case QUOTE:
            at = string_end(at, end);
            break;
        case COMMA:
            if (!*depth)
                return at;
            break;
        case OPENING:
            (*depth)++;
            break;
        case CLOSING:
            (*depth)--;
            break;
        default:
            break;
        }
    return end;
}

static int add_argument(struct fg_argument_texts *arguments, char *text, size_t bytes)
{
    char *mark = memchr(text, '=', bytes);

    if (fg_array_reserve(&arguments->texts, &arguments->capacity, arguments->n + 1) < 0)
        return -ENOMEM;
    text[bytes] = 0;
    arguments->texts[arguments->n++] = (struct fg_argument_text){
        .name = text,
        .name_bytes = mark ? (size_t)(mark - text) : bytes,
        .value = mark ? mark + 1 : text + bytes,
    };
    return 0;
}

int fg_split_arguments(struct fg_argument_texts *arguments, struct fg_text *text)
{
    const char *end;
    char *at;
    int depth = 0, error = 0;

    arguments->n = 0;
    if (is_blank(text->data, text->bytes))
        return 0;
    fg_text_char(text, 0); /* room for the last zero */
    if (text->failed)
        return -ENOMEM;
    at = text->data;
    end = at + text->bytes - 1;
    while (!error && at <= end) {
        const char *comma = argument_end(at, end, &depth);
        const char *first = skip_blanks(at, comma), *last = skip_blanks_back(first, comma);

        error = add_argument(arguments, at + (first - at), (size_t)(last - first));
        at += comma - at + 1;
    }
    return error;
}

/* Of several of one name the last one counts, as in Python's dict(). */
static const struct fg_argument_text *argument_named(const struct fg_argument_texts *arguments,
                                                     const struct fg_expected_argument *expected)
{
    for (size_t i = arguments->n; i--;)
        if (arguments->texts[i].name_bytes == expected->name_bytes &&
            memcmp(arguments->texts[i].name, expected->name, expected->name_bytes) == 0)
            return &arguments->texts[i];
    return NULL;
}

bool fg_expected_arguments(const struct fg_expected_line *line, const struct fg_argument_texts *arguments)
{
    if (arguments->n != line->nr_arguments && !line->has_more)
        return false;
    for (uint32_t i = 0; i < line->nr_arguments; i++) {
        const struct fg_argument_text *found = argument_named(arguments, &line->arguments[i]);

        if (!found || !fg_glob_match(line->arguments[i].value, found->value))
            return false;
    }
    return true;
}
