/* See sql_shape.h. */
#include "tracedata/answers/sql_shape.h"

#include <strings.h>

static const char *const verbs[] = {"SELECT", "INSERT", "UPDATE", "DELETE", "REPLACE", "WITH", "CALL"};

static bool is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80);
}

bool fg_is_sql(const char *text, size_t bytes)
{
    while (bytes && (is_blank(*text) || *text == '(')) {
        text++;
        bytes--;
    }
    for (size_t i = 0; i < sizeof(verbs) / sizeof(verbs[0]); i++) {
        size_t n = strlen(verbs[i]);

        if (bytes > n && strncasecmp(text, verbs[i], n) == 0 && is_blank(text[n]))
            return true;
    }
    return false;
}

/* ---- literals: each function returns where the literal at @at ends */

static const char *skip_quoted(const char *at, const char *end)
{
    char quote = *at++;

    for (; at < end; at++) {
        if (*at != quote)
            continue;
        if (at + 1 < end && at[1] == quote) /* '' is a quote in the text */
            at++;
        else
            return at + 1;
    }
    return end;
}

static const char *skip_word(const char *at, const char *end)
{
    while (at < end && (is_word(*at) || *at == '.'))
        at++;
    return at;
}

/* NULL: there is no literal. @is_after_word: a digit or a colon there belongs to a name. */
static const char *skip_literal(const char *at, const char *end, bool is_after_word)
{
    if (*at == '\'')
        return skip_quoted(at, end);
    if (*at == '?')
        return skip_word(at + 1, end);
    if (is_after_word)
        return NULL;
    if (is_digit(*at) || (*at == '.' && at + 1 < end && is_digit(at[1])))
        return skip_word(at, end);
    if ((*at == ':' || *at == '$' || *at == '@') && at + 1 < end && is_word(at[1]))
        return skip_word(at + 1, end);
    if (*at == '%' && at + 1 < end && at[1] == 's')
        return at + 2;
    return NULL;
}

/* Whether the shape ends with `?,` or `? ,`: one more literal belongs to the list. Cuts the comma off. */
static bool goes_on_list(struct fg_text *shape, size_t begin)
{
    size_t at = shape->bytes;

    while (at > begin && shape->data[at - 1] == ' ')
        at--;
    if (at <= begin || shape->data[at - 1] != ',')
        return false;
    at--;
    while (at > begin && shape->data[at - 1] == ' ')
        at--;
    if (at <= begin || shape->data[at - 1] != '?')
        return false;
    shape->bytes = at;
    return true;
}

static void put_literal(struct fg_text *shape, size_t begin)
{
    if (shape->bytes > begin && shape->data[shape->bytes - 1] == '-') /* a sign */
        shape->bytes--;
    if (!goes_on_list(shape, begin))
        fg_text_char(shape, '?');
}

void fg_sql_shape(struct fg_text *shape, const char *text, size_t bytes)
{
    const char *at = text, *end = text + bytes;
    size_t begin = shape->bytes;

    while (at < end && !shape->failed) {
        char last = shape->bytes > begin ? shape->data[shape->bytes - 1] : ' ';
        const char *after = skip_literal(at, end, is_word(last));

        if (after) {
            put_literal(shape, begin);
            at = after;
        } else if (!is_blank(*at)) {
            fg_text_char(shape, *at++);
        } else {
            if (last != ' ')
                fg_text_char(shape, ' ');
            at++;
        }
    }
    while (shape->bytes > begin &&
           (shape->data[shape->bytes - 1] == ' ' || shape->data[shape->bytes - 1] == ';'))
        shape->bytes--;
}
