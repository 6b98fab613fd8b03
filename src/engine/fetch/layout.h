/* What all fetch programs have in common, whatever they read values from: where an event's fields lie in its
 * image (engine/ring/field.h), and what is counted. */
#ifndef FG_FETCH_LAYOUT_H
#define FG_FETCH_LAYOUT_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "engine/ring/field.h"

/* Each text or tagged value has at least so much room, however many fields an event has. */
#define FG_FETCH_MIN_TEXT 24u
#define FG_FETCH_MAX_STEPS 16u

/* Where an event is hit, which says what stands before its fields in the image. */
enum fg_fetch_place {
    FG_FETCH_AT_ENTRY,
    FG_FETCH_AT_RETURN,
    FG_FETCH_AT_NO_FUNCTION, /* a static event */
};

struct fg_fetch_counts {
    atomic_ullong runs;   /* how often its event was hit */
    atomic_ullong faults; /* how many fields could not be read */
};

struct fg_fetch_layout {
    uint32_t nr_fields;
    bool is_return;
    uint16_t fields_at; /* FG_EVENT_..._FIELDS_AT: where the fields begin in the image */
    uint16_t faults_at; /* where the bits of numbers that could not be read begin; they end at fixed_bytes */
    uint16_t fixed_bytes;    /* where the texts begin */
    struct fg_field *fields; /* where each field lies in the image */
    const char **names;      /* UTF-8; unique among its fields if the caller saw to it */
    uint16_t *later_text; /* how many bytes of the image the texts of the fields after each need at least */
    struct fg_fetch_counts *counts;
};

/* What takes too much room. */
struct fg_fetch_too_long {
    const char *what;
    uint32_t bytes, limit; /* bytes: that are needed, with less room than usual for each text */
};

/**
 * fg_fetch_layout_new() - Allocate a layout for @n fields, which are zeros.
 *
 * Return: 0; -E2BIG: there are too many, and @too_long is filled in; -ENOMEM. On an error nothing is to be
 * freed.
 */
int fg_fetch_layout_new(struct fg_fetch_layout *layout, uint32_t n, enum fg_fetch_place place,
                        struct fg_fetch_too_long *too_long);

/**
 * fg_fetch_lay_out() - Give each field its place, after types and counts were set.
 *
 * Return: 0; -E2BIG: the image would be too long, and @too_long is filled in.
 */
int fg_fetch_lay_out(struct fg_fetch_layout *layout, struct fg_fetch_too_long *too_long);

void fg_fetch_layout_clear(struct fg_fetch_layout *layout);

static inline uint32_t fg_fetch_elements(const struct fg_field *field)
{
    return field->count ? field->count : 1;
}

/* Bytes that the elements themselves take. */
static inline uint32_t fg_fetch_fixed_bytes(const struct fg_field *field)
{
    return fg_fetch_elements(field) * fg_field_element_bytes(field->type);
}

static inline uint32_t fg_fetch_nr_texts(const struct fg_field *field)
{
    return fg_field_has_text(field->type) ? fg_fetch_elements(field) : 0;
}

/* How many bytes of the texts are for what comes after element @i; @later: after its field. */
static inline uint32_t fg_fetch_later(const struct fg_field *field, uint32_t i, uint32_t later)
{
    return field->count && fg_field_has_text(field->type) ? later + (field->count - 1 - i) * FG_FETCH_MIN_TEXT
                                                          : later;
}

/* Mostly one byte, or none. */
static inline void fg_fetch_clear_faults(uint8_t *base, uint32_t from, uint32_t to)
{
    for (; from < to; from++)
        base[from] = 0;
}

static inline void fg_fetch_count_run(const struct fg_fetch_layout *layout)
{
    atomic_fetch_add_explicit(&layout->counts->runs, 1, memory_order_relaxed);
}

static inline void fg_fetch_count_faults(const struct fg_fetch_layout *layout, unsigned n)
{
    if (n)
        atomic_fetch_add_explicit(&layout->counts->faults, n, memory_order_relaxed);
}

static inline unsigned long long fg_fetch_runs(const struct fg_fetch_layout *layout)
{
    return atomic_load_explicit(&layout->counts->runs, memory_order_relaxed);
}

static inline unsigned long long fg_fetch_faults(const struct fg_fetch_layout *layout)
{
    return atomic_load_explicit(&layout->counts->faults, memory_order_relaxed);
}

#endif
