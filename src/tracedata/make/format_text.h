/* Pieces of the header of a trace.dat: numbers, and the format texts of events as in the kernel's files
 * events/SYSTEM/EVENT/format. */
#ifndef FG_FORMAT_TEXT_H
#define FG_FORMAT_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "tracedata/base/text.h"

static inline void fg_put_u16(struct fg_text *text, uint16_t value)
{
    fg_text_put(text, (const char *)&value, sizeof(value));
}

static inline void fg_put_u32(struct fg_text *text, uint32_t value)
{
    fg_text_put(text, (const char *)&value, sizeof(value));
}

static inline void fg_put_u64(struct fg_text *text, uint64_t value)
{
    fg_text_put(text, (const char *)&value, sizeof(value));
}

/* A section follows its size, which the end fills in when the section is complete. */
static inline size_t fg_begin_u32(struct fg_text *text)
{
    fg_put_u32(text, 0);
    return text->bytes;
}

void fg_end_u32(struct fg_text *text, size_t begin);

static inline size_t fg_begin_u64(struct fg_text *text)
{
    fg_put_u64(text, 0);
    return text->bytes;
}

void fg_end_u64(struct fg_text *text, size_t begin);

/* "\tfield:TYPE NAME;\toffset:..." */
void fg_put_format_field(struct fg_text *text, const char *type, const char *name, unsigned offset,
                         unsigned size, unsigned is_signed);

/* Begins a format text after its size, with the common fields. Return: for fg_end_format(). */
size_t fg_begin_format(struct fg_text *text, const char *name, unsigned id);
void fg_end_format(struct fg_text *text, size_t begin, const char *print);

#endif
