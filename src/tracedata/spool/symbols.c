/* See symbols.h. */
#include "tracedata/spool/symbols.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

const char *fg_symbol_string(const struct fg_symbol *symbol, const char *previous)
{
    const char *end = (const char *)symbol + symbol->bytes;
    const char *text = previous ? previous + strlen(previous) + 1 : (const char *)(symbol + 1);

    return text < end && memchr(text, '\0', (size_t)(end - text)) ? text : NULL;
}

/* The function that a symbol describes; its strings point into the symbol. */
static struct fg_trace_function function_of(const struct fg_symbol *symbol)
{
    struct fg_trace_function function = {
        .line = symbol->line, .flags = symbol->flags, .index = FG_SYMBOLS_NONE};
    const char *text = NULL;
    uint64_t hash = FG_HASH_BYTES_BEGIN;
    bool more = true;

    for (int i = 0; i < FG_FUNCTION_STRINGS; i++) {
        const char *next = more && (uint32_t)i < symbol->nr_strings ? fg_symbol_string(symbol, text) : NULL;

        more = next != NULL;
        text = next;
        function.strings[i] = next ? next : "";
        function.strings_bytes += strlen(function.strings[i]) + 1;
        hash = fg_hash_bytes(hash, function.strings[i], strlen(function.strings[i]) + 1);
    }
    function.hash = fg_hash_bytes(hash, &function.line, sizeof(function.line));
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

static int64_t function_add(struct fg_symbols *symbols, struct fg_trace_function function)
{
    size_t number = symbols->nr_functions;

    if (number >= UINT32_MAX / 4) /* numbers and addresses have 32 bits */
        return -ENOMEM;
    if (fg_array_reserve(&symbols->functions, &symbols->functions_capacity, number + 1) < 0 ||
        fg_hash_reserve(&symbols->by_hash) < 0 || function_copy_strings(&function) < 0)
        return -ENOMEM;
    symbols->functions[symbols->nr_functions++] = function;
    fg_hash_add(&symbols->by_hash, function.hash, number + 1);
    return (int64_t)number;
}

/* The function's number, or -1. */
static int64_t function_find(const struct fg_symbols *symbols, const struct fg_trace_function *function)
{
    const struct fg_hash_slot *slot = fg_hash_first(&symbols->by_hash, function->hash);

    for (; slot; slot = fg_hash_next(&symbols->by_hash, slot))
        if (same_function(&symbols->functions[slot->value - 1], function))
            return (int64_t)slot->value - 1;
    return -1;
}

/* Gives a function that some process records its index in the trace, once. */
static int function_match(struct fg_symbols *symbols, struct fg_trace_function *function, uint32_t number)
{
    if (function->index != FG_SYMBOLS_NONE)
        return 0;
    if (fg_array_reserve(&symbols->matched, &symbols->matched_capacity, symbols->nr_matched + 1) < 0)
        return -ENOMEM;
    function->index = (uint32_t)symbols->nr_matched;
    symbols->matched[symbols->nr_matched++] = number;
    return 0;
}

int64_t fg_symbols_take(struct fg_symbols *symbols, const struct fg_symbol *symbol)
{
    struct fg_trace_function function = function_of(symbol);
    int64_t number = function_find(symbols, &function);

    if (number < 0)
        number = function_add(symbols, function);
    if (number >= 0 && symbol->type != FG_SYMBOL_SEEN &&
        function_match(symbols, &symbols->functions[number], (uint32_t)number) < 0)
        return -ENOMEM;
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
    fg_hash_clear(&symbols->by_hash);
    free(symbols->matched);
    *symbols = (struct fg_symbols){0};
}
