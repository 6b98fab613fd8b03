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

/* The function that a symbol describes; its strings lie in free room of the arena. False: memory is short. */
static bool function_of(struct fg_symbols *symbols, const struct fg_symbol *symbol,
                        struct fg_trace_function *function)
{
    char *room = fg_arena_reserve(&symbols->strings, symbol->bytes + (size_t)FG_FUNCTION_STRINGS, 1);
    const char *text = NULL;
    size_t bytes = 0;
    bool more = true;

    if (room == NULL)
        return false;
    for (uint32_t i = 0; i < FG_FUNCTION_STRINGS; i++) {
        text = more && i < symbol->nr_strings ? fg_symbol_string(symbol, text) : NULL;
        more = text != NULL;
        if (more) {
            size_t length = strlen(text);

            memcpy(room + bytes, text, length);
            bytes += length;
        }
        room[bytes++] = 0;
    }
    *function = (struct fg_trace_function){.strings = room,
                                           .strings_bytes = (uint32_t)bytes,
                                           .line = symbol->line,
                                           .flags = symbol->flags,
                                           .index = FG_SYMBOLS_NONE};
    function->hash = fg_hash_bytes(FG_HASH_BYTES_BEGIN, room, bytes);
    function->hash = fg_hash_bytes(function->hash, &function->line, sizeof(function->line));
    return true;
}

static bool same_function(const struct fg_trace_function *one, const struct fg_trace_function *other)
{
    return one->hash == other->hash && one->line == other->line &&
           one->strings_bytes == other->strings_bytes &&
           memcmp(one->strings, other->strings, one->strings_bytes) == 0;
}

static int64_t function_add(struct fg_symbols *symbols, struct fg_trace_function function)
{
    size_t number = symbols->nr_functions;

    if (number >= UINT32_MAX / 4) /* numbers and addresses have 32 bits */
        return -ENOMEM;
    if (fg_array_reserve(&symbols->functions, &symbols->functions_capacity, number + 1) < 0 ||
        fg_hash_reserve(&symbols->by_hash) < 0)
        return -ENOMEM;
    fg_arena_take(&symbols->strings, function.strings_bytes);
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
    struct fg_trace_function function;
    int64_t number;

    if (!function_of(symbols, symbol, &function))
        return -ENOMEM;
    number = function_find(symbols, &function);
    if (number < 0)
        number = function_add(symbols, function);
    if (number >= 0 && symbol->type != FG_SYMBOL_SEEN &&
        function_match(symbols, &symbols->functions[number], (uint32_t)number) < 0)
        return -ENOMEM;
    return number;
}

void fg_symbols_seal(struct fg_symbols *symbols)
{
    fg_hash_clear(&symbols->by_hash);
}

const char *fg_function_string(const struct fg_trace_function *function, enum fg_function_string which)
{
    const char *text = function->strings;

    for (int i = 0; i < (int)which; i++)
        text += strlen(text) + 1;
    return text;
}

const struct fg_trace_function *fg_symbols_matched(const struct fg_symbols *symbols, size_t index)
{
    return &symbols->functions[symbols->matched[index]];
}

void fg_symbols_free(struct fg_symbols *symbols)
{
    fg_arena_free(&symbols->strings);
    free(symbols->functions);
    fg_hash_clear(&symbols->by_hash);
    free(symbols->matched);
    *symbols = (struct fg_symbols){0};
}
