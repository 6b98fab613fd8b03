/* See event_table.h. */
#include "tracedata/base/event_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

/* ---- the text of the fields */

/* A word of a line: up to a blank or `end`. */
struct word {
    const char *text;
    size_t bytes;
};

static bool next_word(const char **at, const char *end, struct word *word)
{
    const char *blank;

    if (*at >= end)
        return false;
    blank = memchr(*at, ' ', (size_t)(end - *at));
    word->text = *at;
    word->bytes = (size_t)((blank ? blank : end) - *at);
    *at = blank ? blank + 1 : end;
    return word->bytes > 0;
}

static bool word_number(const struct word *word, uint32_t limit, uint32_t *number)
{
    *number = 0;
    for (size_t i = 0; i < word->bytes; i++) {
        if (word->text[i] < '0' || word->text[i] > '9')
            return false;
        *number = *number * 10 + (uint32_t)(word->text[i] - '0');
        if (*number > limit)
            return false;
    }
    return true;
}

static bool word_type(const struct word *word, uint8_t *type)
{
    char name[16];
    int found;

    if (word->bytes >= sizeof(name))
        return false;
    memcpy(name, word->text, word->bytes);
    name[word->bytes] = 0;
    found = fg_field_type_by_name(name);
    *type = (uint8_t)found;
    return found >= 0;
}

/* "u32 amount 0 16" */
static bool parse_field(const char *at, const char *end, struct fg_event_field *field)
{
    struct word type, name, count, offset, more;
    uint32_t items, place, bytes;

    if (!next_word(&at, end, &type) || !next_word(&at, end, &name) || !next_word(&at, end, &count) ||
        !next_word(&at, end, &offset) || next_word(&at, end, &more))
        return false;
    *field = (struct fg_event_field){.name = name.text, .name_bytes = (uint32_t)name.bytes};
    if (!word_type(&type, &field->at.type) || !word_number(&count, UINT8_MAX, &items) ||
        !word_number(&offset, UINT16_MAX, &place))
        return false;
    bytes = (items ? items : 1) * fg_field_element_bytes(field->at.type);
    if (place + bytes > FG_EVENT_IMAGE_BYTES)
        return false;
    field->at.count = (uint8_t)items;
    field->at.offset = (uint16_t)place;
    return true;
}

static void type_extend(struct fg_event_type *type, const struct fg_event_field *field)
{
    uint32_t items = field->at.count ? field->at.count : 1;
    uint32_t end = field->at.offset + items * fg_field_element_bytes(field->at.type);

    if (end > type->fixed_end)
        type->fixed_end = (uint16_t)end;
    type->has_symbols |= field->at.type == FG_FIELD_SYMBOL;
}

static bool is_faults(const struct fg_event_field *field)
{
    return field->name_bytes == strlen(FG_FIELD_FAULTS) &&
           memcmp(field->name, FG_FIELD_FAULTS, field->name_bytes) == 0;
}

/* Gives the fields their bits of the faults, if these are the last field. Return: false: too few. */
static bool take_faults(struct fg_event_type *type, struct fg_event_field *fields)
{
    uint32_t bit;

    if (!type->nr_fields || !is_faults(&fields[type->nr_fields - 1]))
        return true;
    type->faults = fields[--type->nr_fields].at;
    bit = type->faults.offset * 8u;
    for (uint32_t i = 0; i < type->nr_fields; i++)
        bit = fg_field_place_faults(&fields[i].at, bit);
    return type->faults.type == FG_FIELD_U8 && bit <= (type->faults.offset + type->faults.count) * 8u;
}

/* The names of the fields point into the type's text. The fields lie one after the other. */
static int parse_fields(struct fg_event_type *type)
{
    const char *at = type->fields_text, *end = at + strlen(at);
    struct fg_event_field fields[FG_EVENT_MAX_FIELDS + 1]; /* and the faults */

    while (at < end) {
        const char *semicolon = memchr(at, ';', (size_t)(end - at));

        if (type->nr_fields > FG_EVENT_MAX_FIELDS ||
            !parse_field(at, semicolon ? semicolon : end, &fields[type->nr_fields]) ||
            fields[type->nr_fields].at.offset < type->fixed_end)
            return -EINVAL;
        type_extend(type, &fields[type->nr_fields++]);
        at = semicolon ? semicolon + 1 : end;
    }
    if (!take_faults(type, fields) || type->nr_fields > FG_EVENT_MAX_FIELDS)
        return -EINVAL;
    type->fields = malloc((type->nr_fields + (size_t)1) * sizeof(*type->fields));
    if (type->fields == NULL)
        return -ENOMEM;
    memcpy(type->fields, fields, type->nr_fields * sizeof(*fields));
    return 0;
}

