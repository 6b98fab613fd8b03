/* Is a compact record sound? Whoever walks records from a file asks this before believing anything in a
 * record. */
#ifndef FG_RECORD_CHECK_H
#define FG_RECORD_CHECK_H

#include <stdbool.h>
#include <stddef.h>

#include "engine/base/compiler.h"
#include "engine/ring/record.h"

#define FG_RECORD_WORD_BYTES 8u

/* The fewest words of a record, indexed by its kind and has_start (the low five bits of info); 0 for an
 * unknown kind. */
static const uint8_t fg_record_least_words[32] = {
#define X(name, value, words, text, bits)                                                                    \
    [(value)] = 2 + (words), [(value) | FG_RECORD_HAS_START] = 3 + (words),
    FG_RECORD_KINDS(X)
#undef X
};

/* True if the fields of an EVENT record lie within it. @payload: its payload, @rest: the words after the
 * fixed ones and `start`. */
static inline bool fg_event_fields_fit(const uint64_t *payload, size_t rest)
{
    return payload[0] >> 32 <= rest * FG_RECORD_WORD_BYTES;
}

/* True if the record lies within `words_left` words (at least 2) and has the payload that its kind needs. */
static inline bool fg_record_is_sound(const struct fg_record *record, size_t words_left)
{
    uint32_t words = fg_record_words(record->info), least = fg_record_least_words[record->info & 31u];

    if (!least || words < least || words > words_left)
        return false;
    return fg_likely(fg_record_kind(record->info) != FG_RECORD_EVENT) ||
           fg_event_fields_fit((const uint64_t *)(record + 1), words - least);
}

#endif
