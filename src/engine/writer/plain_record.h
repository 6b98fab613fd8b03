/* The two records that make up nearly all of a function graph: the entry of a call, and the return of a
 * call that was never suspended, both without values. The engine writes them itself, without calling the
 * tracer (plain_call.c). The caller has checked for room (fg_ring_has_room). */
#ifndef FG_PLAIN_RECORD_H
#define FG_PLAIN_RECORD_H

#include "engine/writer/ring_buffer.h"

#define FG_PLAIN_ENTRY_WORDS (sizeof(struct fg_record) / 8)
#define FG_PLAIN_RETURN_WORDS (FG_PLAIN_ENTRY_WORDS + 1)
#define FG_PLAIN_ENTRY_BYTES (FG_PLAIN_ENTRY_WORDS * 8)
#define FG_PLAIN_RETURN_BYTES (FG_PLAIN_RETURN_WORDS * 8)

static inline void fg_plain_entry(struct fg_ring_cursor *cursor, uint8_t *pos, uint32_t func, uint32_t depth,
                                  uint64_t calltime)
{
    struct fg_record *record = (struct fg_record *)pos;

    record->time = calltime;
    record->func = func;
    record->info = FG_RECORD_INFO(FG_RECORD_ENTRY, FG_PLAIN_ENTRY_WORDS, depth);
    fg_ring_commit_to(cursor, pos + FG_PLAIN_ENTRY_BYTES);
}

static inline void fg_plain_return(struct fg_ring_cursor *cursor, uint8_t *pos, uint32_t func, uint32_t depth,
                                   uint64_t calltime, uint64_t rettime)
{
    struct fg_record *record = (struct fg_record *)pos;

    record->time = rettime;
    record->func = func;
    record->info = FG_RECORD_INFO(FG_RECORD_RETURN, FG_PLAIN_RETURN_WORDS, depth);
    *(uint64_t *)(record + 1) = calltime;
    fg_ring_commit_to(cursor, pos + FG_PLAIN_RETURN_BYTES);
}

#endif
