/* Is a compact record sound? Whoever walks records from a file asks this before believing anything in a
 * record. */
#ifndef FG_RECORD_CHECK_H
#define FG_RECORD_CHECK_H

#include "engine/ring/record.h"
#include <stdbool.h>
#include <stddef.h>

#define FG_RECORD_WORD_BYTES 8u

/* The fewest words of a record, indexed by its kind and has_start (the low five bits of info); 0 for an
 * unknown kind. */
static const uint8_t fg_record_least_words[32] = {
#define X(name, value, words, text) [(value)] = 2 + (words), [(value) | FG_RECORD_HAS_START] = 3 + (words),
    FG_RECORD_KINDS(X)
#undef X
};

/* True if the record lies within `words_left` words (at least 2) and has the payload that its kind needs. */
static inline bool fg_record_is_sound(const struct fg_record *record, size_t words_left)
{
    uint32_t words = fg_record_words(record->info), least = fg_record_least_words[record->info & 31u];

    return least && words >= least && words <= words_left;
}

#endif
