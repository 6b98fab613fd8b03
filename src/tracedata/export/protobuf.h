/* Writing messages of Protocol Buffers (protobuf.dev, "Encoding"): fields of a message one after the other,
 * each with its number and the type of what follows. Only what exports need. */
#ifndef FG_PROTOBUF_H
#define FG_PROTOBUF_H

#include <stdint.h>
#include <string.h>

#include "tracedata/base/text.h"

enum fg_pb_type { FG_PB_VARINT = 0, FG_PB_FIXED64 = 1, FG_PB_BYTES = 2 };

#define FG_PB_MAX_VARINT 10u

/* 7 bits in each byte, the lowest first; bit 7 is set in all bytes but the last. */
static inline void fg_pb_varint(struct fg_text *text, uint64_t value)
{
    char *at;

    if (!fg_text_reserve(text, FG_PB_MAX_VARINT))
        return;
    at = text->data + text->bytes;
    for (; value >= 0x80; value >>= 7)
        *at++ = (char)(value | 0x80);
    *at++ = (char)value;
    text->bytes = (size_t)(at - text->data);
}

static inline void fg_pb_uint(struct fg_text *text, uint32_t field, uint64_t value)
{
    fg_pb_varint(text, field << 3 | FG_PB_VARINT);
    fg_pb_varint(text, value);
}

static inline void fg_pb_fixed64(struct fg_text *text, uint32_t field, uint64_t bits)
{
    fg_pb_varint(text, field << 3 | FG_PB_FIXED64);
    fg_text_put(text, (const char *)&bits, sizeof(bits)); /* little-endian, as all that is written here */
}

/* A string, or a message that is complete. */
static inline void fg_pb_bytes(struct fg_text *text, uint32_t field, const char *data, size_t bytes)
{
    fg_pb_varint(text, field << 3 | FG_PB_BYTES);
    fg_pb_varint(text, bytes);
    fg_text_put(text, data, bytes);
}

static inline void fg_pb_text(struct fg_text *text, uint32_t field, const struct fg_text *message)
{
    fg_pb_bytes(text, field, message->data, message->bytes);
}

#endif
