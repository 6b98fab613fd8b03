/* See hist_key.h. */
#include "engine/hist/hist_key.h"

#include <string.h>

#include "engine/base/compiler.h"
#include "engine/base/hash_table.h"
#include "engine/ring/record.h"

static const struct {
    const char *name;
    uint8_t words;
} kinds[] = {
#define X(kind, name, words) {name, words},
    FG_HIST_KINDS(X)
#undef X
};

uint32_t fg_hist_kind_words(enum fg_hist_kind kind)
{
    return kinds[kind].words;
}

int fg_hist_kind_by_name(const char *name)
{
    for (int i = 0; i < FG_NR_HIST_KINDS; i++) {
        if (strcmp(kinds[i].name, name) == 0)
            return i;
    }
    return -1;
}

/* The hash of all words so far, so that 1, 2 and 2, 1 differ. */
static uint64_t hash_word(uint64_t hash, uint64_t word)
{
    return fg_hash_uint64(hash ^ word);
}

static uint64_t least_power(uint64_t number)
{
    return number <= 1 ? 0 : 64u - (unsigned)__builtin_clzll(number - 1);
}

/* A negative float is beyond all powers, as is a negative integer. */
static uint64_t least_power_of_real(double real)
{
    uint64_t whole = fg_hist_integer(&(struct fg_loaded){.kind = FG_LOADED_FLOAT, .real = real});

    if (real < 0 || whole == UINT64_MAX)
        return 64;
    return least_power((double)whole < real ? whole + 1 : whole);
}

static uint64_t bucket_of(const struct fg_loaded *value, uint64_t size)
{
    uint64_t number = fg_hist_integer(value), over;
    bool is_negative = value->kind != FG_LOADED_UNSIGNED && (int64_t)number < 0;

    if (value->kind == FG_LOADED_FLOAT && value->real < 0 && (double)(int64_t)number > value->real)
        number--; /* it was cut upwards */
    if (value->kind == FG_LOADED_FLOAT)
        is_negative = value->real < 0;
    if (!is_negative)
        return number - number % size;
    over = (0 - number) % size;
    return over ? number - (size - over) : number;
}

static void modify(struct fg_loaded *value, const struct fg_hist_term *term)
{
    if (!fg_hist_has_number(value))
        return;
    if (term->modifier == FG_HIST_LOG2) {
        value->number =
            value->kind == FG_LOADED_FLOAT ? least_power_of_real(value->real) : least_power(value->number);
        value->kind = FG_LOADED_UNSIGNED;
    } else {
        value->number = bucket_of(value, term->bucket);
        value->kind = value->kind == FG_LOADED_UNSIGNED ? FG_LOADED_UNSIGNED : FG_LOADED_SIGNED;
    }
}

/* One word for each number that compares as equal: -0 as 0, all NaN as one. */
static uint64_t real_word(double real)
{
    uint64_t word;

    real = real == 0 ? 0 : real;
    if (real != real)
        real = __builtin_nan("");
    memcpy(&word, &real, sizeof(word));
    return word;
}

/* Returns how many of the words are not only padding. */
static uint32_t put_text(uint64_t *words, uint32_t room, const struct fg_loaded *value)
{
    uint32_t bytes = value->kind == FG_LOADED_TEXT ? value->bytes : 0;

    bytes = bytes > room * 8 ? room * 8 : bytes;
    memset(words, 0, 8u * (room + 1));
    words[0] = bytes;
    if (bytes)
        memcpy(words + 1, value->text, bytes);
    return 1 + (bytes + 7) / 8;
}

/* The tag tells str from bytes, and an object from a container. */
static uint32_t put_value(uint64_t *words, const struct fg_loaded *value)
{
    uint32_t room = 8u * (kinds[FG_HIST_KIND_VALUE].words - 2u);
    uint32_t bytes = value->text ? value->bytes : 0;
    enum fg_loaded_kind kind = value->kind;

    if (kind == FG_LOADED_UNSIGNED && value->number <= INT64_MAX)
        kind = FG_LOADED_SIGNED; /* one number is one key, whatever the type of the field was */
    bytes = bytes > room ? room : bytes;
    memset(words, 0, room + 16);
    words[0] = (uint64_t)kind | (uint64_t)bytes << 8;
    if (kind != FG_LOADED_SIGNED && kind != FG_LOADED_UNSIGNED && kind != FG_LOADED_FLOAT)
        words[0] |= (uint64_t)value->tag
                    << 16; /* True is 1, and an int is one key in whatever bytes it came */
    words[1] = value->kind == FG_LOADED_FLOAT ? real_word(value->real) : value->number;
    if (bytes)
        memcpy(words + 2, value->text, bytes);
    return 2 + (bytes + 7) / 8;
}

static uint32_t put_stack(uint64_t *words, const struct fg_hist_term *term, const struct fg_hit *hit)
{
    uint32_t functions[FG_HIST_MAX_STACK];
    struct fg_loaded stack = fg_hist_term_stack(term, hit, functions);
    uint32_t n = stack.kind == FG_LOADED_STACK ? stack.bytes / 4u : 0;

    memset(words, 0, 8u * kinds[FG_HIST_KIND_STACK].words);
    words[0] = n;
    if (n)
        memcpy(words + 1, stack.text, 4u * n);
    return 1 + (n + 1) / 2;
}

