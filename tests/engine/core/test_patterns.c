/* Patterns: the kernel's globs over module.qualname, ":mod:NAME", and errors that name the column. */
#include <errno.h>

#include "engine/core/pattern.h"
#include "support/check.h"

struct match {
    const char *pattern, *module, *qualname;
    bool expected;
};

static const struct match matches[] = {
    {"json.loads", "json", "loads", true},
    {"json.loads", "json", "load", false},
    {"json.load?", "json", "loads", true},
    {"json.load?", "json", "load", false},
    {"json.*", "json", "loads", true},
    {"json.*", "json.decoder", "JSONDecoder.decode", true},
    {"*.decode", "json.decoder", "JSONDecoder.decode", true},
    {"*loads", "json", "loads", true},
    {"*oad*", "json", "loads", true},
    {"*", "a", "b", true},
    {"m.f*", "m", "f", true},
    {"**a**", "m", "xay", true},
    {"*a*b*c", "m", "aXbXbXc", true},
    {"*a*b*c", "m", "aXbXbX", false},
    {"m.f[0-3]", "m", "f2", true},
    {"m.f[0-3]", "m", "f4", false},
    {"m.f[!0-3]", "m", "f4", true},
    {"m.f[^0-3]", "m", "f3", false},
    {"m.f[]x]", "m", "f]", true},
    {"m.f[a-]", "m", "f-", true},
    {"m.f\\*", "m", "f*", true},
    {"m.f\\*", "m", "fg", false},
    {"m.\\[f", "m", "[f", true},
    {"loads", "json", "loads", false},
    {":mod:json", "json", "loads", true},
    {":mod:json", "json.decoder", "JSONDecoder.decode", true},
    {":mod:json", "jsonx", "f", false},
    {":mod:json.*", "json", "loads", false},
    {":mod:json.*", "json.decoder", "f", true},
    {"*.decode:mod:json", "json.decoder", "JSONDecoder.decode", true},
    {"*.decode:mod:json", "codecs", "decode", false},
    {":mod:!json", "json", "loads", false},
    {":mod:!json", "json.decoder", "JSONDecoder.decode", false},
    {":mod:!json", "jsonx", "f", true},
    {"*.decode:mod:!json", "codecs", "decode", true},
    {"*.decode:mod:!json", "codecs", "encode", false},
    {"*:mod:!a*", "asyncio.events", "run", false},
    {"*:mod:!a*", "json", "loads", true},
    {"*.<locals>.*", "m", "f.<locals>.g", true},
    {"m.\xc3\xa9*", "m", "\xc3\xa9tat", true},
};

/* A glob that is no pattern: a `[` without its `]` is a letter. */
static void test_any_text_is_a_glob(void)
{
    CHECK(fg_glob_match("f[", "f["));
    CHECK(fg_glob_match("*[a", "f[a"));
    CHECK(fg_glob_match("f[]", "f[]"));
    CHECK(!fg_glob_match("f[a", "fa"));
    CHECK(!fg_glob_match("f\\", "f"));
}

/* Fails without the retry from the newest `*`, or if only the beginning of a module name is matched. */
static void test_what_matches(void)
{
    for (size_t i = 0; i < NR_OF(matches); i++) {
        const struct match *match = &matches[i];
        struct fg_pattern pattern;
        const char *reason = "";
        char name[128];
        size_t column;

        snprintf(name, sizeof(name), "%s.%s", match->module, match->qualname);
        CHECK_EQ(fg_pattern_parse(&pattern, match->pattern, &reason, &column), 0);
        if (fg_pattern_match(&pattern, name, match->module) != match->expected) {
            fprintf(stderr, "pattern %s, name %s\n", match->pattern, name);
            CHECK(!"matches as expected");
        }
        fg_pattern_clear(&pattern);
    }
}

static const struct match own[] = {
    {"*", "funcgraph", "record", false},
    {"*", "funcgraph.instance.control_files.files", "Files.read", false},
    {"*files*", "funcgraph.instance.control_files.files", "Files.read", false},
    {":mod:!json", "funcgraph", "record", false},
    {"funcgraph.*", "funcgraph.instance.control_files.files", "Files.read", true},
    {"funcgraph.record", "funcgraph", "record", true},
    {"*:mod:funcgraph", "funcgraph.instance.control_files.files", "Files.read", true},
    {"*", "funcgraphs", "record", true},
};

/* Fails if a glob of everything selects what traces. */
static void test_globs_select_no_functions_of_the_package_unless_they_name_it(void)
{
    for (size_t i = 0; i < NR_OF(own); i++) {
        struct fg_patterns set = {.n = 0};
        const char *reason = "";
        char name[128];
        size_t column;

        snprintf(name, sizeof(name), "%s.%s", own[i].module, own[i].qualname);
        CHECK_EQ(fg_patterns_add(&set, own[i].pattern, &reason, &column), 0);
        CHECK_EQ(fg_patterns_match(&set, name, own[i].module), own[i].expected);
        fg_patterns_clear(&set);
    }
}

