/* Filter patterns: the kernel's globs over "module.qualname", with ":mod:NAME"
 * (Documentation/trace/ftrace.rst, "Filter commands"). `*` any run, `?` any character, `[a-z]` one of a
 * set, `[!a-z]` none of it, `\x` x itself. */
#ifndef FG_PATTERN_H
#define FG_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_pattern {
    char *text;     /* as it was given */
    char *name;     /* glob over module.qualname; "*" if only a module was given */
    char *module;   /* glob over the module and the packages around it, or NULL for any */
    size_t literal; /* so many characters of `name` stand for themselves, up to the first that does not */
};

/* Parses `text`. Returns 0, -ENOMEM, or -EINVAL with *reason (static text) and *column (0-based) set. */
int fg_pattern_parse(struct fg_pattern *pattern, const char *text, const char **reason, size_t *column);
void fg_pattern_clear(struct fg_pattern *pattern);

bool fg_glob_match(const char *glob, const char *text);
/* `name` is module.qualname; `module` is its module part. */
bool fg_pattern_match(const struct fg_pattern *pattern, const char *name, const char *module);

/* What is wrong with a pattern. */
struct fg_pattern_error {
    const char *text;   /* the pattern, as it was given */
    const char *reason; /* static */
    size_t column;      /* 0-based */
};

/* A growing set of patterns: matches if any does. All zeros is an empty one.
 *
 * A registration tries each function's name under the engine's lock. A tool that picks its functions
 * gives thousands of whole names: those are looked up. Only the other patterns are tried one after the
 * other. */
struct fg_patterns {
    struct fg_pattern *items; /* in the order they were given */
    uint32_t *order; /* indices of items: first those of whole names, sorted by name, then the others' */
    size_t n, nr_names;
    size_t items_capacity, order_capacity;
};

int fg_patterns_add(struct fg_patterns *set, const char *text, const char **reason, size_t *column);
void fg_patterns_clear(struct fg_patterns *set);
bool fg_patterns_match(const struct fg_patterns *set, const char *name, const char *module);
/* One of the set's patterns is this very name; *at, if found, is its number among the set's whole names. */
bool fg_patterns_find_name(const struct fg_patterns *set, const char *name, size_t *at);
bool fg_patterns_has_name(const struct fg_patterns *set, const char *name);

#endif
