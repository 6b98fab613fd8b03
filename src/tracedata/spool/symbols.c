/* See symbols.h. */
#include "tracedata/spool/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

const char *fg_symbol_string(const struct fg_symbol *symbol, const char *previous)
{
    const char *end = (const char *)symbol + symbol->bytes;
    const char *text = previous ? previous + strlen(previous) + 1 : (const char *)(symbol + 1);

    return text < end && memchr(text, '\0', (size_t)(end - text)) ? text : NULL;
}

/* FNV-1a, 32 bits. */
static uint32_t hash_bytes(uint32_t hash, const void *data, size_t bytes)
{
    const unsigned char *byte = data;

    for (size_t i = 0; i < bytes; i++)
        hash = (hash ^ byte[i]) * 16777619u;
    return hash;
}

/* Strings, line and hash as the symbol has them, pointing into it. */
static struct fg_trace_function function_of(const struct fg_symbol *symbol)
{
    struct fg_trace_function function = {
        .line = symbol->line, .flags = symbol->flags, .index = FG_SYMBOLS_NONE};
    const char *text = NULL;
    uint32_t hash = 2166136261u;
    bool more = true;

    for (int i = 0; i < FG_FUNCTION_STRINGS; i++) {
        const char *next = more && (uint32_t)i < symbol->nr_strings ? fg_symbol_string(symbol, text) : NULL;

        more = next != NULL;
        text = next;
        function.strings[i] = next ? next : "";
        function.strings_bytes += strlen(function.strings[i]) + 1;
        hash = hash_bytes(hash, function.strings[i], strlen(function.strings[i]) + 1);
    }
    function.hash = hash_bytes(hash, &function.line, sizeof(function.line));
    return function;
}

static bool same_function(const struct fg_trace_function *one, const struct fg_trace_function *other)
{
    if (one->hash != other->hash || one->line != other->line || one->strings_bytes != other->strings_bytes)
        return false;
    for (int i = 0; i < FG_FUNCTION_STRINGS; i++)
        if (strcmp(one->strings[i], other->strings[i]) != 0)
            return false;
    return true;
}

/* Room for one more: at most half of the slots are taken, so a search always ends. */
static int slots_grow(struct fg_symbols *symbols)
{
    size_t nr_slots = symbols->nr_slots ? symbols->nr_slots * 2 : 256;
    uint32_t *slots;

    if ((symbols->nr_functions + 1) * 2 <= symbols->nr_slots)
        return 0;
    if (symbols->nr_functions >= UINT32_MAX / 4)
        return -ENOMEM;
    slots = calloc(nr_slots, sizeof(*slots));
    if (slots == NULL)
        return -ENOMEM;
    for (size_t i = 0; i < symbols->nr_functions; i++) {
        size_t slot = symbols->functions[i].hash & (nr_slots - 1);

        while (slots[slot])
            slot = (slot + 1) & (nr_slots - 1);
        slots[slot] = (uint32_t)i + 1;
    }
    free(symbols->slots);
    symbols->slots = slots;
    symbols->nr_slots = nr_slots;
    return 0;
}

static int function_copy_strings(struct fg_trace_function *function)
{
    char *room = malloc(function->strings_bytes);

    if (room == NULL)
        return -ENOMEM;
    for (int i = 0; i < FG_FUNCTION_STRINGS; i++) {
        size_t bytes = strlen(function->strings[i]) + 1;

        function->strings[i] = memcpy(room, function->strings[i], bytes);
        room += bytes;
    }
    return 0;
}

static int64_t function_add(struct fg_symbols *symbols, struct fg_trace_function function, size_t slot)
{
    if (symbols->nr_functions == symbols->functions_capacity) {
        size_t capacity = symbols->functions_capacity ? symbols->functions_capacity * 2 : 128;
        struct fg_trace_function *functions = realloc(symbols->functions, capacity * sizeof(*functions));

        if (functions == NULL)
            return -ENOMEM;
        symbols->functions = functions;
        symbols->functions_capacity = capacity;
    }
    if (function_copy_strings(&function) < 0)
        return -ENOMEM;
    symbols->functions[symbols->nr_functions++] = function;
    symbols->slots[slot] = (uint32_t)symbols->nr_functions;
    return (int64_t)symbols->nr_functions - 1;
}

/* A function that some process may record gets a trace index, once. */
static int function_match(struct fg_symbols *symbols, struct fg_trace_function *function, uint32_t number)
{
    if (function->index != FG_SYMBOLS_NONE)
        return 0;
    if (symbols->nr_matched == symbols->matched_capacity) {
        size_t capacity = symbols->matched_capacity ? symbols->matched_capacity * 2 : 128;
        uint32_t *matched = realloc(symbols->matched, capacity * sizeof(*matched));

        if (matched == NULL)
            return -ENOMEM;
        symbols->matched = matched;
        symbols->matched_capacity = capacity;
    }
    function->index = (uint32_t)symbols->nr_matched;
    symbols->matched[symbols->nr_matched++] = number;
    return 0;
}

int64_t fg_symbols_take(struct fg_symbols *symbols, const struct fg_symbol *symbol)
{
    struct fg_trace_function function = function_of(symbol);
    int64_t number = -1;
    size_t slot;
    int error = slots_grow(symbols);

    if (error < 0)
        return error;
    for (slot = function.hash & (symbols->nr_slots - 1); symbols->slots[slot];
         slot = (slot + 1) & (symbols->nr_slots - 1)) {
        if (same_function(&symbols->functions[symbols->slots[slot] - 1], &function)) {
            number = symbols->slots[slot] - 1;
            break;
        }
    }
    if (number < 0)
        number = function_add(symbols, function, slot);
    if (number >= 0 && symbol->type != FG_SYMBOL_SEEN) {
        error = function_match(symbols, &symbols->functions[number], (uint32_t)number);
        if (error < 0)
            return error;
    }
    return number;
}

const struct fg_trace_function *fg_symbols_matched(const struct fg_symbols *symbols, size_t index)
{
    return &symbols->functions[symbols->matched[index]];
}

void fg_symbols_free(struct fg_symbols *symbols)
{
    for (size_t i = 0; i < symbols->nr_functions; i++)
        free((char *)symbols->functions[i].strings[0]);
    free(symbols->functions);
    free(symbols->slots);
    free(symbols->matched);
    *symbols = (struct fg_symbols){0};
}