static uint32_t put_loaded(enum fg_hist_kind kind, const struct fg_loaded *value, uint64_t *words)
{
    switch (kind) {
    case FG_HIST_KIND_NUMBER:
        words[0] = fg_hist_integer(value);
        return 1;
    case FG_HIST_KIND_REAL:
        words[0] = real_word(fg_hist_real(value));
        return 1;
    case FG_HIST_KIND_FETCHED:
        words[0] = value->kind == FG_LOADED_NONE;
        words[1] = fg_hist_integer(value);
        return 2;
    case FG_HIST_KIND_FETCHED_REAL:
        words[0] = value->kind == FG_LOADED_NONE;
        words[1] = real_word(fg_hist_real(value));
        return 2;
    case FG_HIST_KIND_VALUE:
        return put_value(words, value);
    default:
        return put_text(words, kinds[kind].words - 1u, value);
    }
}

static uint64_t hash_words(uint64_t hash, const uint64_t *words, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        hash = hash_word(hash, words[i]);
    return hash;
}

static struct fg_loaded run_modified(const struct fg_hist_term *term, const struct fg_hit *hit)
{
    struct fg_loaded value = fg_hist_term_run(term, hit);

    if (term->modifier != FG_HIST_PLAIN)
        modify(&value, term);
    return value;
}

uint64_t fg_hist_term_key(const struct fg_hist_term *term, const struct fg_hit *hit, uint64_t *words,
                          uint64_t hash)
{
    struct fg_loaded value;

    if (fg_likely(term->kind == FG_HIST_KIND_NUMBER && term->modifier == FG_HIST_PLAIN)) {
        value = fg_hist_term_run(term, hit);
        words[0] = fg_hist_integer(&value);
        return hash_word(hash, words[0]);
    }
    if (term->kind == FG_HIST_KIND_STACK)
        return hash_words(hash, words, put_stack(words, term, hit));
    value = run_modified(term, hit);
    return hash_words(hash, words, put_loaded(term->kind, &value, words));
}

/* True if a key of this kind has the value itself. */
static bool is_held_by(enum fg_hist_kind kind, const struct fg_loaded *value)
{
    switch (kind) {
    case FG_HIST_KIND_NUMBER:
    case FG_HIST_KIND_FETCHED:
        return fg_hist_has_number(value) &&
               (value->kind != FG_LOADED_FLOAT || value->real == (double)(int64_t)fg_hist_integer(value));
    case FG_HIST_KIND_REAL:
    case FG_HIST_KIND_FETCHED_REAL:
        return fg_hist_has_number(value);
    case FG_HIST_KIND_TEXT:
    case FG_HIST_KIND_COMM:
        return value->kind == FG_LOADED_TEXT;
    default:
        return kind == FG_HIST_KIND_VALUE;
    }
}

bool fg_hist_term_key_as(enum fg_hist_kind kind, const struct fg_hist_term *term, const struct fg_hit *hit,
                         uint64_t *words, uint64_t *hash)
{
    struct fg_loaded value;

    if (kind == term->kind) {
        *hash = fg_hist_term_key(term, hit, words, *hash);
        return true;
    }
    value = run_modified(term, hit);
    if (kind == FG_HIST_KIND_VALUE && value.kind == FG_LOADED_TEXT && !value.tag)
        value.tag = FG_VALUE_STR;
    if (term->kind == FG_HIST_KIND_STACK || !is_held_by(kind, &value))
        return false;
    *hash = hash_words(*hash, words, put_loaded(kind, &value, words));
    return true;
}

static struct fg_loaded text_value(const uint64_t *words, uint64_t bytes)
{
    return (struct fg_loaded){
        .kind = FG_LOADED_TEXT,
        .text = (const char *)words,
        .bytes = (uint16_t)bytes,
    };
}

static struct fg_loaded real_value(uint64_t word)
{
    struct fg_loaded value = {.kind = FG_LOADED_FLOAT};

    memcpy(&value.real, &word, sizeof(value.real));
    return value;
}

struct fg_loaded fg_hist_term_value(enum fg_hist_kind kind, bool is_signed, const uint64_t *words)
{
    struct fg_loaded value = {.kind = FG_LOADED_NONE};

    switch (kind) {
    case FG_HIST_KIND_FETCHED:
        return words[0] ? value : fg_hist_term_value(FG_HIST_KIND_NUMBER, is_signed, words + 1);
    case FG_HIST_KIND_FETCHED_REAL:
        return words[0] ? value : real_value(words[1]);
    case FG_HIST_KIND_NUMBER:
        value.kind = is_signed ? FG_LOADED_SIGNED : FG_LOADED_UNSIGNED;
        value.number = words[0];
        return value;
    case FG_HIST_KIND_REAL:
        return real_value(words[0]);
    case FG_HIST_KIND_TEXT:
    case FG_HIST_KIND_COMM:
        return text_value(words + 1, words[0]);
    case FG_HIST_KIND_STACK:
        value = text_value(words + 1, 4 * words[0]);
        value.kind = FG_LOADED_STACK;
        return value;
    case FG_HIST_KIND_VALUE:
        break;
    default:
        return value;
    }
    if ((uint8_t)words[0] == FG_LOADED_FLOAT)
        return real_value(words[1]);
    value = text_value(words + 2, words[0] >> 8 & 0xff);
    value.kind = (enum fg_loaded_kind)(uint8_t)words[0];
    value.tag = (uint8_t)(words[0] >> 16);
    value.number = words[1];
    return value;
}
