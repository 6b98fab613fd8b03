/* See dat_event_format.h. */
#include "tracedata/make/dat_event_format.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tracedata/make/format_text.h"

/* How trace-cmd reads and prints what lies in the image as it does in the kernel's: `before`, and the
 * conversion without its "%". */
static const struct {
    const char *type, *before, *conversion, *after;
    bool is_signed;
} plain[FG_NR_FIELD_TYPES] = {
    [FG_FIELD_U8] = {"u8", "", "u", "", false},
    [FG_FIELD_U16] = {"u16", "", "u", "", false},
    [FG_FIELD_U32] = {"u32", "", "u", "", false},
    [FG_FIELD_U64] = {"u64", "", "Lu", "", false},
    [FG_FIELD_S8] = {"s8", "", "hhd", "", true},
    [FG_FIELD_S16] = {"s16", "", "hd", "", true},
    [FG_FIELD_S32] = {"s32", "", "d", "", true},
    [FG_FIELD_S64] = {"s64", "", "Ld", "", true},
    [FG_FIELD_X8] = {"u8", "0x", "x", "", false},
    [FG_FIELD_X16] = {"u16", "0x", "x", "", false},
    [FG_FIELD_X32] = {"u32", "0x", "x", "", false},
    [FG_FIELD_X64] = {"u64", "0x", "Lx", "", false},
    [FG_FIELD_BOOL] = {"bool", "", "u", "", false},
    [FG_FIELD_CHAR] = {"char", "'", "s", "'", true},
    [FG_FIELD_STRING] = {"__data_loc char[]", "\\\"", "s", "\\\"", true},
    [FG_FIELD_SYMBOL] = {"unsigned long", "", "ps", "", false},
};

static bool needs_view(const struct fg_field *field)
{
    switch ((enum fg_field_type)field->type) {
    case FG_FIELD_F64:
    case FG_FIELD_OBJECT:
    case FG_FIELD_VALUE:
        return true;
    case FG_FIELD_CHAR:
    case FG_FIELD_STRING:
        return field->count != 0;
    default:
        return false;
    }
}

int fg_dat_event_find_views(struct fg_dat_event *event, const struct fg_event_type *type)
{
    event->views = calloc(type->nr_fields + (size_t)1, sizeof(*event->views));
    if (event->views == NULL)
        return -ENOMEM;
    for (uint32_t i = 0; i < type->nr_fields; i++) {
        if (!needs_view(&type->fields[i].at))
            continue;
        event->views[event->nr_views++].field = i;
        event->has_values |= fg_dat_field_is_value(&type->fields[i].at);
    }
    return 0;
}

void fg_dat_event_place_views(struct fg_dat_event *event, const struct fg_event_type *type)
{
    for (uint32_t i = 0; i < event->nr_views; i++) {
        struct fg_dat_view *view = &event->views[i];

        view->is_number = view->has_number && !view->has_other;
        view->offset = (uint16_t)(type->fixed_end + event->view_bytes);
        event->view_bytes =
            (uint16_t)(event->view_bytes + (view->is_number ? sizeof(int64_t) : FG_DAT_LOC_BYTES));
    }
}

void fg_dat_put_word(struct fg_text *text, const char *name, size_t bytes)
{
    if (bytes && name[0] >= '0' && name[0] <= '9')
        fg_text_char(text, '_');
    for (size_t i = 0; i < bytes; i++) {
        bool is_word = (name[i] >= 'a' && name[i] <= 'z') || (name[i] >= 'A' && name[i] <= 'Z') ||
                       (name[i] >= '0' && name[i] <= '9');

        fg_text_char(text, is_word ? name[i] : '_');
    }
}

/* A format text while it is made: `print` has the format and `arguments` what follows it. */
struct format {
    struct fg_text *text;
    struct fg_text print, arguments;
    uint32_t faults_at; /* the first byte of the faults in the image */
    bool has_bare_texts;
};

static void put_argument(struct format *format, const char *before, const struct fg_event_field *field,
                         const char *after)
{
    fg_text_lit(&format->arguments, ", ");
    fg_text_puts(&format->arguments, before);
    fg_dat_put_word(&format->arguments, field->name, field->name_bytes);
    fg_text_puts(&format->arguments, after);
}

