/* Writing JSON: each function appends to a text. */
#ifndef FG_JSON_H
#define FG_JSON_H

#include "tracedata/base/text.h"

/* The length in bytes of the UTF-8 character at `data`, of which `bytes` (at least 1) are left; 0 if the
 * bytes are not UTF-8. */
size_t fg_utf8_sequence(const char *data, size_t bytes);

/* A string with its quotes. Each byte that is not UTF-8 becomes U+FFFD. */
void fg_json_string(struct fg_text *json, const char *text, size_t bytes);

/* A member's name, after a comma unless it is the object's first. The caller appends the value. */
void fg_json_key(struct fg_text *json, const char *key);

/* A member with a number for its value. */
void fg_json_number(struct fg_text *json, const char *key, uint64_t value);

#endif
