/* The functions of a session. Each process numbers its functions itself. A function with the same module,
 * qualified name, file, line and arguments in several processes is one function of the trace. */
#ifndef FG_SYMBOLS_H
#define FG_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "engine/base/hash_table.h"
#include "engine/ring/ring_layout.h"
#include "tracedata/base/arena.h"

#define FG_SYMBOLS_NONE UINT32_MAX

enum fg_function_string { FG_FUNCTION_MODULE, FG_FUNCTION_QUALNAME, FG_FUNCTION_FILE, FG_FUNCTION_ARGUMENTS };
#define FG_FUNCTION_STRINGS 4

/* A trace can have millions: fg_function_string() finds the strings. */
struct fg_trace_function {
    const char *strings; /* FG_FUNCTION_STRINGS of them, one after the other, each with its NUL */
    uint64_t hash;
    uint32_t strings_bytes;
    uint32_t line;
    uint32_t index; /* in the trace; FG_SYMBOLS_NONE: it ran, but is not recorded */
    uint16_t flags; /* enum fg_func_flags */
};

_Static_assert(sizeof(struct fg_trace_function) == 32, "a trace can have millions");

struct fg_symbols {
    struct fg_trace_function *functions; /* in the order they were first seen */
    size_t nr_functions, functions_capacity;
    struct fg_arena strings;
    struct fg_hash_table by_hash; /* fg_trace_function.hash -> number in `functions` plus 1 */
    uint32_t *matched;            /* trace index -> number in `functions` */
    size_t nr_matched, matched_capacity;
};

/* Takes in a FUNC, CALLER or SEEN symbol of any ring; missing strings count as empty. Return: the
 * function's number in `functions`, or -ENOMEM. */
int64_t fg_symbols_take(struct fg_symbols *symbols, const struct fg_symbol *symbol);

/* No symbol follows: frees what only fg_symbols_take() needs. */
void fg_symbols_seal(struct fg_symbols *symbols);

const char *fg_function_string(const struct fg_trace_function *function, enum fg_function_string which);

/* The function with this trace index. */
const struct fg_trace_function *fg_symbols_matched(const struct fg_symbols *symbols, size_t index);

void fg_symbols_free(struct fg_symbols *symbols);

/* The string of a symbol after `previous` (NULL: the first one); NULL if there is none that ends within
 * the symbol. */
const char *fg_symbol_string(const struct fg_symbol *symbol, const char *previous);

#endif
