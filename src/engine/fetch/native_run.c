/* See native_run.h. */
#include "engine/fetch/native_run.h"

#include <string.h>
#include <sys/prctl.h>

#include "engine/core/task.h"
#include "engine/fetch/memory.h"
#include "engine/fetch/texts.h"

#define COMM_BYTES 16u /* prctl(2) */

/* What all fields of a run are read from. */
struct origin {
    const struct ftrace_regs *regs;
    const uint8_t *entry_data;
    uint32_t func;
};

/* ---- the first word */

static bool read_stack(const struct ftrace_regs *regs, uintptr_t address, uint64_t *out)
{
    uint64_t sp;

    return fg_regs_word(regs, FG_WORD_SP, 0, &sp) && fg_fetch_stack_word(out, address, sp);
}

/* Argument @n from 0. */
static bool read_argument(const struct ftrace_regs *regs, uint32_t n, uint64_t *out)
{
    uint64_t at;

    if (fg_regs_word(regs, FG_WORD_ARGUMENT, n, out))
        return true;
    return fg_regs_word(regs, FG_WORD_ARGUMENT_AT, n, &at) && read_stack(regs, at, out);
}

/* The first word of the entry data has a bit for each that was read. */
static bool entry_word(const uint8_t *entry_data, uint32_t n, uint64_t *out)
{
    uint64_t known;

    if (!entry_data)
        return false;
    memcpy(&known, entry_data, sizeof(known));
    memcpy(out, entry_data + n * sizeof(*out), sizeof(*out));
    return known >> n & 1;
}

static bool read_stack_entry(const struct ftrace_regs *regs, uint64_t n, uint64_t *out)
{
    uint64_t sp;

    return fg_regs_word(regs, FG_WORD_SP, 0, &sp) && read_stack(regs, sp + n * sizeof(*out), out);
}

static bool first_word(const struct fg_native_field *field, const struct origin *origin, uint64_t *out)
{
    switch (field->source) {
    case FG_NATIVE_ARG:
        if (field->entry_word)
            return entry_word(origin->entry_data, field->entry_word, out);
        return read_argument(origin->regs, (uint32_t)field->operand - 1, out);
    case FG_NATIVE_RETVAL:
        return fg_regs_word(origin->regs, FG_WORD_RESULT, 0, out);
    case FG_NATIVE_REGISTER:
        return fg_regs_word(origin->regs, FG_WORD_REGISTER, (uint32_t)field->operand, out);
    case FG_NATIVE_STACK:
        return read_stack_entry(origin->regs, field->operand, out);
    case FG_NATIVE_SP:
        return fg_regs_word(origin->regs, FG_WORD_SP, 0, out);
    case FG_NATIVE_IP:
        return fg_regs_word(origin->regs, FG_WORD_IP, 0, out);
    case FG_NATIVE_SYMBOL:
        *out = origin->func;
        return origin->func;
    default:
        *out = field->operand;
        return true;
    }
}

/* ---- putting values in their places */

static void put_word(uint64_t word, enum fg_field_type type, uint8_t *at)
{
    if (type == FG_FIELD_BOOL)
        *at = (word & 0xff) != 0;
    else
        fg_put_low(at, word, fg_field_element_bytes(type));
}

static uint64_t bits_of(const struct fg_native_field *field, uint64_t word)
{
    if (!field->nr_bits || field->nr_bits == 64)
        return word;
    return word >> field->first_bit & ((1ull << field->nr_bits) - 1);
}

/* The text at an address, up to its NUL. It is a fault if that cannot be reached. */
static bool put_text_at(struct fg_fetch_texts *texts, uint8_t *at, uint32_t later, uintptr_t address)
{
    uint8_t *text = texts->base + texts->used;
    uint32_t most = fg_texts_room(texts, later) - 1; /* without the NUL */
    size_t n = fg_fetch_memory(text, address, most);
    const uint8_t *end = memchr(text, 0, n);

    if (!end && n < most) {
        fg_texts_put_fault(texts, at, later);
        return false;
    }
    fg_texts_end_string(texts, at, end ? (uint32_t)(end - text) : most, !end);
    return true;
}

/* ---- fields */

/* A field, while it is read. */
struct place {
    const struct fg_native_field *field;
    const struct fg_field *layout;
    struct fg_fetch_texts *texts;
    uint32_t later;
};

static uint8_t *element(const struct place *place, uint32_t i)
{
    return place->texts->base + place->layout->offset + i * fg_field_element_bytes(place->layout->type);
}