/* A line "field:", of a field whose name may be followed by "[COUNT]". */
static void put_line(struct format *format, const char *type, const struct fg_event_field *field,
                     uint32_t count, uint32_t offset, uint32_t size, bool is_signed)
{
    struct fg_text name = {0};

    fg_dat_put_word(&name, field->name, field->name_bytes);
    if (count) {
        fg_text_char(&name, '[');
        fg_text_u64(&name, count, 0, ' ');
        fg_text_char(&name, ']');
    }
    fg_text_char(&name, 0);
    if (name.failed)
        format->text->failed = true;
    else
        fg_put_format_field(format->text, type, name.data, offset, size, is_signed);
    fg_text_free(&name);
}

static void put_name(struct format *format, const struct fg_event_field *field)
{
    fg_text_char(&format->print, ' ');
    fg_dat_put_word(&format->print, field->name, field->name_bytes);
    fg_text_char(&format->print, '=');
}

static void put_view(struct format *format, const struct fg_event_field *field,
                     const struct fg_dat_view *view)
{
    put_name(format, field);
    if (view->is_number) {
        put_line(format, "s64", field, 0, view->offset, 8, true);
        fg_text_lit(&format->print, "%Ld");
        put_argument(format, "REC->", field, "");
        return;
    }
    put_line(format, "__data_loc char[]", field, 0, view->offset, 4, true);
    fg_text_lit(&format->print, "%s");
    put_argument(format, "__get_str(", field, ")");
}

static void put_value(struct format *format, const struct fg_event_field *field, const char *index)
{
    if (field->at.type == FG_FIELD_STRING)
        put_argument(format, "__get_str(", field, ")");
    else
        put_argument(format, field->at.type == FG_FIELD_SYMBOL ? "(void *)(unsigned long)REC->" : "REC->",
                     field, index);
}

/* An argument that is one thing if an element could not be read, and another one if it could. */
static void put_choice(struct format *format, uint32_t fault_bit, const char *fault, const char *other)
{
    struct fg_text *to = &format->arguments;

    fg_text_lit(to, ", (REC->" FG_FIELD_FAULTS "[");
    fg_text_u64(to, fault_bit / 8 - format->faults_at, 0, ' ');
    fg_text_lit(to, "] & ");
    fg_text_u64(to, 1u << fault_bit % 8, 0, ' ');
    fg_text_lit(to, ") ? ");
    fg_text_puts(to, fault);
    fg_text_lit(to, " : ");
    fg_text_puts(to, other);
}

/* A number that has a bit among the faults. If that is set, the number is 0, and a 0 with the precision 0 is
 * no digit: "%s%.*d" prints "(fault)" alone. trace-cmd has no function that chooses between a text and a
 * number. */
static void put_number(struct format *format, const struct fg_event_field *field, const char *index,
                       uint32_t fault_bit)
{
    bool is_hex = plain[field->at.type].before[0] != 0;

    fg_text_lit(&format->print, "%s%.*");
    fg_text_puts(&format->print, plain[field->at.type].conversion);
    put_choice(format, fault_bit, "\"(fault)\"", is_hex ? "\"0x\"" : "\"\"");
    put_choice(format, fault_bit, "0", "1");
    put_value(format, field, index);
}

static void put_char(struct format *format, const struct fg_event_field *field, uint32_t fault_bit)
{
    fg_text_lit(&format->print, "%s%s%s");
    put_choice(format, fault_bit, "\"(fault)\"", "\"'\"");
    put_value(format, field, "");
    put_choice(format, fault_bit, "\"\"", "\"'\"");
}

/* Appends an element; @index: "[INDEX]" in an array. That a function could not be read is not shown: there is
 * no other name for its 0. */
static void put_element(struct format *format, const struct fg_event_field *field, const char *index,
                        uint32_t fault_bit)
{
    enum fg_field_type type = (enum fg_field_type)field->at.type;
    bool is_bare = type == FG_FIELD_STRING && format->has_bare_texts;

    if (fault_bit && type == FG_FIELD_CHAR) {
        put_char(format, field, fault_bit);
        return;
    }
    if (fault_bit && type != FG_FIELD_SYMBOL) {
        put_number(format, field, index, fault_bit);
        return;
    }
    fg_text_puts(&format->print, is_bare ? "" : plain[type].before);
    fg_text_char(&format->print, '%');
    fg_text_puts(&format->print, plain[type].conversion);
    fg_text_puts(&format->print, is_bare ? "" : plain[type].after);
    put_value(format, field, index);
}

