/* Parsing and matching of filter patterns. */
#include "engine/core/pattern.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "engine/base/array.h"

#define MODULE_COMMAND ":mod:"
#define OWN_PACKAGE "funcgraph"

/* Matches @c against the bracket set at @glob (after its '['). Returns the position after the ']'; NULL:
 * it is missing. */
static const char *match_set(const char *glob, unsigned char c, bool *matched)
{
    bool negated = *glob == '!' || *glob == '^';
    bool found = false;

    glob += negated;
    for (bool first = true; *glob && (first || *glob != ']'); first = false) {
        unsigned char low = (unsigned char)*glob++;
        unsigned char high = low;

        if (*glob == '-' && glob[1] && glob[1] != ']') {
            high = (unsigned char)glob[1];
            glob += 2;
        }
        found |= low <= c && c <= high;
    }
    *matched = found != negated;
    return *glob == ']' ? glob + 1 : NULL;
}

/* Matches one character against the element at *@glob and moves *@glob past the element. */
static bool match_one(const char **glob, char c)
{
    const char *at = *glob;
    bool matched;

    switch (*at) {
    case '?':
        matched = true;
        at++;
        break;
    case '[':
        at = match_set(at + 1, (unsigned char)c, &matched);
        if (!at) {
            matched = c == '[';
            at = *glob + 1;
        }
        break;
    case '\\':
        at++;
        /* fall through */
    default:
        matched = *at == c;
        at++;
    }
    *glob = at;
    return matched;
}

static bool begins_own(const char *text)
{
    return strncmp(text, OWN_PACKAGE, strlen(OWN_PACKAGE)) == 0;
}

bool fg_module_is_own(const char *module)
{
    return begins_own(module) && (!module[strlen(OWN_PACKAGE)] || module[strlen(OWN_PACKAGE)] == '.');
}

/* Only the latest `*` is retried, as an earlier one could do no better. The time is
 * linear in practice. */
bool fg_glob_match(const char *glob, const char *text)
{
    const char *star = NULL, *resume = NULL;

    for (;;) {
        if (*glob == '*') {
            star = ++glob;
            if (!*star)
                return true;
            resume = text;
            continue;
        }
        if (!*text && !*glob)
            return true;
        if (*text && *glob && match_one(&glob, *text)) {
            text++;
            continue;
        }
        if (!star || !*resume)
            return false;
        glob = star;
        text = ++resume;
    }
}

/* A module pattern that matches a package also matches its submodules: json matches json.decoder. */
static bool match_module(const char *glob, const char *module)
{
    char package[512];
    size_t length = strlen(module);

    if (fg_glob_match(glob, module))
        return true;
    if (length >= sizeof(package))
        return false;
    memcpy(package, module, length + 1);
    for (char *dot = strrchr(package, '.'); dot; dot = strrchr(package, '.')) {
        *dot = 0;
        if (fg_glob_match(glob, package))
            return true;
    }
    return false;
}

bool fg_pattern_match(const struct fg_pattern *pattern, const char *name, const char *module)
{
    if (pattern->module && match_module(pattern->module, module) == pattern->excludes_module)
        return false;
    /* Most names fail here. Most patterns end here, or with the `*` that follows. */
    if (strncmp(pattern->name, name, pattern->literal) != 0)
        return false;
    return fg_glob_match(pattern->name + pattern->literal, name + pattern->literal);
}

static const char *check_glob(const char *glob, size_t *column)
{
    for (const char *at = glob; *at; at++) {
        *column = (size_t)(at - glob);
        if (*at == '[') {
            bool ignored;
            const char *end = match_set(at + 1, 'x', &ignored);

            if (!end)
                return "'[' without its ']'";
            at = end - 1;
        } else if (*at == '\\') {
            if (!at[1])
                return "'\\' at the end";
            at++;
        } else if (*at == ' ' || *at == '\t' || *at == '\n') {
            return "white space in a pattern";
        }
    }
    return NULL;
}

static int reject(const char **reason, size_t *column, const char *text, size_t at)
{
    *reason = text;
    *column = at;
    return -EINVAL;
}