static const struct error {
    const char *pattern, *reason;
    size_t column;
} errors[] = {
    {"", "empty", 0},
    {"m.f[a-z", "without its ']'", 3},
    {"m.f[", "without its ']'", 3},
    {"m.f[]", "without its ']'", 3},
    {"m.f\\", "at the end", 3},
    {"m.f g", "white space", 3},
    {"m.f:module:x", "unknown command", 3},
    {"m.f:", "unknown command", 3},
    {":mod:", "without a module", 5},
    {":mod:!", "without a module", 6},
    {"*:mod:!a[b", "without its ']'", 8},
    {"*:mod:a[b", "without its ']'", 7},
    {"[:mod:a", "without its ']'", 0},
};

/* Fails if the column is counted within the module's glob instead of the whole text. */
static void test_errors_name_reason_and_column(void)
{
    for (size_t i = 0; i < NR_OF(errors); i++) {
        struct fg_patterns set = {.n = 0};
        const char *reason = "";
        size_t column = 99;

        CHECK_EQ(fg_patterns_add(&set, errors[i].pattern, &reason, &column), -EINVAL);
        CHECK_EQ(column, errors[i].column);
        CHECK(strstr(reason, errors[i].reason) != NULL);
        CHECK_EQ(set.n, 0);
    }
}

/* Fails if every older `*` is retried: 2^30 steps. */
static void test_many_stars_take_no_time(void)
{
    char text[2001], glob[201];

    memset(text, 'a', 2000);
    text[2000] = 0;
    for (int i = 0; i < 100; i++)
        memcpy(glob + 2 * i, "*a", 2);
    memcpy(glob + 198, "*b", 3);
    CHECK(!fg_glob_match(glob, text));
    text[1999] = 'b';
    CHECK(fg_glob_match(glob, text));
}

enum { NR_NAMES = 500 };

static void numbered(char out[32], const char *format, unsigned i)
{
    snprintf(out, 32, format, i);
}

/* Adds whole names, unordered and partly twice, between other patterns. */
static void fill(struct fg_patterns *set)
{
    static const char *const others[] = {"m.even[02468]", "m.f7?", "m.g\\0", "m.mod1:mod:n", ":mod:other"};
    const char *reason;
    size_t column;
    char name[32];

    for (unsigned i = 0; i < NR_NAMES; i++) {
        numbered(name, "m.f%u", (i - (i % 25 == 24)) * 7919 % NR_NAMES * 2);
        CHECK_EQ(fg_patterns_add(set, name, &reason, &column), 0);
        if (i % 100 == 0)
            CHECK_EQ(fg_patterns_add(set, others[i / 100], &reason, &column), 0);
    }
    CHECK_EQ(set->n, NR_NAMES + NR_OF(others));
}

/* The reference: asks the patterns one by one. */
static bool any_matches(const struct fg_patterns *set, const char *name, const char *module)
{
    for (size_t i = 0; i < set->n; i++) {
        if (fg_pattern_match(&set->items[i], name, module))
            return true;
    }
    return false;
}

/* Fails if find_name never looks at the last name, or if a name is inserted after the index that
 * find_name returns. Fails if "m.g\\0" or "m.mod1:mod:n" count as whole names, or if growing the set
 * grows only one of its arrays. */
static void test_a_set_matches_what_one_of_its_patterns_does(void)
{
    static const char *const names[] = {"m.f%u", "m.even%u", "m.mod%u", "m.g%u", "m.f%u.<locals>.g", "m.%u"};
    static const char *const modules[] = {"m", "n", "other.x"};
    struct fg_patterns set = {.n = 0};
    unsigned matched[NR_OF(modules)] = {0};
    char name[32];

    CHECK(!fg_patterns_match(&set, "m.f0", "m"));
    fill(&set);
    for (unsigned i = 0; i < 2 * NR_NAMES * NR_OF(names) * NR_OF(modules); i++) {
        const char *module = modules[i % NR_OF(modules)];
        bool expected;

        numbered(name, names[i / NR_OF(modules) % NR_OF(names)], i / NR_OF(modules) / NR_OF(names));
        expected = any_matches(&set, name, module);
        CHECK_EQ(fg_patterns_match(&set, name, module), expected);
        matched[i % NR_OF(modules)] += expected;
    }
    CHECK(matched[0] > NR_NAMES - 20);
    CHECK_EQ(matched[1], matched[0] + 1);              /* "m.mod1:mod:n" */
    CHECK_EQ(matched[2], 2 * NR_NAMES * NR_OF(names)); /* ":mod:other" */
    CHECK(strcmp(set.items[0].text, "m.f0") == 0 && strcmp(set.items[1].text, "m.even[02468]") == 0);
    fg_patterns_clear(&set);
    CHECK(!fg_patterns_match(&set, "m.f0", "m"));
}

int main(void)
{
    test_what_matches();
    test_any_text_is_a_glob();
    test_globs_select_no_functions_of_the_package_unless_they_name_it();
    test_errors_name_reason_and_column();
    test_many_stars_take_no_time();
    test_a_set_matches_what_one_of_its_patterns_does();
    return 0;
}
