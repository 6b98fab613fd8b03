/* The globs of event filters: `*` is any run of characters, `?` any one, `[a-z]` one of a set, `[!a-z]` one
 * that is not in the set, `\x` the character x. A `[` without its `]` is that character, as in the kernel.
 *
 * pattern.h has the globs of function filters. They differ: there `[^a]` is a complement too, as in
 * set_ftrace_filter, and texts end with a NUL. Those of values do not.
 *
 * A character is a code point of UTF-8. A byte that begins none is one character, unlike any other. */
#ifndef FG_TEXT_GLOB_H
#define FG_TEXT_GLOB_H

#include <stdbool.h>
#include <stddef.h>

/* Linear in practice; at most the product of both lengths. Any thread; takes no lock. */
bool fg_text_glob_match(const char *glob, size_t glob_bytes, const char *text, size_t text_bytes);

/* The number of characters. */
size_t fg_text_characters(const char *text, size_t bytes);

#endif