static bool put_fault(const struct place *place, uint32_t i)
{
    if (place->layout->type == FG_FIELD_STRING)
        fg_texts_put_fault(place->texts, element(place, i), fg_fetch_later(place->layout, i, place->later));
    else
        memset(element(place, i), 0, fg_field_element_bytes(place->layout->type));
    fg_field_set_fault(place->texts->base, place->layout, i);
    return false;
}

static bool put_all_faults(const struct place *place)
{
    for (uint32_t i = 0; i < fg_fetch_elements(place->layout); i++)
        put_fault(place, i);
    return false;
}

/* Elements that lie one after another at an address: numbers, or pointers to texts. */
static bool put_elements(const struct place *place, uintptr_t address)
{
    uint8_t elements[FG_MEMORY_MAX];
    bool are_texts = place->layout->type == FG_FIELD_STRING, is_whole = true;
    uint32_t bytes = are_texts ? sizeof(uintptr_t) : fg_field_element_bytes(place->layout->type);
    uint32_t n = fg_fetch_elements(place->layout);
    size_t known = fg_fetch_memory(elements, address, (size_t)n * bytes) / bytes;

    for (uint32_t i = 0; i < n; i++) {
        uint64_t word = 0;

        memcpy(&word, elements + i * bytes, i < known ? bytes : 0);
        if (i >= known)
            is_whole = put_fault(place, i);
        else if (!are_texts)
            put_word(bits_of(place->field, word), place->layout->type, element(place, i));
        else if (!put_text_at(place->texts, element(place, i), fg_fetch_later(place->layout, i, place->later),
                              word))
            is_whole = false;
    }
    return is_whole;
}

static bool put_memory(const struct place *place, uintptr_t address)
{
    if (place->layout->type != FG_FIELD_STRING || place->layout->count)
        return put_elements(place, address);
    return put_text_at(place->texts, element(place, 0), place->later, address);
}

/* Follows all but the last address. False: a fault. */
static bool follow(const struct fg_native_field *field, uint64_t *word)
{
    for (uint32_t i = 0; i + 1 < field->nr_derefs; i++) {
        if (fg_fetch_memory(word, *word + (uint64_t)field->derefs[i], sizeof(*word)) != sizeof(*word))
            return false;
    }
    return true;
}

/* A text of the definition; or the thread's name, which the engine does not know before the thread has run
 * Python functions. The kernel does. */
static bool put_name(const struct place *place)
{
    const struct fg_task *task = fg_task_self;
    const char *text = place->field->text ? place->field->text : task ? task->name : "";
    char name[COMM_BYTES] = "";

    if (!place->field->text && !*text) {
        prctl(PR_GET_NAME, name);
        text = name;
    }
    fg_texts_put_bytes(place->texts, element(place, 0), place->later, text, strlen(text));
    return true;
}

/* False: the field, or an element of it, is a fault. */
static bool put_field(const struct place *place, const struct origin *origin)
{
    const struct fg_native_field *field = place->field;
    uint64_t word;

    if (field->text || field->source == FG_NATIVE_COMM)
        return put_name(place);
    if (!first_word(field, origin, &word) || !follow(field, &word))
        return put_all_faults(place);
    if (field->nr_derefs)
        return put_memory(place, word + (uint64_t)field->derefs[field->nr_derefs - 1]);
    put_word(bits_of(field, word), place->layout->type, element(place, 0));
    return true;
}

uint32_t fg_fetch_native(const struct fg_native_program *program, const struct ftrace_regs *regs,
                         uint32_t func, const uint8_t *entry_data, uint8_t *image)
{
    const struct fg_fetch_layout *layout = &program->layout;
    struct fg_fetch_texts texts = {image, layout->fixed_bytes, FG_EVENT_MAX_BYTES};
    struct origin origin = {regs, entry_data, func};
    unsigned faults = 0;

    fg_fetch_count_run(layout);
    fg_fetch_clear_faults(image, layout->faults_at, layout->fixed_bytes);
    for (uint32_t i = 0; i < layout->nr_fields; i++) {
        struct place place = {&program->of[i], &layout->fields[i], &texts, layout->later_text[i]};

        faults += !put_field(&place, &origin);
    }
    fg_fetch_count_faults(layout, faults);
    return texts.used;
}

void fg_fetch_native_entry(const struct fg_native_program *program, const struct ftrace_regs *regs,
                           uint8_t *entry_data)
{
    uint64_t words[FG_NATIVE_MAX_ENTRY_WORDS + 1] = {0};

    for (uint32_t i = 0; i < program->layout.nr_fields; i++) {
        const struct fg_native_field *field = &program->of[i];

        if (field->entry_word && read_argument(regs, (uint32_t)field->operand - 1, &words[field->entry_word]))
            words[0] |= 1ull << field->entry_word;
    }
    memcpy(entry_data, words, fg_native_entry_bytes(program));
}