/* ---- the table */

static void type_free(struct fg_event_type *type)
{
    free((char *)type->system);
    free(type->fields);
}

static uint64_t hash_words(const struct fg_event_words *words)
{
    uint64_t hash = FG_HASH_BYTES_BEGIN;

    hash = fg_hash_bytes(hash, words->system, strlen(words->system) + 1);
    hash = fg_hash_bytes(hash, words->name, strlen(words->name) + 1);
    hash = fg_hash_bytes(hash, words->fields, strlen(words->fields) + 1);
    return fg_hash_bytes(hash, &words->fields_at, sizeof(words->fields_at));
}

static bool is_same(const struct fg_event_type *type, const struct fg_event_words *words)
{
    return type->fields_at == words->fields_at && strcmp(type->system, words->system) == 0 &&
           strcmp(type->name, words->name) == 0 && strcmp(type->fields_text, words->fields) == 0;
}

static int type_copy_words(struct fg_event_type *type, const struct fg_event_words *words)
{
    const char *const texts[] = {words->system, words->name, words->fields};
    const char **const places[] = {&type->system, &type->name, &type->fields_text};
    size_t bytes = 0;
    char *room;

    for (int i = 0; i < 3; i++)
        bytes += strlen(texts[i]) + 1;
    room = malloc(bytes);
    if (room == NULL)
        return -ENOMEM;
    for (int i = 0; i < 3; i++) {
        bytes = strlen(texts[i]) + 1;
        *places[i] = memcpy(room, texts[i], bytes);
        room += bytes;
    }
    return 0;
}

static bool is_place_of_fields(uint32_t offset)
{
    return offset == FG_EVENT_PLAIN_FIELDS_AT || offset == FG_EVENT_ENTRY_FIELDS_AT ||
           offset == FG_EVENT_RETURN_FIELDS_AT;
}

static int64_t add(struct fg_event_table *table, const struct fg_event_words *words, uint64_t hash)
{
    struct fg_event_type type = {
        .fields_at = (uint16_t)words->fields_at, .fixed_end = (uint16_t)words->fields_at, .hash = hash};
    int error;

    if (!*words->system || !*words->name || !is_place_of_fields(words->fields_at) ||
        table->nr_types == FG_EVENT_MAX_TYPES)
        return -EINVAL;
    error = type_copy_words(&type, words);
    if (error == 0)
        error = parse_fields(&type);
    if (error == 0 && (fg_array_reserve(&table->types, &table->capacity, table->nr_types + 1) < 0 ||
                       fg_hash_add(&table->by_hash, hash, table->nr_types + 1) < 0))
        error = -ENOMEM;
    if (error < 0) {
        type_free(&type);
        return error;
    }
    table->types[table->nr_types] = type;
    return (int64_t)table->nr_types++;
}

int64_t fg_event_table_take(struct fg_event_table *table, const struct fg_event_words *words)
{
    uint64_t hash = hash_words(words);
    const struct fg_hash_slot *slot = fg_hash_first(&table->by_hash, hash);

    for (; slot; slot = fg_hash_next(&table->by_hash, slot))
        if (is_same(&table->types[slot->value - 1], words))
            return (int64_t)slot->value - 1;
    return add(table, words, hash);
}

int64_t fg_event_table_append(struct fg_event_table *table, const struct fg_event_words *words)
{
    return add(table, words, hash_words(words));
}

void fg_event_table_free(struct fg_event_table *table)
{
    for (size_t i = 0; i < table->nr_types; i++)
        type_free(&table->types[i]);
    free(table->types);
    fg_hash_clear(&table->by_hash);
    *table = (struct fg_event_table){0};
}