static void put_plain(struct format *format, const struct fg_event_field *field)
{
    const uint8_t type = field->at.type, count = field->at.count;
    uint32_t bytes = fg_field_element_bytes((enum fg_field_type)type) * (count ? count : 1u);

    put_name(format, field);
    put_line(format, plain[type].type, field, count, field->at.offset, bytes, plain[type].is_signed);
    if (count == 0) {
        put_element(format, field, "", field->at.fault_bit);
        return;
    }
    for (uint32_t i = 0; i < count; i++) {
        struct fg_text index = {0};

        fg_text_char(&format->print, i ? ',' : '{');
        fg_text_char(&index, '[');
        fg_text_u64(&index, i, 0, ' ');
        fg_text_put(&index, "]", 2);
        if (index.failed)
            format->text->failed = true;
        else
            put_element(format, field, index.data, field->at.fault_bit ? field->at.fault_bit + i : 0);
        fg_text_free(&index);
    }
    fg_text_char(&format->print, '}');
}

/* Where it was hit. The kernel prints the caller first too, though its formats have it last. */
static void put_place(struct format *format, const struct fg_event_type *type)
{
    switch (type->fields_at) {
    case FG_EVENT_ENTRY_FIELDS_AT:
        fg_put_format_field(format->text, "unsigned long", "__probe_ip", 8, 8, 0);
        fg_text_lit(&format->print, "(%ps)");
        fg_text_lit(&format->arguments, ", (void *)REC->__probe_ip");
        break;
    case FG_EVENT_RETURN_FIELDS_AT:
        fg_put_format_field(format->text, "unsigned long", "__probe_func", 8, 8, 0);
        fg_put_format_field(format->text, "unsigned long", "__probe_ret_ip", 16, 8, 0);
        fg_text_lit(&format->print, "(%ps <- %ps)");
        fg_text_lit(&format->arguments, ", (void *)REC->__probe_ret_ip, (void *)REC->__probe_func");
        break;
    default:
        break;
    }
}

static void put_fields(struct format *format, const struct fg_event_type *type,
                       const struct fg_dat_event *dat)
{
    for (uint32_t i = 0, view = 0; i < type->nr_fields; i++) {
        if (view < dat->nr_views && dat->views[view].field == i)
            put_view(format, &type->fields[i], &dat->views[view++]);
        else
            put_plain(format, &type->fields[i]);
    }
    if (type->faults.count)
        put_line(format, "u8", &(struct fg_event_field){FG_FIELD_FAULTS, sizeof(FG_FIELD_FAULTS) - 1, {0}},
                 type->faults.count, type->faults.offset, type->faults.count, false);
}

void fg_dat_event_put_format(struct fg_text *text, const struct fg_event_type *type,
                             const struct fg_dat_event *dat, uint32_t id)
{
    struct format format = {
        .text = text, .faults_at = type->faults.offset, .has_bare_texts = fg_event_is_synthetic(type)};
    struct fg_text name = {0};
    size_t begin, skipped; /* a blank that comes first */

    fg_dat_put_word(&name, type->name, strlen(type->name));
    fg_text_char(&name, 0);
    begin = fg_begin_format(text, name.failed ? "" : name.data, id);
    put_place(&format, type);
    put_fields(&format, type, dat);
    skipped = type->fields_at == FG_EVENT_PLAIN_FIELDS_AT && format.print.bytes ? 1 : 0;
    fg_text_lit(text, "\nprint fmt: \"");
    fg_text_put(text, format.print.data + skipped, format.print.bytes - skipped);
    fg_text_char(text, '"');
    fg_text_put(text, format.arguments.data, format.arguments.bytes);
    fg_text_lit(text, "\n");
    fg_end_u64(text, begin);
    text->failed |= name.failed || format.print.failed || format.arguments.failed;
    fg_text_free(&name);
    fg_text_free(&format.print);
    fg_text_free(&format.arguments);
}