int fg_pattern_parse(struct fg_pattern *pattern, const char *text, const char **reason, size_t *column)
{
    const char *command = strchr(text, ':');
    const char *module = NULL;
    bool excludes_module = false;
    size_t name_length = command ? (size_t)(command - text) : strlen(text);
    const char *bad;
    size_t at = 0;

    if (command) {
        if (strncmp(command, MODULE_COMMAND, strlen(MODULE_COMMAND)) != 0)
            return reject(reason, column, "unknown command (only ':mod:NAME' is known)", name_length);
        module = command + strlen(MODULE_COMMAND);
        excludes_module = *module == '!';
        module += excludes_module;
        if (!*module)
            return reject(reason, column, "':mod:' without a module's name", strlen(text));
        bad = check_glob(module, &at);
        if (bad)
            return reject(reason, column, bad, (size_t)(module - text) + at);
    }
    if (!name_length && !module)
        return reject(reason, column, "empty pattern", 0);
    pattern->name = name_length ? strndup(text, name_length) : strdup("*");
    pattern->module = module ? strdup(module) : NULL;
    pattern->excludes_module = excludes_module;
    pattern->names_own = begins_own(text) || (module && !excludes_module && begins_own(module));
    pattern->text = strdup(text);
    if (!pattern->name || !pattern->text || (module && !pattern->module)) {
        fg_pattern_clear(pattern);
        return -ENOMEM;
    }
    bad = check_glob(pattern->name, &at);
    if (bad) {
        fg_pattern_clear(pattern);
        return reject(reason, column, bad, at);
    }
    pattern->literal = strcspn(pattern->name, "*?[\\");
    return 0;
}

void fg_pattern_clear(struct fg_pattern *pattern)
{
    free(pattern->text);
    free(pattern->name);
    free(pattern->module);
    *pattern = (struct fg_pattern){.literal = 0};
}

/* True if the pattern is the whole name of a function. */
static bool is_name(const struct fg_pattern *pattern)
{
    return !pattern->module && !pattern->name[pattern->literal];
}

/* If the name is not found, *@at is the position at which to insert it. */
bool fg_patterns_find_name(const struct fg_patterns *set, const char *name, size_t *at)
{
    size_t low = 0, high = set->nr_names;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int difference = strcmp(set->items[set->order[middle]].name, name);

        if (difference == 0) {
            *at = middle;
            return true;
        }
        if (difference < 0)
            low = middle + 1;
        else
            high = middle;
    }
    *at = low;
    return false;
}

int fg_patterns_add(struct fg_patterns *set, const char *text, const char **reason, size_t *column)
{
    struct fg_pattern parsed = {.literal = 0};
    size_t at = set->n;
    int error = fg_pattern_parse(&parsed, text, reason, column);

    if (error)
        return error;
    error = fg_array_reserve(&set->items, &set->items_capacity, set->n + 1);
    if (!error)
        error = fg_array_reserve(&set->order, &set->order_capacity, set->n + 1);
    if (error) {
        fg_pattern_clear(&parsed);
        return error;
    }
    if (is_name(&parsed)) {
        fg_patterns_find_name(set, parsed.name, &at);
        set->nr_names++;
    }
    memmove(set->order + at + 1, set->order + at, (set->n - at) * sizeof(set->order[0]));
    set->order[at] = (uint32_t)set->n;
    set->items[set->n++] = parsed;
    return 0;
}

void fg_patterns_clear(struct fg_patterns *set)
{
    for (size_t i = 0; i < set->n; i++)
        fg_pattern_clear(&set->items[i]);
    free(set->items);
    free(set->order);
    *set = (struct fg_patterns){.n = 0};
}

bool fg_patterns_has_name(const struct fg_patterns *set, const char *name)
{
    size_t at;

    return fg_patterns_find_name(set, name, &at);
}

bool fg_patterns_match(const struct fg_patterns *set, const char *name, const char *module)
{
    bool is_own = fg_module_is_own(module);

    if (fg_patterns_has_name(set, name))
        return true;
    for (size_t i = set->nr_names; i < set->n; i++) {
        const struct fg_pattern *pattern = &set->items[set->order[i]];

        if ((!is_own || pattern->names_own) && fg_pattern_match(pattern, name, module))
            return true;
    }
    return false;
}

bool fg_patterns_match_native(const struct fg_patterns *set, const char *name, const char *object)
{
    for (size_t i = 0; i < set->n; i++) {
        const struct fg_pattern *pattern = &set->items[i];

        if (pattern->module && !pattern->excludes_module && fg_glob_match(pattern->module, object) &&
            fg_glob_match(pattern->name, name))
            return true;
    }
    return false;
}
