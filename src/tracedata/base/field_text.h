/* The fields of an event as text. */
#ifndef FG_FIELD_TEXT_H
#define FG_FIELD_TEXT_H

#include "engine/ring/field.h"
#include "tracedata/base/text.h"

/* Prints the function at an address; @names is the caller's. */
typedef void fg_put_address(struct fg_text *text, const void *names, uint64_t address);

/**
 * fg_put_field() - Print the value of a field as the kernel does.
 * @image, @bytes: the event's image (field.h), with addresses in its SYMBOL fields
 * @put_address: prints these addresses; NULL: as numbers
 *
 * Numbers are decimal, of an x type in base 16, a bool is 0 or 1; a char is 'c', a string "text". An array
 * is {1,2,3}. A float, an object and a tagged value are as values.h prints them. What could not be read, and
 * what lies beyond a record that was cut, is (fault).
 */
void fg_put_field(struct fg_text *text, const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                  fg_put_address *put_address, const void *names);

/* The bytes to which an element of a STRING, OBJECT or VALUE field refers. NULL: they lie outside of the
 * image, or the field does. */
const uint8_t *fg_field_referred(const uint8_t *image, uint32_t bytes, const struct fg_field *field,
                                 uint32_t index, uint32_t *referred_bytes);

#endif
