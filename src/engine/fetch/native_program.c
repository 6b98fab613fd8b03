/* See native_program.h. */
#include "engine/fetch/native_program.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int fg_native_program_new(uint32_t n, enum fg_fetch_place place, struct fg_native_program **made,
                          struct fg_fetch_too_long *too_long)
{
    struct fg_native_program *program = calloc(1, sizeof(*program));
    int error = program ? fg_fetch_layout_new(&program->layout, n, place, too_long) : -ENOMEM;

    if (!error)
        program->of = calloc(n + 1, sizeof(*program->of));
    if (!error && !program->of)
        error = -ENOMEM;
    if (!error)
        *made = program;
    else
        fg_native_program_free(program);
    return error;
}

/* ---- fields */

/* Text without memory: the thread's name, or an immediate. */
static bool is_text_source(const struct fg_native_field *field)
{
    return field->source == FG_NATIVE_COMM || field->text;
}

static bool is_integer(enum fg_field_type type)
{
    return type <= FG_FIELD_X64;
}

static bool fits(enum fg_field_type type, uint8_t count, const struct fg_native_field *field)
{
    bool is_plain = !field->nr_derefs && !field->nr_bits && !count;

    if (is_text_source(field) || field->source == FG_NATIVE_SYMBOL)
        return is_plain && type == (is_text_source(field) ? FG_FIELD_STRING : FG_FIELD_SYMBOL);
    if (type == FG_FIELD_SYMBOL || type == FG_FIELD_OBJECT || type == FG_FIELD_VALUE)
        return false;
    if (!field->nr_derefs && (count || type == FG_FIELD_STRING))
        return false;
    return !field->nr_bits || (is_integer(type) && !count &&
                               field->first_bit + field->nr_bits <= fg_field_element_bytes(type) * 8);
}

int fg_native_program_set(struct fg_native_program *program, uint32_t i, const char *name,
                          enum fg_field_type type, uint8_t count, const struct fg_native_field *field)
{
    struct fg_native_field *to = &program->of[i];

    if (!fits(type, count, field))
        return -EINVAL;
    *to = *field;
    to->text = field->text ? strdup(field->text) : NULL;
    program->layout.names[i] = strdup(name);
    program->layout.fields[i].type = (uint8_t)type;
    program->layout.fields[i].count = count;
    return program->layout.names[i] && (to->text || !field->text) ? 0 : -ENOMEM;
}

/* ---- entry data: each argument once */

static uint8_t find_entry_word(const struct fg_native_program *program, uint32_t before, uint64_t argument)
{
    for (uint32_t i = 0; i < before; i++) {
        if (program->of[i].entry_word && program->of[i].operand == argument)
            return program->of[i].entry_word;
    }
    return 0;
}

static int lay_out_entry(struct fg_native_program *program, struct fg_fetch_too_long *too_long)
{
    for (uint32_t i = 0; program->layout.is_return && i < program->layout.nr_fields; i++) {
        struct fg_native_field *field = &program->of[i];

        if (field->source != FG_NATIVE_ARG)
            continue;
        field->entry_word = find_entry_word(program, i, field->operand);
        if (!field->entry_word)
            field->entry_word = (uint8_t)++program->nr_entry_words;
    }
    if (program->nr_entry_words <= FG_NATIVE_MAX_ENTRY_WORDS)
        return 0;
    *too_long = (struct fg_fetch_too_long){"a return event keeps too many arguments from the entry",
                                           fg_native_entry_bytes(program), FPROBE_MAX_DATA_BYTES};
    return -E2BIG;
}

int fg_native_program_finish(struct fg_native_program *program, struct fg_fetch_too_long *too_long)
{
    int error = fg_fetch_lay_out(&program->layout, too_long);

    return error ? error : lay_out_entry(program, too_long);
}

void fg_native_program_free(struct fg_native_program *program)
{
    if (!program)
        return;
    for (uint32_t i = 0; program->of && i < program->layout.nr_fields; i++) {
        free(program->of[i].text);
        free((char *)program->layout.names[i]);
    }
    free(program->of);
    fg_fetch_layout_clear(&program->layout);
    free(program);
}
