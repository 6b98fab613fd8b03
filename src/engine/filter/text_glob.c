/* See text_glob.h. */
#include "engine/filter/text_glob.h"

#include <stdint.h>

#define NO_CHARACTER 0x110000u /* above all code points: a byte that begins none is this much higher */

/* Reads the character at @at and moves it on; it is before @end. */
static uint32_t next_character(const char **at, const char *end)
{
    const uint8_t *bytes = (const uint8_t *)*at;
    uint32_t first = bytes[0], code;
    unsigned more = first < 0x80 ? 0 : first < 0xc0 ? 4 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;

    if (!more) {
        ++*at;
        return first;
    }
    if (more < 4 && first < 0xf8 && (size_t)(end - *at) > more) {
        code = first & (0x3fu >> more);
        for (unsigned i = 1; i <= more && (bytes[i] & 0xc0) == 0x80; i++) {
            code = code << 6 | (bytes[i] & 0x3f);
            if (i == more) {
                *at += more + 1;
                return code;
            }
        }
    }
    ++*at;
    return NO_CHARACTER + first;
}

size_t fg_text_characters(const char *text, size_t bytes)
{
    const char *end = text + bytes;
    size_t n = 0;

    for (; text < end; n++)
        next_character(&text, end);
    return n;
}

/* Matches @c against the set at @glob, after its '['. Returns what follows its ']'; NULL: it has none. A ']'
 * that comes first is one of the set. */
static const char *match_set(const char *glob, const char *end, uint32_t c, bool *matched)
{
    bool is_complement = glob < end && *glob == '!';
    bool found = false;

    glob += is_complement;
    for (bool first = true; glob < end && (first || *glob != ']'); first = false) {
        uint32_t low = next_character(&glob, end), high = low;

        if (end - glob > 1 && glob[0] == '-' && glob[1] != ']') {
            glob++;
            high = next_character(&glob, end);
        }
        found |= low <= c && c <= high;
    }
    *matched = found != is_complement;
    return glob < end ? glob + 1 : NULL;
}

/* Matches @c against the element at *@glob, before @end, and moves it past the element. */
static bool match_one(const char **glob, const char *end, uint32_t c)
{
    const char *after;
    bool matched;

    if (**glob == '?') {
        ++*glob;
        return true;
    }
    if (**glob == '[' && (after = match_set(*glob + 1, end, c, &matched)) != NULL) {
        *glob = after;
        return matched;
    }
    if (**glob == '\\' && end - *glob > 1)
        ++*glob;
    return next_character(glob, end) == c;
}

/* Only the latest `*` is retried: an earlier one could do no better. */
bool fg_text_glob_match(const char *glob, size_t glob_bytes, const char *text, size_t text_bytes)
{
    const char *glob_end = glob + glob_bytes, *text_end = text + text_bytes;
    const char *star = NULL, *resume = NULL;

    for (;;) {
        if (glob < glob_end && *glob == '*') {
            star = ++glob;
            if (glob == glob_end)
                return true;
            resume = text;
            continue;
        }
        /* If the glob is longer than what is left, it is also longer than what would be left later. */
        if (text == text_end)
            return glob == glob_end;
        if (glob < glob_end && match_one(&glob, glob_end, next_character(&text, text_end)))
            continue;
        if (!star)
            return false;
        next_character(&resume, text_end);
        glob = star;
        text = resume;
    }
}
