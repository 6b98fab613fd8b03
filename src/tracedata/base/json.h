/* Pieces of JSON, appended to a text. */
#ifndef FG_JSON_H
#define FG_JSON_H

#include "tracedata/base/text.h"

/* The length of the UTF-8 character at `data`, which has `bytes` left (at least 1); 0 if it is none. */
size_t fg_utf8_sequence(const char *data, size_t bytes);

/* A JSON string with its quotes. Bytes that are not UTF-8 become U+FFFD. */
void fg_json_string(struct fg_text *json, const char *text, size_t bytes);

/* A member's name, with the comma before it unless it is the object's first; its value comes next. */
void fg_json_key(struct fg_text *json, const char *key);

/* A member that is a number. */
void fg_json_number(struct fg_text *json, const char *key, uint64_t value);

#endif
