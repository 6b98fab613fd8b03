/* Making an image (field.h) of values that are there: those that an action gives to a synthetic event, and
 * the fields of another event. Values of objects are fetched instead (probe_event.h). */
#ifndef FG_IMAGE_H
#define FG_IMAGE_H

#include <stdint.h>

#include "engine/ring/field.h"

/* The fields of such an image begin after the common ones. */
struct fg_image_form {
    uint32_t nr_fields;
    uint16_t faults_at;   /* where the bits of numbers without a value begin; they end at fixed_bytes */
    uint16_t fixed_bytes; /* where texts and tagged values begin */
    struct fg_field fields[FG_EVENT_MAX_FIELDS];
    uint16_t most_bytes[FG_EVENT_MAX_FIELDS]; /* of a text; 0: no limit of its own */
    uint16_t later_room[FG_EVENT_MAX_FIELDS]; /* what texts and tagged values of the fields after it need */
};

/**
 * fg_image_lay_out() - Give the fields of a form their places.
 * @form: number, types, counts and limits of the fields are filled in
 *
 * An array is one of functions, which a stack fills.
 *
 * Return: 0; -E2BIG: they do not fit into an image.
 */
int fg_image_lay_out(struct fg_image_form *form);

/**
 * fg_image_make() - Make an image.
 * @values: one for each field. A number goes into a field of another size as a cast does it in C, and into
 *   a text in decimal. What has no value of the field's type is a fault.
 * @image: FG_EVENT_MAX_BYTES. The common fields are not touched.
 *
 * Return: how many bytes it has.
 * Context: any.
 */
uint32_t fg_image_make(const struct fg_image_form *form, const struct fg_loaded *values, uint8_t *image);

#endif
