/* Keys and variables: the words that a term's value has in a histogram's row. */
#ifndef FG_HIST_KEY_H
#define FG_HIST_KEY_H

#include "engine/hist/hist_term.h"

/* The kind of this name, or -1. */
int fg_hist_kind_by_name(const char *name);
uint32_t fg_hist_kind_words(enum fg_hist_kind kind);

/**
 * fg_hist_term_key() - Make a key of a hit.
 * @words: fg_hist_kind_words() of it; each is written
 * @hash: of the keys before it
 *
 * Return: the hash of these keys and this one.
 */
uint64_t fg_hist_term_key(const struct fg_hist_term *term, const struct fg_hit *hit, uint64_t *words,
                          uint64_t hash);

/**
 * fg_hist_term_key_as() - Make a key of a hit for a histogram whose key is of another kind.
 * @kind: that kind
 * @hash: of the keys before it; set to that of these and this one
 *
 * Return: false: no key of that kind has the value, as a number's none has a text.
 */
bool fg_hist_term_key_as(enum fg_hist_kind kind, const struct fg_hist_term *term, const struct fg_hit *hit,
                         uint64_t *words, uint64_t *hash);

/* The value that fg_hist_term_key() made words of. Its text or stack is in @words. */
struct fg_loaded fg_hist_term_value(enum fg_hist_kind kind, bool is_signed, const uint64_t *words);

#endif
