/* See format_text.h. */
#include "tracedata/make/format_text.h"

#include <stdio.h>
#include <string.h>

#include "tracedata/base/wire.h"

void fg_end_u32(struct fg_text *text, size_t begin)
{
    uint32_t bytes = (uint32_t)(text->bytes - begin);

    if (!text->failed)
        memcpy(text->data + begin - sizeof(bytes), &bytes, sizeof(bytes));
}

void fg_end_u64(struct fg_text *text, size_t begin)
{
    uint64_t bytes = text->bytes - begin;

    if (!text->failed)
        memcpy(text->data + begin - sizeof(bytes), &bytes, sizeof(bytes));
}

void fg_put_format_field(struct fg_text *text, const char *type, const char *name, unsigned offset,
                         unsigned size, unsigned is_signed)
{
    char end[64];

    fg_text_lit(text, "\tfield:");
    fg_text_puts(text, type);
    fg_text_char(text, ' ');
    fg_text_puts(text, name);
    fg_text_put(
        text, end,
        (size_t)snprintf(end, sizeof(end), ";\toffset:%u;\tsize:%u;\tsigned:%u;\n", offset, size, is_signed));
}

#define PUT(sort, type, text_type, name)                                                                     \
    fg_put_format_field(text, text_type, #name, offsetof(struct fg_wire_common, name), sizeof(type),         \
                        (type)-1 < (type)1);

size_t fg_begin_format(struct fg_text *text, const char *name, unsigned id)
{
    size_t begin = fg_begin_u64(text);

    fg_text_lit(text, "name: ");
    fg_text_puts(text, name);
    fg_text_lit(text, "\nID: ");
    fg_text_u64(text, id, 0, ' ');
    fg_text_lit(text, "\nformat:\n");
    FG_WIRE_COMMON_FIELDS(PUT)
    fg_text_lit(text, "\n");
    return begin;
}

void fg_end_format(struct fg_text *text, size_t begin, const char *print)
{
    fg_text_lit(text, "\nprint fmt: ");
    fg_text_puts(text, print);
    fg_text_lit(text, "\n");
    fg_end_u64(text, begin);
}
