/* See field_text.h. */
#include "tracedata/base/field_text.h"

#include "engine/ring/record.h"
#include "tracedata/base/trace_event.h"
#include "tracedata/base/values.h"

const uint8_t *fg_field_referred(const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                                 uint32_t index, uint32_t *referred_bytes)
{
    uint32_t at = field->offset + index * fg_field_element_bytes((enum fg_field_type)field->type);
    uint32_t begin;

    if (at > bytes || bytes - at < 4)
        return NULL;
    begin = fg_load16(image + at);
    *referred_bytes = fg_load16(image + at + 2);
    return begin <= bytes && *referred_bytes <= bytes - begin ? image + begin : NULL;
}

static void put_fault(struct fg_text *text)
{
    fg_text_lit(text, "(fault)");
}

static void put_tagged(struct fg_text *text, const uint8_t *image, uint32_t bytes,
                       const struct fg_field *field, uint32_t index)
{
    struct fg_value value;
    uint32_t tagged_bytes;
    const uint8_t *at = fg_field_referred(image, bytes, field, index, &tagged_bytes);

    if (at == NULL || !fg_value_next(&at, at + tagged_bytes, &value) || value.tag == FG_VALUE_UNBOUND)
        put_fault(text);
    else
        fg_value_print(text, &value, value.tag == FG_VALUE_WORD);
}

static void put_quoted(struct fg_text *text, const char *data, size_t bytes, char quote)
{
    fg_text_char(text, quote);
    fg_text_escaped(text, data, bytes, quote);
    fg_text_char(text, quote);
}

/* A byte is no character of UTF-8, whatever bytes are beside it. */
static void put_char(struct fg_text *text, unsigned char byte)
{
    const char c = (char)byte;

    if (byte < 0x80) {
        put_quoted(text, &c, 1, '\'');
        return;
    }
    fg_text_char(text, '\'');
    fg_text_byte(text, byte);
    fg_text_char(text, '\'');
}

static void put_loaded(struct fg_text *text, const struct fg_loaded *loaded)
{
    switch (loaded->kind) {
    case FG_LOADED_SIGNED:
        fg_text_i64(text, (int64_t)loaded->number);
        break;
    case FG_LOADED_UNSIGNED:
        fg_text_u64(text, loaded->number, 0, ' ');
        break;
    case FG_LOADED_FLOAT:
        fg_value_print(text, &(struct fg_value){.tag = FG_VALUE_FLOAT, .real = loaded->real}, false);
        break;
    case FG_LOADED_TEXT:
        put_quoted(text, loaded->text, loaded->bytes, '"');
        break;
    case FG_LOADED_NONE:
    case FG_LOADED_OBJECT: /* of tagged values only */
    case FG_LOADED_STACK:  /* of no field */
        put_fault(text);
    }
}

static void put_element(struct fg_text *text, const uint8_t *image, uint32_t bytes,
                        const struct fg_field *field, uint32_t index, fg_put_address *put_address,
                        const void *names)
{
    const struct fg_loaded loaded = fg_field_load(image, bytes, field, index);

    switch ((enum fg_field_type)field->type) {
    case FG_FIELD_OBJECT:
    case FG_FIELD_VALUE:
        put_tagged(text, image, bytes, field, index);
        return;
    case FG_FIELD_X8:
    case FG_FIELD_X16:
    case FG_FIELD_X32:
    case FG_FIELD_X64:
    case FG_FIELD_SYMBOL:
    case FG_FIELD_CHAR:
        break;
    default:
        put_loaded(text, &loaded);
        return;
    }
    if (loaded.kind == FG_LOADED_NONE)
        put_fault(text);
    else if (field->type == FG_FIELD_CHAR)
        put_char(text, (unsigned char)loaded.number);
    else if (field->type == FG_FIELD_SYMBOL && put_address)
        put_address(text, names, loaded.number);
    else
        fg_text_hex(text, loaded.number);
}

void fg_put_field(struct fg_text *text, const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                  fg_put_address *put_address, const void *names)
{
    if (field->count == 0) {
        put_element(text, image, bytes, field, 0, put_address, names);
        return;
    }
    for (uint32_t index = 0; index < field->count; index++) {
        fg_text_char(text, index ? ',' : '{');
        put_element(text, image, bytes, field, index, put_address, names);
    }
    fg_text_char(text, '}');
}
