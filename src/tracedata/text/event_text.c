/* See event_text.h. */
#include "tracedata/text/event_text.h"

#include "tracedata/base/field_text.h"
#include "tracedata/text/call_text.h"

static void put_name(struct fg_text *text, const struct fg_name_table *names, uint32_t func)
{
    const struct fg_label *name = fg_function_label(names, func);

    fg_text_put(text, name->text, name->bytes);
}

static void put_address(struct fg_text *text, const void *names, uint64_t address)
{
    if (address >= FG_FUNC_ADDRESS_UNKNOWN && address <= UINT32_MAX)
        put_name(text, names, fg_function_index(address));
    else
        fg_text_hex(text, address);
}

/* " (shop.checkout)" */
static void put_place(struct fg_text *text, const struct fg_name_table *names,
                      const struct fg_event_type *type, const struct fg_event *event)
{
    if (type->fields_at == FG_EVENT_PLAIN_FIELDS_AT)
        return;
    fg_text_lit(text, " (");
    if (type->fields_at == FG_EVENT_RETURN_FIELDS_AT) {
        put_name(text, names, fg_event_return_to(type, event));
        fg_text_lit(text, " <- ");
    }
    put_name(text, names, fg_event_probed(type, event));
    fg_text_char(text, ')');
}

/* In lines of its own, as the kernel has it. */
static void put_stack(struct fg_text *text, const struct fg_name_table *names, const struct fg_event *event,
                      const struct fg_field *field)
{
    fg_text_lit(text, "STACK:\n");
    for (uint32_t i = 0; i < field->count; i++) {
        const struct fg_loaded function = fg_field_load(event->data, event->size, field, i);

        if (!function.number)
            break;
        fg_text_lit(text, "=> ");
        put_address(text, names, function.number);
        fg_text_char(text, '\n');
    }
}

static void put_of_synthetic(struct fg_text *text, const struct fg_name_table *names,
                             const struct fg_event *event, const struct fg_field *field)
{
    const struct fg_loaded loaded = fg_field_load(event->data, event->size, field, 0);

    if (field->type == FG_FIELD_SYMBOL && field->count)
        put_stack(text, names, event, field);
    else if (loaded.kind == FG_LOADED_TEXT && field->type == FG_FIELD_STRING)
        fg_text_escaped(text, loaded.text, loaded.bytes, 0);
    else
        fg_put_field(text, event->data, event->size, field, put_address, names);
}

void fg_put_event(struct fg_text *text, const struct fg_name_table *names, const struct fg_event_type *type,
                  const struct fg_event *event)
{
    fg_text_escaped(text, type->name, strlen(type->name), 0);
    fg_text_char(text, ':');
    put_place(text, names, type, event);
    for (uint32_t i = 0; i < type->nr_fields; i++) {
        const struct fg_event_field *field = &type->fields[i];

        fg_text_char(text, ' ');
        fg_text_escaped(text, field->name, field->name_bytes, 0);
        fg_text_char(text, '=');
        if (fg_event_is_synthetic(type))
            put_of_synthetic(text, names, event, &field->at);
        else
            fg_put_field(text, event->data, event->size, &field->at, put_address, names);
    }
}
