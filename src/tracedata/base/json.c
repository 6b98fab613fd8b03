/* See json.h. */
#include "tracedata/base/json.h"

#include <stdio.h>

/* RFC 3629, section 4: no overlong forms, no surrogates, nothing above U+10FFFF. */
size_t fg_utf8_sequence(const char *data, size_t bytes)
{
    const unsigned char *text = (const unsigned char *)data;
    unsigned char first = text[0], low = 0x80, high = 0xbf;
    size_t length;

    if (first < 0x80)
        return 1;
    if (first < 0xc2 || first > 0xf4)
        return 0;
    length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
    if (length > bytes)
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (text[1] < low || text[1] > high)
        return 0;
    for (size_t i = 2; i < length; i++)
        if ((text[i] & 0xc0) != 0x80)
            return 0;
    return length;
}

void fg_json_string(struct fg_text *json, const char *text, size_t bytes)
{
    fg_text_puts(json, "\"");
    for (size_t i = 0, n; i < bytes; i += n) {
        unsigned char byte = (unsigned char)text[i];

        n = fg_utf8_sequence(text + i, bytes - i);
        if (n == 0) {
            fg_text_puts(json, "\\ufffd");
            n = 1;
        } else if (byte == '"' || byte == '\\') {
            fg_text_char(json, '\\');
            fg_text_char(json, (char)byte);
        } else if (byte < 0x20 || byte == 0x7f) {
            char escape[8];

            fg_text_put(json, escape, (size_t)snprintf(escape, sizeof(escape), "\\u%04x", byte));
        } else {
            fg_text_put(json, text + i, n);
        }
    }
    fg_text_puts(json, "\"");
}

void fg_json_key(struct fg_text *json, const char *key)
{
    if (json->bytes > 0 && json->data[json->bytes - 1] != '{')
        fg_text_lit(json, ", ");
    fg_json_string(json, key, strlen(key));
    fg_text_lit(json, ": ");
}

void fg_json_number(struct fg_text *json, const char *key, uint64_t value)
{
    fg_json_key(json, key);
    fg_text_u64(json, value, 0, ' ');
}
