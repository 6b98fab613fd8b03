/* Filter patterns: the kernel's globs over "module.qualname", with ":mod:NAME"
 * (Documentation/trace/ftrace.rst, "Filter commands"). `*` matches any run of characters, `?`
 * any one character, `[a-z]` one character of a set, `[!a-z]` one that is not in the set, `\x`
 * the character x. ":mod:!NAME" stands for the functions of all other modules. */
#ifndef FG_PATTERN_H
#define FG_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fg_pattern {
    char *text;   /* as it was given */
    char *name;   /* glob over module.qualname; "*" if only a module was given */
    char *module; /* glob over the module and the packages around it, or NULL for any */
    bool excludes_module;
    bool names_own; /* it begins with the name of this package */
    size_t literal; /* length of the literal prefix of `name`, before its first special character */
};

/* Parses `text`. Returns 0, -ENOMEM, or -EINVAL with *reason (static text) and *column (0-based) set. */
int fg_pattern_parse(struct fg_pattern *pattern, const char *text, const char **reason, size_t *column);
void fg_pattern_clear(struct fg_pattern *pattern);

/* True for the modules of this package: what traces is not traced, as functions of the kernel's ftrace. */
bool fg_module_is_own(const char *module);

bool fg_glob_match(const char *glob, const char *text);
/* `name` is module.qualname; `module` is its module part. */
bool fg_pattern_match(const struct fg_pattern *pattern, const char *name, const char *module);

/* An error in a pattern. */
struct fg_pattern_error {
    const char *text;   /* the pattern, as it was given */
    const char *reason; /* static */
    size_t column;      /* 0-based */
};

/* A set of patterns; it matches if any of them matches. A zeroed set is empty. A pattern that does not name
 * this package matches none of its functions.
 *
 * A registration matches each function's name under the engine's lock, and a tool that picks its
 * functions gives thousands of whole names. So whole names are looked up by binary search, and only the
 * other patterns are tried one after the other. */
struct fg_patterns {
    struct fg_pattern *items; /* in the order they were given */
    /* indices into items: those of whole names, sorted by name; then those of the other patterns */
    uint32_t *order;
    size_t n, nr_names;
    size_t items_capacity, order_capacity;
};

int fg_patterns_add(struct fg_patterns *set, const char *text, const char **reason, size_t *column);
void fg_patterns_clear(struct fg_patterns *set);
bool fg_patterns_match(const struct fg_patterns *set, const char *name, const char *module);
/* The same for a native function: only patterns with ":mod:" select it, by its own name and that of its
 * object. */
bool fg_patterns_match_native(const struct fg_patterns *set, const char *name, const char *object);
/* True if @name is one of the set's whole names; *@at is then its position among them. */
bool fg_patterns_find_name(const struct fg_patterns *set, const char *name, size_t *at);
bool fg_patterns_has_name(const struct fg_patterns *set, const char *name);

#endif
